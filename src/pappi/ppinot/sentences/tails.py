"""What is said behind an aggregated measure: groups, which cases count, and bounds."""

from __future__ import annotations

from dataclasses import dataclass

from pappi.ppinot.model import Bounding, DataMeasure, Grouping, Pick, SingleInstance
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.formulas import Part, next_variable, single
from pappi.ppinot.sentences.nouns import at_noun, data, noun
from pappi.ppinot.sentences.quantities import amount
from pappi.ppinot.sentences.spans import text_of
from pappi.ppinot.sentences.statements import CASES, in_which
from pappi.ppinot.sentences.words import Word, WordKind
from pappi.ppinot.wording import quoted
from pappi.values.bounds import Bounds
from pappi.values.periods import Calendar

_GROUPED = ("grouped by", "per", "by", "for each", "split by", "broken down by", "for every")
_OVER = ("among", "over", "for", "in", "of", "considering", "considering only", "only", "only for")
_FITS = {"loosely": Bounding.LOOSE, "privately": Bounding.PRIVATE}
_UNKNOWN = {
    "any amount": Bounding.DECLARED,
    "within private bounds": Bounding.PRIVATE,
    "within loose bounds": Bounding.LOOSE,
}


@dataclass(slots=True)
class Tails:
    """All of it; `says_bounds` where even their absence is said."""

    grouping: Grouping | None = None
    filter: SingleInstance | None = None
    filter_word: Word | None = None
    bounds: Bounds | None = None
    bounding: Bounding = Bounding.DECLARED
    says_bounds: bool = False
    bounds_word: Word | None = None
    in_time: bool = False
    within: str | None = None


def read_tails(cursor: Cursor, part: Part) -> Tails:
    tails = Tails()
    while _more(cursor, tails, part):
        pass
    return tails


def _more(cursor: Cursor, tails: Tails, part: Part) -> bool:
    """Whether one more thing is said, behind a comma or not."""
    before = cursor.index
    if cursor.says(",") and next_variable(cursor) is None:
        cursor.take()
    if (
        _grouped(cursor, tails)
        or _filtered(cursor, tails, part)
        or _bounded(cursor, tails)
        or _within(cursor, tails)
    ):
        return True
    cursor.index = before
    return False


def _once(cursor: Cursor, said: object, what: str, word: Word) -> None:
    if said:
        raise cursor.refusal(f"{what} said twice", at=word)


# --- groups ---------------------------------------------------------------------------


def at_period(cursor: Cursor, ahead: int) -> bool:
    """Whether a calendar unit stands there, as in "per month" or "every 2 weeks"."""
    ahead += cursor.word(ahead).kind is WordKind.NUMBER
    word = cursor.word(ahead)
    return word.kind is WordKind.WORD and word.said.removesuffix("s") in tuple(Calendar)


def _grouped(cursor: Cursor, tails: Tails) -> bool:
    word = cursor.next
    found = cursor.at(*_GROUPED)
    if found is None or at_period(cursor, len(found.split())):
        return False
    cursor.accept(*_GROUPED)
    _once(cursor, tails.grouping, "the groups are", word)
    by = _key(cursor)
    tails.grouping = Grouping(by, _keys(cursor, by))
    return True


def _key(cursor: Cursor) -> DataMeasure:
    start = cursor.next
    if not at_noun(cursor):
        cursor.skip("the")
        return data(cursor, Pick.LAST)
    by = noun(cursor)
    if not isinstance(by, DataMeasure):
        message = "cases are grouped by the value of an attribute"
        raise cursor.refusal(message, "as in grouped by the last value of channel", at=start)
    return by


def _keys(cursor: Cursor, by: DataMeasure) -> tuple[str, ...]:
    if not cursor.accept("into"):
        if by.attribute in cursor.reading.groups:
            return cursor.reading.groups[by.attribute]
        example = f'as in grouped by {by.attribute[:40]} into "x" and "y"'
        raise cursor.unexpected(f"only groups that are named are answered, {example}")
    keys = {_text(cursor): None}
    while (ahead := _next_text(cursor)) is not None:
        cursor.index += ahead
        word = cursor.next
        key = _text(cursor)
        if key in keys:
            raise cursor.refusal(f"the group {quoted(key)} is here twice", at=word)
        keys[key] = None
    return tuple(keys)


def _text(cursor: Cursor) -> str:
    word = cursor.accept_kind(WordKind.TEXT, "a group in quotes")
    if word is None:
        raise cursor.unexpected()
    return text_of(cursor, word)


def _next_text(cursor: Cursor) -> int | None:
    ahead = int(cursor.says(","))
    ahead += cursor.says("and", ahead)
    return ahead if ahead and cursor.word(ahead).kind is WordKind.TEXT else None


# --- which cases count ----------------------------------------------------------------


def _filtered(cursor: Cursor, tails: Tails, part: Part) -> bool:
    word = cursor.next
    if cursor.accept("filtered by"):
        _once(cursor, tails.filter, "which cases count is", word)
        tails.filter, tails.filter_word = single(cursor, part), word
        return True
    for over in _OVER:
        ahead = len(over.split())
        if cursor.says(over) and any(cursor.says(cases, ahead) for cases in CASES):
            cursor.index += ahead
            cursor.expect(*CASES)
            _once(cursor, tails.filter, "which cases count is", word)
            tails.filter, tails.filter_word = in_which(cursor, part), word
            return True
    cursor.know("among the cases in which")
    return False


# --- bounds ---------------------------------------------------------------------------


def _bounded(cursor: Cursor, tails: Tails) -> bool:
    word = cursor.next
    if not cursor.also("each case counting"):
        return False
    _once(cursor, tails.says_bounds, "how much a case counts is", word)
    tails.says_bounds, tails.bounds_word = True, word
    for phrase, bounding in _UNKNOWN.items():
        if cursor.also(phrase):
            tails.bounding = bounding
            return True
    for phrase, bounding in _FITS.items():
        if cursor.also(phrase):
            tails.bounding = bounding
    tails.bounds, tails.in_time = bounds(cursor)
    return True


def bounds(cursor: Cursor) -> tuple[Bounds, bool]:
    """`at least … and at most …`, and whether these are durations; 0 needs no unit."""
    cursor.expect("at least", "from")
    start = cursor.next
    low = amount(cursor)
    cursor.expect("and at most", "to")
    high = amount(cursor)
    if any(not each.unit and each.number for each in (low, high)) and (low.unit or high.unit):
        message = "one of these bounds is a duration, and the other is not"
        raise cursor.refusal(message, "give both a unit of time", at=start)
    if not low.internal < high.internal:
        raise cursor.refusal("the lower bound must be below the upper one", at=start)
    return Bounds(low.internal, high.internal), bool(low.unit or high.unit)


def _within(cursor: Cursor, tails: Tails) -> bool:
    word = cursor.next
    if not cursor.also("as part of"):
        return False
    _once(cursor, tails.within, "what this is part of is", word)
    cursor.want_thing("a variable of the same formula")
    name = cursor.next
    if name.kind not in (WordKind.WORD, WordKind.NAME):
        raise cursor.unexpected()
    cursor.take()
    tails.within = text_of(cursor, name) if name.kind is WordKind.NAME else name.written
    return True
