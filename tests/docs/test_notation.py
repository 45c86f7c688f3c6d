"""The guide to the notation: its examples work, and it leaves no key out.

What the word behind a fence's language says about a block of docs/notation.md:

    yaml            a catalogue
    yaml ppi        the keys of a PPI, without its id
    yaml measure    a measure of many cases
    yaml case       a measure of one case
    text            expressions, one per line
    text values     expressions and their values, with `m` missing
    text targets    targets of a PPI, one per line
    text scopes     scopes of a PPI, one per line
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

import pytest

from pappi.checkpoint import queries
from pappi.planning import MOST_PERIODS, plan_ppi
from pappi.ppinot import check_catalogue, grammar, model, parse_catalogue, reduced_form
from pappi.ppinot.evaluation import evaluate
from pappi.ppinot.grammar import parse_expression
from pappi.ppinot.notations import document
from pappi.ppinot.notations import yaml as scopes
from pappi.values import DURATIONS, CaseBorder, Kind, Vocabulary
from tests.public_logs import public_log

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "schemas" / "catalogue.schema.json").read_text(encoding="utf-8"))

BLOCKS = re.findall(r"^```(\w.*)\n((?:.*\n)*?)```$", GUIDE, flags=re.MULTILINE)

# What the examples are about.
CLAIMS = Vocabulary(
    activities=(
        *("Receive claim", "Request documents", "Assess damage"),
        *("Pay claim", "Pay advance", "Reject claim"),
    ),
    attributes={
        **dict.fromkeys(("damage", "Debit amount"), Kind.NUMBER),
        **dict.fromkeys(("channel", "status", "lifecycle:transition"), Kind.TEXT),
    },
)
FACTS = public_log(CLAIMS)
PPI = "log: claims\nppis:\n  - id: example\n"


def blocks(kind: str) -> list[str]:
    found = [text for info, text in BLOCKS if info == kind]
    assert found, f"the guide has no block of the kind {kind!r}"
    return found


def lines(kind: str) -> list[str]:
    return [line for text in blocks(kind) for line in text.splitlines()]


def with_measure(measure: str) -> str:
    return f"{PPI}    measure:\n{indent(measure, ' ' * 6)}"


def releasable() -> list[str]:
    """Every example that is meant to be released, as a catalogue."""
    ppis = [PPI + indent(text, " " * 4) for text in blocks("yaml ppi")]
    return [*blocks("yaml"), *ppis, *map(with_measure, blocks("yaml measure"))]


def test_no_block_goes_unchecked() -> None:
    checked = {"yaml", "yaml ppi", "yaml measure", "yaml case"}
    checked |= {"text", "text values", "text targets", "text scopes"}
    assert {info for info, _ in BLOCKS} == checked | {"console"}
    assert GUIDE.count("```") == 2 * len(BLOCKS), "a fence that opens nothing"


@pytest.mark.parametrize("text", releasable())
def test_examples_can_be_released(text: str) -> None:
    catalogue = parse_catalogue(text)
    assert check_catalogue(catalogue, CLAIMS) == []
    for ppi in catalogue.ppis:
        plan_ppi(reduced_form(ppi, CaseBorder.END), queries.DEFAULT_EPSILON, FACTS)


@pytest.mark.parametrize("text", blocks("yaml case"))
def test_measures_of_one_case_are_sound(text: str) -> None:
    catalogue = parse_catalogue(with_measure(f"mean:\n{indent(text, '  ')}"))
    assert check_catalogue(catalogue, CLAIMS) == []


@pytest.mark.parametrize("expression", lines("text"))
def test_expressions_parse(expression: str) -> None:
    parse_expression(expression)


@pytest.mark.parametrize("line", lines("text values"))
def test_expressions_have_the_values_shown(line: str) -> None:
    expression, _, shown = line.rpartition(" = ")
    expected = None if shown == "missing" else evaluate(parse_expression(shown), {})
    assert evaluate(parse_expression(expression), {"m": None}) == expected


@pytest.mark.parametrize("target", lines("text targets"))
def test_targets_parse(target: str) -> None:
    unit = "days" if "days" in target else "percent"
    measure = {
        "days": "{mean: {time: {from: case start, to: case end}}}",
        "percent": "{share: {condition: true}}",
    }[unit]
    text = f"{PPI}    measure: {measure}\n    unit: {unit}\n    target: {target}\n"
    (ppi,) = parse_catalogue(text).ppis
    assert ppi.target is not None


@pytest.mark.parametrize("scope", lines("text scopes"))
def test_scopes_parse(scope: str) -> None:
    text = f"{PPI}    measure: {{number: cases}}\n    scope: {scope}\n"
    parse_catalogue(text)


def keys_of(schema: object) -> Iterator[str]:
    """Every key the notation knows, wherever it may stand."""
    if isinstance(schema, list):
        for item in schema:
            yield from keys_of(item)
    elif isinstance(schema, dict):
        yield from schema.get("properties", {})
        for value in schema.values():
            yield from keys_of(value)


@pytest.mark.parametrize("key", sorted(set(keys_of(SCHEMA))))
def test_every_key_is_explained(key: str) -> None:
    prose = re.sub(r"^```\w.*\n(?:.*\n)*?```$", "", GUIDE, flags=re.MULTILINE)
    assert f"`{key}`" in prose, f"docs/notation.md does not mention the key {key!r}"


@pytest.mark.parametrize("unit", DURATIONS)
def test_every_unit_of_time_is_listed(unit: str) -> None:
    assert f"`{unit}`" in GUIDE


@pytest.mark.parametrize(
    "limit",
    [
        f"{document.MAX_SIZE:,} characters, {document.MAX_NODES:,} values",
        f"{document.MAX_DEPTH} levels",
        f"{grammar.MAX_LENGTH:,} characters, {grammar.MAX_DEPTH} operations deep",
        f"{grammar.MAX_DIVISORS} divisors",
        f"{grammar.MAX_DIGITS} digits",
        f"{MOST_PERIODS:,} periods, of up to {model.MAX_COUNT} units",
        f"{scopes.MAX_TESTS} conditions on them; the last {model.MAX_CASES:,}",
        f"{queries.MOST_ANSWERS:,} answers",
        f"{queries.MOST_MEASURES:,} measures of a case, {queries.MOST_CALENDARS} working calendars",
        f"and {queries.MOST_LOOKS} looks",
        f"| problems reported | {document.MAX_PROBLEMS} |",
        f"on average at most {queries.DEFAULT_EPSILON}.",
        f"at least {queries.LEAST_EPSILON}",
    ],
)
def test_limits_are_as_stated(limit: str) -> None:
    assert limit in " ".join(GUIDE.split())


ERRORS = re.findall(
    r"^\| `(\[0 days, .*?\])` \| ([\d.]+) days \| ([\d.]+) days \|$", GUIDE, re.MULTILINE
)


@pytest.mark.parametrize(("bounds", "of_100", "of_1000"), ERRORS)
def test_bounds_cost_what_the_guide_says(bounds: str, of_100: str, of_1000: str) -> None:
    first = blocks("yaml")[0].replace("[0 days, 30 days]", bounds)
    (ppi,) = parse_catalogue(first).ppis
    for cases, shown in ((100, of_100), (1000, of_1000)):
        plan = plan_ppi(ppi, queries.DEFAULT_EPSILON, public_log(CLAIMS, cases))
        assert f"{ppi.unit.show(plan.predicted_error):.1f}" == shown


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", GUIDE))
def test_links_lead_somewhere(link: str) -> None:
    path, _, anchor = link.partition("#")
    page = ROOT / "docs" / path
    assert page.exists()
    if anchor:
        text = page.read_text(encoding="utf-8") if path else GUIDE
        headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
        plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
        assert anchor in [heading.replace(" ", "-") for heading in plain]
