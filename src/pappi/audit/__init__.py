"""The audit: does a mechanism keep its promise, exactly?

neighbours   every way in which one case can differ
datasets     where to look
joint        what is compared: the law of all that is released together
exact        the search for the worst loss, and its verdict
"""

from pappi.audit.datasets import Column, Draw, handmade
from pappi.audit.exact import FEWEST_PAIRS, AuditReport, audit_joint, audit_mechanism
from pappi.audit.joint import Audited, JointRelease
from pappi.audit.neighbours import Data, Row, neighbours

__all__ = [
    "FEWEST_PAIRS",
    "AuditReport",
    "Audited",
    "Column",
    "Data",
    "Draw",
    "JointRelease",
    "Row",
    "audit_joint",
    "audit_mechanism",
    "handmade",
    "neighbours",
]
