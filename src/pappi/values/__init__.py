"""The exact quantities everything else is written in.

Nothing here knows of logs, databases or randomness, and nothing that privacy depends on is a
float.

    privacy         what is protected: the unit and the adjacency; privacy loss, counted in
                    billionths; the plain JSON that is hashed; keys, rights and budgets
    public_log      a log's public facts: vocabulary, bounds, horizon, and its terms
    periods         calendar periods, grids and the horizon of a log
    working_time    working calendars, read and written
    answers         quotes before a release, and answers after it
    wording         names in messages, units, and durations as people write them
"""

from pappi.values.answers import (
    CONFIDENCE,
    CONFIDENCES,
    ENOUGH_CHANCE,
    MARGIN_CONFIDENCE,
    Alternative,
    Answer,
    Band,
    Beyond,
    Bin,
    By,
    Compared,
    Comparison,
    Derivable,
    Distribution,
    ErrorQuantile,
    ExactAnswer,
    Guarantee,
    Interval,
    LaplaceLikelihood,
    Likelihood,
    Percentile,
    Quote,
    QuotedSet,
    RankLikelihood,
    Series,
    ShownTarget,
    Smoothed,
    Source,
    TwoBinLikelihood,
    Verdict,
    bands_between,
    bands_text,
    judge,
)
from pappi.values.periods import (
    Calendar,
    Grid,
    Horizon,
    Period,
    day_of,
    midnight_us,
    zone_called,
)
from pappi.values.privacy import (
    CASE,
    JSON,
    NANO,
    RIGHTS,
    UNDER_REPLACE,
    ZERO,
    Adjacency,
    BudgetLine,
    Epsilon,
    Grant,
    KeyRecord,
    Per,
    PrivacyUnit,
    Right,
    Role,
    require_name,
)
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
from pappi.values.wording import (
    CONTROL,
    DURATIONS,
    FRACTION,
    HOURS,
    NUMBER,
    PERCENT,
    PERCENTAGE_POINTS,
    SECOND,
    Unit,
    closest,
    did_you_mean,
    duration_unit,
    listed,
    parse_duration,
    quoted,
)
from pappi.values.working_time import (
    DayTable,
    Week,
    Window,
    WorkingCalendar,
    parse_calendar,
    working_days_of,
)
