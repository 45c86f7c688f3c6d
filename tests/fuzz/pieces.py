"""What mutations put into definitions: characters, words, tricks of YAML, XML and SQL."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from tests.fuzz.expressions import named
from tests.fuzz.vocabulary import ACTIVITIES, SQL, TEXTS, UNDECLARED, VOCABULARY

_SCHEMA = Path(__file__).parents[2] / "schemas" / "catalogue.schema.json"

CHARACTERS: tuple[str, ...] = (
    *("\0", "\x1b", "\x07", "\x7f", "\x85", "\u202e", "\u2066", "\u200b", "\ufeff", "\ufffe"),
    *("\ud800", "\udfff", "\U0010ffff", "\u0301", "\u2028", "ı", "ß", "Ⅷ", "５", "\xa0"),
    *("\r", "\r\n", "--", "==", "“", "‘", "…", "−"),
    *"'\"`\\\n\t ()[]{}<>&*!%#:,;-?|=/$@.",
)
"""Quotes and signs, and characters that are invisible, turn the line around, or are none."""

NUMBERS = (
    *("9" * 40, "9" * 400, "1e99", "1e999", "-0", "0.1e-99", "NaN", "Infinity", "0x1F", "1_000"),
    *("٣", "2014-02-30", "9999-12-31", "0001-01-01", "2014-01-31T25:00", "10000 days", "1/0"),
)

_WORDS = re.findall(
    r"\S+",
    """
    and or not in is missing null true false min max abs round the where when of cases each every
    first last between from to by occurs activity timestamp days case start end function share
    average kind DerivedMeasure usedMeasureMap AggregatedMeasure genericState log PPI Definition:
    """,
)

TRICKS = (
    *("&a ", "*a", "!!python/object/apply:os.system ", "!!binary ", "! ", "<<: *a\n", "---\n"),
    *("...\n", "%YAML 1.1\n", "? ", "| \n", ">-\n", "- ", "\t", "# ", "~", "null", "{", "["),
    *("!<tag:yaml.org,2002:str> ", "&a [*a, *a]", "'", '"\\x00"', '"\\ud800"', "id: x\nid: y\n"),
    *('"\\U0010FFFF"', "=: 1", "&lt;", "&#0;", "&#xD800;", "&amp;amp;", "&undeclared;", "]]>"),
    *("<![CDATA[x]]>", "<!-- x -->", '<!DOCTYPE x SYSTEM "file:///etc/passwd">', "<?php x ?>"),
    '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
    *("<?xml version='1.1'?>", "<ppi:x/>", "</ppi:ppiset>", "<ppi:ppiset>", "xmlns:ppi='other'"),
    *("<a ", ' id="e1"', ' sourceRef="e2"', ' targetRef="e1"', ' state="ACTIVE"'),
    *SQL,
)
"""What YAML, XML or a database would take for an order."""

NESTS = (
    *(("(", ")"), ("[", "]"), ("{a: ", "}"), ("not ", ""), ("-", ""), ("!", ""), ("- ", "")),
    *(("min(", ")"), ("x ? ", " : y"), ("1 / (", ")"), ("<a>", "</a>"), ("whether ", "")),
    *(("(the sum of ", ")"), ("the function (a) where a is (", ")"), ("\\", ""), ("((", "))")),
)

ALIKE = re.compile(
    r"(?P<number>\b[0-9]+(?:\.[0-9]+)?\b)|(?P<sign>==|!=|<=|>=|<|>| [-+*/%] )"
    r"|(?P<logic>\b(?:and|or)\b)"
    r"|(?P<name>`[^`\n]*`|\b(?:amount|channel|urgent|effort|due|order|first)\b)"
)
SORTS = {
    "number": ("0", "1", "2", "0.5", "99", "1000000", "9" * 30, "1" + "0" * 39, "0." + "0" * 30),
    "sign": ("==", "!=", "<=", ">=", "<", ">", " + ", " - ", " * ", " / ", " % "),
    "logic": ("and", "or", "&&", "||", "AND"),
    "name": tuple(map(named, (*VOCABULARY.attributes, *UNDECLARED[:12], "activity", "timestamp"))),
}
"""What can stand for another of its sort, so that the definition still means something."""


@cache
def dictionary() -> tuple[str, ...]:
    """Words of all notations, names that may and may not be used, and pieces of SQL."""
    found: list[str] = []
    waiting: list[object] = [json.loads(_SCHEMA.read_text(encoding="utf-8"))]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            found += [*part.get("properties", {}), *map(str, part.get("enum", ()))]
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    words = (*dict.fromkeys(found), *_WORDS, *NUMBERS, *SQL, *SQL, *UNDECLARED)
    return (*words, *ACTIVITIES, *TEXTS, *VOCABULARY.attributes)
