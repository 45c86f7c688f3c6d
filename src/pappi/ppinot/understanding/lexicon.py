"""The words people use about processes: what is a measure, a comparison, a period, a synonym.

Everything here is about English and about business processes in general, nothing about one log.
"""

from __future__ import annotations

from collections.abc import Mapping


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    """Phrases by commas, the longest first."""
    phrases = (tuple(phrase.split()) for phrase in text.split(","))
    return tuple(sorted(phrases, key=len, reverse=True))


# --- words that carry no meaning of their own -----------------------------------------

GLUE = words("a an the of to for in on at by from and or with into its their")
FILLERS = GLUE | words(
    "this that these those which who whom whose what it they them there we i you our us my your "
    "is are was were be been being am do does did done has have had having will would can could "
    "get gets got getting become becomes became as so then than all any every each some only "
    "just actually really currently also either both such per via through over out about "
    "show tell give calculate compute find know want need see please measure kpi ppi indicator "
    "value figure real actual overall entire whole given respective corresponding particular "
    "happens happen happened occurs occur occurred occurring takes take took taken taking place "
    "made make making performed carried caused where when if while during us how many much long "
    "spent spend needed required elapsed passes passed pass goes go went ends up finally "
    "eventually once result results resulted concerning regarding total number percentage end "
    "finish finishes finished lead leads led last lasts lasted step steps activity activities "
    "event events status state states stage phase contain contains include includes containing "
    "including still expected supposed e g eg ie etc"
)
MARKS = words("until till before after since between following prior")
"""They say how parts belong together; they are no part of a name, and never left out."""
CASE_NOUNS = words(
    "case instance process trace ticket incident fine patient claim order application request "
    "item invoice loan permit complaint issue problem call job project contract policy student "
    "shipment purchase parcel applicant person people matter file dossier paper offer "
    "quote account execution everything something flow workflow customer citizen "
    "stay booking transaction inquiry enquiry proposal defect bug"
)
NEGATIONS = words("not never no without none nor neither cannot lack lacks lacking missing absent")

# --- what is measured -----------------------------------------------------------------

AGGREGATIONS: Mapping[str, str] = {
    **dict.fromkeys(("average", "mean", "avg", "typical", "averaged", "averagely"), "mean"),
    **dict.fromkeys(("median", "middle"), "median"),
    **dict.fromkeys(
        ("maximum", "max", "longest", "slowest", "highest", "largest", "biggest", "maximal"), "max"
    ),
    **dict.fromkeys(
        ("minimum", "min", "shortest", "fastest", "lowest", "smallest", "quickest", "minimal"),
        "min",
    ),
    **dict.fromkeys(("total", "sum", "cumulative", "cumulated", "summed", "aggregate"), "sum"),
    **dict.fromkeys(("distribution", "histogram"), "distribution"),
    **dict.fromkeys(("revenue", "turnover", "revenues", "earnings", "spending"), "sum"),
}
TIME_NOUNS = _phrases(
    "time it takes, time waiting, time spent waiting, time taken, time frame, timeframe, timespan, "
    "time span, time, duration, delay, "
    "delays, lifetime, life time, lead time, cycle time, throughput time, sojourn time, "
    "waiting time, wait time, processing time, handling time, turnaround time, turnaround, "
    "time period, period of time, amount of time, length of stay, length, how long, how quickly, "
    "how fast, times, durations, interval, throughput, speed, length of time, wait, time needed, "
    "time required, service time, response time, flow time, running time, execution time"
)
SHARE_NOUNS = _phrases(
    "percentage, percent, share, fraction, ratio, proportion, rate, what part, portion, "
    "probability, likelihood, chance, %, percentages, quota, relative number, relative frequency"
)
COUNT_NOUNS = _phrases(
    "number, how many, count, volume, quantity, amount, #, total number, absolute number, numbers"
)
OFTEN_NOUNS = _phrases("how often, number of times, how many times, frequency, occurrences")

# --- how it is put together -----------------------------------------------------------

AMONG = _phrases(
    "out of, in relation to, compared to, compared with, relative to, with respect to, among, "
    "amongst, of all, from all, over all, divided by, in proportion to, as a share of, over the "
    "total, of the total, of those, against all, in comparison to, in comparison with, among all, "
    "out of all, in relation to all, from the total, with regard to, based on all"
)
RELATIVE = _phrases(
    "that, which, who, where, in which, for which, whose, with, without, having, when, if, "
    "is, are, was, were, gets, get, got, has, have, had, while, containing, include, including, "
    "do, does, did, will, never, not, still, in whom, through which, lead to, leads to"
)
BEFORE = _phrases("before, prior to, ahead of, earlier than, followed by, and then, leading to")
AFTER = _phrases("after, following, later than, subsequent to, preceded by, once")
GROUPED = _phrases(
    "grouped by, group by, per, by, for each, for every, split by, broken down by, by each, "
    "according to, depending on, in each, separated by, categorised by, categorized by, across, "
    "segmented by, distributed over, for the different, differentiated by, classified by, each"
)
MODALS = _phrases(
    "should, must, shall, has to, have to, needs to, need to, ought to, is to, are to, target, "
    "goal, objective, aim, is expected to, are expected to, may, limit, kept, keep"
)
BEHIND_MODAL = words("be is are stay remain take lie kept keep have of to always ideally last :")
FIRST, LAST = words("first initial earliest"), words("last final latest")
STAYING = words("still currently now remain remains remaining yet ongoing")

COMPARISONS: tuple[tuple[tuple[str, ...], str], ...] = tuple(
    (phrase, operator)
    for phrases, operator in (
        (_phrases("not more than, no more than, at most, up to, a maximum of, max, maximum"), "<="),
        (_phrases("not longer than, no longer than, not exceed, not exceeding, not over"), "<="),
        (_phrases("not above, no later than, not later than, not take more than, ≤, <="), "<="),
        (_phrases("not be more than, not be above, not be over, not take longer than"), "<="),
        (_phrases("not be longer than, not be higher than, not be greater than, maximally"), "<="),
        (_phrases("not less than, no less than, at least, a minimum of, minimum, min"), ">="),
        (_phrases("not below, not be below, not fall below, not drop below, ≥, >="), ">="),
        (_phrases("not be less than, not be under, not be lower than, minimally"), ">="),
        (_phrases("more than, greater than, larger than, higher than, longer than, over"), ">"),
        (_phrases("above, exceeding, exceed, exceeds, exceeded, bigger than, slower than"), ">"),
        (_phrases("later than, in excess of, beyond, >, more often than, older than"), ">"),
        (_phrases("less than, lower than, smaller than, shorter than, fewer than, below"), "<"),
        (_phrases("under, faster than, earlier than, quicker than, <, younger than"), "<"),
        (_phrases("exactly, equal to, equals, precisely, ="), "=="),
    )
    for phrase in phrases
)
WITHIN = _phrases("within, in less than, in under, in at most, inside, in no more than, in max")

NUMBERS: Mapping[str, str] = {
    word: str(number)
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}
REPEATED = words("rework reworked reworking repeated repeatedly repetition repetitions")
TIMES: Mapping[str, str] = {"once": "1", "twice": "2", "thrice": "3"}
DURATIONS: Mapping[str, str] = {
    form: unit
    for unit, forms in {
        "seconds": "second seconds sec secs",
        "minutes": "minute minutes min mins",
        "hours": "hour hours h hr hrs",
        "days": "day days d",
        "weeks": "week weeks",
    }.items()
    for form in forms.split()
}
LONG: Mapping[str, int] = {"month": 30, "months": 30, "year": 365, "years": 365}
"""Spans without a fixed length, in days as one usually takes them."""

# --- periods --------------------------------------------------------------------------

PERIODS = ("day", "week", "month", "quarter", "year")
ADVERBS: Mapping[str, str] = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annually": "year",
    "annual": "year",
}
MONTHS: Mapping[str, int] = {
    name: number
    for number, names in enumerate(
        (
            *("january jan", "february feb", "march mar", "april apr", "may", "june jun"),
            *("july jul", "august aug", "september sep sept", "october oct"),
            *("november nov", "december dec"),
        ),
        start=1,
    )
    for name in names.split()
}

# --- words of one family, and synonyms ------------------------------------------------

VERBS: Mapping[str, str] = {
    form: verb
    for verb, forms in {
        "pay": "paid payment payments payed paying",
        "send": "sent sending",
        "begin": "begun began",
        "decide": "decision decisions",
        "admit": "admission admissions admitted",
        "receive": "receipt receipts reception",
        "submit": "submission submitted",
        "close": "closure closing",
        "buy": "bought",
        "sell": "sold sale sales",
        "write": "written",
        "give": "given",
        "hold": "held",
        "withdraw": "withdrawn withdrawal",
        "ship": "shipping shipped shipment shipments",
        "cancel": "cancelled canceled cancellation cancelation cancellations",
        "notify": "notification notifications notified notifying",
        "resolve": "resolution resolutions",
        "solve": "solution",
        "meet": "met",
        "verify": "verification",
        "modify": "modification modifications",
        "choose": "chosen choice",
        "lose": "lost loss",
        "leave": "left",
        "company": "companies",
        "child": "children",
        "woman": "women",
        "man": "men",
        "deliver": "delivery deliveries",
        "enter": "entry entries",
        "respond": "response",
        "approve": "approval approvals",
        "refuse": "refusal",
        "deny": "denial denied",
        "suspend": "suspension",
        "discharge": "discharged",
        "create": "creation created",
        "wait": "waiting waits",
        "produce": "production",
        "transmit": "transmission",
        "permit": "permission",
        "reopen": "reopening reopened",
        "take": "taken",
        "assign": "assigned assignment",
        "recover": "recovery",
        "inspect": "inspection",
    }.items()
    for form in forms.split()
}
ACTS: tuple[frozenset[str], ...] = tuple(
    words(group)
    for group in (
        "create open register raise log report issue submit file lodge enter record",
        "close finish complete end conclude terminate",
        "resolve fix solve repair remedy",
        "reject refuse deny decline dismiss",
        "approve grant accept authorise authorize",
        "cancel withdraw abort void revoke",
        "pay settle reimburse remit clear",
        "send dispatch ship deliver mail forward",
        "receive get arrive obtain",
        "assess evaluate examine check review inspect verify analyse analyze test",
        "notify inform alert communicate",
        "change modify amend update edit alter adjust",
        "escalate push transfer",
        "wait hold suspend pend pause delay idle",
        "return readmit revisit",
        "admit hospitalise hospitalize",
        "discharge release",
        "assign allocate dispatch",
        "apply application",
        "object appeal contest complain",
        "confirm acknowledge",
        "request ask demand require",
        "start begin commence initiate",
        "measure test examination",
    )
)
THINGS: tuple[frozenset[str], ...] = tuple(
    words(group)
    for group in (
        "priority urgency severity impact importance",
        "amount value sum price cost volume worth",
        "invoice bill",
        "customer client user consumer",
        "employee resource agent handler worker clerk officer staff person",
        "team group department unit",
        "type kind category class typology sort",
        "country nation land",
        "region area district zone",
        "decide verdict outcome ruling",
        "goods item product material merchandise",
        "penalty punish sanction",
        "fee charge",
        "vehicle car",
        "channel medium",
        "status state stage phase",
        "document paper record",
        "supplier vendor seller",
        "creditor collection",
    )
)
SYNONYMS = (*ACTS, *THINGS)
TYPE_NAMES = words("type kind category class typology sort case")
BEING = words("is are was were be been still currently remain remains stay stays")
STATE_NAMES = words("state status stage phase transition")
BEGINNINGS = words("start begin send request submit open create register insert order ask receive")
ENDINGS = words(
    "end finish complete receive close result return approve answer notify reply decide"
)
STATE_WORDS = words("spent spend state status wait waiting while during idle stuck")
FROM = words("from since after between following starting")
TO = words("to until till before and up")
LEADING = words("that which who where when if , and but or of the a an in for to by")
"""At either end of a part they only lead from one part to the next."""
FILTERING = words("for of in by from at on among amongst ,")
"""Behind these may stand which cases are meant."""
LABELS = words("euro euros eur € $ £ dollar dollars usd pound pounds points")
CREATED = words(
    "create open register receive submit report file raise start enter log record issue"
)
PARTICIPLES: Mapping[str, str] = {
    "pay": "paid",
    "send": "sent",
    "cancel": "cancelled",
    "submit": "submitted",
    "admit": "admitted",
    "hold": "held",
    "begin": "begun",
    "withdraw": "withdrawn",
    "ship": "shipped",
    "stop": "stopped",
    "plan": "planned",
    "block": "blocked",
}
