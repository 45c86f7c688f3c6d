"""How a PPI is to be released, as a template says it: "verdict; mechanism threshold"."""

from __future__ import annotations

from fractions import Fraction

from pappi.ppinot.catalogue.releases import MECHANISM_NAMES
from pappi.ppinot.model import ReleaseChoice, Wanted
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.quantities import amount, whole_number
from pappi.ppinot.sentences.words import WordKind
from pappi.ppinot.wording import did_you_mean, listed, quoted

_MOST_BUCKETS = 10**9 - 1


def release(cursor: Cursor) -> ReleaseChoice:
    """Parts with semicolons between them, each of them once."""
    said: dict[str, object] = {}
    while True:
        word = cursor.next
        what, value = _part(cursor)
        if what in said:
            raise cursor.refusal(f"the {what} is said twice", at=word)
        said[what] = value
        if not cursor.accept(";"):
            return _choice(said)


def _choice(said: dict[str, object]) -> ReleaseChoice:
    answer, mechanism, noise = said.get("answer"), said.get("mechanism"), said.get("noise")
    falloff, buckets = said.get("falloff"), said.get("buckets")
    return ReleaseChoice(
        answer if isinstance(answer, Wanted) else Wanted.VALUE,
        mechanism if isinstance(mechanism, str) else None,
        noise if isinstance(noise, tuple) else (),
        falloff if isinstance(falloff, Fraction) else None,
        buckets if isinstance(buckets, int) else None,
    )


def _part(cursor: Cursor) -> tuple[str, object]:
    answer = cursor.accept(*(wanted.value for wanted in Wanted))
    if answer:
        return "answer", Wanted(answer)
    match cursor.accept("mechanism") or cursor.accept("noise on") or cursor.accept("falloff"):
        case "mechanism":
            return "mechanism", _mechanism(cursor)
        case "noise on":
            return "noise", _names(cursor)
        case "falloff":
            return "falloff", amount(cursor).number
    cursor.expect("buckets")
    return "buckets", whole_number(cursor, 1, _MOST_BUCKETS, "buckets")


def _mechanism(cursor: Cursor) -> str:
    """A name of several words, with dashes or without."""
    first, last = cursor.next, None
    while cursor.next.kind is WordKind.WORD or cursor.next.is_symbol("-"):
        last = cursor.take()
    cursor.want_thing("a mechanism")
    if last is None:
        raise cursor.unexpected()
    name = cursor.words.text[first.start : last.end]
    if name not in MECHANISM_NAMES:
        known = f"the mechanisms are {listed(MECHANISM_NAMES, 'and')}"
        hint = did_you_mean(name, MECHANISM_NAMES, known)
        raise cursor.refusal(f"there is no mechanism {quoted(name)}", hint, at=first)
    return name


def _names(cursor: Cursor) -> tuple[str, ...]:
    names = [_name(cursor)]
    while cursor.accept(","):
        names.append(_name(cursor))
    return tuple(names)


def _name(cursor: Cursor) -> str:
    """A variable, with dots to get deeper: a.b."""
    first = cursor.next
    while True:
        word = cursor.accept_kind(WordKind.WORD, "a variable, or 'value'")
        if word is None:
            raise cursor.unexpected()
        if not cursor.next.is_symbol("."):
            return cursor.words.text[first.start : word.end]
        cursor.take()
