"""A process killed while it seals or erases leaves the log as before or as after.

The child below changes a log and is killed with SIGKILL, by its own hand at a named step or by
its parent at some moment. The declaration stands in a file, as in the ledger: replaced in one
step, durably. The parent looks at what is left, and does the same again.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from datetime import date
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from pappi.custody import capture
from pappi.custody.capture import SealStep
from pappi.errors import WorkspaceError
from pappi.store import CapturedEvent, LogDeclaration, event_file
from pappi.store import event_logs as writing
from pappi.store.event_file import PartsList, Successor
from pappi.values import PrivacyUnit
from tests.captured_logs import Fed, event, us
from tests.crash.processes import forks

JANUARY, FEBRUARY, MARCH, APRIL = (date(2024, month, 1) for month in range(1, 5))
IMPORTED = [event("", f"i{n}", us(JANUARY, 30 * n), amount=n / 2) for n in range(60)]
CAPTURED = [event(f"e{n}", f"c{n % 40}", us(JANUARY, 20 * n), amount=n) for n in range(120)]
LATE = [event("late", "i0", us(FEBRUARY)), event("later", "i1", us(MARCH))]
AFTER = event("after", "new", us(MARCH, 1))
ERASED = ["i0", "i59", "c3"]
ERASE_STEPS = ("noted", "emptied", "written", "placed", "swapped")


class Declared(Fed):
    """A log whose declaration is in a file of its folder."""

    @property
    def _path(self) -> Path:
        return self.files.root / "declared.json"

    def keep(self, log: LogDeclaration) -> None:
        new = self._path.with_suffix(".new")
        with new.open("w", encoding="utf-8") as file:
            json.dump(log.to_json(), file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
        self.log = log

    def reopened(self) -> Declared:
        with self._path.open(encoding="utf-8") as file:
            self.log = LogDeclaration.from_json(json.load(file))
        return self


def begun(folder: Path) -> Declared:
    """An import that leaves cases open, and captured events of them and of others."""
    fed = Declared(folder)
    fed.start_with(IMPORTED, FEBRUARY)
    fed.capture(*CAPTURED, *LATE)
    return fed


# The child

Act = Callable[[Path, str], None]


def begin(told: Connection, act: Act, folder: Path, step: str) -> None:
    told.send("begun")
    act(folder, step)


def suicide(_: object = None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_seal(folder: Path, step: str) -> None:
    def on_step(reached: SealStep) -> None:
        if reached == step:
            suicide()

    Declared(folder).reopened().seal(MARCH, on_step=on_step)


def die_in_numbering(folder: Path, step: str) -> None:
    """While the new part gets its cases with their persons."""
    add_cases = event_file._add_cases

    def adding(part: Path, person: str) -> None:
        if step == "added":
            add_cases(part, person)
        suicide()

    pytest.MonkeyPatch().setattr(event_file, "_add_cases", adding)
    die_in_seal(folder, "")


def die_in_uniting_seal(folder: Path, step: str) -> None:
    planted = pytest.MonkeyPatch()
    planted.setattr(writing, "UNITED", 2)
    planted.setattr(writing, "_KEPT_VERSIONS", 2)
    die_in_seal(folder, step)


def die_in_forgetful_seal(folder: Path, step: str) -> None:
    """The planted fault: nobody can read any more by the declaration that still holds."""
    pytest.MonkeyPatch().setattr(writing, "_KEPT_VERSIONS", 1)
    die_in_seal(folder, step)


def die_in_hasty_erasure(folder: Path, step: str) -> None:
    """The planted fault: the list names parts that are not in their places."""

    def hasty(new: Successor) -> None:
        new.take_place()
        new.place()

    pytest.MonkeyPatch().setattr(Successor, "swap_in", hasty)
    die_in_erasure(folder, step)


def die_in_erasure(folder: Path, step: str) -> None:
    fed = Declared(folder).reopened()

    def no_longer(*_: object) -> None:
        suicide()

    planted: dict[str, tuple[Any, str, Callable[..., None]]] = {
        "emptied": (capture, "erase_cases", no_longer),
        "written": (Successor, "place", no_longer),
        "placed": (Successor, "take_place", no_longer),
        "swapped": (Successor, "sweep", no_longer),
    }
    if step in planted:
        setattr(*planted[step])
    request = capture.ErasureRequest(tuple(ERASED))
    note = suicide if step == "noted" else fed.notes.append
    capture.erase(fed.files, lambda: fed.log, request, note)


# The parent


def run_until_killed(folder: Path, act: Act, step: str, seconds: float | None = None) -> None:
    heard, told = forks().Pipe(duplex=False)
    child = forks().Process(target=begin, args=(told, act, folder, step))
    child.start()
    told.close()
    heard.recv()  # it has begun
    child.join(seconds)
    if seconds is not None:
        child.kill()
        child.join()
    assert child.exitcode in ((-signal.SIGKILL,) if seconds is None else (-signal.SIGKILL, 0))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, tuple[Any, ...]]]:
    """The log before and after the first seal, and after one more."""
    fed = begun(tmp_path_factory.mktemp("undisturbed"))
    stages = [fed.rows()]
    for until in (MARCH, APRIL):
        if until == APRIL:
            fed.capture(AFTER)
        fed.seal(until)
        stages.append(fed.rows())
    return stages


def check_seal(fed: Declared, undisturbed: list[dict[str, tuple[Any, ...]]]) -> bool:
    """Whether it had happened; in any case it is completed, and the next one goes well."""
    before, after, next_after = undisturbed
    happened = fed.log.public.until == MARCH
    assert fed.rows() == (after if happened else before)
    resent: list[CapturedEvent] = [*CAPTURED, *LATE]
    assert fed.capture(*resent).duplicates == len(resent)
    if not happened:
        fed.seal(MARCH)
    assert fed.rows() == after
    fed.capture(AFTER)
    assert fed.seal(APRIL).late == len(LATE)
    assert fed.rows() == next_after
    assert fed.capture(*resent, AFTER).duplicates == len(resent) + 1
    assert_nothing_left(fed)
    return happened


def assert_nothing_left(fed: Declared) -> None:
    """Every file of the events is in the log's list, and nothing else is there."""
    named = {part.file for part in PartsList.read(fed.files.events, "events_1").parts}
    assert {path.name for path in fed.files.events.iterdir()} == {"events_1.json", *named}


@pytest.mark.parametrize("step", SealStep)
def test_a_seal_killed_at_any_step_is_undone_or_complete(
    tmp_path: Path, undisturbed: list[dict[str, tuple[Any, ...]]], step: SealStep
) -> None:
    begun(tmp_path)
    run_until_killed(tmp_path, die_in_seal, step)
    happened = check_seal(Declared(tmp_path).reopened(), undisturbed)
    assert happened is (step in (SealStep.DECLARED, SealStep.SETTLED))


@pytest.mark.parametrize(
    "step", [SealStep.WRITTEN, SealStep.PLACED, SealStep.SWAPPED, SealStep.SWEPT]
)
def test_so_is_a_seal_that_unites_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: SealStep
) -> None:
    monkeypatch.setattr(writing, "UNITED", 2)
    monkeypatch.setattr(writing, "_KEPT_VERSIONS", 2)
    fed = Declared(tmp_path)
    fed.create()
    fed.keep(fed.log)
    for number, until in enumerate((FEBRUARY, MARCH)):
        if number:
            before = fed.rows()
            run_until_killed(tmp_path, die_in_uniting_seal, step)
            assert fed.reopened().rows() == before
        else:
            fed.capture(*CAPTURED[:60])
        fed.seal(until)
        fed.capture(*CAPTURED[60:])
    twin = Fed(tmp_path / "twin").create()
    for until, events in ((FEBRUARY, CAPTURED[:60]), (MARCH, CAPTURED[60:])):
        twin.capture(*events)
        twin.seal(until)
    assert fed.rows() == twin.rows()
    (_, *others) = PartsList.read(fed.files.events, "events_1").versions[3]
    assert [part.seals for part in others] == [2]
    assert_nothing_left(fed)


@pytest.mark.parametrize("step", ["events", "added"])
def test_so_is_a_seal_whose_part_is_without_its_persons(tmp_path: Path, step: str) -> None:
    fed = Declared(tmp_path, unit=PrivacyUnit("customer", 2))
    fed.create()
    fed.keep(fed.log)
    for number, until in enumerate((FEBRUARY, MARCH)):
        at = us(FEBRUARY if number else JANUARY)
        fed.capture(
            *(event(f"{number} {n}", f"{number} {n}", at, customer=f"{n % 3}") for n in range(9))
        )
        before = fed.rows()
        run_until_killed(tmp_path, die_in_numbering, step)
        assert fed.reopened().rows() == before
        fed.seal(until)
        assert len(fed.rows()) == len(before) + 9
    assert_nothing_left(fed)
    who = fed.cases().who
    assert who is not None
    assert who.person_numbers().tolist() == [0, 1, 2] * 6


@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.2, 0.4])
def test_a_seal_killed_at_some_moment_is_undone_or_complete(
    tmp_path: Path, undisturbed: list[dict[str, tuple[Any, ...]]], seconds: float
) -> None:
    begun(tmp_path)
    run_until_killed(tmp_path, die_in_seal, "", seconds)
    check_seal(Declared(tmp_path).reopened(), undisturbed)


@pytest.mark.parametrize("step", ERASE_STEPS)
def test_an_erasure_killed_at_any_step_is_finished_by_the_same_again(
    tmp_path: Path, step: str
) -> None:
    fed = begun(tmp_path)
    fed.seal(MARCH)
    before = fed.rows()
    run_until_killed(tmp_path, die_in_erasure, step)
    fed.reopened().erase(cases=ERASED)
    assert fed.rows() == {case: row for case, row in before.items() if case not in ERASED}
    assert_nothing_left(fed)
    fed.seal(APRIL)
    assert not set(ERASED) & fed.rows().keys()
    assert [p.name for p in tmp_path.iterdir() if "staging" in p.name] == []


def test_a_seal_that_leaves_the_inbox_as_it_is_would_be_caught(
    tmp_path: Path,
    undisturbed: list[dict[str, tuple[Any, ...]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun(tmp_path)
    run_until_killed(tmp_path, die_in_seal, SealStep.SWAPPED)
    monkeypatch.setattr("pappi.store.inbox.Inbox.settle", lambda *_: None)
    with pytest.raises(AssertionError, match="late"):
        check_seal(Declared(tmp_path).reopened(), undisturbed)


def test_a_seal_that_takes_older_versions_off_the_list_would_be_caught(
    tmp_path: Path, undisturbed: list[dict[str, tuple[Any, ...]]]
) -> None:
    begun(tmp_path)
    run_until_killed(tmp_path, die_in_forgetful_seal, SealStep.SWAPPED)
    with pytest.raises(WorkspaceError, match="have no events_1"):
        check_seal(Declared(tmp_path).reopened(), undisturbed)


def test_a_list_that_takes_its_place_before_the_parts_would_be_caught(tmp_path: Path) -> None:
    begun(tmp_path).seal(MARCH)
    run_until_killed(tmp_path, die_in_hasty_erasure, "written")
    with pytest.raises(WorkspaceError, match="cannot be opened"):
        Declared(tmp_path).reopened().rows()


def test_parts_that_are_never_swept_would_be_caught(
    tmp_path: Path,
    undisturbed: list[dict[str, tuple[Any, ...]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun(tmp_path)
    run_until_killed(tmp_path, die_in_seal, SealStep.PLACED)
    monkeypatch.setattr(Successor, "sweep", lambda _: None)
    # The part that was left has the name of the next, and is overwritten: so leave another.
    (tmp_path / "events" / "events_1-9.duckdb").touch()
    with pytest.raises(AssertionError, match="events_1-9"):
        check_seal(Declared(tmp_path).reopened(), undisturbed)


def test_an_erasure_takes_cases_out_of_all_parts_at_once(tmp_path: Path) -> None:
    """Of what lies in two parts, both are gone or none: whenever it is killed."""
    fed = begun(tmp_path)
    for until in (MARCH, APRIL):
        fed.seal(until)
    before = fed.rows()
    assert len(PartsList.read(fed.files.events, "events_1").versions[3]) == 2
    assert {*ERASED} <= before.keys()
    for step in ("written", "placed"):
        run_until_killed(tmp_path, die_in_erasure, step)
        assert fed.reopened().rows() == before
    run_until_killed(tmp_path, die_in_erasure, "swapped")
    assert not {*ERASED} & fed.reopened().rows().keys()
