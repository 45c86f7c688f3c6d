"""Rehearsals: everything that can be released can be tried first, and is never taken for real."""

from __future__ import annotations

import gc
import json
import re
import shutil
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import partial
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import pappi
from pappi.checkpoint import Released, synthetic_log
from pappi.checkpoint.synthetic_log import (
    MOST_CASES,
    MOST_EVENTS,
    SyntheticEvents,
    SyntheticEventsCache,
    digest_of,
    make_synthetic_log,
)
from pappi.custody import NewLog
from pappi.errors import Stopped, UnknownLog, WorkspaceError
from pappi.examples import EXAMPLES, write_csv, write_xes
from pappi.examples.claims import simulate_claims
from pappi.examples.hospital import simulate_hospital
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.report import answers_table, report_html
from pappi.session import Workspace
from pappi.values import (
    CASE,
    NO_DEFAULTS,
    Adjacency,
    Bounds,
    Calendar,
    CaseBorder,
    DefaultBounds,
    Epsilon,
    Grid,
    Kind,
    Per,
    PrivacyUnit,
    PublicLog,
    Series,
    Terms,
    Vocabulary,
    midnight_us,
)
from pappi.values.answers import REHEARSAL
from tests.commands import Run
from tests.leak.asked import FORMULAS, MEASURES, SCOPES, definitions
from tests.leak.test_unit_leak import of_customers
from tests.small_logs import claims, workspace_with
from tests.work import calls_in

pytestmark = pytest.mark.outside

TERMS = NewLog(first=date(2024, 1, 1), until=date(2024, 6, 1), keys={"channel": ("web", "phone")})
MEAN = definitions(MEASURES["mean time"])


def catalogue_of(text: str) -> Catalogue:
    return parse_catalogue(text, "c.yaml")


def together(*texts: str) -> Catalogue:
    """The PPIs of several catalogues in one, each under a name of its own."""
    read = [catalogue_of(text) for text in texts]
    ppis = (ppi for catalogue in read for ppi in catalogue.ppis)
    named = tuple(replace(ppi, id=f"p{number}") for number, ppi in enumerate(ppis))
    return replace(read[0], ppis=named)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("rehearsal")
    return workspace_with(folder / "w", of_customers(claims(30)), TERMS)


def shape(found: Released) -> list[object]:
    """All of a release that no noise decides."""
    return [
        (s.ppi, s.unit, s.sentence, s.target, s.covers, a.period, a.group, a.unit, a.guarantee)
        for s in found
        for a in s.answers
    ]


# --- whatever can be released -----------------------------------------------------------


@pytest.mark.parametrize("kinds", [MEASURES, FORMULAS], ids=["measures", "formulas"])
def test_every_kind_of_measure_is_rehearsed_in_the_shape_of_its_release(
    tmp_path: Path, kinds: dict[str, tuple[str, ...]]
) -> None:
    new = replace(TERMS, terms=replace(TERMS.terms, block_budget=Epsilon.of(100)))
    workspace = workspace_with(tmp_path / "w", of_customers(claims(30)), new)
    asked = together(*(definitions(lines) for lines in kinds.values()))
    rehearsed = workspace.checkpoint().rehearse(asked)
    assert shape(rehearsed) == shape(workspace.checkpoint().release(asked, anyway=True))
    assert all(series.rehearsed for series in rehearsed)


def test_every_scope_is_rehearsed(workspace: Workspace) -> None:
    covered = [scope for scope in SCOPES if "2023" not in scope]
    texts = [definitions((*MEASURES["groups"], f"scope: {scope}")) for scope in covered]
    found = workspace.checkpoint().rehearse(together(*texts))
    assert len(found) == len(covered)


@pytest.mark.parametrize(
    "new",
    [
        replace(TERMS, terms=replace(TERMS.terms, unit=PrivacyUnit("customer", 2, Per.LOG))),
        replace(TERMS, terms=replace(TERMS.terms, unit=PrivacyUnit("customer", 1, Per.BLOCK))),
        replace(TERMS, terms=replace(TERMS.terms, adjacency=Adjacency.REPLACE)),
    ],
    ids=["persons of the log", "persons of blocks", "replace"],
)
def test_the_guarantee_rehearsed_is_the_one_declared(tmp_path: Path, new: NewLog) -> None:
    workspace = workspace_with(tmp_path / "w", of_customers(claims(30)), new)
    asked = together(*(definitions(MEASURES[name]) for name in ("mean time", "share", "buckets")))
    for series in workspace.checkpoint().rehearse(asked):
        found = {(a.guarantee.unit, a.guarantee.adjacency) for a in series.answers}
        assert found == {(new.terms.unit, new.terms.adjacency)}


# What the definitions of the small log are called in the others.
SPOKEN = {
    "claims": {"Receive": "Receive claim", "Pay": "Pay claim", "Reject": "Reject claim",
               "customer": "resource"},
    "sepsis": {"Receive": "ER Registration", "Pay": "Release A", "Reject": "Return ER",
               "customer": "group", "channel": "group", "damage": "crp"},
}  # fmt: skip


@pytest.fixture(scope="module", params=SPOKEN)
def example(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Workspace]:
    """One of the two example logs, with fewer cases."""
    name, folder = str(request.param), tmp_path_factory.mktemp("example")
    log = folder / EXAMPLES[name].file
    if name == "claims":
        write_csv(simulate_claims(cases=200), log)
    else:
        write_xes(simulate_hospital(cases=100), log)
    workspace = pappi.create(folder / "w")
    workspace.import_log(log, name, timezone=EXAMPLES[name].zone)
    return name, workspace


def test_the_example_logs_are_rehearsed_with_figures_and_little_work(
    example: tuple[str, Workspace],
) -> None:
    name, workspace = example
    catalogue, analyst = EXAMPLES[name].catalogue_path, workspace.checkpoint()
    analyst.rehearse(catalogue)
    found: list[Series] = []
    calls = calls_in(lambda: found.extend(analyst.rehearse(catalogue, "10", smooth=True)))
    assert calls < 5_000_000  # a second or two on a slow machine
    for series in found:
        assert any(answer.value for answer in series.answers), series.ppi


def test_every_kind_of_measure_is_rehearsed_on_the_example_logs(
    example: tuple[str, Workspace],
) -> None:
    name, workspace = example
    words = re.compile("|".join(rf"\b{word}\b" for word in SPOKEN[name]))
    texts = [definitions(lines, log=name) for lines in (*MEASURES.values(), *FORMULAS.values())]
    spoken = [words.sub(lambda word: SPOKEN[name][word[0]], text) for text in texts]
    found = workspace.checkpoint().rehearse(together(*spoken))
    assert [len(series.answers) > 0 for series in found] == [True] * len(texts)


def test_groups_have_cases_also_where_their_keys_are_not_declared(workspace: Workspace) -> None:
    by = 'by: {data: customer, values: ["k1", "nobody else has this"]}'
    asked = catalogue_of(definitions((f"measure: {{number: cases, {by}}}",)))
    (series,) = workspace.checkpoint().rehearse(asked, "50")
    counted = Counter[str | None]()
    for answer in series.answers:
        counted[answer.group] += round(answer.value or 0)
    assert min(counted["k1"], counted["nobody else has this"]) > 50


@pytest.mark.parametrize("condition", ["customer == 'k1'", "customer in ['k1', 'k2', 'k3']"])
def test_a_filter_by_a_text_that_is_not_declared_leaves_cases(
    workspace: Workspace, condition: str
) -> None:
    """One text of five is asked for, or three: as many of the cases pass, and not all."""
    number = "measure: {number: cases%s}"
    texts = number % "", number % f', where: {{condition: "{condition}"}}'
    asked = [catalogue_of(definitions((text,))) for text in texts]
    (every,), (some,) = (workspace.checkpoint().rehearse(each, "50") for each in asked)
    most = sum(round(answer.value or 0) for answer in every.answers)
    passed = sum(round(answer.value or 0) for answer in some.answers)
    assert passed / most == pytest.approx(0.2 if "==" in condition else 0.6, abs=0.1)


# --- logs about which little is declared ------------------------------------------------


def test_a_log_of_which_nothing_is_sealed_is_rehearsed_for_its_first_year(tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    names = Vocabulary(("Receive", "Pay"), {"damage": Kind.NUMBER})
    workspace.custody.create_log("small", NewLog(first=date(2024, 3, 1)), names)
    (series,) = workspace.checkpoint().rehearse(catalogue_of(MEAN + "    scope: every month\n"))
    assert [answer.period.label for answer in series.answers] == [
        *(f"2024-{month:02}" for month in range(3, 13)), "2025-01", "2025-02",
    ]  # fmt: skip
    assert "up to 2025-03-01" in series.caution


def test_a_log_without_a_vocabulary_has_cases_all_the_same(tmp_path: Path) -> None:
    workspace = pappi.create(tmp_path / "w")
    workspace.custody.create_log("small", NewLog(first=date(2024, 3, 1)), Vocabulary(()))
    (series,) = workspace.checkpoint().rehearse(catalogue_of(MEAN), "10")
    assert all((answer.cases or 0) > 50 for answer in series.answers)


# --- who may ----------------------------------------------------------------------------


def test_stopped_is_stopped_and_a_log_not_granted_does_not_exist(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path / "w", claims(3), TERMS)
    stranger = workspace.granted_checkpoint("eve", lambda _: None)
    with pytest.raises(UnknownLog):
        stranger.rehearse(catalogue_of(MEAN))
    workspace.custody.grant_analyst("small", "eve", Epsilon.of(1))
    assert stranger.rehearse(catalogue_of(MEAN))
    workspace.custody.stop("an audit")
    with pytest.raises(Stopped):
        stranger.rehearse(catalogue_of(MEAN))


def test_where_nothing_can_be_written_the_error_says_that_nothing_was_charged(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    monkeypatch.setattr("pappi.checkpoint.rehearsal._CACHE", SyntheticEventsCache())
    with pytest.raises(WorkspaceError) as failure:
        workspace.checkpoint().rehearse(catalogue_of(MEAN))
    assert "nothing was charged" in failure.value.hint


# --- never taken for real ---------------------------------------------------------------


@pytest.fixture(scope="module")
def found(workspace: Workspace) -> Released:
    twice = together(MEAN, MEAN, definitions(MEASURES["verdict alone"]))
    return workspace.checkpoint().rehearse(twice)


def test_no_answer_has_a_price_or_is_on_record(found: Released) -> None:
    answers = [answer for series in found for answer in series.answers]
    assert {(str(answer.charged), answer.replayed) for answer in answers} == {("0", False)}


def test_every_record_says_that_it_is_rehearsed_and_released_ones_do_not(
    found: Released, tmp_path: Path
) -> None:
    assert all(record["rehearsal"] is True for record in found.to_records())
    workspace = workspace_with(tmp_path / "w", claims(6), TERMS)
    released = workspace.checkpoint().release(catalogue_of(MEAN))
    assert all("rehearsal" not in record for record in released.to_records())
    assert not any(series.warning for series in released)


def test_page_notebook_chart_and_table_say_so_before_any_figure(found: Released) -> None:
    page = report_html("Report", found, (), (), "now")
    assert page.index(REHEARSAL) < page.index("<table")
    assert page.count(REHEARSAL) > len(found)
    assert "has been released" not in page
    for series in found:
        assert REHEARSAL in Released([series])._repr_html_()
        svg = Released([series]).plot().svg
        assert REHEARSAL in svg
        assert re.search("<title [^>]*>Rehearsal: ", svg)
        console = Console(width=100, file=StringIO())
        console.print(answers_table(series))
        assert REHEARSAL in console.file.getvalue()  # type: ignore[attr-defined]


# --- the command ------------------------------------------------------------------------


@pytest.fixture
def rehearse(run: Run, workspace: Workspace) -> Run:
    return partial(run, "-w", workspace.root, "rehearse")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mean.yaml"
    path.write_text(MEAN, encoding="utf-8")
    return path


def test_the_command_says_in_every_form_that_nothing_is_real(
    rehearse: Run, file: Path, tmp_path: Path
) -> None:
    code, shown, _ = rehearse(file)
    assert code == 0
    assert REHEARSAL in shown
    assert "nothing was charged" in shown
    printed = json.loads(rehearse(file, "--json")[1])
    assert printed["rehearsal"] is True
    assert all(answer["rehearsal"] is True for answer in printed["answers"])
    head, *rows = rehearse(file, "--csv", "--smooth")[1].splitlines()
    assert head.endswith(",rehearsal")
    assert all(row.endswith(",True") for row in rows)
    assert rehearse(file, "--svg", tmp_path / "charts", "--html", tmp_path / "pages/p.html")[0] == 0
    assert REHEARSAL in (tmp_path / "charts" / "p.svg").read_text(encoding="utf-8")
    assert REHEARSAL in (tmp_path / "pages" / "p.html").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_made_is_one_clear_message(rehearse: Run, file: Path) -> None:
    code, _, errors = rehearse(file, "--svg", file / "below")
    assert code != 0
    assert "cannot be written to" in errors


# --- the synthetic log ---------------------------------------------------------------------------

DAY = 86_400 * 10**6
FACTS = PublicLog(
    name="small",
    first=date(2024, 1, 1),
    until=date(2024, 7, 1),
    vocabulary=Vocabulary(
        ("Receive", "Assess", "Pay", "Close"),
        {**{str(kind): kind for kind in Kind}, "channel": Kind.TEXT, "customer": Kind.TEXT},
        {"channel": ("web", "phone")},
    ),
    terms=Terms(
        timezone="Europe/Berlin",
        expected_cases=50,
        unit=PrivacyUnit("customer", 3),
        bounds=DefaultBounds(
            durations=Bounds(Fraction(2 * DAY), Fraction(9 * DAY)),
            attributes={"number": Bounds(Fraction(-5), Fraction(20))},
        ),
    ),
)


def under(**terms: object) -> PublicLog:
    """The same log under other terms."""
    return replace(FACTS, terms=replace(FACTS.terms, **terms))  # type: ignore[arg-type]


def cases_of(facts: PublicLog) -> dict[str, list[tuple[str | None, int]]]:
    log = make_synthetic_log(facts)
    cases: dict[str, list[tuple[str | None, int]]] = {}
    for case, activity, at in zip(log.case_ids, log.activities, log.times_us, strict=True):
        cases.setdefault(case, []).append((activity, at))
    return cases


@pytest.mark.parametrize("anchor", CaseBorder)
def test_cases_lie_within_the_declared_time_and_durations(anchor: CaseBorder) -> None:
    facts = under(anchor=anchor)
    cases, zone = cases_of(facts), facts.terms.zone
    assert len(cases) == 50 * 6
    first, until = (midnight_us(day, zone) for day in (facts.first, facts.until))
    spans = [events[-1][1] - events[0][1] for events in cases.values()]
    for events in cases.values():
        instants = [at for _, at in events]
        assert instants == sorted(instants)
        assert first <= instants[0] <= instants[-1] < until
    assert max(spans) <= 9 * DAY
    assert sum(span >= 2 * DAY - 10**6 for span in spans) > 0.9 * len(spans)


def test_activities_come_in_the_declared_order_with_choices_and_loops() -> None:
    paths = [tuple(activity for activity, _ in events) for events in cases_of(FACTS).values()]
    assert {path[0] for path in paths} == {"Receive"}
    assert {path[-1] for path in paths} == {"Close"}
    assert len(set(paths)) > 3
    assert any(len(path) > len(set(path)) for path in paths)


def test_a_list_in_alphabetical_order_is_no_order() -> None:
    alphabetical = replace(FACTS.vocabulary, activities=("Assess", "Close", "Pay", "Receive"))
    paths = [
        [activity for activity, _ in events]
        for events in cases_of(replace(FACTS, vocabulary=alphabetical)).values()
    ]
    both = [path for path in paths if {"Receive", "Close"} <= set(path)]
    received_first = [path for path in both if path.index("Receive") < path.index("Close")]
    assert 0.3 < len(received_first) / len(both) < 0.7


def test_attributes_keep_their_kinds_bounds_and_keys() -> None:
    log = make_synthetic_log(FACTS)
    columns = {name: [v for v in found if v is not None] for name, found in log.attributes.items()}
    kinds = {name: {type(value) for value in column} for name, column in columns.items()}
    assert kinds == {
        "number": {float}, "text": {str}, "truth": {bool}, "duration": {int}, "time": {int},
        "channel": {str}, "customer": {str},
    }  # fmt: skip
    assert all(-5 <= float(value) <= 20 for value in columns["number"])
    assert set(columns["channel"]) == {"web", "phone"}
    assert columns["time"] == log.times_us
    assert None in log.attributes["number"]
    persons = dict(zip(log.case_ids, log.attributes["customer"], strict=True))
    assert all(
        persons[case] == person
        for case, person in zip(log.case_ids, log.attributes["customer"], strict=True)
    )
    assert max(Counter(persons.values()).values()) == 3


def test_groups_and_blocks_have_the_cases_that_forecasts_expect() -> None:
    log = make_synthetic_log(under(expected_cases=1_000))
    channels = dict(zip(log.case_ids, log.attributes["channel"], strict=True))
    assert log.cases == log.expected == 6_000
    assert all(2_800 < count < 3_200 for count in Counter(channels.values()).values())
    uneven = make_synthetic_log(
        under(weights={"channel": dict.fromkeys(channels.values(), 1) | {"web": 9}})
    )
    drawn = dict(zip(uneven.case_ids, uneven.attributes["channel"], strict=True))
    assert Counter(drawn.values())["web"] > 0.8 * uneven.cases
    half = replace(under(expected_cases=1_000), first=date(2024, 1, 17), until=date(2024, 2, 1))
    assert make_synthetic_log(half).cases == round(1_000 * 15 / 31)


def test_every_fact_has_its_part_in_the_seed() -> None:
    others = [
        replace(FACTS, name="large"),
        under(timezone="UTC"),
        under(anchor=CaseBorder.START),
        under(blocks=Grid(Calendar.WEEK)),
        replace(FACTS, first=date(2024, 2, 1)),
        replace(FACTS, until=date(2024, 8, 1)),
        under(expected_cases=51),
        replace(FACTS, vocabulary=replace(FACTS.vocabulary, keys={})),
        under(bounds=NO_DEFAULTS),
        under(unit=CASE),
        under(unit=PrivacyUnit("customer", 2)),
    ]
    assert len({digest_of(facts) for facts in (FACTS, *others)}) == len(others) + 1


def test_the_same_facts_make_the_same_log() -> None:
    assert make_synthetic_log(FACTS) == make_synthetic_log(replace(FACTS))


def test_a_synthetic_log_is_no_larger_than_it_need_be() -> None:
    huge = replace(
        under(expected_cases=10**9), vocabulary=Vocabulary(tuple(f"b{n}" for n in range(99)))
    )
    log = make_synthetic_log(huge)
    assert log.cases == MOST_CASES
    assert len(log.case_ids) <= MOST_EVENTS
    wide = Vocabulary(("b", "a"), {f"a{n}": Kind.TRUTH for n in range(2_000)})
    assert len(make_synthetic_log(replace(huge, vocabulary=wide)).case_ids) < 2_000


def test_no_bounds_are_too_wide_for_a_synthetic_log() -> None:
    far = Bounds(Fraction(-(10**400)), Fraction(10**400))
    wide = DefaultBounds(durations=far, attributes={"number": far})
    assert len(make_synthetic_log(under(bounds=wide)).case_ids) > 100


def test_the_last_synthetic_logs_are_kept_and_their_files_go_with_them() -> None:
    cache = SyntheticEventsCache(most=2)
    facts = [replace(under(expected_cases=3), name=f"log{number}") for number in range(3)]
    first = cache.of(facts[0])
    assert cache.of(facts[0]) is first
    gone = first.events
    del first
    for each in facts[1:]:
        cache.of(each)
    gc.collect()
    assert not gone.parent.exists()
    kept = cache.of(facts[2]).events
    shutil.rmtree(kept)
    assert cache.of(facts[2]).events.exists()


def test_who_wants_another_log_does_not_wait_until_one_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    made: list[str] = []

    class Slow(SyntheticEvents):
        def __init__(self, facts: PublicLog) -> None:
            made.append(facts.name)
            if facts.name == "slow":
                begun.set()
                assert go_on.wait(120)
            super().__init__(facts)

    monkeypatch.setattr(synthetic_log, "SyntheticEvents", Slow)
    cache = SyntheticEventsCache()
    slow, quick = (replace(under(expected_cases=3), name=name) for name in ("slow", "quick"))
    with ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(cache.of, slow) for _ in range(2)]
        try:
            assert begun.wait(120)
            assert threads.submit(cache.of, quick).result(120).events.exists()
        finally:
            go_on.set()
        assert waiting[0].result(120) is waiting[1].result(120)
    assert made == ["slow", "quick"]
