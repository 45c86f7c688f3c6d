"""Mappings, lists and texts laid out as YAML or JSON.

What fits on a line stands on one, in braces. A text is in quotes where YAML, or an
editor, would take it for something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

WIDTH = 100
_OPENED = 3
"""The catalogue, its lists and its PPIs have lines of their own, however short they are."""

Plain: TypeAlias = "str | list[Plain] | dict[str, Plain]"


class Bare(str):
    """A text that needs no quotes in YAML: one of our own words, or a date."""

    __slots__ = ()


class Literal(Bare):
    """A number, true or false: no quotes in JSON either."""

    __slots__ = ()


def yaml_text(catalogue: Plain) -> str:
    return "\n".join(_block(catalogue, "")) + "\n"


def json_text(catalogue: Plain) -> str:
    return "\n".join(_opened("", catalogue, "", "")) + "\n"


def line_text(node: Plain) -> str:
    """A node as YAML on one line."""
    return _braced(node, _in_braces)


def _braced(node: Plain, quote: Callable[[str], str]) -> str:
    """A node on one line."""
    if isinstance(node, dict):
        entries = (f"{quote(key)}: {_braced(value, quote)}" for key, value in node.items())
        return "{" + ", ".join(entries) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(_braced(item, quote) for item in node) + "]"
    return quote(node)


# --- YAML -----------------------------------------------------------------------------

_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_NUMERIC = re.compile(r"[0-9][0-9a-fA-FxXoOtTzZ:._+\- ]*")
_UNSAFE = re.compile(r": | #|:$")
_UNSAFE_IN_BRACES = re.compile(r": | #|:$|[,?\[\]{}]")


def _block(node: Plain, indent: str) -> Iterator[str]:
    """The lines of a mapping or a list that has lines of its own."""
    if isinstance(node, dict):
        for key, value in node.items():
            head = f"{indent}{_in_braces(key)}:"
            line = _line(head, value, indent)
            yield head if line is None else line
            if line is None:
                yield from _block(value, f"{indent}  ")
    elif isinstance(node, list):
        for index, item in enumerate(node):
            if index and len(indent) < 2 * _OPENED - 2:
                yield ""
            line = _line(f"{indent}-", item, indent)
            if line is None:
                first, *rest = _block(item, f"{indent}  ")
                yield f"{indent}- {first.lstrip(' ')}"
                yield from rest
            else:
                yield line


def _line(head: str, value: Plain, indent: str) -> str | None:
    """A node behind its key or dash; None if it should have lines of its own."""
    if isinstance(value, str):
        return f"{head} {_yaml_scalar(value, _UNSAFE)}"
    if len(indent) < 2 * _OPENED - 2:
        return None
    line = f"{head} {_braced(value, _in_braces)}"
    return line if len(line) <= WIDTH else None


def _in_braces(text: str) -> str:
    return _yaml_scalar(text, _UNSAFE_IN_BRACES)


def _yaml_scalar(text: str, unsafe: re.Pattern[str]) -> str:
    if isinstance(text, Bare) or _is_plain(text, unsafe):
        return text
    if text.isprintable() and "'" not in text and ('"' in text or "\\" in text):
        return f"'{text}'"
    return quoted_text(text)


def _is_plain(text: str, unsafe: re.Pattern[str]) -> bool:
    starts_well = text[:1].isalnum() or text[:1] in ("_", "(")
    return (
        starts_well
        and not text.endswith(" ")
        and text.isprintable()
        and text.lower() not in _WORDS
        and _NUMERIC.fullmatch(text) is None
        and unsafe.search(text) is None
    )


def quoted_text(text: str) -> str:
    """A text in double quotes, of which YAML and JSON think alike."""
    return '"' + "".join(map(_escaped, text)) + '"'


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    # Beyond four digits the two notations escape differently, but both read the character.
    hidden = not character.isprintable() and ord(character) <= 0xFFFF
    return f"\\u{ord(character):04x}" if hidden else character


# --- JSON -----------------------------------------------------------------------------


def _json_scalar(text: str) -> str:
    return str(text) if isinstance(text, Literal) else quoted_text(text)


def _opened(head: str, node: Plain, tail: str, indent: str) -> Iterator[str]:
    """The lines of a node between what goes before and after it on its lines."""
    line = f"{indent}{head}{_braced(node, _json_scalar)}{tail}"
    if isinstance(node, str) or (len(line) <= WIDTH and len(indent) >= 2 * _OPENED):
        yield line
        return
    heads = (
        [f"{quoted_text(key)}: " for key in node] if isinstance(node, dict) else [""] * len(node)
    )
    inner = list(node.values()) if isinstance(node, dict) else node
    opening, closing = "{}" if isinstance(node, dict) else "[]"
    yield f"{indent}{head}{opening}"
    for index, (key, value) in enumerate(zip(heads, inner, strict=True), start=1):
        yield from _opened(key, value, "," if index < len(inner) else "", f"{indent}  ")
    yield f"{indent}{closing}{tail}"
