"""`pappi ppi suggest`: a first catalogue that can be checked, previewed and released as it is."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

import pappi
from pappi.errors import UnknownLog
from pappi.planning import suggest_catalogue
from pappi.ppinot import Catalogue, check_catalogue, parse_catalogue
from pappi.session import Workspace
from pappi.values import (
    DURATIONS,
    Bounds,
    Calendar,
    DefaultBounds,
    Epsilon,
    Grid,
    Kind,
    PublicLog,
    Terms,
    Vocabulary,
)
from tests.commands import Run
from tests.lengths import thinned
from tests.shared_data import shared_data
from tests.small_logs import claims, workspace_with

LOGS = (
    ("xes", "02_teleclaims.xes.gz"),
    ("xes", "06_bpic2013_closed.xes.gz"),
    ("xes", "08_receipt.xes.gz"),
    ("xes", "roadtraffic100traces.xes"),
    ("sepsis.csv.gz",),
)


def public(*activities: str, **terms: object) -> PublicLog:
    attributes = {"cost": Kind.NUMBER, "channel": Kind.TEXT}
    return PublicLog(
        name="small",
        first=date(2024, 1, 1),
        until=date(2027, 1, 1),
        vocabulary=Vocabulary(activities, attributes, {"channel": ("web", "phone")}),
        terms=Terms(**terms),  # type: ignore[arg-type]
    )


def suggested(log: PublicLog) -> Catalogue:
    catalogue = parse_catalogue(suggest_catalogue(log))
    assert check_catalogue(catalogue, log.vocabulary) == []
    assert len(catalogue.ppis) <= 10
    return catalogue


# --- real logs -------------------------------------------------------------------------------


@pytest.mark.outside
@pytest.mark.parametrize(
    ("parts", "from_data"),
    thinned([(parts, parts == ("sepsis.csv.gz",)) for parts in LOGS], [2, 4]),
    ids=lambda given: given[-1] if isinstance(given, tuple) else ("names", "data")[given],
)
def test_what_is_suggested_for_a_real_log_is_released_as_it_is(
    tmp_path: Path, parts: tuple[str, ...], *, from_data: bool
) -> None:
    workspace = pappi.create(tmp_path / "w")
    log = workspace.import_log(shared_data(*parts)).declaration.name
    text = workspace.suggest(log, from_data=from_data)
    analyst = workspace.checkpoint("ann")
    if not from_data:
        assert text == analyst.suggest(log)
    assert not [each for each in analyst.check(text).warnings if each.level == "error"]
    quotes = analyst.preview(text)
    assert 5 <= len(quotes) <= 10
    assert not [quote.ppi for quote in quotes if quote.tells_nothing]
    series = analyst.release(text)
    assert [one.ppi for one in series] == [quote.ppi for quote in quotes]
    assert workspace.custody.length() > 3


# --- from public names alone -----------------------------------------------------------------


def test_names_that_sound_like_something_are_used() -> None:
    text = suggest_catalogue(
        public("ER Registration", "Triage", "Discharge", "Reopen", "Reject claim", "X-ray")
    )
    ids = [ppi.id for ppi in parse_catalogue(text).ppis]
    assert ids == [
        "cases",
        "throughput",
        "in-time",
        "wait-er-registration-triage",
        "wait-triage-discharge",
        "repeated-reopen",
        "with-reopen",
        "with-reject-claim",
        "cases-by-channel",
    ]
    assert "no event was read" in text
    assert "fill in" in text
    assert "FROM THE DATA" not in text


@pytest.mark.parametrize("names", [(), ("Qx", "Zy"), ("接收", "完成")], ids=["none", "odd", "zh"])
def test_where_nothing_is_known_less_is_suggested(names: tuple[str, ...]) -> None:
    catalogue = suggested(public(*names))
    assert {ppi.id for ppi in catalogue.ppis} >= {"cases", "throughput", "in-time"}


HOSTILE = ('register "x" or 1 == 1', "pay: [", "reject\n- id: y", "check #", "close 'a'", "end\\")


def test_any_name_survives_being_suggested() -> None:
    for name in HOSTILE:
        catalogue = suggested(public(name, "register", "close"))
        assert len({ppi.id for ppi in catalogue.ppis}) == len(catalogue.ppis)


def test_what_is_declared_is_used() -> None:
    days = DURATIONS["days"]
    bounds = DefaultBounds(
        Bounds(Fraction(0), Fraction(90 * days)), None, {"cost": Bounds(Fraction(0), Fraction(9))}
    )
    log = public("register", "close", bounds=bounds)
    text = suggest_catalogue(log)
    assert text.count("# bounds: as declared of the log") == 3
    assert "t <= 50 days" in text
    assert "mean-cost" in {ppi.id for ppi in suggested(log).ppis}


@pytest.mark.parametrize(
    ("expected", "scope"), [(1_000, "every month"), (20, "every year"), (3, "whole time")]
)
def test_the_scope_is_the_finest_that_tells_something(expected: int, scope: str) -> None:
    log = public("register", "close", expected_cases=expected)
    text = suggest_catalogue(log)
    scopes = {line.strip() for line in text.splitlines() if line.strip().startswith("scope:")}
    assert scopes == {f"scope: {scope}"}


def test_blocks_of_other_lengths_are_followed() -> None:
    log = public("register", blocks=Grid(Calendar.WEEK), expected_cases=500)
    assert "scope: every week" in suggest_catalogue(log)
    log = public("register", blocks=Grid(Calendar.MONTH, 2), block_budget=Epsilon.of(1))
    assert "scope: every 2 months" in suggest_catalogue(log)


@pytest.mark.outside
def test_the_data_does_not_move_what_an_analyst_is_suggested(tmp_path: Path) -> None:
    rows = claims(40)
    texts = [
        workspace_with(tmp_path / name, some).checkpoint("ann").suggest("small")
        for name, some in (("a", rows), ("b", rows[:-2]), ("c", rows[-40:]))
    ]
    assert texts[0] == texts[1] == texts[2]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(tmp_path / "w", claims(40))


@pytest.mark.outside
def test_only_what_is_taken_from_the_data_is_on_record(workspace: Workspace) -> None:
    length = workspace.custody.length()
    workspace.suggest("small")
    assert workspace.custody.length() == length
    text = workspace.suggest("small", from_data=True)
    assert "PROPOSED FROM THE DATA" in text
    assert "not protected by ε, and become public" in text
    assert workspace.custody.trail()[-1].kind == "profile"
    with pytest.raises(UnknownLog):
        workspace.granted_checkpoint("eve", lambda _: None).suggest("small")


@pytest.mark.outside
def test_the_command_writes_a_file_that_can_be_previewed(
    run: Run, workspace: Workspace, tmp_path: Path
) -> None:
    workspace.close()
    file, place = tmp_path / "first.yaml", ("-w", workspace.root)
    code, out, _ = run("ppi", "suggest", "small", "-o", file, *place)
    assert (code, f"pappi preview {file}" in out) == (0, True)
    assert run("ppi", "check", file, *place)[0] == 0
    assert run("preview", file, *place)[0] == 0
    code, _, errors = run("ppi", "suggest", "small", "-o", file, *place)
    assert (code, "overwrite it with --force" in errors) == (2, True)
    code, out, errors = run("ppi", "suggest", "small", "--from-data", *place)
    assert (code, "become public once they are used" in errors) == (0, True)
    assert parse_catalogue(out).log == "small"
