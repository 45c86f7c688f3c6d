"""A walk through every page, for tests to examine and for the pictures in the docs.

`python -m tests.browser.tour docs/images/pages` takes the pictures anew (`make screenshots`).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import FloatRect

from pappi.ppinot import parse_catalogue
from pappi.service import Settings
from tests.browser.browsing import Scheme, Stage, Visit, staged

SCHEMES: tuple[Scheme, ...] = ("light", "dark")
_WIDTH, _TALLEST = 1200, 2400
_OWN_WORDS = "How long until a claim is paid, per quarter? Should be below 14 days."
_QUESTION = """
log: claims
ppis:
  - id: sojourn
    name: Mean sojourn time
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 30 days]
    target: below 7 days
    epsilon: 0.3
    scope: every month
"""


def prepare(stage: Stage) -> tuple[str, str]:
    """Something to see on every page; gives the keys of an analyst and an owner."""
    key = stage.analyst_key("alice")
    alice = stage.workspace.checkpoint("alice")
    catalogue = parse_catalogue(_QUESTION)
    alice.release(catalogue)
    assert alice.save(catalogue) is not None
    return key, stage.owner_key()


def workbench_tour(stage: Stage, visit: Visit, key: str) -> Iterator[str]:
    """The analyst's pages, one after the other, by name."""
    page = visit.page
    page.goto(stage.workbench)
    yield "workbench-sign-in"
    visit.sign_in(key)
    yield "workbench"
    page.get_by_role("link", name="About this log").click()
    yield "workbench-log"
    page.get_by_role("link", name="New query").click()
    page.get_by_label("One sentence").fill(_OWN_WORDS)
    page.get_by_role("button", name="What could this mean?").click()
    yield "workbench-own-words"
    page.get_by_label("longest time that counts").fill("20")
    page.get_by_label("direction of the target").select_option("below")
    page.get_by_label("target", exact=True).fill("7")
    page.get_by_label("Call it").fill("Mean sojourn time")
    page.get_by_role("button", name="See what it costs").click()
    yield "workbench-ask"
    page.get_by_role("button", name="Rehearse it first").click()
    yield "workbench-rehearsal"
    page.get_by_role("link", name="My queries").click()
    yield "workbench-queries"
    page.get_by_role("link", name="Mean sojourn time").click()
    yield "workbench-answer"
    page.get_by_role("button", name="Compare periods").click()
    yield "workbench-compared"
    page.get_by_role("link", name="Smooth").click()
    yield "workbench-smoothed"
    page.goto(f"{stage.workbench}/workbench/nothing")
    yield "workbench-problem"
    page.get_by_role("link", name="Glossary").click()
    yield "workbench-glossary"


def console_tour(stage: Stage, visit: Visit, key: str) -> Iterator[str]:
    """The owner's pages."""
    page = visit.page
    visit.sign_in(key)
    yield "console"
    page.goto(f"{stage.console}/console/logs/claims")
    yield "console-log"
    page.get_by_text("Choose what to delete").click()
    page.get_by_label("Cases, by id").fill("C00001")
    page.get_by_role("button", name="Review the deletion").click()
    yield "console-delete"
    page.get_by_label("Delete permanently").check()
    page.get_by_role("button", name="Delete").click()
    yield "console-deleted"
    page.goto(f"{stage.console}/console/keys")
    yield "console-keys"
    page.get_by_label("Name", exact=True).fill("carol")
    page.get_by_role("button", name="Issue").click()
    yield "console-issued"
    for path, name in (
        ("/console/trail", "console-record"),
        ("/console/trail/2", "console-entry"),
        ("/console/protection/claims", "console-protection"),
    ):
        page.goto(f"{stage.console}{path}")
        yield name


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    unhurried = Settings(grid_seconds=0.01, shutdown_seconds=5)
    with tempfile.TemporaryDirectory() as made, staged(Path(made), unhurried) as stage:
        analyst, owner = prepare(stage)
        for scheme in SCHEMES:
            size = _WIDTH, 900
            with stage.visit(stage.workbench, scheme=scheme, size=size) as visit:
                for name in workbench_tour(stage, visit, analyst):
                    _picture(visit, folder / f"{name}-{scheme}.png")
            with stage.visit(stage.console, scheme=scheme, size=size) as visit:
                for name in console_tour(stage, visit, owner):
                    _picture(visit, folder / f"{name}-{scheme}.png")


def _picture(visit: Visit, path: Path) -> None:
    """The whole page, or what of a long document is seen at a glance."""
    visit.page.wait_for_load_state()  # a click may have left for another page
    height = int(visit.page.evaluate("document.documentElement.scrollHeight"))
    shown = FloatRect(x=0, y=0, width=_WIDTH, height=min(height, _TALLEST))
    visit.page.screenshot(path=path, full_page=True, clip=shown)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
