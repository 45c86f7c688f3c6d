"""Trees of mappings, lists and texts as YAML or JSON, in the many ways each can be written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tests.fuzz.catalogue_measures import Tree
from tests.fuzz.dice import Dice

_PLAIN = re.compile(r"[A-Za-z_(][\w .()=<>+*/\-]*(?<! )", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|true|false")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def json_text(tree: Tree, dice: Dice) -> str:
    """Numbers and truth values with quotes or without, characters escaped or not."""
    text = json.dumps(_bare(tree, dice), ensure_ascii=False, indent=dice.one((None, 1, 2, "\t")))
    return "".join(map(_escaped_beyond_quotes, text))


def _bare(tree: Tree, dice: Dice) -> object:
    if isinstance(tree, dict):
        return {key: _bare(value, dice) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_bare(item, dice) for item in tree]
    if not _NUMBER.fullmatch(tree) or dice.chance(50):
        return tree
    value = json.loads(tree)
    return value if json.dumps(value) == tree else tree


def _escaped_beyond_quotes(character: str) -> str:
    if character in "\n\t" or character.isprintable() or ord(character) > 0xFFFF:
        return character
    return f"\\u{ord(character):04x}"


def yaml_text(tree: Tree, dice: Dice) -> str:
    return "\n".join(_block(tree, "", dice)) + "\n"


def _block(tree: Tree, indent: str, dice: Dice) -> Iterator[str]:
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from _entry(f"{indent}{_scalar(key, dice)}:", value, indent, dice)
    elif isinstance(tree, list) and tree:
        for item in tree:
            yield from _entry(f"{indent}-", item, indent, dice)
    else:
        yield indent + _flow(tree, dice)


def _entry(head: str, value: Tree, indent: str, dice: Dice) -> Iterator[str]:
    if isinstance(value, str) or not value or dice.chance(35):
        if isinstance(value, str) and dice.chance(4) and _is_block_text(value):
            yield f"{head} {dice.one(('|-', '>-'))}"
            yield f"{indent}  {value}"
        else:
            yield f"{head} {_flow(value, dice)}" + ("  # why" if dice.chance(2) else "")
        return
    yield head
    yield from _block(value, indent + dice.one(("  ", "    ")), dice)


def _is_block_text(text: str) -> bool:
    return text.isprintable() and text == text.strip() and bool(text)


def _flow(tree: Tree, dice: Dice) -> str:
    if isinstance(tree, dict):
        inner = (f"{_scalar(key, dice)}: {_flow(value, dice)}" for key, value in tree.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(_flow(item, dice) for item in tree) + "]"
    return _scalar(tree, dice)


def _scalar(text: str, dice: Dice) -> str:
    if dice.chance(70) and (_PLAIN.fullmatch(text) or _NUMBER.fullmatch(text)):
        return text
    if dice.chance(50) and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    return f"\\U{ord(character):08x}" if ord(character) > 0xFFFF else f"\\u{ord(character):04x}"
