"""The grammar of expressions, both ways: text into an expression, and an expression into text.

Operators, loosest first:

    c ? a : b
    or  ||
    and  &&
    not  !
    ==  !=  <  <=  >  >=  in (…)  not in (…)  is missing  is not missing
    +  -
    *  /  %
    -a

Comparisons do not chain. Nesting and the height of the result are bounded, so neither reading an
expression nor anything that later walks it can run out of stack, whatever an analyst writes.

What is written is canonical, with no more parentheses than it needs, and reading it gives the
expression back. Two things the grammar has no literal for are written as the operation that makes
them: a negative number outside a list, and a fraction that has no finite decimal form.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from fractions import Fraction

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.expressions import (
    NOWHERE,
    AnyLiteral,
    Apply,
    Binary,
    Choose,
    DurationLiteral,
    Expression,
    Function,
    InstantLiteral,
    IsMissing,
    Name,
    Negate,
    Not,
    NumberLiteral,
    OneOf,
    Operator,
    TextLiteral,
    TruthLiteral,
    divisor_depth,
    height,
)
from pappi.values import DURATIONS, did_you_mean, duration_unit, listed, quoted

# --- tokens ---------------------------------------------------------------------------
#
# Every character of the text is looked at a bounded number of times, and a
# character the grammar has no use for is refused with the way to write it here.


Origin = Callable[[int], Position]
"""Where the character at an offset of an expression stands in its file."""

MAX_LENGTH = 4_000
MAX_DIGITS = 40

KEYWORDS = frozenset({"and", "or", "not", "in", "is", "true", "false"})


class TokenKind(Enum):
    NUMBER = auto()
    INSTANT = auto()
    TEXT = auto()
    NAME = auto()
    QUOTED_NAME = auto()
    KEYWORD = auto()
    SYMBOL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the grammar: what it says, and what was written to say it."""

    kind: TokenKind
    value: str
    start: int
    written: str

    def is_keyword(self, word: str) -> bool:
        return self.kind is TokenKind.KEYWORD and self.value == word

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind is TokenKind.SYMBOL and self.value in symbols

    def __str__(self) -> str:
        return "the end" if self.kind is TokenKind.END else quoted(self.written)


_SPACE = re.compile(r"\s*")
IDENTIFIER = re.compile(r"[^\W\d]\w*(?::[^\W\d]\w*)*")
_PATTERNS = {
    TokenKind.INSTANT: re.compile(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
        r"(?:Z|[+-][0-9]{2}:[0-9]{2})?)?(?![0-9])"
    ),
    TokenKind.NUMBER: re.compile(r"[0-9]+(?:\.[0-9]+)?"),
    TokenKind.NAME: IDENTIFIER,
    TokenKind.SYMBOL: re.compile(r"==|!=|<=|>=|&&|\|\||[<>+\-*/%()\[\],?:!]"),
}
_AS_KEYWORD = {word: word for word in KEYWORDS} | {"&&": "and", "||": "or", "!": "not"}
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "`": "`", "n": "\n", "t": "\t"}

_STRANGERS = {
    "=": "to compare, write '=='",
    "&": "write 'and'",
    "|": "write 'or'",
    ".": "there is no attribute access; a name with a dot in it goes in backticks, `like.this`",
    "“": 'use plain quotes: "…"',
    "”": 'use plain quotes: "…"',
    "‘": "use plain quotes: '…'",
    "’": "use plain quotes: '…'",
    "−": "use the plain minus: -",
    "≤": "write '<='",
    "≥": "write '>='",
    "≠": "write '!='",
    "^": "there are no powers; multiply instead",
    "@": "variables from outside cannot be used",
}


def located(text: str, start: Position) -> Origin:
    """The origin of a text that was written in one piece from `start` on."""
    lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def origin(offset: int) -> Position:
        line = bisect_right(lines, offset) - 1
        before = start.column if line == 0 else 1
        return Position(start.file, start.line + line, before + offset - lines[line])

    return origin


def refusal(position: Position, message: str, hint: str = "") -> DefinitionError:
    """The error that an expression with one problem raises."""
    return DefinitionError([Problem(position, message, hint)])


def _tokens(text: str, origin: Origin) -> Iterator[Token]:
    """All tokens of a text and an END after them."""
    if len(text) > MAX_LENGTH:
        message = f"this expression has {len(text):,} characters; at most {MAX_LENGTH:,} are read"
        raise refusal(origin(0), message)
    offset = _after_space(text, 0)
    while offset < len(text):
        token = _token(text, offset, origin)
        yield token
        offset = _after_space(text, offset + len(token.written))
    yield Token(TokenKind.END, "", len(text), "")


def _after_space(text: str, offset: int) -> int:
    space = _SPACE.match(text, offset)
    return space.end() if space else offset


def _token(text: str, start: int, origin: Origin) -> Token:
    character = text[start]
    if character in "'\"`":
        return _quotation(text, start, origin)
    matches = ((kind, pattern.match(text, start)) for kind, pattern in _PATTERNS.items())
    kind, match = next(((kind, match) for kind, match in matches if match), (None, None))
    if kind is None or match is None:
        hint = _STRANGERS.get(character, "")
        raise refusal(origin(start), f"{quoted(character)} is not allowed here", hint)
    written = match.group()
    if kind is TokenKind.NUMBER and len(written) > MAX_DIGITS:
        raise refusal(origin(start), f"this number has more than {MAX_DIGITS} digits")
    if keyword := _AS_KEYWORD.get(written.lower()):
        return Token(TokenKind.KEYWORD, keyword, start, written)
    return Token(kind, written, start, written)


def _quotation(text: str, start: int, origin: Origin) -> Token:
    quote = text[start]
    characters: list[str] = []
    offset = start + 1
    while offset < len(text) and text[offset] != quote:
        if text[offset] != "\\":
            characters.append(text[offset])
            offset += 1
            continue
        escape = text[offset : offset + 2]
        if escape[1:] not in _ESCAPES:
            hint = "write \\\\ for a backslash, \\n for a new line, \\t for a tab"
            message = f"{quoted(escape)} is not a valid escape inside quotes"
            raise refusal(origin(offset), message, hint)
        characters.append(_ESCAPES[escape[1:]])
        offset += 2
    if offset >= len(text):
        raise refusal(origin(start), f"this quoted text never ends: the closing {quote} is missing")
    kind = TokenKind.QUOTED_NAME if quote == "`" else TokenKind.TEXT
    if kind is TokenKind.QUOTED_NAME and not characters:
        raise refusal(origin(start), "there is no name between these backticks")
    return Token(kind, "".join(characters), start, text[start : offset + 1])


# --- literals -------------------------------------------------------------------------

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _literal(token: Token, place: Position) -> AnyLiteral:
    """The value a token stands for."""
    match token.kind:
        case TokenKind.NUMBER:
            return NumberLiteral(Fraction(token.value), position=place)
        case TokenKind.TEXT:
            return TextLiteral(token.value, position=place)
        case TokenKind.INSTANT:
            return _instant(token, place)
        case TokenKind.KEYWORD if token.value in ("true", "false"):
            return TruthLiteral(token.value == "true", position=place)
    raise refusal(place, f"expected a value, found {token}")


def _duration(number: NumberLiteral, word: Token, place: Position) -> DurationLiteral:
    """A number with the unit word behind it, as in `90 days`."""
    unit = duration_unit(word.value)
    if unit is None:
        hint = did_you_mean(word.value, DURATIONS, f"the units are {listed(DURATIONS, 'and')}")
        raise refusal(place, f"{word} is not a unit of time", hint)
    return DurationLiteral(unit.read(number.value), position=number.position)


def _negative(value: AnyLiteral) -> AnyLiteral:
    """The value with a minus before it, inside a list of choices."""
    match value:
        case NumberLiteral():
            return NumberLiteral(-value.value, position=value.position)
        case DurationLiteral():
            return DurationLiteral(-value.microseconds, position=value.position)
    raise refusal(value.position, "only a number or a duration can be negative")


def _instant(token: Token, place: Position) -> InstantLiteral:
    """A date or time without a zone is UTC; a date alone is its midnight."""
    try:
        moment = datetime.fromisoformat(token.value)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        since = aware.astimezone(UTC) - _EPOCH
    except (ValueError, OverflowError):
        message = f"{token} is not a valid date"
        raise refusal(place, message, "write e.g. 2014-01-31") from None
    return InstantLiteral(since // timedelta(microseconds=1), position=place)


# --- text into expressions ------------------------------------------------------------

MAX_DEPTH = 50
# A database tests a divisor for zero, and may copy it to do so: nested, they would multiply.
MAX_DIVISORS = 4

_CHOOSE, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _ATOM = range(9)

_POWERS = {
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(["==", "!=", "<", "<=", ">", ">=", "in", "is", "not"], _COMPARISON),
    **dict.fromkeys(["+", "-"], _SUM),
    **dict.fromkeys(["*", "/", "%"], _PRODUCT),
}
_CLOSING = {"(": ")", "[": "]"}
NOTHING = frozenset({"null", "none", "nil", "nan", "na"})


def parse_expression(text: str, origin: Position | Origin = NOWHERE) -> Expression:
    """The expression a text says; DefinitionError with the exact place if it says none.

    >>> parse_expression("a < b") == Binary(Operator.LESS, Name("a"), Name("b"))
    True
    """
    at = located(text, origin) if isinstance(origin, Position) else origin
    expression = _Parser(text, at).whole()
    if height(expression) > MAX_DEPTH:
        hint = "a long chain of 'or' on one name is shorter as: name in (…, …)"
        raise refusal(at(0), f"this expression is more than {MAX_DEPTH} operations deep", hint)
    if divisor_depth(expression) > MAX_DIVISORS:
        message = f"more than {MAX_DIVISORS} divisors are nested in each other here"
        raise refusal(at(0), message, "a / (b / c) is the same as a * c / b")
    return expression


class _Parser:
    def __init__(self, text: str, origin: Origin) -> None:
        self._tokens = list(_tokens(text, origin))
        self._origin = origin
        self._index = 0
        self._depth = 0

    def whole(self) -> Expression:
        expression = self._expression()
        if self._next.kind is not TokenKind.END:
            raise self._leftover()
        return expression

    # --- moving along -----------------------------------------------------------------

    @property
    def _next(self) -> Token:
        return self._tokens[self._index]

    def _take(self) -> Token:
        token = self._next
        if token.kind is not TokenKind.END:
            self._index += 1
        return token

    def _accept(self, value: str) -> Token | None:
        token = self._next
        return self._take() if token.is_symbol(value) or token.is_keyword(value) else None

    def _place(self, token: Token) -> Position:
        return self._origin(token.start)

    def _refusal(self, token: Token, message: str, hint: str = "") -> DefinitionError:
        return refusal(self._place(token), message, hint)

    @contextmanager
    def _nested(self, token: Token) -> Iterator[None]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._refusal(token, f"this is nested more than {MAX_DEPTH} levels deep")
        yield
        self._depth -= 1

    # --- operators --------------------------------------------------------------------

    def _expression(self) -> Expression:
        with self._nested(self._next):
            expression = self._operation(_OR)
            if question := self._accept("?"):
                then = self._expression()
                if not self._accept(":"):
                    raise self._no_colon(question)
                place = self._place(question)
                expression = Choose(expression, then, self._expression(), position=place)
            return expression

    def _operation(self, loosest: int) -> Expression:
        """An operation of operators that bind at least as tightly as `loosest`."""
        left = self._operand(loosest)
        while (power := self._power()) >= loosest:
            if power == _COMPARISON:
                left = self._comparison(left)
                if self._power() == _COMPARISON:
                    hint = "write 'a < b and b < c' instead of 'a < b < c'"
                    raise self._refusal(self._next, "comparisons cannot be chained", hint)
            else:
                token = self._take()
                right = self._operation(power + 1)
                left = Binary(Operator(token.value), left, right, position=self._place(token))
        return left

    def _power(self) -> int:
        token = self._next
        if token.kind not in (TokenKind.SYMBOL, TokenKind.KEYWORD):
            return 0
        if token.is_keyword("not") and not self._tokens[self._index + 1].is_keyword("in"):
            return 0
        return _POWERS.get(token.value, 0)

    def _comparison(self, left: Expression) -> Expression:
        token = self._take()
        place = self._place(token)
        match token.value:
            case "is":
                negated = self._accept("not")
                self._expect_missing()
                missing = IsMissing(left, position=place)
                return Not(missing, position=place) if negated else missing
            case "in":
                return OneOf(left, self._choices(), position=place)
            case "not":
                self._take()
                return Not(OneOf(left, self._choices(), position=place), position=place)
            case _:
                right = self._operation(_COMPARISON + 1)
                return Binary(Operator(token.value), left, right, position=place)

    def _expect_missing(self) -> None:
        token = self._take()
        if token.kind is not TokenKind.NAME or token.value.lower() not in {"missing", *NOTHING}:
            hint = "write 'x is missing' or 'x is not missing'; to compare, write '=='"
            raise self._refusal(token, f"expected 'missing' after 'is', found {token}", hint)

    # --- operands ---------------------------------------------------------------------

    def _operand(self, loosest: int) -> Expression:
        token = self._next
        if token.is_keyword("not"):
            if loosest > _NOT:
                raise self._refusal(token, "'not' binds too loosely here", "write '(not …)'")
            with self._nested(self._take()):
                return Not(self._operation(_NOT), position=self._place(token))
        if token.is_symbol("-"):
            with self._nested(self._take()):
                return Negate(self._operation(_SIGN), position=self._place(token))
        if token.is_symbol("("):
            self._take()
            inside = self._expression()
            self._close(token)
            return inside
        if token.kind is TokenKind.NAME or token.kind is TokenKind.QUOTED_NAME:
            return self._name()
        return self._literal()

    def _name(self) -> Expression:
        token = self._take()
        if token.kind is TokenKind.QUOTED_NAME:
            return Name(token.value, position=self._place(token))
        if self._next.is_symbol("("):
            return self._call(token)
        if token.value.lower() in NOTHING:
            hint = "to ask for it, write 'x is missing'"
            raise self._refusal(token, f"there is no value {token}", hint)
        return Name(token.value, position=self._place(token))

    def _call(self, token: Token) -> Expression:
        names = [function.value for function in Function]
        if token.value not in names:
            known = f"the functions are {listed(names, 'and')}"
            hint = did_you_mean(token.value, names, known)
            raise self._refusal(token, f"there is no function {token}", hint)
        opening = self._take()
        arguments = [self._expression()]
        while self._accept(","):
            arguments.append(self._expression())
        self._close(opening)
        return Apply(Function(token.value), tuple(arguments), position=self._place(token))

    def _close(self, opening: Token) -> None:
        if not self._accept(closing := _CLOSING[opening.value]):
            opened = f"the '{opening.value}' in column {self._place(opening).column}"
            message = f"expected '{closing}' for {opened}, found {self._next}"
            raise self._refusal(self._next, message)

    def _choices(self) -> tuple[AnyLiteral, ...]:
        opening = self._next
        if not opening.is_symbol("(", "["):
            message = f"expected a list after 'in', found {opening}"
            raise self._refusal(opening, message, "write e.g. channel in ('phone', 'web')")
        self._take()
        choices = [self._choice()]
        while self._accept(","):
            choices.append(self._choice())
        self._close(opening)
        return tuple(choices)

    def _choice(self) -> AnyLiteral:
        token = self._next
        if token.kind in (TokenKind.NAME, TokenKind.QUOTED_NAME):
            message = f"a list holds fixed values, not the name {token}"
            raise self._refusal(token, message, f'for a text, write "{token.value[:40]}"')
        return _negative(self._literal()) if self._accept("-") else self._literal()

    def _literal(self) -> AnyLiteral:
        token = self._take()
        value = _literal(token, self._place(token))
        if isinstance(value, NumberLiteral) and self._next.kind is TokenKind.NAME:
            word = self._take()
            return _duration(value, word, self._place(word))
        return value

    # --- explaining -------------------------------------------------------------------

    def _no_colon(self, question: Token) -> DefinitionError:
        previous = self._tokens[self._index - 1]
        glued = previous.kind is TokenKind.NAME and ":" in previous.value
        hint = f"{quoted(previous.value)} is one name; put spaces around ':'" if glued else ""
        opened = f"the '?' in column {self._place(question).column}"
        return self._refusal(self._next, f"expected ':' for {opened}, found {self._next}", hint)

    def _leftover(self) -> DefinitionError:
        token = self._next
        if token.is_symbol(")", "]"):
            return self._refusal(token, f"there is no opening bracket for this {token}")
        previous = self._tokens[self._index - 1]
        names = (TokenKind.NAME, TokenKind.QUOTED_NAME)
        hint = ""
        if previous.kind in names and token.kind in (*names, TokenKind.NUMBER, TokenKind.TEXT):
            hint = 'texts go in quotes, as in activity == "Pay claim"; a name with spaces in `…`'
        return self._refusal(token, f"did not expect {token} here", hint)


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


_TAKEN = KEYWORDS | NOTHING | {"derive", "value", "missing", "data"}


def variable_for(attribute: str) -> str:
    """What a formula calls an attribute: its own name where a variable may be called so.

    >>> variable_for("amount"), variable_for("org:group"), variable_for("value")
    ('amount', 'data', 'data')
    """
    is_free = _VARIABLE.fullmatch(attribute) and attribute.lower() not in _TAKEN
    return attribute if is_free else "data"


def is_too_large(formula: Expression) -> bool:
    """Whether the grammar could no longer read the formula."""
    return height(formula) > MAX_DEPTH or divisor_depth(formula) > MAX_DIVISORS


# --- expressions into text ------------------------------------------------------------

_WRITTEN_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t"})
# Days are the largest: more people think in 28 days than in 4 weeks.
UNITS = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds")


@dataclass(frozen=True, slots=True)
class Logic:
    """How logic is written. Java's signs bind more tightly than words, so `!` takes brackets."""

    words: Mapping[Operator, str]
    negation: str


WORDS = Logic({}, "not ")
SIGNS = Logic({Operator.AND: "&&", Operator.OR: "||"}, "!")
"""As MVEL has it, which Java PPINOT evaluates; the grammar here reads both."""


def render(expression: Expression, logic: Logic = WORDS) -> str:
    """
    >>> render(parse_expression("((a+b)) * 90min>=(1 day) && !(c in ['x'])"))
    '(a + b) * 90 minutes >= 1 day and c not in ("x")'
    >>> render(parse_expression("a and not (b == 1 or c is missing)"), SIGNS)
    'a && !(b == 1 || c is missing)'
    """
    text, _ = _render(expression, logic)
    return text


def quote_text(text: str) -> str:
    """A text as the grammar reads it back."""
    return '"' + text.translate(_WRITTEN_ESCAPES).replace('"', '\\"') + '"'


def _within(expression: Expression, loosest: int, logic: Logic) -> str:
    """The text of an operand, in parentheses if it binds more loosely than `loosest`."""
    text, power = _render(expression, logic)
    return text if power >= loosest else f"({text})"


def _render(expression: Expression, logic: Logic) -> tuple[str, int]:
    match expression:
        case Name():
            return _name_text(expression.name), _ATOM
        case Negate():
            return "-" + _within(expression.operand, _SIGN, logic), _SIGN
        case Not():
            return _negation(expression.operand, logic)
        case Binary(operator, left, right):
            power = _POWERS[operator]
            # Comparisons do not chain, so their left operand must bind tighter as well.
            first = _within(left, power + (power == _COMPARISON), logic)
            word = logic.words.get(operator, operator)
            return f"{first} {word} {_within(right, power + 1, logic)}", power
        case OneOf():
            return _membership(expression, "in", logic), _COMPARISON
        case IsMissing():
            return _within(expression.operand, _SUM, logic) + " is missing", _COMPARISON
        case Choose():
            condition = _within(expression.condition, _OR, logic)
            then, otherwise = (render(it, logic) for it in (expression.then, expression.otherwise))
            return f"{condition} ? {then} : {otherwise}", _CHOOSE
        case Apply():
            arguments = ", ".join(render(argument, logic) for argument in expression.arguments)
            return f"{expression.function}({arguments})", _ATOM
        case _:
            return _literal_text(expression)


def _negation(operand: Expression, logic: Logic) -> tuple[str, int]:
    match operand:
        case OneOf():
            return _membership(operand, "not in", logic), _COMPARISON
        case IsMissing():
            return _within(operand.operand, _SUM, logic) + " is not missing", _COMPARISON
        case _ if logic is SIGNS:
            return f"{logic.negation}({render(operand, logic)})", _NOT
        case _:
            return logic.negation + _within(operand, _NOT, logic), _NOT


def _membership(expression: OneOf, word: str, logic: Logic) -> str:
    choices = ", ".join(_literal_text(choice)[0] for choice in expression.choices)
    return f"{_within(expression.operand, _SUM, logic)} {word} ({choices})"


def _literal_text(literal: AnyLiteral) -> tuple[str, int]:
    match literal:
        case NumberLiteral():
            return _number_text(literal.value)
        case DurationLiteral():
            unit = whole_unit(literal.microseconds)
            return _number_text(literal.microseconds / DURATIONS[unit], f" {unit}")
        case TextLiteral():
            return quote_text(literal.value), _ATOM
        case TruthLiteral():
            return ("true" if literal.value else "false"), _ATOM
        case InstantLiteral():
            return _instant_text(literal.ts_us), _ATOM


def _name_text(name: str) -> str:
    if IDENTIFIER.fullmatch(name) and name.lower() not in KEYWORDS | NOTHING:
        return name
    return "`" + name.translate(_WRITTEN_ESCAPES).replace("`", "\\`") + "`"


def _number_text(value: Fraction, unit: str = "") -> tuple[str, int]:
    places = decimal_places(value)
    if places is None:
        return f"{value.numerator}{unit} / {value.denominator}", _PRODUCT
    digits = str(abs(value.numerator) * 10**places // value.denominator).zfill(places + 1)
    decimal = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    word = unit.removesuffix("s") if abs(value) == 1 else unit
    return (decimal + word, _ATOM) if value >= 0 else (f"-{decimal}{word}", _SIGN)


def whole_unit(microseconds: Fraction) -> str:
    """The largest unit of time of which a duration is a whole number."""
    whole = (unit for unit in UNITS if (microseconds / DURATIONS[unit]).denominator == 1)
    return next(whole, "microseconds") if microseconds else "seconds"


def decimal_places(value: Fraction) -> int | None:
    """How many digits a number has after its point; None if they never end.

    >>> decimal_places(Fraction(1, 8)), decimal_places(Fraction(1, 3))
    (3, None)
    """
    rest, places = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    return places if rest == 1 else None


def _instant_text(ts_us: int) -> str:
    moment = _EPOCH + timedelta(microseconds=ts_us)
    text = moment.replace(tzinfo=None).isoformat()
    return text.removesuffix("T00:00:00") if text.endswith("T00:00:00") else text + "Z"
