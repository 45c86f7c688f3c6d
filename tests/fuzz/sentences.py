"""Sentences and templates: the phrases of the text notation, with many of their synonyms."""

from __future__ import annotations

from pappi.mechanisms import mechanism_names
from pappi.values import Kind
from tests.fuzz.catalogue_measures import CALENDARS, VARIABLES
from tests.fuzz.dice import Dice
from tests.fuzz.expressions import Expressions, named, quoted
from tests.fuzz.vocabulary import ACTIVITIES, TEXTS

_MEAN = ("average", "mean", "sum", "total", "maximum", "longest", "minimum", "shortest", "median")
_HAPPENS = ("occurs", "happens", "takes place", "is executed", "was done", "occurs")
_STARTS = ("the start of the case", "case start", "the case starts", "the first event of the case")
_ENDS = (
    "the end of the case",
    "case end",
    "the case ends",
    "its end",
    "the last event of the case",
)
_BECOMES = ("becomes completed", 'becomes "Assigned"', "becomes active")
_FOLLOWS = ("immediately follows", "directly follows", "is directly followed by", "is followed by")
_WHOLE = (
    *("the throughput time", "the cycle time", "the case duration", "the duration of the case"),
    *("the lead time of the case", 'the business duration "Mon-Fri 09:00-17:00" of the case'),
)
_PPINOT4PY = (
    *("END - AppliesTo.ACTIVITY - 'Pay claim'", "START - AppliesTo.ACTIVITY - \"'A'\""),
    '"complete" - AppliesTo.ACTIVITY - Pay claim',
)
"""How `str()` of its objects has it."""
_CONSTANTS = {
    Kind.NUMBER: ("5", "2.5", "0"),
    Kind.DURATION: ("3 days", "1 days 02:00:00", "02:30:00", "90 minutes"),
    Kind.TRUTH: ("true", "false"),
    Kind.TIME: ("2014-01-31", "2014-01-31 02:00:00"),
}
_STATED = (
    *("amount > 3", "(urgent)", 'the last value of channel is "web"', "(`Debit amount` > 1.5)"),
    *("the first value of due is more than 2014-01-31", "the last value of effort is below 3 days"),
    *('(x > 3 where x is the number of times activity "A" occurs)', "more than two pay occur"),
    *("it lasts at most 3 days", 'there are no "A" events'),
)
_COUNTS = ("the number of times", "how often", "the number of occurrences of", "the count of")
_IN_WHICH = ("in which", "where", "for which", "such that", "when")
_LESS = (
    "is less than",
    "is at most",
    "exceeds",
    "is more than",
    "is at least",
    "takes",
    "is",
    "is not",
)
_DURATIONS = ("3 days", "2 hours", "90 minutes", "0 seconds", "1.5 weeks", "ten days")
_RHYTHMS = ("month", "2 weeks", "quarter", "day", "year", "3 months")
_MISSING = ("", "", "", " (false if a value is missing)", " (true if a value is missing)")
_KINDS = tuple(Kind)
_PLAIN_ACTIVITIES = ("Pay claim", "reject CLAIM", "prüfen", "pay")


class Sentences:
    """Measures in words; `depth` is how many formulas may lie in each other.

    Where the reader knows the `names` of the log, activities need no quotes.
    """

    def __init__(self, dice: Dice, *, names: bool = True) -> None:
        self.dice = dice
        self._names = names
        self._expressions = Expressions(dice)

    def sentence(self) -> str:
        scope = self.scope() if self.dice.more(60) else ""
        if scope and self.dice.chance(25):
            return f"For {scope}, {self.measure()}"
        end = self.dice.one(("", ".", f", for {scope}" if scope else ""))
        return self.measure() + end

    # --- conditions and moments -------------------------------------------------------

    def _activity(self) -> str:
        dice = self.dice
        if self._names and dice.chance(15):
            return dice.one(_PLAIN_ACTIVITIES)
        quote = dice.one(('"', '"', "'"))
        return dice.one(("activity ", "", "activity ")) + quoted(dice.one(ACTIVITIES), quote)

    def _test(self) -> str:
        return f"({self._expressions.event_test()})"

    def _occurs(self) -> str:
        dice = self.dice
        onset = dice.chance(15)
        if dice.chance(60):
            verb = "begins to occur" if onset else dice.one((*_HAPPENS, *_BECOMES))
            said = f"{self._activity()} {verb}"
        elif dice.chance(15):
            said = dice.one(('lifecycle transition "complete"', *_PPINOT4PY))
        elif dice.chance(20):
            said = f"an event {dice.one(('meets the condition', 'satisfies'))} {self._test()}"
        else:
            said = self._test() + (" begins to hold" if onset else "")
        return f"{said} (among the events where {self._test()})" if dice.chance(8) else said

    def _condition(self) -> str:
        dice = self.dice
        if dice.chance(80):
            return self._occurs()
        if dice.chance(40):
            return f"{self._occurs()} {dice.one(_FOLLOWS)} {self._occurs()}"
        first = self._occurs()
        again = f" (one match per {first})" if dice.chance(30) else ""
        return f"{first} leads to {self._occurs()}{again}"

    def _moment(self, borders: tuple[str, ...]) -> str:
        dice = self.dice
        if dice.chance(25):
            return dice.one(borders)
        pick = dice.one(("the first time instant when ", "the last time instant when ", ""))
        return pick + self._condition()

    # --- measures of one case ---------------------------------------------------------

    def case(self, kind: Kind, depth: int = 1) -> str:
        """A measure of one case as a noun phrase."""
        dice = self.dice
        if depth and dice.more(20):
            return self._formula(kind, depth - 1)
        if dice.chance(25) or kind in (Kind.TEXT, Kind.TIME):
            return self._data(kind)
        if kind is Kind.NUMBER:
            return f"{dice.one(_COUNTS)} {self._condition()}"
        if kind is Kind.DURATION:
            return self._duration()
        return f"whether {self._statement(depth)}"

    def _data(self, kind: Kind) -> str:
        dice = self.dice
        name = named(self._expressions.name(kind))
        pick = dice.one(
            ("the last value of", "the first value of", "the value of", "the initial value of")
        )
        when = f" when {self._condition()}" if dice.chance(25) else ""
        return f"{pick} {dice.one(('', 'attribute '))}{name}{when}"

    def _duration(self) -> str:
        dice = self.dice
        if dice.chance(15):
            return dice.one(_WHOLE)
        clock = ""
        if dice.chance(10):
            clock += f" in working time {quoted(dice.one(CALENDARS), chr(34))}"
        cyclic = dice.chance(25)
        if dice.chance(12) and not cyclic:
            clock += f" while {self._test()}"
        if cyclic:
            start, end = self._condition(), self._condition()
            word = dice.one(("sum", "average", "minimum", "maximum", "median"))
            left_open = dice.one(("", "", " (no value if a pair stays open)"))
            pairs = f"the pairs of time instants when {start} and when {end}"
            if dice.chance(30):
                pairs = f"each {start} and the next {end}"
            return f"the {word} duration{clock} between {pairs}{left_open}"
        start, end = self._moment(_STARTS), self._moment(_ENDS)
        among = f" if {self._test()}" if dice.chance(8) else ""
        if dice.chance(60):
            return f"the duration{clock} between {start} and {end}{among}"
        if not clock and dice.chance(20):
            return f"the duration until {end}"
        return f"the {dice.one(('time', 'elapsed time'))}{clock} from {start} to {end}{among}"

    def _formula(self, kind: Kind, depth: int) -> str:
        names = self.dice.several(VARIABLES, 0, 3)
        kinds = {name: self.dice.one(_KINDS) for name in names}
        formula = f"({self._expressions.over(kinds, kind)})"
        missing = self.dice.one(
            _MISSING if kind is Kind.TRUTH else ("", " (left out if a value is missing)")
        )
        said = (f"{named(name)} is {self._variable(its, depth)}" for name, its in kinds.items())
        where = " where " + ", ".join(said) if kinds else ""
        return f"the function {formula}{missing}{where}"

    def _variable(self, kind: Kind, depth: int) -> str:
        """A measure, or a fixed value as ppinot4py has them."""
        if kind in _CONSTANTS and self.dice.chance(15):
            return self.dice.one(_CONSTANTS[kind])
        return f"({self.case(kind, depth)})"

    # --- statements about a case ------------------------------------------------------

    def _statement(self, depth: int = 1) -> str:
        dice, way = self.dice, self.dice.number(0, 9)
        if way < 3:
            verb = dice.one((*_HAPPENS, "never occurs", "occurs at least twice"))
            return f"{self._activity()} {verb}"
        if way == 3:
            return f"at some time {self._condition()}"
        if way == 4:
            where = dice.one(("of the case ", f"where {self._test()}, "))
            return f"at the last event {where}{self._test()}"
        if way == 5:
            return (
                f"{self._duration()} {dice.one(_LESS)} {dice.one(_DURATIONS)}{dice.one(_MISSING)}"
            )
        if way == 6:
            return f"{dice.one(_COUNTS)} {self._condition()} {dice.one(_LESS)} {dice.number(0, 9)}"
        if way == 7:
            soon = f"{dice.one(_DURATIONS)} of {self._moment(_STARTS)}"
            return f"{self._activity()} occurs within {soon}"
        if way == 8 and dice.chance(50):
            return dice.one(_STATED)
        if way == 8 and depth:
            joined = dice.one((" and ", " or "))
            return joined.join(self._statement(0) for _ in range(2))
        return f"it takes {dice.one(('less than', 'more than', 'at least'))} {dice.one(_DURATIONS)}"

    # --- measures of many cases -------------------------------------------------------

    def measure(self, kind: Kind | None = None, depth: int = 2, groups: str | None = None) -> str:
        dice = self.dice
        kind = kind or dice.one((Kind.NUMBER, Kind.DURATION))
        groups = self._groups() if groups is None else groups
        if depth and dice.more(20):
            return self._derived(kind, depth - 1, groups)
        if kind is Kind.NUMBER and dice.chance(40):
            return self._cases() + groups
        base = self.case(kind)
        function = dice.one((*_MEAN, "90th percentile", "1st percentile", "22nd percentile"))
        said = f"{dice.one(('the ', '', 'The '))}{function} of {base}{groups}"
        if dice.more(20):
            said += f" filtered by ({self.case(Kind.TRUTH)})"
        elif dice.chance(10):
            said += f" among the cases {dice.one(_IN_WHICH)} {self._statement()}"
        return said + self._bounds(kind)

    def _cases(self) -> str:
        dice = self.dice
        if dice.chance(60):
            word = dice.one(("share", "percentage", "proportion", "fraction"))
            said = f"the {word} of {dice.one(('cases', 'the cases', 'all cases'))}"
            said += f" {dice.one(_IN_WHICH)} {self._statement()}"
            among = f" among the cases in which {self._statement()}"
            return said + (among if dice.chance(20) else "")
        if dice.chance(30):
            return f"the number of cases with a value of ({self.case(dice.one(_KINDS))})"
        which = f" in which {self._statement()}" if dice.chance(60) else ""
        return f"the number of {dice.one(('cases', 'process instances'))}{which}"

    def _groups(self) -> str:
        dice = self.dice
        if not dice.more(20):
            return ""
        keys = [quoted(text, '"') for text in dice.several(TEXTS, 1, 3)]
        said = ", ".join(keys[:-1]) + (" and " if keys[1:] else "") + keys[-1]
        return f" grouped by {self._data(Kind.TEXT)} into {said}"

    def _bounds(self, kind: Kind) -> str:
        dice = self.dice
        if dice.chance(60):
            return ""
        if dice.chance(30):
            return ", each case counting " + dice.one(("any amount", "within private bounds"))
        fit = dice.one(("", "", "loosely ", "privately "))
        high = "5 days" if kind is Kind.DURATION else dice.one(("1", "5", "12.5"))
        low = "0 days" if kind is Kind.DURATION else "0"
        return f", each case counting {fit}at least {low} and at most {high}"

    def _derived(self, kind: Kind, depth: int, groups: str) -> str:
        names = self.dice.several(VARIABLES, 1, 3)
        kinds = {name: self.dice.one((Kind.NUMBER, Kind.DURATION)) for name in names}
        formula = f"({self._expressions.over(kinds, kind)})"
        said = (
            f"{named(name)} is ({self.measure(its, depth, groups)})" for name, its in kinds.items()
        )
        return f"the function {formula} where {', '.join(said)}"

    # --- scopes -----------------------------------------------------------------------

    def scope(self) -> str:
        dice = self.dice
        ways = (
            f"every {dice.one(_RHYTHMS)}",
            f"the last {dice.number(2, 99)} {dice.one(('cases', 'months', 'days', 'years'))}",
            dice.one(("the whole time", "all cases")),
            "every month from 2014-01-01 until 2015-01-01",
            "every day of the last 2 years",
            "the whole time from 2014-02-28 to 2020-12-31",
        )
        said = dice.one(ways)
        if dice.chance(15):
            said += f", only cases in which {self._statement()}"
        if dice.chance(15):
            said += f", placed at {self._moment(_ENDS)}"
        return said


def template(dice: Dice) -> str:
    """A catalogue as lines of text."""
    blocks = [f"{dice.one(('Log', 'log', 'LOG'))}: {dice.one(('claims', 'a log', '日本'))}"]
    ids = dice.several(("sojourn", "x", "P-1", "select"), 1, 2 if dice.chance(10) else 1)
    blocks += [
        "\n".join(_lines(identifier, Sentences(dice, names=False), dice)) for identifier in ids
    ]
    return dice.one(("\n\n", "\n")).join(blocks) + "\n"


def _lines(identifier: str, sentences: Sentences, dice: Dice) -> list[str]:
    kind = dice.one((Kind.NUMBER, Kind.DURATION))
    lead = dice.one(("", "The PPI is defined as "))
    lines = [
        f"PPI: {identifier}",
        f"Definition: {lead}{sentences.measure(kind)}".replace("\n", " "),
    ]
    if kind is Kind.DURATION:
        # What an attribute is, a template does not know.
        lines.append(f"Unit: {dice.one(('days', 'hours', 'minutes'))}")
    texts = [quoted(text, '"') for text in TEXTS if text]
    optional = {
        "Name": dice.one(texts),
        "Process": dice.one(texts),
        "Goals": f"\n  - {dice.one(texts)}\n  - {dice.one(texts)}",
        "Responsible": dice.one(texts),
        "Informed": dice.one(texts),
        "Comments": dice.one(texts),
        "Epsilon": dice.one(("0.1", "1", "0.000000001")),
        "Release": _release(dice),
        "Scope": dice.one(("", "The process instances considered for this PPI are those of "))
        + sentences.scope().replace("\n", " "),
        "Target": _target(kind, dice)
        + dice.one(("", "", "\nTolerated: The PPI value may be anything")),
        "Range": "from 0 days to 9 days" if kind is Kind.DURATION else "from -5 to 100.5",
    }
    return lines + [
        f"{key}: {optional[key]}" for key in dice.several([*optional], 0, 1 if dice.is_short else 5)
    ]


def _target(kind: Kind, dice: Dice) -> str:
    unit = " days" if kind is Kind.DURATION else ""
    lead = dice.one(("", "The PPI value must be "))
    ends = f"at least 1{unit}", f"below 7{unit}", f"between 1{unit} and 7{unit}", "anything"
    return lead + dice.one((*ends, f"more than 1{unit} and at most 2{unit}"))


def _release(dice: Dice) -> str:
    noise = dice.one(("noise on a, b.c", "noise on a by laplace with share 0.3, b.c"))
    parts = ["verdict", f"mechanism {dice.one(mechanism_names())}", noise, "falloff 3"]
    return "; ".join(dice.several([*parts, "buckets 20", "set off"], 1, 2))
