"""What can stand anywhere in a sentence: amounts, the target, the period, the groups, the unit.

Each is found, taken out, and leaves a break; what is left says what is measured. Before that, as
long as the sentence is text, a view is taken out of it: a change, a rolling window, two groups
compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from pappi.ppinot.model import Recent, Scope
from pappi.ppinot.understanding import lexicon
from pappi.ppinot.understanding.names import Limit, Mention, Names, Token, TokenKind
from pappi.ppinot.views import Against, Between, Change, Rolling, ToDate, View
from pappi.values import By, Calendar, Grid, Kind, Vocabulary

Phrases = tuple[tuple[str, ...], ...]
_FLIPPED = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "==": "=="}
_YEARS = (1900, 2199)


def phrase_at(tokens: Sequence[Token], at: int, phrases: Phrases) -> int:
    """How many tokens the longest of some phrases has here; 0 if none of them stands here."""
    for phrase in phrases:
        here = tokens[at : at + len(phrase)]
        if len(here) == len(phrase) and all(
            token.low == word and token.kind is not TokenKind.NAME
            for token, word in zip(here, phrase, strict=True)
        ):
            return len(phrase)
    return 0


def covered(tokens: Sequence[Token]) -> tuple[int, ...]:
    return tuple(place for token in tokens for place in token.places)


# --- amounts and comparisons ----------------------------------------------------------


def with_limits(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """The tokens, with each comparison as one of them: "at most 3 days", "more than once"."""
    done: list[Token] = []
    at = 0
    while at < len(tokens):
        limit, size = _limit_at(tokens, at)
        if limit is None:
            done.append(tokens[at])
            at += 1
            continue
        here = tokens[at : at + size]
        text = " ".join(token.text for token in here)
        done.append(Token(text, here[0].at, TokenKind.LIMIT, limit, covered(here)))
        at += size
    return tuple(done)


def _range_at(tokens: Sequence[Token], at: int) -> tuple[Limit | None, int]:
    """Two amounts between which something lies; two years are a period, and no amounts."""
    low, size = _amount_at(tokens, at + 1) if tokens[at].low == "between" else (None, 0)
    high, more = _amount_at(tokens, at + size + 2)
    joins = _low(tokens, at + size + 1) in ("and", "to")
    if low and high and joins and not (_is_year(low) and _is_year(high)):
        return Limit(">=", low[0], high[1] or low[1], upper=high[0]), 2 + size + more
    return None, 0


def _limit_at(tokens: Sequence[Token], at: int) -> tuple[Limit | None, int]:
    between, size = _range_at(tokens, at)
    if between:
        return between, size
    if within := phrase_at(tokens, at, lexicon.WITHIN):
        amount, size = _amount_at(tokens, at + within)
        if amount and amount[1]:
            is_less = tokens[at + within - 1].low in ("than", "under") and within < 4
            return Limit("<" if is_less else "<=", *amount, within=True), within + size
    for phrase, operator in sorted(lexicon.COMPARISONS, key=lambda pair: -len(pair[0])):
        if said := phrase_at(tokens, at, (phrase,)):
            amount, size = _amount_at(tokens, at + said)
            if amount:
                return Limit(operator, *amount), said + size
    amount, size = _amount_at(tokens, at)
    behind = tokens[at + size : at + size + 2]
    if amount and [token.low for token in behind] in (["or", "more"], ["or", "less"]):
        return Limit(">=" if behind[1].low == "more" else "<=", *amount), size + 2
    if amount and amount[1] == "times" and size > 1:
        return Limit("==", *amount), size
    return None, 0


def _is_year(amount: tuple[str, str]) -> bool:
    return not amount[1] and amount[0].isdigit() and _YEARS[0] <= int(amount[0]) <= _YEARS[1]


def _amount_at(tokens: Sequence[Token], at: int) -> tuple[tuple[str, str] | None, int]:
    """A number and its unit, and how many tokens they have."""
    start = at
    words = [token.low for token in tokens[at : at + 5]] + [""] * 5
    if words[0] in ("about", "around", "approximately", "the", *lexicon.LABELS):
        at, words = at + 1, words[1:]
    if words[0] in lexicon.TIMES and not (words[0] == "once" and words[1] in ("the", "a")):
        return (lexicon.TIMES[words[0]], "times"), at + 1 - start
    if at < len(tokens) and tokens[at].kind is TokenKind.NUMBER:
        number = words[0]
    elif words[0] in lexicon.NUMBERS:
        number = lexicon.NUMBERS[words[0]]
    elif words[0] in ("a", "an") and words[1] in (*lexicon.DURATIONS, *lexicon.LONG):
        number = "1"
    else:
        return None, 0
    if number.count(".") > 1:
        return None, 0
    unit, size = _unit_in(words[1], words[2])
    return (number, unit), at + 1 + size - start


def _unit_in(word: str, behind: str) -> tuple[str, int]:
    """The unit that a word is, or two are, and how many of them; none if they are none."""
    if word in ("working", "business", "calendar") and behind in lexicon.DURATIONS:
        return f"{'' if word == 'calendar' else 'working '}{lexicon.DURATIONS[behind]}", 2
    if word in lexicon.LONG or word in lexicon.LABELS:
        return word, 1
    known = {**lexicon.DURATIONS, "%": "%", "percent": "%", "times": "times", "time": "times"}
    return (known[word], 1) if word in known else ("", 0)


# --- the slots ------------------------------------------------------------------------


@dataclass(slots=True)
class Slots:
    """What was found beside the measure, and the tokens that are left."""

    rest: tuple[Token, ...]
    scope: Scope | None = None
    target: Limit | None = None
    group: Mention | None = None
    per_case: bool = False
    unit: str = ""
    front_share: bool = False
    said: dict[str, str] = field(default_factory=dict)

    def put(self, at: int, size: int, *tokens: Token) -> None:
        """Puts others in the place of some tokens."""
        self.rest = (*self.rest[:at], *tokens, *self.rest[at + size :])

    def take(self, at: int, size: int) -> None:
        """Takes tokens out, and leaves a break."""
        self.put(at, size, Token(",", -1, TokenKind.SIGN))


def slots_of(tokens: Sequence[Token], names: Names) -> Slots:
    slots = Slots(with_limits(tokens))
    _find_repetition(slots, names)
    _find_span(slots)
    _find_target(slots)
    _find_periods(slots)
    _find_groups(slots, names)
    _find_unit(slots)
    return slots


def _find_repetition(slots: Slots, names: Names) -> None:
    """ "Rework of X" and "repeated X" are X more than once, unless the log has the word."""
    for at, token in enumerate(slots.rest):
        if token.low in lexicon.REPEATED and not names.activities((token,)):
            once = Token(token.text, token.at, TokenKind.LIMIT, Limit(">", "1", "times"))
            slots.rest = (*slots.rest[:at], *slots.rest[at + 1 :], once)
            slots.said["repeated"] = f"“{token.text}” is read as more than once in a case"
            return


def _find_span(slots: Slots) -> None:
    """ "How many days until …" asks for a time, and not for a number of days."""
    for at in range(len(slots.rest) - 2):
        unit, size = _unit_in(_low(slots.rest, at + 2), _low(slots.rest, at + 3))
        is_time = unit.removeprefix("working ") in lexicon.DURATIONS.values() or unit == "months"
        words = " ".join(token.low for token in slots.rest[at : at + 2])
        if words in ("how many", "number of") and is_time:
            _set_unit(slots, unit)
            how, many = slots.rest[at : at + 2]
            slots.put(at, 2 + size, replace(how, text="how"), replace(many, text="long"))
            return


def _set_unit(slots: Slots, unit: str) -> None:
    slots.unit = "days" if unit == "months" else unit.removeprefix("working ")
    if unit != slots.unit:
        slots.said["unit"] = f"“{unit}” are not counted as such: shown in {slots.unit} of 24 hours"


def _find_target(slots: Slots) -> None:
    rest = slots.rest
    for at, token in enumerate(rest):
        percent = _low(rest, at + 1) in ("%", "percent") and _low(rest, at + 2) == "of"
        if token.kind is TokenKind.NUMBER and percent and token.low.count(".") < 2:
            slots.target, slots.front_share = Limit(">=", token.low, "%"), True
            slots.said["target"] = f"“{token.text} %” is read as at least {token.text} %"
            begin = at - (_low(rest, at - 1) in ("in", "for"))
            slots.take(begin, at + 3 - begin)
            _drop_modal(slots)
            return
        if token.limit is not None and token.limit.unit == "%" and _low(rest, at + 1) == "of":
            slots.target, slots.front_share = token.limit, True
            slots.take(at, 2)
            _drop_modal(slots)
            return
    for at in range(len(rest)):
        size = phrase_at(rest, at, lexicon.MODALS)
        if not size:
            continue
        behind, flipped = at + size, False
        while behind < len(rest) and rest[behind].low in (*lexicon.BEHIND_MODAL, "not", "never"):
            flipped ^= rest[behind].low in ("not", "never")
            behind += 1
        limit = rest[behind].limit if behind < len(rest) else None
        if limit is not None and limit.unit != "times":
            operator = _FLIPPED[limit.operator] if flipped else limit.operator
            slots.target = replace(limit, operator=operator, within=False)
            begin = at - (_low(rest, at - 1) in ("(", "it", "this", "which", "that"))
            slots.take(begin, behind + 1 - begin)
            return
    last = [token for token in rest if token.low not in (")", ".")][-2:]
    if len(last) == 2 and last[0].low in (",", ";", ":", "(") and last[1].limit is not None:
        slots.target = replace(last[1].limit, within=False)
        slots.said["target"] = f"“{last[1].text}” is read as the target"
        slots.take(rest.index(last[1]), 1)
        return
    _drop_modal(slots)


def _drop_modal(slots: Slots) -> None:
    for at in range(len(slots.rest)):
        if slots.rest[at].low in ("should", "must", "shall"):
            slots.put(at, 1, replace(slots.rest[at], text="are"))
            return


def _low(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].low if 0 <= at < len(tokens) else ""


# --- periods --------------------------------------------------------------------------

_EACH = frozenset(["per", "each", "every", "by", "a", "an"])
_BEFORE_EACH = frozenset(["in", "for", "on", "over", "during", "within", "of"])


def _find_periods(slots: Slots) -> None:
    grid: Grid | None = None
    span: tuple[date | None, date | None] | None = None
    recent: Recent | None = None
    last_cases: int | None = None
    at = 0
    while at < len(slots.rest):
        rhythm, size = _grid_at(slots.rest, at)
        if rhythm is not None and grid is None:
            grid = rhythm
            begin = at - (_low(slots.rest, at - 1) in ("and", *_BEFORE_EACH))
            slots.take(begin, at - begin + size)
            at = begin
            continue
        several, size = _recent_at(slots.rest, at)
        if several is not None and recent is None and last_cases is None:
            if isinstance(several, Recent):
                recent = several
            else:
                last_cases = several
            slots.take(at, size)
            continue
        days, size = _span_at(slots.rest, at)
        if days is not None and span is None:
            span = days
            slots.take(at, size)
            continue
        at += 1
    if grid or span or recent or last_cases:
        start, until = span or (None, None)
        if recent and span:
            start = until = None
        slots.scope = Scope(None if last_cases else grid, start, until, recent, last_cases)


def _grid_at(tokens: Sequence[Token], at: int) -> tuple[Grid | None, int]:
    word = tokens[at].low
    if word in lexicon.ADVERBS:
        return Grid(Calendar(lexicon.ADVERBS[word])), 1
    behind = _low(tokens, at + 1)
    is_rhythm = word in _EACH and (word not in ("a", "an") or _low(tokens, at - 1) != "of")
    if is_rhythm and behind in (*lexicon.PERIODS, "calendar", "annum"):
        unit = _low(tokens, at + 2) if behind == "calendar" else behind
        unit = "year" if unit == "annum" else unit
        if unit in lexicon.PERIODS:
            return Grid(Calendar(unit)), 2 + (behind == "calendar")
    number = lexicon.NUMBERS.get(behind, behind)
    unit = _low(tokens, at + 2).removesuffix("s")
    if word in ("per", "every", "each") and number.isdigit() and unit in lexicon.PERIODS:
        return Grid(Calendar(unit), max(1, min(int(number), 366))), 3
    if word == "month" and behind == "by" and _low(tokens, at + 2) == "month":
        return Grid(Calendar.MONTH), 3
    if word == "and" and behind in lexicon.PERIODS:
        return Grid(Calendar(behind)), 2
    return None, 0


def _recent_at(tokens: Sequence[Token], at: int) -> tuple[Recent | int | None, int]:
    start = at
    while (
        _low(tokens, at) in ("in", "for", "during", "over", "of", "the", "within")
        and at < start + 2
    ):
        at += 1
    if _low(tokens, at) not in ("last", "past", "previous", "latest", "recent"):
        return None, 0
    number = lexicon.NUMBERS.get(_low(tokens, at + 1), _low(tokens, at + 1))
    has_number = number.isdigit()
    unit = _low(tokens, at + 1 + has_number).removesuffix("s")
    count = int(number) if has_number else 1
    size = at + 2 + has_number - start
    if unit in lexicon.PERIODS and 1 <= count <= 366:
        return Recent(count, Calendar(unit)), size
    if has_number and unit in lexicon.CASE_NOUNS and count >= 1:
        return min(count, 1_000_000), size
    return None, 0


_SINCE = {"since": (True, False), "from": (True, False), "until": (False, True)}
_IN = frozenset(["in", "during", "for", "of", "throughout"])


def _span_at(
    tokens: Sequence[Token], at: int
) -> tuple[tuple[date | None, date | None] | None, int]:
    word = tokens[at].low
    if word in ("between", "from") and (first := _days_at(tokens, at + 1)):
        behind = at + 1 + first[2]
        if _low(tokens, behind) in ("and", "to", "until", "till"):
            second = _days_at(tokens, behind + 1)
            if second:
                return (first[0], second[1]), behind + 1 + second[2] - at
    # "from January to March 2014": the year comes last.
    if word in ("between", "from") and (month := lexicon.MONTHS.get(_low(tokens, at + 1))):
        second = _days_at(tokens, at + 3)
        if _low(tokens, at + 2) in ("and", "to", "until", "till") and second:
            return (date(second[0].year, month, 1), second[1]), 3 + second[2]
    if word in (*_IN, *_SINCE) and (days := _days_at(tokens, at + 1)):
        first_day, until, size = days
        if word in _SINCE:
            has_start, has_end = _SINCE[word]
            return (first_day if has_start else None, until if has_end else None), 1 + size
        return (first_day, until), 1 + size
    return None, 0


def _days_at(tokens: Sequence[Token], at: int) -> tuple[date, date, int] | None:
    """The first day of a year, month, quarter or day, the day behind it, and its tokens."""
    word = _low(tokens, at)
    try:
        day = date.fromisoformat(word)
        return day, date.fromordinal(day.toordinal() + 1), 1
    except ValueError:
        pass
    if word == "the" and _low(tokens, at + 1) == "year":
        inner = _days_at(tokens, at + 2)
        return inner and (*inner[:2], inner[2] + 2)
    year = _year(word)
    if year:
        return date(year, 1, 1), date(year + 1, 1, 1), 1
    behind = _year(_low(tokens, at + 1))
    if behind and word in lexicon.MONTHS:
        month = lexicon.MONTHS[word]
        return date(behind, month, 1), _month_after(behind, month), 2
    if behind and len(word) == 2 and word[0] == "q" and word[1] in "1234":
        month = 3 * int(word[1]) - 2
        return date(behind, month, 1), _month_after(behind, month + 2), 2
    return None


def _month_after(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1)


def _year(word: str) -> int | None:
    return int(word) if word.isdigit() and _YEARS[0] <= int(word) <= _YEARS[1] else None


# --- groups and units -----------------------------------------------------------------

_SURE = {"by": 0.75, "per": 0.7, "each": 0.8, "across": 0.75}
_LONGEST_NAME = 4


def _find_groups(slots: Slots, names: Names) -> None:
    at = 0
    while at < len(slots.rest):
        size = phrase_at(slots.rest, at, lexicon.GROUPED)
        # "per quarter and channel": of the period, only a break is left
        if at and slots.rest[at - 1].at < 0 and slots.rest[at].low == "and":
            size = 1
        marker = " ".join(token.low for token in slots.rest[at : at + size])
        behind = size and _group_behind(slots, at + size, names, _SURE.get(marker, 0.6))
        if behind:
            mention, length = behind
            if mention is None:
                slots.per_case = True
            elif slots.group is None:
                slots.group = mention
            slots.take(at, size + length)
        at += 1


def _group_behind(
    slots: Slots, at: int, names: Names, sure: float
) -> tuple[Mention | None, int] | None:
    inside = slots.rest[at : at + _LONGEST_NAME]
    if names.values(inside[:2]) and not names.attributes_in(inside[:2], Kind.TEXT):
        return None
    best: tuple[Mention | None, int] | None = None
    score = sure
    for length in range(1, len(inside) + 1):
        if inside[length - 1].kind is TokenKind.SIGN or inside[length - 1].limit:
            break
        attributes = names.attributes_in(inside[:length], Kind.TEXT)
        if (
            attributes
            and attributes[0].score >= score
            and inside[length - 1].low not in lexicon.GLUE
        ):
            best, score = (attributes[0], length), attributes[0].score
    if best is None and slots.rest[at - 1].low in ("per", "each", "every"):
        skipped = sum(token.low in ("single", "individual") for token in inside[:1])
        noun = inside[skipped : skipped + 1]
        if noun and names.is_case_noun(noun[0]):
            return None, 1 + skipped
    return best


def _find_unit(slots: Slots) -> None:
    for at, token in enumerate(slots.rest):
        unit, size = _unit_in(_low(slots.rest, at + 1), _low(slots.rest, at + 2))
        is_time = unit.removeprefix("working ") in lexicon.DURATIONS.values()
        if token.low in ("in", "measured") and is_time and len(_low(slots.rest, at + size)) > 1:
            _set_unit(slots, unit)
            slots.take(at, 1 + size)
            return


# --- what is shown of the figures -----------------------------------------------------
#
# What is left says what is measured, and is read like any other sentence: "the change in waiting
# time compared to last month" is the waiting time, shown as a change. Words are taken out only as
# a whole phrase: an activity that is called "Change" stays one.

_UNIT = r"(day|week|month|quarter|year)"
_PERIOD = r"(day|week|month|quarter|year|period)"
_LAST = r"(?:last|previous|prior|preceding|past)"
_NUMBER = r"(\d{1,3}|" + "|".join(lexicon.NUMBERS) + ")"
_COMPARED = r",?\s*\b(?:(?:as )?compared (?:to|with)|versus|vs\.?|against|relative to)"
_FROM = r",?\s*\b(?:since|from|over|on)"
_YEAR_AGO = (
    rf"\s+(?:the )?same {_PERIOD}\s*,?\s+(?:(?:of |in |from )?(?:the )?{_LAST} year"
    r"|(?:a|one) year (?:ago|before|earlier)|(?:of |in )?the year before)"
)
_BEFORE = rf"\s+(?:(?:the )?{_LAST} {_PERIOD}|the {_PERIOD} before)"
_LEAD = re.compile(
    r"\b(?:the |by how much (?:did|has|does) )?(?:(percent(?:age)?|relative|%) )?"
    r"(?:change|changes|increase|decrease|growth|rise|drop|development) (?:in|of|to) (?:the )?",
    re.IGNORECASE,
)
_HOW = re.compile(r"\b(?:by )?how(?: much)? (?:did|has|have|do|does) (?:the )?", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:chang|increas|decreas|develop|improv)(?:e|ed)?\b|\b(?:grown?|grew|rise|risen|drop(?:ped)?)\b",
    re.IGNORECASE,
)
_PERCENT = re.compile(r",?\s*\bin (?:percent|per cent|%)", re.IGNORECASE)
_OVER = re.compile(rf",?\s*\b{_UNIT}[- ](?:over|on|to)[- ]\1\b", re.IGNORECASE)
_SHORT = re.compile(r",?\s*\b(mom|qoq|wow|yoy)\b", re.IGNORECASE)
_SHORT_UNITS = {"mom": "month", "qoq": "quarter", "wow": "week", "yoy": "year"}
_ROLLS = r"(?:rolling|moving|trailing|running)"
_ROLLING = (
    re.compile(rf"\b{_ROLLS} {_NUMBER}[- ]?{_UNIT}s?\b", re.IGNORECASE),
    re.compile(rf"\b{_NUMBER}[- ]{_UNIT}s? {_ROLLS}\b", re.IGNORECASE),
)
_ROLLING_OVER = re.compile(
    rf"\b{_ROLLS}\b(.*?),?\s+(?:over|of|for|across|with) (?:a window of |the )?(?:{_LAST} )?"
    rf"{_NUMBER} {_UNIT}s\b",
    re.IGNORECASE,
)
_TO_DATE = re.compile(r",?\s*\b(year|quarter|month|week)[- ]to[- ]date\b", re.IGNORECASE)
_SO_FAR = re.compile(
    r",?\s*\b(?:so far this|since the (?:start|beginning) of the) (year|quarter|month|week)\b",
    re.IGNORECASE,
)
_YTD = re.compile(r",?\s*\bytd\b", re.IGNORECASE)
_FINER = {
    Calendar.YEAR: Calendar.MONTH,
    Calendar.QUARTER: Calendar.MONTH,
    Calendar.MONTH: Calendar.DAY,
    Calendar.WEEK: Calendar.DAY,
}
"""The periods that run up to a date, where a sentence names none."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A view; the periods it is about, if the sentence names no others; the groups' attribute."""

    view: View
    unit: Calendar | None = None
    attribute: str = ""


def taken_out(text: str, vocabulary: Vocabulary) -> tuple[str, Taken | None]:
    """The sentence without the words for a view, and the view; None if it has none.

    >>> taken_out("change in waiting time compared to last month", Vocabulary(()))[0]
    'waiting time'
    """
    for find in (_change, _rolling, _to_date):
        view = find(text)
        if view is not None:
            return _tidied(view[0]), view[1]
    for rest, taken in _between(text, vocabulary):
        return _tidied(rest), taken
    return text, None


def _tidied(text: str) -> str:
    return " ".join(text.split()).strip(" ,")


def _without(text: str, *matches: re.Match[str]) -> str:
    for match in sorted(matches, key=lambda match: match.start(), reverse=True):
        text = f"{text[: match.start()]} {text[match.end() :]}"
    return text


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern + r"\b", text, re.IGNORECASE)


def _change(text: str) -> tuple[str, Taken] | None:
    lead = _LEAD.search(text)
    joins = f"(?:{_COMPARED}|{_FROM})" if lead else _COMPARED
    year_ago, before = _search(joins + _YEAR_AGO, text), _search(joins + _BEFORE, text)
    over = _OVER.search(text) or _SHORT.search(text)
    if year_ago is not None:
        tail, unit, against = year_ago, year_ago[1], Against.YEAR_AGO
    elif before is not None:
        tail, unit, against = before, before[1] or before[2], Against.PREVIOUS
    elif over is not None:
        word = over[1].lower()
        tail, unit, against = over, _SHORT_UNITS.get(word, word), Against.PREVIOUS
        if unit == "year":
            unit, against = "period", Against.YEAR_AGO
    else:
        return None
    # "The share in percent" is no change in percent; behind what it is compared with, it is one.
    percent = _PERCENT.search(text, 0 if lead else tail.end())
    # "How did the waiting time change compared to …" says it by a verb.
    question = _HOW.search(text) if lead is None else None
    verb = (
        _VERB.search(text, question.end(), tail.start()) if question and tail is not over else None
    )
    both = (question, verb) if verb else ()
    used = [part for part in (lead, tail, percent, *both) if part is not None]
    by = By.PERCENT if percent or (lead and lead[1]) else By.DIFFERENCE
    named = None if unit.lower() == "period" else Calendar(unit.lower())
    return _without(text, *used), Taken(Change(against, by), named)


def _rolling(text: str) -> tuple[str, Taken] | None:
    for pattern in _ROLLING:
        if match := pattern.search(text):
            return _without(text, match), _rolled(match[1], match[2])
    if match := _ROLLING_OVER.search(text):
        rest = f"{text[: match.start()]} {match[1]} {text[match.end() :]}"
        return rest, _rolled(match[2], match[3])
    return None


def _rolled(number: str, unit: str) -> Taken:
    count, named = int(lexicon.NUMBERS.get(number.lower(), number)), Calendar(unit.lower())
    finer = Calendar.MONTH if named is Calendar.YEAR and count == 1 else named
    return Taken(Rolling(count, named), finer)


def _to_date(text: str) -> tuple[str, Taken] | None:
    match = _TO_DATE.search(text) or _SO_FAR.search(text) or _YTD.search(text)
    if match is None:
        return None
    unit = Calendar(match[1].lower()) if match.re is not _YTD else Calendar.YEAR
    return _without(text, match), Taken(ToDate(unit), _FINER[unit])


def _between(text: str, vocabulary: Vocabulary) -> Iterator[tuple[str, Taken]]:
    """Two groups of an attribute whose values the log declares."""
    for attribute, keys in vocabulary.keys.items():
        longest = sorted(keys, key=len, reverse=True)
        key = "[\"'“]?(" + "|".join(map(re.escape, longest)) + ")[\"'”]?"
        named = {value.lower(): value for value in keys}
        percent = r"\b(?:the )?(?:(percent(?:age)?|relative) )?"
        difference = rf"{percent}difference\b(.*?)\bbetween {key} and {key}"
        ratio = rf"\b(?:the )?ratio\b(.*?)\b(?:of|between) {key} (?:to|and) {key}"
        if match := _search(difference, text):
            by = By.PERCENT if match[1] else By.DIFFERENCE
            first, second, middle = match[3], match[4], match[2]
        elif match := _search(ratio, text):
            by, (middle, first, second) = By.RATIO, match.groups()
        else:
            continue
        pair = named[first.lower()], named[second.lower()]
        middle = re.sub(r"^\s*(?:in|of)\b(?: the\b)?", "", middle)
        behind = re.sub(r"^\W*(?:in|of|for|by)\b(?: the\b)?", " ", text[match.end() :])
        if pair[0] != pair[1]:
            rest = f"{text[: match.start()]} {middle} {behind}"
            yield rest, Taken(Between(*pair, by), attribute=attribute)
