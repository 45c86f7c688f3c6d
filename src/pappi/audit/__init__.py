"""The audit: does a release keep its promise?

neighbours   data sets to compare, and every way in which one case can differ
subjects     what is audited: the output distribution of a joint release, and its ε
exact        layer 1: the search for the worst privacy loss, and its verdict
sampling     layer 2: what is drawn, against its output distribution
black_box    layer 3: a lower bound on ε from answers alone, and the queries for it
reports      the layers of one subject, many subjects at once, and their record

Layer 4, from the events of whole logs to their laws, is in `tests/audit/whole_path.py`.
"""

from pappi.audit.black_box import (
    BlackBoxQuery,
    BlackBoxReport,
    Samples,
    audit_samples,
    standard_query,
)
from pappi.audit.exact import AuditReport, audit_joint, audit_kinds
from pappi.audit.neighbours import Column, Data, Draw, Row, handmade, neighbours, steered_by
from pappi.audit.reports import SubjectReport, audit_subject, loss_as_float, report_record, spread
from pappi.audit.sampling import audit_sampler
from pappi.audit.subjects import (
    STANDARD_EPSILON,
    Audited,
    Family,
    InTwoGroups,
    JointRelease,
    OfTheLatest,
    Sampler,
    Subject,
    Trial,
    families,
    ordinary_trial,
    promises_of,
    subjects_named,
)
