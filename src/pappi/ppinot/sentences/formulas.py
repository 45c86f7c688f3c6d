"""Formulas over other measures: "the function a / b where a is …, b is …".

A list of variables inside another one ends where nothing in its own formula
needs the next name, and a formula around it does. Parentheses around a measure
end all lists inside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from pappi.errors import DefinitionError
from pappi.ppinot.expressions.lexer import refusal
from pappi.ppinot.expressions.nodes import Duration, Expression, Name, Number, Truth
from pappi.ppinot.expressions.parser import parse_expression
from pappi.ppinot.expressions.walk import names_in, walk
from pappi.ppinot.model import (
    AggregatedMeasure,
    Aggregation,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Measure,
    Missing,
    MultiInstance,
    SingleInstance,
)
from pappi.ppinot.sentences.comparisons import date_value, if_missing
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.phrases import variable_name
from pappi.ppinot.sentences.quantities import amount
from pappi.ppinot.sentences.spans import expression, text_of
from pappi.ppinot.sentences.substitution import substituted
from pappi.ppinot.sentences.words import Word, WordKind
from pappi.ppinot.wording import did_you_mean, quoted
from pappi.values.units import DURATIONS

Part = Callable[[Cursor], Measure]
"""Reads a measure inside another."""

_WHERE = ("where :", "where", ", where :", ", where")


def single(cursor: Cursor, part: Part) -> SingleInstance:
    """A measure that is about one case."""
    start = cursor.next
    found = part(cursor)
    if isinstance(found, AggregatedMeasure | DerivedMultiInstance):
        message = "here a measure of one case stands, and this one combines many"
        hint = "as in the number of times …, the duration between …, whether …"
        raise cursor.refusal(message, hint, at=start)
    return found


@dataclass(slots=True)
class _Variables:
    """What the names of a formula stand for: measures, or fixed values that replace them."""

    measures: dict[str, tuple[Word, Measure]] = field(default_factory=dict)
    constants: dict[str, tuple[Word, Expression]] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.measures or name in self.constants


def formula(cursor: Cursor, part: Part) -> SingleInstance | MultiInstance:
    """What stands behind "the function"."""
    start = cursor.next
    found = expression(cursor, "a formula")
    missing = if_missing(cursor)
    variables = _Variables()
    if cursor.also(*_WHERE):
        variables = _listed(cursor, found, part)
    _check(cursor, found, variables)
    return _derived(cursor, found, variables, missing, start)


def stated_formula(cursor: Cursor, part: Part) -> DerivedSingleInstance:
    """A formula that is a statement: names that nothing explains are attributes of the case."""
    start = cursor.next
    found = expression(cursor, "a statement")
    missing = if_missing(cursor)
    if not cursor.also(*_WHERE):
        return _of_attributes(found, missing)
    variables = _listed(cursor, found, part)
    _check(cursor, found, variables)
    derived = _derived(cursor, found, variables, missing, start)
    if not isinstance(derived, DerivedSingleInstance):
        raise cursor.refusal("a statement is about one case, and this formula about many", at=start)
    return derived


def _of_attributes(found: Expression, missing: Missing | None) -> DerivedSingleInstance:
    """The formula over the last values of the attributes that it names."""
    variables: dict[str, DataMeasure] = {}
    names: dict[str, Expression] = {}
    for node in walk(found):
        if isinstance(node, Name) and node.name not in names:
            about = DataMeasure(node.name, position=node.position)
            name = _free(variable_name(about) or "data", variables)
            variables[name], names[node.name] = about, Name(name)
    return DerivedSingleInstance(substituted(found, names), tuple(variables.items()), missing)


def _free(name: str, taken: dict[str, DataMeasure]) -> str:
    """The name, with a number behind it if another attribute has it."""
    count, free = 1, name
    while free in taken:
        count += 1
        free = f"{name}{count}"
    return free


# --- the list of variables ------------------------------------------------------------


def _listed(cursor: Cursor, found: Expression, part: Part) -> _Variables:
    variables, needed = _Variables(), set(names_in(found))
    cursor.waiting.append(needed)
    while True:
        word = cursor.next
        name = _variable(cursor)
        if name in variables:
            raise cursor.refusal(f"the variable {quoted(name)} is explained twice", at=word)
        needed.discard(name)
        cursor.expect("is")
        constant = _constant(cursor)
        if constant is None:
            variables.measures[name] = (word, part(cursor))
        else:
            variables.constants[name] = (word, constant)
        ahead = next_variable(cursor)
        if ahead is None or not _is_ours(cursor, cursor.word(ahead)):
            break
        cursor.index += ahead
    cursor.waiting.pop()
    return variables


def _variable(cursor: Cursor) -> str:
    cursor.want_thing("a variable of the formula")
    if cursor.next.kind not in (WordKind.WORD, WordKind.NAME):
        raise cursor.unexpected()
    return _name(cursor, cursor.take())


def _name(cursor: Cursor, word: Word) -> str:
    return text_of(cursor, word) if word.kind is WordKind.NAME else word.written


def next_variable(cursor: Cursor) -> int | None:
    """How many words ahead the next variable of a list stands, if the list goes on."""
    ahead = 0
    for separator in (",", "and"):
        ahead += cursor.says(separator, ahead)
    named = cursor.word(ahead).kind in (WordKind.WORD, WordKind.NAME)
    return ahead if ahead and named and cursor.says("is", ahead + 1) else None


def _is_ours(cursor: Cursor, word: Word) -> bool:
    """Whether the next variable belongs to the innermost formula that is being explained."""
    name = _name(cursor, word)
    *outer, own = cursor.waiting
    return name in own or not any(name in names for names in outer)


def _check(cursor: Cursor, found: Expression, variables: _Variables) -> None:
    """Refuses names that are not explained, and explanations of names that are not used."""
    for node in walk(found):
        if isinstance(node, Name) and node.name not in variables:
            raise _unexplained(node, variables)
    used = names_in(found)
    for name, (word, _) in (*variables.measures.items(), *variables.constants.items()):
        if name not in used:
            message = f"the formula does not use the variable {quoted(name)}"
            raise cursor.refusal(message, at=word)


def _unexplained(node: Name, variables: _Variables) -> DefinitionError:
    known = [*variables.measures, *variables.constants]
    otherwise = f"say what it is: where {node.name[:40]} is …"
    hint = did_you_mean(node.name, known, otherwise)
    return refusal(node.position, f"the formula does not say what {quoted(node.name)} is", hint)


def _derived(
    cursor: Cursor, found: Expression, variables: _Variables, missing: Missing | None, start: Word
) -> DerivedSingleInstance | DerivedMultiInstance:
    values = {name: value for name, (_, value) in variables.constants.items()}
    whole = substituted(found, values) if values else found
    singles: list[tuple[str, SingleInstance]] = []
    multis: list[tuple[str, MultiInstance]] = []
    for name, (word, measure) in variables.measures.items():
        if isinstance(measure, AggregatedMeasure | DerivedMultiInstance):
            multis.append((name, measure))
        else:
            singles.append((name, measure))
        if singles and multis:
            message = "a formula is over measures of one case or over measures of many, not both"
            raise cursor.refusal(message, at=word)
    if not multis:
        return DerivedSingleInstance(whole, tuple(singles), missing)
    if missing is not None:
        message = "only a formula over one case says what is if a value is missing"
        raise cursor.refusal(message, at=start)
    _check_parts(cursor, multis, variables)
    return DerivedMultiInstance(whole, tuple(multis))


def _check_parts(
    cursor: Cursor, multis: list[tuple[str, MultiInstance]], variables: _Variables
) -> None:
    """Refuses to call something a part of what is no other sum of the formula."""
    summed = {name: each for name, each in multis if isinstance(each, AggregatedMeasure)}
    sums = [name for name, each in summed.items() if each.function is Aggregation.SUM]
    for name, each in summed.items():
        if each.within is not None and each.within not in [one for one in sums if one != name]:
            message = f"'as part of' names another sum of this formula, not {quoted(each.within)}"
            word, _ = variables.measures[name]
            raise cursor.refusal(message, did_you_mean(each.within, sums), at=word)


# --- fixed values, which ppinot4py has among the variables ----------------------------


def _constant(cursor: Cursor) -> Expression | None:
    """A number, a duration such as `1 days 02:00:00`, a date or a truth value."""
    word, place = cursor.next, cursor.position
    if word.is_word("true", "false"):
        return Truth(cursor.take().said == "true", position=place)
    if word.kind is WordKind.DATE:
        return _instant(cursor)
    if word.kind is WordKind.CLOCK:
        return Duration(_clock(cursor), position=place)
    if word.kind is not WordKind.NUMBER and not word.is_symbol("-"):
        return None
    found = amount(cursor)
    if not found.unit:
        return Number(found.number, position=place)
    if cursor.next.is_symbol(",") and cursor.word(1).kind is WordKind.CLOCK:
        cursor.take()
    return Duration(found.internal + _clock(cursor), position=place)


def _instant(cursor: Cursor) -> Expression:
    """A date, which may have its time behind a space."""
    day, time = cursor.word(0), cursor.word(1)
    if time.kind is not WordKind.CLOCK:
        return date_value(cursor)
    cursor.index += 2
    hours, _, rest = time.written.partition(":")
    written = f"{day.written}T{hours.zfill(2)}:{rest}"
    return parse_expression(written[: len("2014-01-31T00:00:00.000000")], cursor.place(day))


def _clock(cursor: Cursor) -> Fraction:
    """The microseconds of a time such as 02:00:00, or 0 if there is none."""
    if cursor.next.kind is not WordKind.CLOCK:
        return Fraction(0)
    hours, minutes, seconds = cursor.take().written.split(":")
    whole = int(hours) * DURATIONS["hours"] + int(minutes) * DURATIONS["minutes"]
    return whole + Fraction(seconds) * DURATIONS["seconds"]
