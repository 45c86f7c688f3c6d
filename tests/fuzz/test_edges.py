"""Definitions at the edge of what can be written: each of them keeps every promise."""

from __future__ import annotations

import json

import pytest

from pappi.values.working_time import MOST_WINDOWS
from tests.fuzz.campaign import OURS
from tests.fuzz.promises import Found
from tests.fuzz.trial import CLOSELY, Trial, try_definition

HEAD = "log: x\nppis:\n- id: a\n  measure: "
ESCAPE = "`\x1b[2J`"
DERIVED = json.dumps(
    {
        "is": "DerivedMeasure",
        "function_expression": "a == b",
        "measure_map": {
            "a": {"is": "DataMeasure", "data_content_selection": "channel", "first": False},
            "b": "…",
        },
    },
    ensure_ascii=False,
)
DEEP = "(urgent == " * 46 + "urgent" + ")" * 46
HOURS = "Mon-Sun " + " ".join(f"{hour:02}:00-{hour:02}:10" for hour in range(MOST_WINDOWS))


def tried(notation: str, text: str) -> Trial:
    try:
        return try_definition(OURS, notation, text, 0, CLOSELY)
    except Found as found:
        raise AssertionError(str(found)[:2_000]) from None


# --- what a message shows -------------------------------------------------------------


@pytest.mark.parametrize(
    ("notation", "text"),
    [
        ("expression", f"channel in ({ESCAPE})"),
        ("expression", "5 \x1b[2J"),
        ("expression", "a" * 3_000 + " b"),
        ("sentence", f"the sum of amount grouped by {ESCAPE} x"),
        ("sentence", f"the function {ESCAPE} + 1 where a is the number of cases"),
        ("sentence", f"the average of the number of times {ESCAPE} occurs"),
        ("sentence", "the average of " + "z" * 9_000),
        ("text", "Log: x\nPPI: " + "a" * 9_000),
        ("yaml", HEAD + '{number: cases}\n  target: "below 5 \\u202eabc"\n'),
        ("yaml", HEAD + "{number: cases}\n  target: below 5 " + "w" * 9_000),
        ("yaml", HEAD + '{sum: {count: "channel in (`\\u202ea`)"}}'),
        ("yaml", HEAD + "{sum: {count: " + "a" * 9_000 + "}}"),
        ("json", '{"' + "k" * 9_000 + '": 1}'),
        ("java", '{"kind": "' + "k" * 9_000 + '"}'),
        ("bpmn", "<" + "a" * 9_000 + ">"),
    ],
)
def test_a_message_shows_what_was_written_quoted_and_short(notation: str, text: str) -> None:
    assert tried(notation, text).verdict == "refused"


@pytest.mark.parametrize("character", ["\0", "\x1b", "\x7f", "\ud800"])
@pytest.mark.parametrize(
    ("notation", "text"),
    [
        ("expression", "channel == '…'"),
        ("expression", "channel in ('a', '…')"),
        ("expression", "`…` == 'a'"),
        ("sentence", 'the share of cases in which activity "…" occurs'),
        ("sentence", "the share of cases in which the last value of channel is '…'"),
        ("sentence", 'the number of cases grouped by the last value of channel into "a" and "…"'),
        ("sentence", "the function (`…`) where `…` is the number of cases"),
        ("text", 'Log: x\nPPI: a\nDefinition: the share of cases in which activity "…" occurs'),
        ("yaml", HEAD + "{share: {condition: \"channel == '…'\"}}"),
        ("json", '{"log": "x", "ppis": [{"id": "a", "name": "…"}]}'),
        ("objects", '{"is": "CountMeasure", "when": "channel == \'…\'"}'),
        ("objects", DERIVED),
    ],
)
def test_no_text_holds_a_control_character_or_half_a_character(
    notation: str, text: str, character: str
) -> None:
    written = json.dumps(character)[1:-1] if notation == "objects" else character
    assert tried(notation, text.replace("…", written)).verdict != "sound"


# --- how large a sound definition may be ----------------------------------------------


def nested(inner: str, outer: str, times: int) -> str:
    for _ in range(times):
        inner = outer.replace("…", inner)
    return inner


def over(count: int, variable: str) -> str:
    """The mean of a sum of so many variables."""
    names = [f"v{number}" for number in range(count)]
    given = ", ".join(f"{name}: {variable.replace('…', name[1:])}" for name in names)
    return f"{{mean: {{derive: {' + '.join(names)}, {given}}}, bounds: [0 days, 1 day]}}"


TIME = "{time: {from: activity == 'A' and order > …, to: case end}}"
WORKED = f"{{time: {{from: activity == 'A' and order > …, to: case end, calendar: '{HOURS}'}}}}"
CYCLES = "{time: {from: activity == 'A' and order > …, to: activity == 'B', cycles: sum}}"


@pytest.mark.parametrize(
    ("notation", "text"),
    [
        ("expression", DEEP),
        ("expression", "min(amount, " * 47 + "1" + ")" * 47),
        ("expression", "amount / (" * 4 + "1" + ")" * 4),
        ("expression", " or ".join(["urgent"] * 48)),
        ("expression", "channel in (" + ", ".join(f"'{number}'" for number in range(400)) + ")"),
        ("yaml", HEAD + "{mean: " + nested("{count: urgent}", "{derive: a + 1, a: …}", 30) + "}"),
        (
            "yaml",
            HEAD + "{mean: " + nested(f"{{count: '{DEEP}'}}", "{derive: a + 1, a: …}", 30) + "}",
        ),
        ("sentence", nested("the number of cases", "the function (a) where a is (…)", 18)),
        ("yaml", HEAD + over(16, TIME)),
        ("yaml", HEAD + over(8, CYCLES)),
        ("yaml", HEAD + over(1, WORKED)),
        ("yaml", HEAD + over(3, WORKED)),
    ],
    ids=[
        *("deep", "deep minimum", "deep divisor", "long or", "long list", "deep formula"),
        *("deep condition in a deep formula", "deep sentence", "many times", "many cycles"),
        *("one calendar of many windows", "three times by such a calendar"),
    ],
)
def test_what_may_be_written_is_compiled_in_time(notation: str, text: str) -> None:
    assert tried(notation, text).verdict == "sound"


# --- notations read what others write -------------------------------------------------


@pytest.mark.parametrize("as_ascii", [False, True])
def test_json_is_read_as_every_program_writes_it(as_ascii: bool) -> None:  # noqa: FBT001
    measure = {"share": {"condition": 'activity == "\U0001f4b6 paid"'}}
    document = {"log": "x", "ppis": [{"id": "a", "measure": measure}]}
    assert tried("json", json.dumps(document, ensure_ascii=as_ascii)).verdict == "sound"
