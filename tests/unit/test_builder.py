"""A PPI built in Python is the same question as the YAML that says the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import pappi
from pappi.errors import DefinitionError, InputError, UsageError
from pappi.ppinot import (
    Indicator,
    canonical_form,
    parse_catalogue,
    read_definitions,
    reduced_form,
    write_definitions,
    write_yaml,
)
from pappi.values import CaseBorder

ROOT = Path(__file__).parents[2]
HANDLED = pappi.mean(pappi.time("Register", "Close")).within("0 days", "60 days")
REQUESTS = pappi.sum(pappi.count("Request documents")).within(0, 3)
TIME: Any = pappi.time()
RECEIVED = pappi.sum(pappi.count("Receive claim")).within(0, 1)

SAME: dict[str, tuple[Indicator, str]] = {
    "the example": (
        HANDLED.every("month").target("below 7 days"),
        """
    measure: {mean: {time: {from: {activity: Register}, to: {activity: Close}}}}
    bounds: [0 days, 60 days]
    target: below 7 days
    scope: every month""",
    ),
    "a share of a comparison": (
        pappi.share(pappi.time() < "10 days").every("week").target("above 80 %"),
        """
    measure: {share: {derive: value < 10 days, value: {time: {from: case start, to: case end}}}}
    target: above 80 %
    scope: every week""",
    ),
    "a limit as a timedelta": (
        pappi.share(pappi.time() >= timedelta(hours=1)),
        """
    measure:
      share: {derive: value >= 60 minutes, value: {time: {from: case start, to: case end}}}""",
    ),
    "an activity is whether it occurs": (
        pappi.share("Reject claim"),
        """
    measure: {share: {condition: {activity: Reject claim}}}""",
    ),
    "where, by, loose bounds, a label": (
        pappi.mean(pappi.data("damage"))
        .where("Pay claim")
        .by("channel", "web", "phone")
        .within(0, 20000, loose=True)
        .shown_in("EUR")
        .target({"groups": {"web": "below 4000"}, "otherwise": "below 5000"}),
        """
    measure:
      mean: {data: damage}
      where: {condition: {activity: Pay claim}}
      by: {data: channel, values: [web, phone]}
    bounds: [0, 20000, loose]
    unit: EUR
    target: {groups: {web: below 4000}, otherwise: below 5000}""",
    ),
    "among texts, with what is missing left out": (
        pappi.share(pappi.derive("d <= 14 days", d=pappi.time("A", "B"), missing="left out")).among(
            pappi.data("channel").is_in("web", 'a "b"')
        ),
        """
    measure:
      share:
        derive: d <= 14 days
        missing: left out
        d: {time: {from: {activity: A}, to: {activity: B}}}
      among: {derive: 'value in ("web", "a \\"b\\"")', value: {data: channel}}""",
    ),
    "a formula of many cases": (
        pappi.derive("requests / received", requests=REQUESTS, received=RECEIVED)
        .value_within(0, 3)
        .target("below 1", tolerated="below 2"),
        """
    measure:
      derive: requests / received
      requests: {sum: {count: {activity: Request documents}}}
      received: {sum: {count: {activity: Receive claim}}}
    bounds: {requests: [0, 3], received: [0, 1], value: [0, 3]}
    target: {green: below 1, amber: below 2}""",
    ),
    "a part of a whole": (
        pappi.derive(
            "100 * rejected / received",
            rejected=pappi.sum(pappi.count("Reject claim")).within(0, 1).part_of("received"),
            received=RECEIVED,
        ).value_within(0, 100),
        """
    measure:
      derive: 100 * rejected / received
      rejected: {sum: {count: {activity: Reject claim}}, within: received}
      received: {sum: {count: {activity: Receive claim}}}
    bounds: {rejected: [0, 1], received: [0, 1], value: [0, 100]}""",
    ),
    "events in all detail": (
        pappi.median(
            pappi.time(
                pappi.last(pappi.event("A", transition="complete")),
                pappi.first(pappi.event(when="damage > 10", occurrence="onset", among="B")),
                running='status != "waiting"',
            )
        ).within("0 h", "9 h"),
        """
    measure:
      median:
        time:
          from: {last: {activity: A, transition: complete}}
          to: {first: {when: damage > 10, occurrence: onset, among: {activity: B}}}
          while: status != "waiting"
    bounds: [0 h, 9 h]""",
    ),
    "cycles by a calendar": (
        pappi.max(
            pappi.time(
                "A", "B", cycles="sum", open_cycles="no value", calendar="Mon-Fri 09:00-17:00"
            )
        ).within("0 h", "80 h"),
        """
    measure:
      max:
        time:
          from: {activity: A}
          to: {activity: B}
          cycles: sum
          open: no value
          calendar: Mon-Fri 09:00-17:00
    bounds: [0 h, 80 h]""",
    ),
    "a sequence, a state, a percentile, a smallest": (
        pappi.min(pappi.count(pappi.sequence("A", "B", "follows")))
        .where(pappi.state('status == "closed"'))
        .within(0, 5),
        """
    measure:
      min: {count: {sequence: [{activity: A}, {activity: B}], order: follows}}
      where: {state: {is: status == "closed"}}
    bounds: [0, 5]""",
    ),
    "a percentile of an attribute, privately bounded": (
        pappi.percentile(pappi.data("damage", pick="first", when="A"), 90).within(0, 9),
        """
    measure:
      percentile: {data: {attribute: damage, pick: first, when: {activity: A}}}
      percent: 90
    bounds: [0, 9]""",
    ),
    "private bounds": (
        pappi.mean(pappi.data("damage")).within_private_bounds(),
        """
    measure: {mean: {data: damage}}
    bounds: private""",
    ),
    "a scope with dates and an anchor": (
        pappi.number().every(
            "month", since=date(2024, 1, 1), until="2025-01-01", anchor=pappi.first("A")
        ),
        """
    measure: {number: cases}
    scope: {every: month, from: 2024-01-01, until: 2025-01-01, anchor: {first: {activity: A}}}""",
    ),
    "a number of values, over the last cases, at its own ε, only the verdict": (
        pappi.number(pappi.time("A", "B"))
        .over("last 500 cases")
        .target("at most 700")
        .at("0.1")
        .expecting("75 %")
        .released(answer="verdict"),
        """
    measure: {number: {time: {from: {activity: A}, to: {activity: B}}}}
    scope: last 500 cases
    target: at most 700
    epsilon: 0.1
    expected: 75 %
    release: {answer: verdict}""",
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_it_is_the_same_ppi_as_in_yaml(name: str) -> None:
    built, yaml = SAME[name]
    (ppi,) = built.called("x", id="x").about("claims").catalogue.ppis
    (written,) = parse_catalogue(f"log: claims\nppis:\n  - id: x{yaml}\n").ppis
    assert ppi == written
    forms = [canonical_form(reduced_form(one, CaseBorder.END).measure) for one in (ppi, written)]
    assert forms[0] == forms[1]
    assert canonical_form(ppi.scope) == canonical_form(written.scope)


@pytest.mark.parametrize("name", SAME)
def test_its_yaml_says_the_same(name: str) -> None:
    built = SAME[name][0].about("claims")
    assert parse_catalogue(built.yaml) == built.catalogue


def test_an_activity_may_be_called_as_a_border_of_the_case() -> None:
    borders, named = pappi.time(), pappi.time(pappi.event("case start"), "case end")
    assert borders.written == {"time": {"from": "case start", "to": "case end"}}
    assert named.written == {"time": {"from": {"activity": "case start"}, "to": "case end"}}


def test_it_reads_as_a_sentence_and_says_so_while_it_cannot_be_read() -> None:
    assert repr(pappi.share("Reject claim").every("month")) == (
        'the share of cases in which activity "Reject claim" occurs, for every month'
    )
    assert "cannot be read yet" in repr(pappi.number().target("somewhere"))


def test_a_catalogue_has_ids_by_keyword_or_by_name() -> None:
    named = pappi.share("Pay claim").called("Paid claims").at("0.2")
    catalogue = pappi.catalogue("claims", named, total="0.5", handled=HANDLED)
    assert [ppi.id for ppi in catalogue.ppis] == ["paid-claims", "handled"]
    assert str(catalogue.total) == "0.5"
    assert parse_catalogue(write_yaml(catalogue)) == catalogue


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: HANDLED.catalogue, "which log"),
        (lambda: pappi.catalogue("claims", HANDLED, HANDLED), "the same id"),
        (lambda: pappi.catalogue("claims", HANDLED.about("orders")), "about 'orders'"),
        (lambda: pappi.derive("a / b", a=REQUESTS, b=TIME), "not both"),
        (lambda: pappi.derive("a", a=REQUESTS.every("day")), "the variable a has a scope"),
        (
            lambda: pappi.derive("a / b", a=REQUESTS, b=RECEIVED).within(0, 1),
            "no bounds of its own",
        ),
    ],
)
def test_what_cannot_be_said_is_refused_with_a_way_out(build: object, said: str) -> None:
    assert callable(build)
    with pytest.raises(UsageError, match=said) as caught:
        build()
    assert caught.value.hint or "cannot be in" in caught.value.message


# --- however definitions are given ------------------------------------------------------------

TEXT = """
log: claims
ppis:
  - id: open
    measure: {number: cases}
    target: at most 700
    epsilon: 0.1
    release: {set: off}
"""
DICT = {
    "log": "claims",
    "ppis": [
        {
            "id": "open",
            "measure": {"number": "cases"},
            "target": "at most 700",
            "epsilon": 0.1,
            "release": {"set": "off"},
        }
    ],
}


def test_text_dict_path_and_built_are_the_same(tmp_path: Path) -> None:
    file = tmp_path / "claims.yaml"
    file.write_text(TEXT, encoding="utf-8")
    built = pappi.number().called("open").target("at most 700").at(0.1).released(set="off")
    first, *others = (
        read_definitions(given) for given in (file, str(file), TEXT, DICT, built.about("claims"))
    )
    assert all(other == first for other in others)
    assert read_definitions(DICT, log="orders").log == "orders"


CATALOGUES = sorted((*ROOT.glob("examples/*.yaml"), *ROOT.glob("experiments/*.yaml")))


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)
def test_whatever_a_file_says_a_dict_says_too(path: Path) -> None:
    catalogue = read_definitions(path)
    as_dict = json.loads(write_definitions(catalogue, "json"))
    assert isinstance(as_dict, dict)
    assert read_definitions(as_dict) == catalogue


def test_a_text_of_one_line_is_a_path_and_never_taken_for_yaml() -> None:
    for given in ("log: claims", "waiting.yaml", "x" * 5_000, "nul\0"):
        with pytest.raises(InputError, match="no PPIs in") as caught:
            read_definitions(given)
        assert "as text of several lines" in caught.value.hint
    with pytest.raises(DefinitionError, match="expected a catalogue"):
        read_definitions("the mean time\nfrom here to there")
    with pytest.raises(UsageError, match="not a definition"):
        read_definitions(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"target": "some"}, "ppis[0].target: error: expected a target"),
        ({"goals": {1: "x"}}, "ppis[0].goals.1: error: a key must be a text"),
        ({"comments": object()}, "ppis[0].comments: error: a value of type object"),
        ({"comments": "a\x00"}, "ppis[0].comments: error: this text contains a control"),
        ({"measure": {"mean": {"tim": 1}}}, "ppis[0].measure.mean: error: this is not a measure"),
    ],
)
def test_a_problem_in_a_dict_is_named_by_the_way_to_it(
    change: dict[str, object], problem: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        read_definitions({"log": "claims", "ppis": [{**DICT["ppis"][0], **change}]})  # type: ignore[dict-item]
    assert problem in caught.value.message


def test_a_dict_that_holds_itself_is_refused() -> None:
    endless: dict[str, object] = {"log": "claims"}
    endless["ppis"] = [endless]
    with pytest.raises(DefinitionError, match="nested more than"):
        read_definitions(endless)


def test_the_same_id_twice_in_a_dict_is_told_by_place() -> None:
    with pytest.raises(DefinitionError, match=r"already used by the PPI at ppis\[0\]"):
        read_definitions({**DICT, "ppis": DICT["ppis"] * 2})  # type: ignore[operator]


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        (lambda: pappi.share(1 < TIME < 5), "derive"),
        (lambda: pappi.share((TIME > 1) and (TIME < 5)), "derive"),
        (lambda: pappi.share(TIME < "1 hour or value > 0 hours"), "derive"),
        (lambda: pappi.share(Decimal("nan") > TIME), "14 days"),
        (lambda: pappi.share(TIME == "web"), "is_in"),
        (lambda: pappi.number(pappi.occurs("Close")), "where"),
    ],
)
def test_what_python_would_drop_or_paste_is_refused(said: Callable[[], object], hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        said()
    assert hint in refused.value.hint


def test_a_tiny_limit_is_written_as_the_grammar_has_it() -> None:
    assert "value < 0.0000001" in pappi.share(pappi.data("fee") < 1e-7).about("x").yaml
