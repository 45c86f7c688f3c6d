"""What is so in a case: the statements that stand behind "cases in which"."""

from __future__ import annotations

from fractions import Fraction

from pappi.ppinot.expressions.nodes import Binary, Expression, Name, Number, Operator
from pappi.ppinot.model import (
    CaseBorder,
    ConditionMeasure,
    CountMeasure,
    DerivedSingleInstance,
    Occurs,
    Pick,
    SingleInstance,
    StateMeasure,
    TimeMeasure,
)
from pappi.ppinot.sentences.comparisons import (
    comparator,
    compared,
    comparison,
    fixed_value,
    frequency,
    if_missing,
)
from pappi.ppinot.sentences.conditions import (
    HAPPENS,
    event_condition,
    moment,
    named_condition,
    unquoted,
)
from pappi.ppinot.sentences.cursor import Cursor
from pappi.ppinot.sentences.formulas import Part, next_variable, stated_formula
from pappi.ppinot.sentences.naming import FOLLOWING
from pappi.ppinot.sentences.nouns import at_noun, data, noun
from pappi.ppinot.sentences.quantities import COUNTS, time_amount
from pappi.ppinot.sentences.spans import expression, is_operand
from pappi.ppinot.sentences.words import WordKind

CASES = ("cases", "the cases", "all cases", "process instances", "instances", "traces")
_IN_WHICH = ("in which", "where", "for which", "such that", "when", "whose", "which", "that")
_WITH = ("with", "having", "containing", "that have", "that contain", "that include", "which have")
_WITHOUT = ("without", "that do not have", "that do not contain", "with no")
_TAKES = ("takes", "take", "took", "lasts", "lasted", "taking", "lasting")
_NEVER = (
    *("never occurs", "never occur", "never happens", "never happen", "never occurred"),
    *("does not occur", "did not occur", "does not happen", "did not happen", "is not executed"),
)
_AFTER = ("of", "after", "from")
_VERBS = ("never", "does", "did", *(phrase.split()[0] for phrase in HAPPENS))
_SEQUENCES = (
    *("leads to", "immediately follows", "directly follows", "begins to occur", "followed by"),
    *("is followed by", "is directly followed by", "is immediately followed by"),
)
_SUBJECTS = ("", "it", "they", "the case", "the cases", "a case", "case", "cases")
_MEASURED = (
    *("less", "below", "under", "fewer", "shorter", "at", "no", "up", "within", "more", "over"),
    *("above", "longer", "exactly"),
)
_COUNTED = ("once", "twice", *COUNTS)
_NO_TIMES = Number(Fraction(0))
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def in_which(cursor: Cursor, part: Part) -> SingleInstance:
    """A statement about cases, with the words that lead to it: "in which …", "with …"."""
    if cursor.also(*_WITHOUT):
        return _lacking(cursor)
    if cursor.also(*_WITH):
        return _having(cursor)
    if cursor.next.is_word(*_TAKES):
        return _taking(cursor)
    cursor.expect(*_IN_WHICH)
    return statement(cursor, part)


def may_follow(cursor: Cursor) -> bool:
    """Whether words come next that lead to a statement about cases."""
    cursor.at(*_IN_WHICH)
    leads = (*_IN_WHICH, *_WITH, *_WITHOUT, *_TAKES)
    return any(cursor.says(lead) for lead in leads)


def statement(cursor: Cursor, part: Part) -> SingleInstance:
    """One statement, or several that hold together or of which one holds."""
    clauses = [_clause(cursor, part)]
    joins: set[Operator] = set()
    while cursor.next.is_word("and", "or") and next_variable(cursor) is None:
        word = cursor.take()
        joins.add(Operator(word.said))
        if len(joins) > 1:
            message = "'and' and 'or' in one statement can be read in two ways"
            raise cursor.refusal(message, "write a formula: a and (b or c) where a is …", at=word)
        clauses.append(_clause(cursor, part))
        if len(clauses) > len(_LETTERS):
            raise cursor.refusal(f"a statement has at most {len(_LETTERS)} parts")
    return clauses[0] if len(clauses) == 1 else _joined(clauses, joins.pop())


def _joined(clauses: list[SingleInstance], operator: Operator) -> DerivedSingleInstance:
    variables = tuple(zip(_LETTERS, clauses, strict=False))
    formula: Expression = Name("a")
    for name, _ in variables[1:]:
        formula = Binary(operator, formula, Name(name))
    return DerivedSingleInstance(formula, variables)


def _clause(cursor: Cursor, part: Part) -> SingleInstance:
    if cursor.also("at some time"):
        return ConditionMeasure(event_condition(cursor))
    if cursor.also("at the last event of the case"):
        return StateMeasure(expression(cursor, "a condition on events"))
    if cursor.also("at the last event where"):
        return _state(cursor)
    if at_noun(cursor):
        return _about(cursor)
    if _subject_takes(cursor):
        return _taking(cursor)
    found = _event(cursor) or _so_many(cursor)
    return found or _formula(cursor, part)


def _formula(cursor: Cursor, part: Part) -> SingleInstance:
    """A formula; what is no statement of any other kind and begins like one is none either."""
    cursor.want_thing("a statement")
    if cursor.says("the") and not is_operand(cursor.words, cursor.index):
        return _about(cursor)
    word = cursor.next
    found = stated_formula(cursor, part)
    if not isinstance(found.formula, Name) or cursor.next.kind is not WordKind.WORD:
        return found
    if cursor.next.is_word("is", "exceeds", "equals") and len(found.variables) == 1:
        return _compared(cursor, found.variables[0][1])
    if cursor.next.said not in FOLLOWING or cursor.next.is_word(*_VERBS):
        raise cursor.refusal(*unquoted(word.written), at=word)
    return found


def _state(cursor: Cursor) -> StateMeasure:
    of = expression(cursor, "a condition on events")
    cursor.expect(",")
    return StateMeasure(expression(cursor, "a condition on events"), of)


# --- how long, how much ---------------------------------------------------------------


def _about(cursor: Cursor) -> SingleInstance:
    return _compared(cursor, noun(cursor))


def _compared(cursor: Cursor, about: SingleInstance) -> SingleInstance:
    """Whether a measure compares in some way with a value, or is true."""
    if cursor.also("is true"):
        return about
    operator = comparison(cursor)
    word = cursor.next
    value = fixed_value(cursor)
    if isinstance(about, TimeMeasure) and isinstance(value, Number):
        message = f"a duration is compared with a duration: {word} of what?"
        raise cursor.refusal(message, f"write the unit, as in {word.written} hours", at=word)
    return compared(about, operator, value, if_missing(cursor))


def _subject_takes(cursor: Cursor) -> bool:
    """Whether it is said how long the case takes; who takes it is passed over."""
    for subject in _SUBJECTS:
        ahead = len(subject.split())
        behind = cursor.word(ahead + 1)
        known = behind.is_word(*_MEASURED) or behind.kind is WordKind.NUMBER
        if cursor.says(subject) and cursor.word(ahead).is_word(*_TAKES) and known:
            cursor.index += ahead
            return True
    return False


def _taking(cursor: Cursor) -> DerivedSingleInstance:
    cursor.expect(*_TAKES)
    operator = comparator(cursor) or Operator.EQUAL
    value = time_amount(cursor)
    about = TimeMeasure(CaseBorder.START, CaseBorder.END)
    return compared(about, operator, value.literal, if_missing(cursor))


# --- whether and how often something happens ------------------------------------------


def _event(cursor: Cursor) -> SingleInstance | None:
    """Something that happens in the case; a name without quotes needs a verb behind it."""
    start, in_quotes = cursor.index, _is_quoted(cursor)
    if cursor.says("an event meets") or cursor.says("an event satisfies"):
        return ConditionMeasure(event_condition(cursor))
    condition = named_condition(cursor)
    if condition is None:
        return None
    if cursor.also(*_NEVER):
        return _how_often(cursor, condition, Operator.EQUAL, _NO_TIMES)
    happens = cursor.accept(*HAPPENS)
    if cursor.also("within"):
        return _soon(cursor, condition)
    often = _often(cursor, condition)
    if often is not None:
        return often
    goes_on = any(map(cursor.says, _SEQUENCES))
    cursor.index = start
    return ConditionMeasure(event_condition(cursor)) if happens or in_quotes or goes_on else None


def _is_quoted(cursor: Cursor) -> bool:
    behind = cursor.word(int(cursor.says("activity")))
    return behind.kind is WordKind.TEXT or cursor.says("lifecycle transition")


def _often(cursor: Cursor, condition: Expression) -> SingleInstance | None:
    """How often it happens, if that is said; at least once is whether it happens."""
    start = cursor.index
    operator = comparator(cursor) or Operator.EQUAL
    counted = cursor.next.kind is WordKind.NUMBER or cursor.next.is_word(*_COUNTED)
    if not counted:
        cursor.index = start
        return None
    return _how_often(cursor, condition, operator, frequency(cursor))


def _how_often(
    cursor: Cursor, condition: Expression, operator: Operator, number: Number
) -> SingleInstance:
    when = Occurs(condition, cursor.reading.occurrence)
    if operator is Operator.AT_LEAST and number.value == 1:
        return ConditionMeasure(when)
    return compared(CountMeasure(when), operator, number)


def _so_many(cursor: Cursor) -> SingleInstance | None:
    """The same with the number first: "more than two "Payment" occur"."""
    cursor.also("there is", "there are", "there was", "there were")
    if not cursor.next.is_word(*_MEASURED) or is_operand(cursor.words, cursor.index):
        return None
    if cursor.says("no") and not cursor.says("no more") and not cursor.says("no less"):
        cursor.take()
        operator, number = Operator.EQUAL, _NO_TIMES
    else:
        operator, number = comparator(cursor) or Operator.EQUAL, frequency(cursor)
    condition = named_condition(cursor)
    if condition is None:
        raise cursor.unexpected()
    cursor.also("events", "occurrences", *HAPPENS)
    return _how_often(cursor, condition, operator, number)


def _having(cursor: Cursor) -> SingleInstance:
    if at_noun(cursor):
        return _about(cursor)
    cursor.skip("a", "an")
    valued = cursor.word(1).is_word("of", *_MEASURED) and cursor.next.kind is WordKind.WORD
    if valued and not cursor.next.is_word(*_MEASURED):
        return _compared(cursor, data(cursor, Pick.LAST))
    return _so_many(cursor) or _event(cursor) or ConditionMeasure(event_condition(cursor))


def _lacking(cursor: Cursor) -> SingleInstance:
    cursor.skip("a", "an", "any")
    condition = named_condition(cursor)
    if condition is None:
        raise cursor.unexpected()
    return _how_often(cursor, condition, Operator.EQUAL, _NO_TIMES)


def _soon(cursor: Cursor, condition: Expression) -> DerivedSingleInstance:
    """One thing within some time of another: from the first of that to the next of this."""
    limit = time_amount(cursor)
    cursor.expect(*_AFTER)
    start, pick = moment(cursor)
    end = Occurs(condition, cursor.reading.occurrence)
    about = TimeMeasure(start, end, pick or Pick.FIRST, Pick.FIRST)
    return compared(about, Operator.AT_MOST, limit.literal)
