"""The audit: does a release keep its promise?

neighbours   where to look: data sets, and every way in which one case can differ
subjects     what is audited: the law of all that is released together, and for which ε
exact        layer 1: the search for the worst loss, and its verdict
sampling     layer 2: what is drawn, against its law
black_box    layer 3: what answers alone betray, and what to ask for them
reports      the layers of one subject, many subjects at once, and their record

Layer 4, from the events of whole logs to their laws, is in `tests/audit/whole_path.py`.
"""

from pappi.audit.black_box import (
    BlackBoxReport,
    Question,
    Samples,
    audit_samples,
    standard_question,
)
from pappi.audit.exact import AuditReport, audit_joint, audit_kinds, audit_mechanism
from pappi.audit.neighbours import Column, Data, Draw, Row, handmade, neighbours, steered_by
from pappi.audit.reports import SubjectReport, audit_subject, loss_as_float, report_record, spread
from pappi.audit.sampling import audit_sampler
from pappi.audit.subjects import (
    STANDARD_EPSILON,
    Audited,
    InTwoGroups,
    JointRelease,
    OfTheLatest,
    Released,
    Subject,
    Trial,
    ordinary_trial,
    promises_of,
    subjects_named,
)

__all__ = [
    "STANDARD_EPSILON",
    "AuditReport",
    "Audited",
    "BlackBoxReport",
    "Column",
    "Data",
    "Draw",
    "InTwoGroups",
    "JointRelease",
    "OfTheLatest",
    "Question",
    "Released",
    "Row",
    "Samples",
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
    "loss_as_float",
    "neighbours",
    "ordinary_trial",
    "promises_of",
    "report_record",
    "spread",
    "standard_question",
    "steered_by",
    "subjects_named",
]
