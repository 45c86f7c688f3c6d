"""Tokens into an expression: a small Pratt parser.

Operators, loosest first:

    c ? a : b
    or  ||
    and  &&
    not  !
    ==  !=  <  <=  >  >=  in (…)  not in (…)  is missing  is not missing
    +  -
    *  /  %
    -a

Comparisons do not chain. Nesting and the height of the result are bounded, so
neither reading an expression nor anything that later walks it can run out of
stack, whatever an analyst writes.
"""

from __future__ import annotations

from pappi.errors import DefinitionError, Position
from pappi.ppinot.expressions.lexer import Origin, Token, TokenKind, located, refusal, tokens
from pappi.ppinot.expressions.literals import duration, literal, negative
from pappi.ppinot.expressions.nodes import (
    NOWHERE,
    Apply,
    Binary,
    Choose,
    Expression,
    Function,
    IsMissing,
    Literal,
    Name,
    Negate,
    Not,
    Number,
    OneOf,
    Operator,
)
from pappi.ppinot.expressions.walk import divisor_depth, height
from pappi.ppinot.wording import did_you_mean, listed, quoted

MAX_DEPTH = 50
# A database tests a divisor for zero, and may copy it to do so: nested, they would multiply.
MAX_DIVISORS = 4

_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN = range(1, 8)

_POWERS = {
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(["==", "!=", "<", "<=", ">", ">=", "in", "is", "not"], _COMPARISON),
    **dict.fromkeys(["+", "-"], _SUM),
    **dict.fromkeys(["*", "/", "%"], _PRODUCT),
}
_CLOSING = {"(": ")", "[": "]"}
_NOTHING = frozenset({"null", "none", "nil", "nan", "na"})


def parse_expression(text: str, origin: Position | Origin = NOWHERE) -> Expression:
    """The expression a text says; DefinitionError with the exact place if it says none.

    >>> parse_expression("a < b") == Binary(Operator.LESS, Name("a"), Name("b"))
    True
    """
    at = located(text, origin) if isinstance(origin, Position) else origin
    expression = _Parser(tokens(text, at), at).whole()
    if height(expression) > MAX_DEPTH:
        raise refusal(
            at(0),
            f"this expression is more than {MAX_DEPTH} operations deep",
            "a long chain of 'or' on one name is shorter as: name in (…, …)",
        )
    if divisor_depth(expression) > MAX_DIVISORS:
        raise refusal(
            at(0),
            f"more than {MAX_DIVISORS} divisors are nested in each other here",
            "a / (b / c) is the same as a * c / b",
        )
    return expression


class _Parser:
    def __init__(self, found: list[Token], origin: Origin) -> None:
        self._tokens = found
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

    def _descend(self, token: Token) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._refusal(token, f"this is nested more than {MAX_DEPTH} levels deep")

    # --- operators --------------------------------------------------------------------

    def _expression(self) -> Expression:
        self._descend(self._next)
        expression = self._operation(_OR)
        if question := self._accept("?"):
            then = self._expression()
            if not self._accept(":"):
                raise self._no_colon(question)
            expression = Choose(
                expression, then, self._expression(), position=self._place(question)
            )
        self._depth -= 1
        return expression

    def _operation(self, loosest: int) -> Expression:
        """An operation of operators that bind at least as tightly as `loosest`."""
        left = self._operand(loosest)
        while (power := self._power()) >= loosest:
            if power == _COMPARISON:
                left = self._comparison(left)
                self._refuse_chain()
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

    def _refuse_chain(self) -> None:
        if self._power() == _COMPARISON:
            raise self._refusal(
                self._next,
                "comparisons cannot be chained",
                "write 'a < b and b < c' instead of 'a < b < c'",
            )

    def _expect_missing(self) -> None:
        token = self._take()
        if token.kind is not TokenKind.NAME or token.value.lower() not in {"missing", *_NOTHING}:
            raise self._refusal(
                token,
                f"expected 'missing' after 'is', found {token}",
                "write 'x is missing' or 'x is not missing'; to compare, write '=='",
            )

    # --- operands ---------------------------------------------------------------------

    def _operand(self, loosest: int) -> Expression:
        token = self._next
        if token.is_keyword("not"):
            if loosest > _NOT:
                raise self._refusal(token, "'not' binds too loosely here", "write '(not …)'")
            self._descend(self._take())
            negation = Not(self._operation(_NOT), position=self._place(token))
            self._depth -= 1
            return negation
        if token.is_symbol("-"):
            self._descend(self._take())
            negative = Negate(self._operation(_SIGN), position=self._place(token))
            self._depth -= 1
            return negative
        return self._primary()

    def _primary(self) -> Expression:
        token = self._next
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
        if token.value.lower() in _NOTHING:
            raise self._refusal(
                token, f"there is no value {token}", "to ask for it, write 'x is missing'"
            )
        return Name(token.value, position=self._place(token))

    def _call(self, token: Token) -> Expression:
        names = [function.value for function in Function]
        if token.value not in names:
            known = f"the functions are {listed(names, 'and')}"
            raise self._refusal(
                token, f"there is no function {token}", did_you_mean(token.value, names, known)
            )
        opening = self._take()
        arguments = [self._expression()]
        while self._accept(","):
            arguments.append(self._expression())
        self._close(opening)
        return Apply(Function(token.value), tuple(arguments), position=self._place(token))

    def _close(self, opening: Token) -> None:
        if not self._accept(closing := _CLOSING[opening.value]):
            column = self._place(opening).column
            raise self._refusal(
                self._next,
                f"expected '{closing}' for the '{opening.value}' in column {column}, "
                f"found {self._next}",
            )

    def _choices(self) -> tuple[Literal, ...]:
        opening = self._next
        if not opening.is_symbol("(", "["):
            raise self._refusal(
                opening,
                f"expected a list after 'in', found {opening}",
                "write e.g. channel in ('phone', 'web')",
            )
        self._take()
        choices = [self._choice()]
        while self._accept(","):
            choices.append(self._choice())
        self._close(opening)
        return tuple(choices)

    def _choice(self) -> Literal:
        token = self._next
        if token.kind in (TokenKind.NAME, TokenKind.QUOTED_NAME):
            raise self._refusal(
                token,
                f"a list holds fixed values, not the name {token}",
                f'for a text, write "{token.value[:40]}"',
            )
        return negative(self._literal()) if self._accept("-") else self._literal()

    def _literal(self) -> Literal:
        value = literal(self._take(), self._origin)
        if isinstance(value, Number) and self._next.kind is TokenKind.NAME:
            return duration(value, self._take(), self._origin)
        return value

    # --- explaining -------------------------------------------------------------------

    def _no_colon(self, question: Token) -> DefinitionError:
        previous = self._tokens[self._index - 1]
        glued = previous.kind is TokenKind.NAME and ":" in previous.value
        return self._refusal(
            self._next,
            f"expected ':' for the '?' in column {self._place(question).column}, "
            f"found {self._next}",
            f"{quoted(previous.value)} is one name; put spaces around ':'" if glued else "",
        )

    def _leftover(self) -> DefinitionError:
        token = self._next
        if token.is_symbol(")", "]"):
            return self._refusal(token, f"nothing was opened that this {token} could close")
        previous = self._tokens[self._index - 1]
        names = (TokenKind.NAME, TokenKind.QUOTED_NAME)
        hint = ""
        if previous.kind in names and token.kind in (*names, TokenKind.NUMBER, TokenKind.TEXT):
            hint = 'texts go in quotes, as in activity == "Pay claim"; a name with spaces in `…`'
        return self._refusal(token, f"did not expect {token} here", hint)
