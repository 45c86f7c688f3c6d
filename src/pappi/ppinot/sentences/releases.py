"""How a PPI is to be released, as a template says it: "verdict; mechanism threshold"."""

from __future__ import annotations

from fractions import Fraction

from pappi.ppinot.catalogue.releases import MECHANISM_NAMES
from pappi.ppinot.model import NoiseOn, ReleaseChoice, Wanted
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
            return "noise", _noise(cursor)
        case "falloff":
            return "falloff", amount(cursor).number
    cursor.expect("buckets")
    return "buckets", whole_number(cursor, 1, _MOST_BUCKETS, "buckets")


def _mechanism(cursor: Cursor) -> str:
    """A name of several words, with dashes or without."""
    first, last = cursor.next, None
    while cursor.next.kind is WordKind.WORD or cursor.next.is_symbol("-"):
        if cursor.says("with"):
            break
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


def _noise(cursor: Cursor) -> tuple[NoiseOn, ...]:
    found = [_noise_on(cursor)]
    while cursor.accept(","):
        found.append(_noise_on(cursor))
    return tuple(found)


def _noise_on(cursor: Cursor) -> NoiseOn:
    """A function, and what is wanted for it: "a by laplace with share 0.3"."""
    name = _name(cursor)
    mechanism = _mechanism(cursor) if cursor.accept("by") else None
    return NoiseOn(name, mechanism, _share(cursor) if cursor.accept("with share") else None)


def _share(cursor: Cursor) -> Fraction:
    word = cursor.next
    share = amount(cursor)
    if share.unit or not 0 < share.number <= 1:
        message = "a share of epsilon is above 0 and at most 1"
        raise cursor.refusal(message, "write e.g. 0.3", at=word)
    return share.number


def _name(cursor: Cursor) -> str:
    """A variable, with dots to get deeper: a.b; also the id of the PPI, which may have dashes."""
    first = cursor.next
    while True:
        word = cursor.accept_kind(WordKind.WORD, "a variable, or 'value'")
        if word is None:
            raise cursor.unexpected()
        if not cursor.next.is_symbol(".", "-"):
            return cursor.words.text[first.start : word.end]
        cursor.take()
