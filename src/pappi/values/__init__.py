"""The exact quantities everything else is written in.

Nothing here knows of logs, databases or randomness, and nothing that privacy depends on is a
float.

    epsilon         privacy loss, counted in billionths, and an account of the budget
    privacy         what is protected: the unit and the adjacency; the plain JSON that is hashed
    public_log      a log's public facts: vocabulary, bounds, horizon, and its terms
    periods         calendar periods, grids and the horizon of a log
    units           how quantities are shown, and durations as people write them
    working_time    working calendars, read and written
    access          keys, rights, and an analyst's share of the budget
    answers         quotes before a release, and answers after it
"""

from pappi.values.access import RIGHTS, Grant, KeyRecord, Right, Role, require_name
from pappi.values.answers import (
    CONFIDENCE,
    CONFIDENCES,
    ENOUGH_CHANCE,
    MARGIN_CONFIDENCE,
    Alternative,
    Answer,
    Band,
    Beyond,
    ErrorQuantile,
    ExactAnswer,
    Guarantee,
    Interval,
    LaplaceLikelihood,
    Likelihood,
    Quote,
    QuotedSet,
    RankLikelihood,
    Series,
    ShownTarget,
    Smoothed,
    TargetRange,
    TwoBinLikelihood,
    Verdict,
    bands_between,
    judge,
)
from pappi.values.epsilon import NANO, ZERO, BudgetLine, Epsilon
from pappi.values.periods import Calendar, Grid, Horizon, Period, day_of, midnight_us
from pappi.values.privacy import CASE, JSON, UNDER_REPLACE, Adjacency, Per, PrivacyUnit
from pappi.values.public_log import (
    NO_DEFAULTS,
    UNIT_INTERVAL,
    Bounds,
    CaseBorder,
    DefaultBounds,
    Kind,
    PublicLog,
    Terms,
    Vocabulary,
)
from pappi.values.units import (
    DURATIONS,
    FRACTION,
    HOURS,
    NUMBER,
    PERCENT,
    SECOND,
    Unit,
    duration_unit,
    parse_duration,
)
from pappi.values.working_time import (
    DayTable,
    Season,
    Week,
    Window,
    WorkingCalendar,
    parse_calendar,
    working_days_of,
)

__all__ = [
    "CASE",
    "CONFIDENCE",
    "CONFIDENCES",
    "DURATIONS",
    "ENOUGH_CHANCE",
    "FRACTION",
    "HOURS",
    "JSON",
    "MARGIN_CONFIDENCE",
    "NANO",
    "NO_DEFAULTS",
    "NUMBER",
    "PERCENT",
    "RIGHTS",
    "SECOND",
    "UNDER_REPLACE",
    "UNIT_INTERVAL",
    "ZERO",
    "Adjacency",
    "Alternative",
    "Answer",
    "Band",
    "Beyond",
    "Bounds",
    "BudgetLine",
    "Calendar",
    "CaseBorder",
    "DayTable",
    "DefaultBounds",
    "Epsilon",
    "ErrorQuantile",
    "ExactAnswer",
    "Grant",
    "Grid",
    "Guarantee",
    "Horizon",
    "Interval",
    "KeyRecord",
    "Kind",
    "LaplaceLikelihood",
    "Likelihood",
    "Per",
    "Period",
    "PrivacyUnit",
    "PublicLog",
    "Quote",
    "QuotedSet",
    "RankLikelihood",
    "Right",
    "Role",
    "Season",
    "Series",
    "ShownTarget",
    "Smoothed",
    "TargetRange",
    "Terms",
    "TwoBinLikelihood",
    "Unit",
    "Verdict",
    "Vocabulary",
    "Week",
    "Window",
    "WorkingCalendar",
    "bands_between",
    "day_of",
    "duration_unit",
    "judge",
    "midnight_us",
    "parse_calendar",
    "parse_duration",
    "require_name",
    "working_days_of",
]
