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
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
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
from pappi.values import CONTROL, DURATIONS, did_you_mean, duration_unit, listed, quoted

# --- words ----------------------------------------------------------------------------
#
# Expressions, and the sentences they may stand in, are cut into the same words, each when it is
# asked for: a long text that goes wrong at its beginning is refused there. Every character is
# looked at a bounded number of times. Cutting has no opinion on what a word means.


Origin = Callable[[int], Position]
"""Where the character at an offset of a text stands in its file."""

MAX_LENGTH = 4_000
MAX_DIGITS = 40

KEYWORDS = frozenset({"and", "or", "not", "in", "is", "true", "false"})
_AS_KEYWORD = {word: word for word in KEYWORDS} | {"&&": "and", "||": "or", "!": "not"}


class WordKind(Enum):
    WORD = auto()
    NUMBER = auto()
    ORDINAL = auto()
    DATE = auto()
    CLOCK = auto()
    TEXT = auto()
    NAME = auto()
    SYMBOL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of a text: what is written, and how it compares with other words."""

    kind: WordKind
    written: str
    start: int
    said: str

    @property
    def end(self) -> int:
        return self.start + len(self.written)

    @property
    def keyword(self) -> str:
        """The keyword of the grammar that it is, also written as a sign; empty if it is none."""
        return _AS_KEYWORD.get(self.said, "")

    @property
    def is_bare_name(self) -> bool:
        return self.kind is WordKind.WORD and not self.keyword

    @property
    def is_name(self) -> bool:
        return self.is_bare_name or self.kind is WordKind.NAME

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind is WordKind.SYMBOL and self.written in symbols

    def is_word(self, *words: str) -> bool:
        return self.kind is WordKind.WORD and self.said in words

    def __str__(self) -> str:
        return "the end" if self.kind is WordKind.END else quoted(self.written)


IDENTIFIER = re.compile(r"[^\W\d]\w*(?::[^\W\d]\w*)*")
_DATE = (
    r"(?P<DATE>[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?(?![0-9]))"
)
_IN_SENTENCES = (
    r"|(?P<CLOCK>[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?![0-9]))"
    r"|(?P<ORDINAL>[0-9]{1,3}(?i:st|nd|rd|th)(?!\w))"
)
_ANYWHERE = (
    r"|(?P<NUMBER>[0-9]+(?:\.[0-9]+)?)"
    rf"|(?P<WORD>{IDENTIFIER.pattern})"
    r"|(?P<SYMBOL>==|!=|<=|>=|&&|\|\||.)"
)
_PIECES = {
    False: re.compile(_DATE + _ANYWHERE, re.DOTALL),
    True: re.compile(_DATE + _IN_SENTENCES + _ANYWHERE, re.DOTALL),
}
_SPACE = re.compile(r"\s*")
_QUOTATION = {
    quote: re.compile(rf"{quote}(?:[^{quote}\\]++|\\.)*+{quote}", re.DOTALL) for quote in "\"'`"
}


@dataclass(slots=True)
class Words:
    """The words of a text, by number; an END follows them.

    Only sentences have ordinals and times of the clock, and no control characters in quotes.
    """

    text: str
    origin: Origin = lambda _: NOWHERE
    in_sentence: bool = False
    _cut: list[Word] = field(default_factory=list)

    def __getitem__(self, index: int) -> Word:
        words = self._cut
        while index >= len(words):
            if words and words[-1].kind is WordKind.END:
                return words[-1]
            words.append(self._word(words[-1].end if words else 0))
        return words[index]

    def _word(self, start: int) -> Word:
        """The word that begins here, or behind the spaces that are here."""
        if space := _SPACE.match(self.text, start):
            start = space.end()
        if start == len(self.text):
            return Word(WordKind.END, "", start, "")
        if self.text[start] in _QUOTATION:
            return self._quotation(start)
        piece = _PIECES[self.in_sentence].match(self.text, start)
        if piece is None or piece.lastgroup is None:
            raise AssertionError("every character is a symbol at least")
        kind, written = WordKind[piece.lastgroup], piece.group()
        if kind is WordKind.NUMBER and len(written) > MAX_DIGITS:
            raise refusal(self.origin(start), f"this number has more than {MAX_DIGITS} digits")
        return Word(kind, written, start, written.lower() if kind is WordKind.WORD else written)

    def _quotation(self, start: int) -> Word:
        quote = self.text[start]
        quotation = _QUOTATION[quote].match(self.text, start)
        if quotation is None:
            message = f"this quoted text never ends: the closing {quote} is missing"
            apostrophe = 'a name with an apostrophe goes in double quotes: "it\'s done"'
            raise refusal(self.origin(start), message, apostrophe if quote == "'" else "")
        written = quotation.group()
        control = CONTROL.search(written) if self.in_sentence else None
        if control:
            place = self.origin(start + control.start())
            raise refusal(place, "this text contains a control character")
        return Word(WordKind.NAME if quote == "`" else WordKind.TEXT, written, start, written)


def located(text: str, start: Position) -> Origin:
    """The origin of a text that was written in one piece from `start` on."""
    lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def origin(offset: int) -> Position:
        line = bisect_right(lines, offset) - 1
        before = start.column if line == 0 else 1
        return Position(start.file, start.line + line, before + offset - lines[line])

    return origin


def refusal(position: Position, message: str, hint: str = "") -> DefinitionError:
    """The error that a text with one problem raises."""
    return DefinitionError([Problem(position, message, hint)])


_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "`": "`", "n": "\n", "t": "\t"}


def unquoted(word: Word, origin: Origin) -> str:
    """What stands between quotes or backticks; any other word as it is."""
    if word.kind not in (WordKind.TEXT, WordKind.NAME):
        return word.written

    def meant(escape: re.Match[str]) -> str:
        if escape[1] not in _ESCAPES:
            hint = "write \\\\ for a backslash, \\n for a new line, \\t for a tab"
            message = f"{quoted(escape[0])} is not a valid escape inside quotes"
            raise refusal(origin(word.start + 1 + escape.start()), message, hint)
        return _ESCAPES[escape[1]]

    text = _ESCAPE.sub(meant, word.written[1:-1])
    if word.kind is WordKind.NAME and not text:
        raise refusal(origin(word.start), "there is no name between these backticks")
    return text


# --- literals -------------------------------------------------------------------------

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _literal(word: Word, origin: Origin) -> AnyLiteral:
    """The value a word stands for."""
    place = origin(word.start)
    match word.kind:
        case WordKind.NUMBER:
            return NumberLiteral(Fraction(word.written), position=place)
        case WordKind.TEXT:
            return TextLiteral(unquoted(word, origin), position=place)
        case WordKind.DATE:
            return _instant(word, place)
        case WordKind.WORD if word.said in ("true", "false"):
            return TruthLiteral(word.said == "true", position=place)
    raise refusal(place, f"expected a value, found {word}")


def _duration(number: NumberLiteral, word: Word, place: Position) -> DurationLiteral:
    """A number with the unit word behind it, as in `90 days`."""
    unit = duration_unit(word.written)
    if unit is None:
        hint = did_you_mean(word.written, DURATIONS, f"the units are {listed(DURATIONS, 'and')}")
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


def _instant(word: Word, place: Position) -> InstantLiteral:
    """A date or time without a zone is UTC; a date alone is its midnight."""
    try:
        moment = datetime.fromisoformat(word.written)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        since = aware.astimezone(UTC) - _EPOCH
    except (ValueError, OverflowError):
        message = f"{word} is not a valid date"
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
_LEADING = ("not", "true", "false")
NOTHING = frozenset({"null", "none", "nil", "nan", "na"})
_MISSING = {"missing", *NOTHING}


_SIGNS = frozenset(
    [
        "==",
        "!=",
        "<=",
        ">=",
        "&&",
        "||",
        "<",
        ">",
        "+",
        "-",
        "*",
        "/",
        "%",
        "(",
        ")",
        "[",
        "]",
        ",",
        "?",
        ":",
        "!",
    ]
)
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


def parse_expression(text: str, origin: Position | Origin = NOWHERE) -> Expression:
    """The expression a text says; DefinitionError with the exact place if it says none.

    >>> parse_expression("a < b") == Binary(Operator.LESS, Name("a"), Name("b"))
    True
    """
    at = located(text, origin) if isinstance(origin, Position) else origin
    if len(text) > MAX_LENGTH:
        message = f"this expression has {len(text):,} characters; at most {MAX_LENGTH:,} are read"
        raise refusal(at(0), message)
    return _Parser(Words(text, at)).whole()


def expression_at(
    words: Words, index: int, goes_on: Collection[str]
) -> tuple[Expression, int] | None:
    """The expression at a word of a sentence, and the number of the word behind it.

    Operands and operators take turns in an expression, and words follow words in a sentence. So the
    expression ends at the first word that stands where an operator would have to. The one word that
    both know is `and`: the sentence `goes_on` with it where one of these words follows. Inside
    brackets all is of the expression. None if no operand stands here.
    """
    word = words[index]
    begins = word.is_name or word.is_symbol("-", *_CLOSING) or word.keyword in _LEADING
    if not begins and word.kind not in (WordKind.TEXT, WordKind.NUMBER, WordKind.DATE):
        return None
    parser = _Parser(words, index, goes_on)
    return parser.leading(), parser.index


class _Parser:
    """Reads an expression, all that there is, or as part of a sentence that `goes_on` behind it."""

    def __init__(
        self, words: Words, index: int = 0, goes_on: Collection[str] | None = None
    ) -> None:
        self.index = index
        self._words = words
        self._first = words[index]
        self._goes_on = goes_on or ()
        self._in_sentence = goes_on is not None  # but not inside of brackets
        self._depth = 0

    def whole(self) -> Expression:
        expression = self.leading()
        if self._next.kind is not WordKind.END:
            raise self._leftover()
        return expression

    def leading(self) -> Expression:
        """The expression that stands here, if it is not too large."""
        expression, place = self._expression(), self._place(self._first)
        if height(expression) > MAX_DEPTH:
            hint = "a long chain of 'or' on one name is shorter as: name in (…, …)"
            raise refusal(place, f"this expression is more than {MAX_DEPTH} operations deep", hint)
        if divisor_depth(expression) > MAX_DIVISORS:
            message = f"more than {MAX_DIVISORS} divisors are nested in each other here"
            raise refusal(place, message, "a / (b / c) is the same as a * c / b")
        return expression

    # --- moving along -----------------------------------------------------------------

    @property
    def _next(self) -> Word:
        return self._words[self.index]

    def _take(self) -> Word:
        word = self._next
        if word.end - self._first.start > MAX_LENGTH + len("()"):
            message = f"this expression has more than {MAX_LENGTH:,} characters"
            raise self._refusal(self._first, message)
        self.index += word.kind is not WordKind.END
        return word

    def _accept(self, sign: str) -> Word | None:
        return self._take() if self._next.is_symbol(sign) else None

    def _place(self, word: Word) -> Position:
        return self._words.origin(word.start)

    def _refusal(self, word: Word, message: str, hint: str = "") -> DefinitionError:
        return refusal(self._place(word), message, hint)

    @contextmanager
    def _nested(self, word: Word) -> Iterator[None]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._refusal(word, f"this is nested more than {MAX_DEPTH} levels deep")
        yield
        self._depth -= 1

    @contextmanager
    def _bracketed(self) -> Iterator[None]:
        """Takes the bracket that comes next, and the one that closes it."""
        opening = self._take()
        closing = _CLOSING[opening.written]
        outside, self._in_sentence = self._in_sentence, False
        yield
        if not self._accept(closing):
            opened = f"the '{opening.written}' in column {self._place(opening).column}"
            message = f"expected '{closing}' for {opened}, found {self._next}"
            raise self._refusal(self._next, message)
        self._in_sentence = outside

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
                word = self._take()
                operator, right = word.keyword or word.written, self._operation(power + 1)
                left = Binary(Operator(operator), left, right, position=self._place(word))
        return left

    def _power(self) -> int:
        """How tightly the word behind an operand binds; 0 if it is no operator."""
        word = self._next
        self._refuse_stranger(word)
        operator = word.keyword or word.written
        if operator == "not" and not self._words[self.index + 1].is_word("in"):
            return 0
        is_over = self._in_sentence and word.keyword and self._is_over(word)
        return 0 if is_over else _POWERS.get(operator, 0)

    def _is_over(self, word: Word) -> bool:
        """Whether a word that could be an operator belongs to the sentence around."""
        following, behind = (self._words[self.index + ahead] for ahead in (1, 2))
        if word.is_word("and", "or"):
            return following.is_word(*self._goes_on)
        if word.is_word("is"):
            return not (behind if following.is_word("not") else following).is_word(*_MISSING)
        if word.is_word("in", "not"):
            return not (behind if word.is_word("not") else following).is_symbol(*_CLOSING)
        return False

    def _refuse_stranger(self, word: Word) -> None:
        """Signs the grammar has no use for, with the way to write it; a sentence may have some."""
        hint = _STRANGERS.get(word.written, "")
        may_follow = self._in_sentence and (not hint or word.written == ".")
        if word.kind is WordKind.SYMBOL and word.written not in _SIGNS and not may_follow:
            raise self._refusal(word, f"{word} is not allowed here", hint)

    def _comparison(self, left: Expression) -> Expression:
        word = self._take()
        place = self._place(word)
        match word.keyword or word.written:
            case "is":
                negated = self._next.is_word("not") and self._take()
                self._expect_missing()
                missing = IsMissing(left, position=place)
                return Not(missing, position=place) if negated else missing
            case "in":
                return OneOf(left, self._choices(), position=place)
            case "not":
                self._take()
                return Not(OneOf(left, self._choices(), position=place), position=place)
            case operator:
                right = self._operation(_COMPARISON + 1)
                return Binary(Operator(operator), left, right, position=place)

    def _expect_missing(self) -> None:
        word = self._take()
        if not word.is_word(*_MISSING):
            hint = "write 'x is missing' or 'x is not missing'; to compare, write '=='"
            raise self._refusal(word, f"expected 'missing' after 'is', found {word}", hint)

    # --- operands ---------------------------------------------------------------------

    def _operand(self, loosest: int) -> Expression:
        word = self._next
        if word.keyword == "not":
            if loosest > _NOT:
                raise self._refusal(word, "'not' binds too loosely here", "write '(not …)'")
            with self._nested(self._take()):
                return Not(self._operation(_NOT), position=self._place(word))
        if word.is_symbol("-"):
            with self._nested(self._take()):
                return Negate(self._operation(_SIGN), position=self._place(word))
        if word.is_symbol("("):
            with self._bracketed():
                return self._expression()
        return self._name() if word.is_name else self._literal()

    def _name(self) -> Expression:
        word = self._take()
        is_function = not self._in_sentence or word.said in tuple(Function)
        if word.is_bare_name and self._next.is_symbol("(") and is_function:
            return self._call(word)
        if word.is_word(*NOTHING):
            hint = "to ask for it, write 'x is missing'"
            raise self._refusal(word, f"there is no value {word}", hint)
        return Name(unquoted(word, self._words.origin), position=self._place(word))

    def _call(self, word: Word) -> Expression:
        names = [function.value for function in Function]
        if word.written not in names:
            known = f"the functions are {listed(names, 'and')}"
            hint = did_you_mean(word.written, names, known)
            raise self._refusal(word, f"there is no function {word}", hint)
        with self._bracketed():
            arguments = [self._expression()]
            while self._accept(","):
                arguments.append(self._expression())
        return Apply(Function(word.written), tuple(arguments), position=self._place(word))

    def _choices(self) -> tuple[AnyLiteral, ...]:
        if not self._next.is_symbol(*_CLOSING):
            message = f"expected a list after 'in', found {self._next}"
            raise self._refusal(self._next, message, "write e.g. channel in ('phone', 'web')")
        with self._bracketed():
            choices = [self._choice()]
            while self._accept(","):
                choices.append(self._choice())
        return tuple(choices)

    def _choice(self) -> AnyLiteral:
        word = self._next
        if word.is_name:
            message = f"a list holds fixed values, not the name {word}"
            text = unquoted(word, self._words.origin)[:40]
            raise self._refusal(word, message, f'for a text, write "{text}"')
        return _negative(self._literal()) if self._accept("-") else self._literal()

    def _literal(self) -> AnyLiteral:
        self._refuse_stranger(self._next)
        value, word = _literal(self._take(), self._words.origin), self._next
        is_unit = word.is_bare_name and (not self._in_sentence or duration_unit(word.said))
        if isinstance(value, NumberLiteral) and is_unit:
            return _duration(value, self._take(), self._place(word))
        return value

    # --- explaining -------------------------------------------------------------------

    def _no_colon(self, question: Word) -> DefinitionError:
        previous = self._words[self.index - 1]
        glued = previous.kind is WordKind.WORD and ":" in previous.written
        hint = f"{quoted(previous.written)} is one name; put spaces around ':'" if glued else ""
        opened = f"the '?' in column {self._place(question).column}"
        return self._refusal(self._next, f"expected ':' for {opened}, found {self._next}", hint)

    def _leftover(self) -> DefinitionError:
        word = self._next
        if word.is_symbol(")", "]"):
            return self._refusal(word, f"there is no opening bracket for this {word}")
        hint = ""
        if self._words[self.index - 1].is_name and (
            word.is_name or word.kind in (WordKind.NUMBER, WordKind.TEXT)
        ):
            hint = 'texts go in quotes, as in activity == "Pay claim"; a name with spaces in `…`'
        return self._refusal(word, f"did not expect {word} here", hint)


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
