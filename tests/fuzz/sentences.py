"""Sentences and templates: the phrases of the text notation, and those of ppinot4py."""

from __future__ import annotations

from pappi.mechanisms import mechanism_names
from pappi.values import Kind
from tests.fuzz.catalogue_measures import CALENDARS, VARIABLES
from tests.fuzz.dice import Dice
from tests.fuzz.expressions import Expressions, named, quoted
from tests.fuzz.vocabulary import ACTIVITIES, TEXTS

_MEAN = ("average", "sum", "maximum", "minimum", "median")
_STARTS = ("the start of the case", "the first time instant when the case starts")
_ENDS = ("the end of the case", "the last time instant when the case ends")
_WHOLE = (
    "the duration between the start of the case and the end of the case",
    "the business duration between the start of the case and the end of the case",
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
    *("(urgent) where urgent is true", 'the last value of channel is "web"'),
    *(
        "the first value of due is more than 2014-01-31",
        "the last value of effort is at most 3 days",
    ),
    '(x > 3) where x is the number of times activity "A" occurs',
)
_LESS = ("is less than", "is at most", "is more than", "is at least", "is", "is not")
_DURATIONS = ("3 days", "2 hours", "90 minutes", "0 seconds", "1.5 weeks")
_RHYTHMS = ("month", "2 weeks", "quarter", "day", "year", "3 months")
_MISSING = ("", "", "", " (false if a value is missing)", " (true if a value is missing)")
_KINDS = tuple(Kind)


class Sentences:
    """Measures in words; `depth` is how many formulas may lie in each other."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self._expressions = Expressions(dice)

    def sentence(self) -> str:
        scope = self.scope() if self.dice.more(60) else ""
        end = self.dice.one(("", ".", f", for {scope}" if scope else ""))
        return self.measure() + end

    # --- conditions and moments -------------------------------------------------------

    def _activity(self) -> str:
        quote = self.dice.one(('"', '"', "'"))
        return "activity " + quoted(self.dice.one(ACTIVITIES), quote)

    def _test(self) -> str:
        return f"({self._expressions.event_test()})"

    def _occurs(self) -> str:
        dice = self.dice
        onset = dice.chance(15)
        if dice.chance(60):
            said = f"{self._activity()} {'begins to occur' if onset else 'occurs'}"
        elif dice.chance(15):
            said = dice.one(('lifecycle transition "complete" occurs', *_PPINOT4PY))
        elif dice.chance(20):
            said = f"an event meets the condition {self._test()}"
        else:
            said = self._test() + (" begins to hold" if onset else "")
        return f"{said} (among the events where {self._test()})" if dice.chance(8) else said

    def _condition(self) -> str:
        dice = self.dice
        if dice.chance(80):
            return self._occurs()
        if dice.chance(40):
            return f"{self._occurs()} immediately follows {self._occurs()}"
        first = self._occurs()
        again = f" (one match per {first})" if dice.chance(30) else ""
        return f"{first} leads to {self._occurs()}{again}"

    def _moment(self, borders: tuple[str, ...]) -> str:
        dice = self.dice
        if dice.chance(25):
            return dice.one(borders)
        pick = dice.one(("the first time instant when ", "the last time instant when "))
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
            return f"the number of times {self._condition()}"
        if kind is Kind.DURATION:
            return self._duration()
        return f"whether {self._statement(depth)}"

    def _data(self, kind: Kind) -> str:
        dice = self.dice
        name = named(self._expressions.name(kind))
        pick = dice.one(("last", "first"))
        when = f" when {self._condition()}" if dice.chance(25) else ""
        return f"the {pick} value of {name}{when}"

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
            return f"the {word} duration{clock} between {pairs}{left_open}"
        start, end = self._moment(_STARTS), self._moment(_ENDS)
        among = f" if {self._test()}" if dice.chance(8) else ""
        return f"the duration{clock} between {start} and {end}{among}"

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
        dice, way = self.dice, self.dice.number(0, 7)
        if way < 2:
            return f"{self._activity()} occurs"
        if way == 2:
            return f"at some time {self._condition()}"
        if way == 3:
            where = dice.one(("of the case ", f"where {self._test()}, "))
            return f"at the last event {where}{self._test()}"
        if way == 4:
            return (
                f"{self._duration()} {dice.one(_LESS)} {dice.one(_DURATIONS)}{dice.one(_MISSING)}"
            )
        if way == 5:
            times = f"the number of times {self._condition()}"
            return f"{times} {dice.one(_LESS)} {dice.number(0, 9)}"
        if way == 6 and depth:
            return self._formula(Kind.TRUTH, depth - 1).removeprefix("the function ")
        return dice.one(_STATED)

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
        said = f"{dice.one(('the', 'The'))} {function} of {base}{groups}"
        if dice.more(20):
            said += f" filtered by ({self.case(Kind.TRUTH)})"
        return said + self._bounds(kind)

    def _cases(self) -> str:
        dice = self.dice
        if dice.chance(60):
            said = f"the share of cases in which {self._statement()}"
            among = f" among the cases in which {self._statement()}"
            return said + (among if dice.chance(20) else "")
        if dice.chance(30):
            return f"the number of cases with a value of ({self.case(dice.one(_KINDS))})"
        which = f" in which {self._statement()}" if dice.chance(60) else ""
        return f"the number of cases{which}"

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
            "the whole time",
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
    blocks += ["\n".join(_lines(identifier, Sentences(dice), dice)) for identifier in ids]
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
        + dice.one(("", "", "\nTolerated: The PPI value may be at most 99")),
        "Range": "[0, 9 days]" if kind is Kind.DURATION else "[-5, 100.5]",
    }
    return lines + [
        f"{key}: {optional[key]}" for key in dice.several([*optional], 0, 1 if dice.is_short else 5)
    ]


def _target(kind: Kind, dice: Dice) -> str:
    unit = " days" if kind is Kind.DURATION else ""
    lead = dice.one(("", "The PPI value must be "))
    ends = f"at least 1{unit}", f"below 7{unit}", f"between 1{unit} and 7{unit}"
    return lead + dice.one((*ends, f"above 1{unit} and at most 2{unit}"))


def _release(dice: Dice) -> str:
    noise = dice.one(("noise: [a, b.c]", "noise: {a: {mechanism: laplace, share: 0.3}, b.c: {}}"))
    parts = ["answer: verdict", f"mechanism: {dice.one(mechanism_names())}", noise, "falloff: 3"]
    return f"{{{', '.join(dice.several([*parts, 'buckets: 20', 'set: off'], 1, 2))}}}"
