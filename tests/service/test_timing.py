"""How long reading the cases took shows in no reply and no poll, beyond steps of the grid.

Evaluations take as long as a test says, in simulated time. What analysts see of two histories
that differ in that alone, of every reply and of polls of every surface at many moments, must be
the same to the last byte, as long as both evaluations need as many steps. The same comparison
finds planted faults: results on record as soon as they are drawn, from analysts' requests or
from subscriptions.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

import pappi
from pappi.checkpoint import AT_ONCE, draw, run_due
from pappi.checkpoint.queries import Release
from pappi.errors import PappiError
from pappi.ledger import open_ledger
from pappi.ppinot import parse_catalogue
from pappi.service import Settings
from pappi.service.analyst import analyst_app
from pappi.service.middleware import Frame, frame_of
from pappi.service.owner import owner_app
from pappi.session import Workspace
from pappi.store import LogDeclaration
from pappi.values import Epsilon, Role
from tests.lengths import length
from tests.service.served import LOG, SOJOURN, TERMS
from tests.service.simulated import HERE, Ask, Seen, World, history
from tests.small_logs import claims, workspace_with

GRID = 0.25
# Without limits of its own: what waits for a turn would wait in another request's event loop.
OPEN = Settings(
    grid_seconds=GRID,
    requests_per_minute=10**9,
    releases_at_once=10**6,
    analysts_at_once=10**6,
    one_at_once=10**6,
    one_waiting=10**6,
)
QUICK, SLOW, SLOWER = 1 / 64, 15 / 64, 17 / 64
"""Evaluations: the first two need one step of the grid, the last one two."""

BETWEEN = 19 / 128
POLLS = (3 / 128, BETWEEN, 31 / 128, 33 / 128, 65 / 128)
"""Between the ends of the first two evaluations, and around each step."""

ASKED_IN_A_FORM = length((BETWEEN, 33 / 128), POLLS)
"""When a page is filled in with the question: that takes as long as everything else."""

APRIL, MAY = date(2024, 4, 1), date(2024, 5, 1)


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace to be copied for each history, with keys and a question of alice's."""

    root: Path
    alice: str
    bob: str
    boss: str
    kept: str
    results: dict[str, Any]
    """What was drawn, by key: drawn once, so that histories differ in nothing but time."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    root = tmp_path_factory.mktemp("timing") / "w"
    workspace = workspace_with(root, claims(30), replace(TERMS, until=APRIL))
    catalogue = parse_catalogue(SOJOURN)
    for name in ("alice", "bob"):
        workspace.custody.grant_analyst(LOG, name, Epsilon.of(1))
    alice = workspace.checkpoint("alice")
    kept = alice.save(catalogue)
    assert kept is not None
    alice.subscribe(catalogue, MAY)
    workspace.checkpoint("bob").subscribe(catalogue, MAY, "0.3")
    issue = workspace.custody.issue_key
    found = Place(
        root,
        alice=issue(Role.ANALYST, "alice").secret,
        bob=issue(Role.ANALYST, "bob").secret,
        boss=issue(Role.OWNER, "boss").secret,
        kept=kept.id,
        results={},
    )
    workspace.close()
    return found


Acts = Iterator[tuple[ASGIApp, Ask]]
RELEASES, BUDGET = f"/logs/{LOG}/releases", f"/logs/{LOG}/budget"


class Histories:
    """What is seen of one workspace, depending on how long evaluations take."""

    def __init__(self, place: Place, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        self._folder = folder
        self._patch = monkeypatch
        self._number = 0

    def released(
        self, evaluation: float, *, fails: bool = False, polls: Sequence[float] = POLLS
    ) -> list[Seen]:
        """Alice asks, and meanwhile everybody polls whatever they may see."""

        def acts(service: Simulated) -> Acts:
            alice, bob, ask = self.place.alice, self.place.bob, {"definitions": SOJOURN}
            yield service.asked(alice, 0, "POST", "/release", ask)
            for number, when in enumerate(polls):
                yield service.asked(bob, when, "GET", RELEASES)
                yield service.asked(bob, when, "GET", BUDGET)
                yield service.asked(bob, when, "POST", "/preview", ask)
                for page in service.pages:
                    yield service.visited(when, "GET", page)
                if when in ASKED_IN_A_FORM:
                    form = {"definitions": SOJOURN, "do": "preview", "shape": "time"}
                    yield service.visited(when, "POST", f"/workbench/logs/{LOG}/ask", form)
                # The same question again; and another one, which is charged at that moment.
                again = when + 1 / 1024
                yield service.asked(bob, again, "POST", "/release", ask)
                other = {**ask, "epsilon": f"0.0{number + 1}", "derived": False}
                yield service.asked(bob, again, "POST", "/release", other)
            yield service.asked(bob, 8, "GET", RELEASES)

        return self._seen(evaluation, acts, fails=fails)

    def sealed(self, evaluation: float) -> list[Seen]:
        """The owner seals a block, and what stands is released; analysts poll."""

        def acts(service: Simulated) -> Acts:
            boss, bob = self.place.boss, self.place.bob
            yield service.asked(boss, 0, "POST", f"/logs/{LOG}/seal", {"until": str(MAY)})
            for when in (*POLLS, *(GRID + poll for poll in POLLS)):
                for path in (RELEASES, BUDGET, "/subscriptions"):
                    yield service.asked(bob, when, "GET", path)
                yield service.visited(when, "GET", service.pages[-1])

        return self._seen(evaluation, acts)

    def _seen(
        self,
        evaluation: float,
        acts: Callable[[Simulated], Acts],
        *,
        fails: bool = False,
    ) -> list[Seen]:
        self._number += 1
        root = self._folder / str(self._number)
        shutil.copytree(self.place.root, root)
        world = World()
        original, results = draw.draw_cells, self.place.results

        def drawn(
            events: Path, questions: Sequence[Release], log: LogDeclaration, key: bytes
        ) -> dict[str, Any]:
            world.wait(evaluation)
            if fails:
                raise PappiError("a source that fails")
            new = [question for question in questions if question.key not in results]
            results.update(original(events, new, log, key) if new else {})
            return {question.key: results[question.key] for question in questions}

        with self._patch.context() as patch:
            patch.setattr(draw, "draw_cells", drawn)
            patch.setitem(open_ledger.__kwdefaults__ or {}, "clock", world.wall_clock)
            workspace = pappi.open(root)
            try:
                service = Simulated(workspace, frame_of(OPEN, world.passing), self.place)
                began = world.now  # signing in took its time
                asked = [(app, replace(ask, when=began + ask.when)) for app, ask in acts(service)]
                seen = history(world, asked)
                return [*seen, Seen(0, "", "turns", 0, 200, repr(sorted(world.worked)))]
            finally:
                workspace.close()


class Simulated:
    """Both applications, and whoever uses them."""

    def __init__(self, workspace: Workspace, frame: Frame, place: Place) -> None:
        self.analyst = analyst_app(workspace, frame=frame)
        self.owner = owner_app(workspace, frame=frame)
        self._place = place
        one = f"/workbench/queries/{place.kept}"
        self.pages = (
            "/workbench",
            f"/workbench/logs/{LOG}",
            "/workbench/queries",
            f"{one}/figures.csv",
            f"{one}?smooth=true",
            one,
        )
        self._cookie = _signed_in(self.analyst, place.alice)

    def asked(
        self, key: str, when: float, method: str, path: str, json: object = None
    ) -> tuple[ASGIApp, Ask]:
        app = self.owner if key == self._place.boss else self.analyst
        return app, Ask(when, method, path, {"Authorization": f"Bearer {key}"}, json)

    def visited(
        self, when: float, method: str, path: str, form: Mapping[str, str] | None = None
    ) -> tuple[ASGIApp, Ask]:
        """By alice, in a browser."""
        sent = {"Cookie": self._cookie, "Origin": HERE}
        return self.analyst, Ask(when, method, path, sent, form=form)


def _signed_in(app: ASGIApp, key: str) -> str:
    async def cookie() -> str:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
            reply = await client.post("/sign-in", data={"key": key}, headers={"Origin": HERE})
            return reply.headers["set-cookie"].split(";")[0]

    return asyncio.run(cookie())


@pytest.fixture
def histories(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Histories:
    return Histories(place, tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def released(place: Place, tmp_path_factory: pytest.TempPathFactory) -> dict[float, list[Seen]]:
    """As it is, by how long evaluations take."""
    with pytest.MonkeyPatch.context() as patches:
        histories = Histories(place, tmp_path_factory.mktemp("released"), patches)
        return {each: histories.released(each) for each in (QUICK, SLOW, SLOWER)}


def differences(one: list[Seen], other: list[Seen]) -> set[str]:
    """The surfaces on which two histories can be told apart."""
    assert len(one) == len(other)
    return {f"{a.method} {a.path}" for a, b in zip(one, other, strict=True) if a != b}


def test_evaluations_of_as_many_steps_look_the_same_on_every_surface(
    released: dict[float, list[Seen]],
) -> None:
    assert {seen.status for seen in released[QUICK]} == {200}
    assert differences(released[QUICK], released[SLOW]) == set()


def test_failures_of_as_many_steps_look_the_same_on_every_surface(histories: Histories) -> None:
    polls = length((BETWEEN, 33 / 128), POLLS)
    quick, slow = (histories.released(each, fails=True, polls=polls) for each in (QUICK, SLOW))
    assert {seen.status for seen in quick} == {200, 500}
    assert differences(quick, slow) == set()


def test_subscriptions_appear_on_the_grid_and_so_does_what_comes_after_them(
    histories: Histories,
) -> None:
    quick, slow = histories.sealed(QUICK), histories.sealed(SLOW)
    assert {seen.status for seen in quick} == {200}
    assert '"subscriptions":2' in quick[0].body
    assert differences(quick, slow) == set()


def test_the_number_of_steps_is_what_is_left(released: dict[float, list[Seen]]) -> None:
    """Also that the comparison can tell: what is on record shows, and when replies leave."""
    found = differences(released[SLOW], released[SLOWER])
    assert {f"GET {RELEASES}", "POST /release", " turns"} <= found


# --- planted faults ------------------------------------------------------------------------

SEEN_AT = length((BETWEEN,), POLLS)
"""One poll tells, if it comes between the ends of both evaluations."""


def test_results_on_record_as_soon_as_they_are_drawn_are_caught(
    histories: Histories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replies leave on the grid all the same: it is the polls that tell."""
    monkeypatch.setattr(Frame, "paced", lambda _, workspace: workspace)
    quick, slow = (histories.released(each, polls=SEEN_AT) for each in (QUICK, SLOW))
    found = differences(quick, slow)
    one = f"/workbench/queries/{histories.place.kept}"
    seen = {f"GET {one}", f"GET {one}?smooth=true", f"GET {one}/figures.csv"}
    assert seen <= found
    # A second request is told whether the first one is on record, a turn is free for another,
    # and entries are numbered by which came first: a result, or somebody else's charge.
    assert {f"GET {RELEASES}", "POST /release", " turns"} <= found
    assert numbers_in(quick) != numbers_in(slow)


def numbers_in(found: list[Seen]) -> list[int]:
    """Of the entries in the last list that was seen of them."""
    last = [seen for seen in found if seen.path == RELEASES][-1]
    return [each["number"] for each in json.loads(last.body)["releases"]]


def test_subscriptions_without_a_pace_are_caught(
    histories: Histories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the second of them is charged tells how long the first one took."""
    monkeypatch.setattr(
        "pappi.session.workspace.run_due",
        lambda ledger_session, **_: run_due(ledger_session, pace=AT_ONCE),
    )
    found = differences(histories.sealed(QUICK), histories.sealed(SLOW))
    assert {f"GET {RELEASES}", f"GET {BUDGET}"} <= found


def test_replies_that_leave_as_soon_as_the_work_is_done_are_caught(
    histories: Histories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Frame, "paced", lambda _, workspace: workspace)
    monkeypatch.setattr("pappi.service.middleware.time_to_wait", lambda *_: 0.0)
    quick, slow = (histories.released(each, polls=SEEN_AT) for each in (QUICK, SLOW))
    assert [seen[0].left - seen[0].when for seen in (quick, slow)] == [QUICK, SLOW]
    assert "POST /release" in differences(quick, slow)
