"""Changes, rolling windows and comparisons in everyday words, taken out of a sentence.

What is left says what is measured, and is read like any other sentence: "the change in waiting time
compared to last month" is the waiting time, shown as a change. Words are taken out only as a whole
phrase: an activity that is called "Change" stays one.

>>> taken_out("change in waiting time compared to last month", Vocabulary(()))[0]
'waiting time'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pappi.ppinot.understanding import lexicon
from pappi.ppinot.views import Against, Between, Change, Rolling, ToDate, View
from pappi.values import By, Calendar, Vocabulary

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
    """The sentence without the words for a view, and the view; None if it has none."""
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
    percent = _PERCENT.search(text) if lead else None
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
