"""What `replace` gives up is told in one sentence, the same everywhere; and it is true."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest

from pappi.custody import NewLog
from pappi.ppinot import parse_catalogue
from pappi.report import dpo_html, neighbours_text
from pappi.service.analyst import analyst_app
from pappi.service.owner import owner_app
from pappi.session import Workspace
from pappi.values import UNDER_REPLACE, Adjacency, Epsilon, Terms
from tests.commands import Run
from tests.small_logs import claims, workspace_with

ROOT = Path(__file__).parents[2]
TOLD_IN = (
    "SECURITY.md",
    "docs/explanation/inside.md",
    "docs/how-to/privacy-unit.md",
    "docs/explanation/guarantee.md",
    "docs/reference/commands.md",
    "docs/reference/http.md",
)
# What was said before, and was not true or not all of it.
CONTRARY = (
    "may change its group or period",
    "may move from one block to another",
    "how many cases a period has is treated as public",
    "the number of cases in each period is public",
    "the number of cases in a period is public",
)
DAILY = """
log: small
ppis:
  - id: cases
    measure: {number: cases}
    scope: {every: day}
"""


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    new = NewLog(terms=Terms(adjacency=Adjacency.REPLACE, block_budget=Epsilon.of(1)))
    return workspace_with(tmp_path_factory.mktemp("replace") / "w", claims(12), new)


@pytest.mark.parametrize("page", TOLD_IN)
def test_every_page_tells_it_in_the_same_words(page: str) -> None:
    assert UNDER_REPLACE in plain((ROOT / page).read_text(encoding="utf-8"))


def test_nothing_says_otherwise() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    assert len(pages) > 100
    for page in pages:
        text = plain(page.read_text(encoding="utf-8"))
        for sentence in CONTRARY:
            assert sentence not in text, page


def test_commands_tell_it(workspace: Workspace, run: Run) -> None:
    for command in (["log", "import", "--help"], ["log", "create", "--help"]):
        assert UNDER_REPLACE in plain(run(*command)[1])
    assert UNDER_REPLACE in plain(run("log", "describe", "small", "-w", workspace.root)[1])


def test_reports_and_the_data_protection_pack_tell_it(workspace: Workspace) -> None:
    assert UNDER_REPLACE in neighbours_text([Adjacency.REPLACE])
    assert UNDER_REPLACE not in neighbours_text([Adjacency.ADD_REMOVE])
    page = dpo_html(workspace.custody.pack(), "2026-01-01")
    assert plain(unescape(page)).count(UNDER_REPLACE) == 3


def test_both_openapi_documents_tell_it(workspace: Workspace) -> None:
    for app in (analyst_app(workspace), owner_app(workspace)):
        assert UNDER_REPLACE in json.dumps(app.openapi(), ensure_ascii=False)


def test_the_number_of_cases_of_every_single_day_is_public(workspace: Workspace) -> None:
    """So the sentence does not say too little: the smallest ε tells it, without noise."""
    catalogue = parse_catalogue(DAILY)
    exact = [each.value for each in workspace.exact(catalogue)]
    (series,) = workspace.checkpoint().release(catalogue, "0.001")
    assert [answer.cases for answer in series.answers] == exact
    assert {0, 1} <= set(exact)
