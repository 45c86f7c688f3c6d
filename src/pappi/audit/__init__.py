"""The audit: does a release keep its promise?

neighbours   every way in which one case can differ
datasets     where to look
joint        what is compared: the law of all that is released together
exact        layer 1: the search for the worst loss, and its verdict
sampling     layer 2: what is drawn, against its law
boxes        … where no outcome comes up twice
black_box    layer 3: what answers alone betray
questions    … and what to ask for them
whole_path   layer 4: from the events of whole logs to their laws
subjects     what can be audited by name
reports      the layers of one subject, and their record
running      many subjects at once
"""

from pappi.audit.black_box import BlackBoxReport, audit_samples
from pappi.audit.datasets import Column, Draw, handmade
from pappi.audit.exact import (
    FEWEST_PAIRS,
    AuditReport,
    KindReport,
    audit_joint,
    audit_kinds,
    audit_mechanism,
)
from pappi.audit.joint import Audited, JointRelease
from pappi.audit.neighbours import Data, Row, neighbours
from pappi.audit.reports import SubjectReport, audit_subject, report_record
from pappi.audit.sampling import Released, SamplingReport, Trial, audit_sampler
from pappi.audit.subjects import FAMILIES, Subject, subjects_named

__all__ = [
    "FAMILIES",
    "FEWEST_PAIRS",
    "AuditReport",
    "Audited",
    "BlackBoxReport",
    "Column",
    "Data",
    "Draw",
    "JointRelease",
    "KindReport",
    "Released",
    "Row",
    "SamplingReport",
    "Subject",
    "SubjectReport",
    "Trial",
    "audit_joint",
    "audit_kinds",
    "audit_mechanism",
    "audit_sampler",
    "audit_samples",
    "audit_subject",
    "handmade",
    "neighbours",
    "report_record",
    "subjects_named",
]
