"""Tokens that stand for a value of their own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

from pappi.ppinot.expressions.lexer import Origin, Token, TokenKind, refusal
from pappi.ppinot.expressions.nodes import Duration, Instant, Literal, Number, Text, Truth
from pappi.ppinot.wording import did_you_mean, listed
from pappi.values.units import DURATIONS, duration_unit

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def literal(token: Token, origin: Origin) -> Literal:
    """The value a token stands for."""
    place = origin(token.start)
    match token.kind:
        case TokenKind.NUMBER:
            return Number(Fraction(token.value), position=place)
        case TokenKind.TEXT:
            return Text(token.value, position=place)
        case TokenKind.INSTANT:
            return _instant(token, origin)
        case TokenKind.KEYWORD if token.value in ("true", "false"):
            return Truth(token.value == "true", position=place)
    raise refusal(place, f"expected a value, found {token}")


def duration(number: Number, word: Token, origin: Origin) -> Duration:
    """A number with the unit word behind it, as in `90 days`."""
    unit = duration_unit(word.value)
    if unit is None:
        units = f"the units are {listed(DURATIONS, 'and')}"
        raise refusal(
            origin(word.start),
            f"{word} is not a unit of time",
            did_you_mean(word.value, DURATIONS, units),
        )
    return Duration(unit.read(number.value), position=number.position)


def negative(value: Literal) -> Literal:
    """The value with a minus before it, inside a list of choices."""
    match value:
        case Number():
            return Number(-value.value, position=value.position)
        case Duration():
            return Duration(-value.microseconds, position=value.position)
    raise refusal(value.position, "only a number or a duration can be negative")


def _instant(token: Token, origin: Origin) -> Instant:
    """A date or time without a zone is UTC; a date alone is its midnight."""
    place = origin(token.start)
    try:
        moment = datetime.fromisoformat(token.value)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        since = aware.astimezone(UTC) - _EPOCH
    except (ValueError, OverflowError):
        message = f"{token} is not in the calendar"
        raise refusal(place, message, "write e.g. 2014-01-31") from None
    return Instant(since // timedelta(microseconds=1), position=place)
