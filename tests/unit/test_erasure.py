"""Erasure: cases, persons and blocks are gone, on record in numbers, and do not come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from pappi.custody import Erased, capture
from pappi.errors import Refused, UsageError, WorkspaceError
from pappi.store import create_events, inbox, stored_logs
from pappi.store.event_file import PartsList, require_events
from pappi.values import CASE, Kind, Per, PrivacyUnit
from tests.captured_logs import ATTRIBUTES, Fed, event, us

pytestmark = pytest.mark.outside

JANUARY, FEBRUARY, MARCH, APRIL = (date(2024, month, 1) for month in range(1, 5))
PERSON = PrivacyUnit("customer", 1)


Filled = Callable[[Path, PrivacyUnit], Fed]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """In a folder: cases a and b of January, c of February, d still open; late events of a."""

    @cache
    def original(unit: PrivacyUnit) -> Fed:
        fed = Fed(tmp_path_factory.mktemp("filled"), unit=unit).create()
        fed.capture(
            event("1", "a", us(JANUARY), customer="k1"),
            event("2", "a", us(JANUARY, 1), customer="k1"),
            event("3", "b", us(JANUARY), customer="k2"),
        )
        fed.seal(FEBRUARY)
        fed.capture(event("4", "c", us(FEBRUARY), customer="k1"), event("5", "d", us(MARCH)))
        fed.capture(event("6", "a", us(FEBRUARY), customer="k1"))
        fed.seal(MARCH)
        return fed

    return lambda folder, unit: original(unit).copied(folder)


@pytest.fixture
def fed(filled: Filled, tmp_path: Path) -> Fed:
    return filled(tmp_path, CASE)


def test_a_case_is_erased_with_what_came_late(fed: Fed) -> None:
    before = fed.rows()
    assert fed.erase(cases=["a"]) == Erased(("cases",), 1, 3)
    del before["a"]
    assert fed.rows() == before
    assert fed.seal(APRIL).late == 0


def test_a_case_that_is_not_sealed_yet_is_erased(fed: Fed) -> None:
    assert fed.erase(cases=["d", "nobody"]) == Erased(("cases",), 1, 1)
    assert fed.seal(APRIL).cases == 0


def test_blocks_are_erased_by_their_labels(fed: Fed) -> None:
    assert fed.erase(blocks=["2024-01"]) == Erased(("blocks",), 2, 4)  # with what is late of a
    assert fed.rows().keys() == {"c"}
    assert fed.erase(blocks=["2024-02"]) == Erased(("blocks",), 1, 1)
    assert fed.rows() == {}
    assert fed.seal(APRIL).cases == 1


def test_of_a_block_what_came_late_is_erased_but_not_its_case_of_another_block(fed: Fed) -> None:
    assert fed.erase(blocks=["2024-02"]) == Erased(("blocks",), 2, 2)
    assert fed.rows().keys() == {"a", "b"}


def test_a_case_of_which_only_what_came_late_was_erased_is_not_sealed_again(
    fed: Fed, tmp_path: Path
) -> None:
    """It would be in two blocks, and count twice: also if it came with an import."""
    fed.erase(blocks=["2024-02"])
    fed.capture(event("7", "a", us(MARCH)))
    assert fed.seal(APRIL).late == 1

    imported = Fed(tmp_path / "imported").start_with([event("", "a", us(JANUARY))], FEBRUARY)
    imported.capture(event("1", "a", us(FEBRUARY)))
    imported.seal(MARCH)
    imported.erase(blocks=["2024-02"])
    imported.capture(event("2", "a", us(MARCH)))
    assert imported.seal(APRIL).late == 1


def test_persons_are_erased_with_all_of_their_cases(filled: Filled, tmp_path: Path) -> None:
    fed = filled(tmp_path, PERSON)
    assert fed.erase(persons=["k1"]) == Erased(("persons",), 2, 4)
    assert fed.rows().keys() == {"b"}


def test_persons_may_be_numbers(tmp_path: Path) -> None:
    numbers = {**ATTRIBUTES, "n": Kind.NUMBER}
    fed = Fed(tmp_path, unit=PrivacyUnit("n", 1), attributes=numbers).create()
    fed.capture(event("1", "a", us(JANUARY), n=7), event("2", "b", us(JANUARY), n=77))
    fed.capture(event("3", "c", us(FEBRUARY), n=7.0))
    fed.seal(FEBRUARY)
    assert fed.erase(persons=["7"]).cases == 2
    assert fed.rows().keys() == {"b"}


def test_another_person_s_case_stays_though_something_late_names_the_erased_one(
    filled: Filled, tmp_path: Path
) -> None:
    fed = filled(tmp_path, PERSON)
    fed.capture(event("7", "b", us(MARCH), customer="k3"))
    assert fed.erase(persons=["k3"]) == Erased(("persons",), 1, 1)
    assert "b" in fed.rows()


@pytest.mark.parametrize("request_", [{"cases": ["a"]}, {"blocks": ["2024-01"]}])
def test_single_cases_of_persons_counted_over_the_log_cannot_be_erased(
    filled: Filled, tmp_path: Path, request_: dict[str, list[str]]
) -> None:
    fed = filled(tmp_path / "log", PERSON)
    with pytest.raises(Refused, match="make others count instead"):
        fed.erase(**request_)
    assert fed.notes == []
    per_block = filled(tmp_path / "block", replace(PERSON, per=Per.BLOCK))
    assert per_block.erase(**request_).cases > 0


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({}, "nothing to erase"),
        ({"persons": ["k1"]}, "has no persons"),
        ({"blocks": ["2024-03"]}, "'2024-03' is not a sealed block"),
        ({"cases": ["\ud800"]}, "no event can have"),
        ({"cases": [""]}, "no event can have"),
    ],
)
def test_what_cannot_be_erased_is_refused_before_anything_happens(
    fed: Fed, request_: dict[str, list[str]], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        fed.erase(**request_)
    assert fed.notes == []


def test_it_is_on_record_before_anything_is_gone(fed: Fed) -> None:
    before = fed.rows()
    fed.notes = _Refusing()
    with pytest.raises(WorkspaceError):
        fed.erase(cases=["a"])
    assert fed.rows() == before


class _Refusing(list[Erased]):
    def append(self, _: Erased) -> None:
        raise WorkspaceError("the ledger cannot be written")


def test_again_is_the_same_as_once(fed: Fed) -> None:
    fed.erase(cases=["a"])
    before = fed.rows()
    assert fed.erase(cases=["a"]) == Erased(("cases",), 0, 0)
    assert fed.rows() == before


def test_an_erased_case_that_comes_back_is_never_sealed_again(fed: Fed) -> None:
    """It may be among released answers of its first block: in a second, it would count twice."""
    fed.erase(cases=["a"])
    fed.capture(event("1", "a", us(MARCH)))
    sealed = fed.seal(APRIL)
    assert (sealed.cases, sealed.late) == (1, 1)
    assert fed.rows().keys() == {"b", "c", "d"}


@pytest.mark.parametrize(("per", "sealed"), [(Per.LOG, 0), (Per.BLOCK, 1)])
def test_an_erased_person_counts_again_only_where_blocks_count_apart(
    filled: Filled, tmp_path: Path, per: Per, sealed: int
) -> None:
    fed = filled(tmp_path, replace(PERSON, per=per))
    fed.erase(persons=["k1"])
    fed.capture(event("9", "new", us(MARCH), customer="k1"))
    assert ("new" in fed.rows()) is False
    fed.seal(APRIL)
    assert ("new" in fed.rows()) is bool(sealed)


def test_older_declarations_do_not_show_what_is_erased(tmp_path: Path) -> None:
    """Not even the table as it was imported, of which a case has gone on since."""
    begun = [event("", "a", us(JANUARY)), event("", "b", us(MARCH))]
    fed = Fed(tmp_path).start_with(begun, until=FEBRUARY)
    imported = fed.log
    fed.seal(MARCH)
    sealed = fed.log
    fed.erase(cases=["b"])
    fed.keep(imported)
    assert fed.rows().keys() == {"a"}
    fed.keep(sealed)
    assert fed.seal(APRIL).cases == 0


@pytest.mark.parametrize("cut", [(capture, "erase_cases"), (inbox, "emptied")])
def test_a_person_of_an_older_version_is_erased_though_the_first_attempt_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: tuple[object, str]
) -> None:
    """Only the inbox knows whose case that is: it waits there, and the import still has it."""
    begun = [event("", "a", us(JANUARY)), event("", "open", us(MARCH), customer="k1-here")]
    fed = Fed(tmp_path, unit=PERSON).start_with(begun, until=FEBRUARY)
    fed.seal(MARCH)
    assert len(_holding(b"k1-here", tmp_path)) == 2

    def cut_off(*_: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as planted:
        planted.setattr(*cut, cut_off)
        with pytest.raises(InterruptedError):
            fed.erase(persons=["k1-here"])
    fed.erase(persons=["k1-here"])
    assert not _holding(b"k1-here", tmp_path)


def _holding(text: bytes, folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and text in file.read_bytes()]


def test_whoever_opens_a_log_while_its_parts_are_replaced_reads_the_new_ones(
    fed: Fed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list was read before the erasure, and the parts that it names are gone."""
    stale, read = PartsList.read(fed.files.events, "events_1"), PartsList.read
    fed.erase(cases=["a"])
    lists = [stale]

    def late(events: Path, base: str) -> PartsList:
        return lists.pop() if lists else read(events, base)

    monkeypatch.setattr(PartsList, "read", late)
    require_events(fed.files.events, fed.log.table, ATTRIBUTES)
    lists.append(stale)
    assert fed.rows().keys() == {"b", "c"}
    assert not lists


def test_other_logs_stay_as_they_are(fed: Fed) -> None:
    create_events(fed.files.events, "events_2", {"n": Kind.NUMBER})
    fed.erase(cases=["a"])
    assert "events_2" in stored_logs(fed.files.events)
