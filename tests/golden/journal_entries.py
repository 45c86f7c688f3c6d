"""A journal with every kind of entry, as it is written today, byte by byte.

    python -m tests.golden.journal_entries

writes `journal_entries.json` anew. **Nearly always that is wrong**: ledgers of people who use
PaPPI hold these texts, hashed. A change needs a new format, and a migration. It is right after
adding an act to the story, or where the law of a mechanism changed on purpose, which changes the
integers it released.

The story is told by what owners and analysts use, at one fixed moment and with
randomness that is always the same. Questions are planned as before the cases that bounds cut were
counted: what is pinned is the form of entries, and that those which people have are still read.
"""

from __future__ import annotations

import json
import random
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from fractions import Fraction
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

import pytest

import pappi
from pappi.custody import NewLog, Selection, accept_rollback, event_of
from pappi.ledger import (
    Entry,
    EntryKind,
    bare_journal,
    canonical_json,
    journal,
    reformat_payload,
    standing,
)
from pappi.ledger.snapshots import Snapshot, keep_snapshot
from pappi.mechanisms import secret_bytes, system_randbelow
from pappi.planning import plan_ppi
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.session import Workspace, to_wire
from pappi.store import (
    ColumnForm,
    EventSource,
    LogDeclaration,
    MappedColumn,
    Registry,
    declarations,
    open_workspace,
)
from pappi.values import (
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
    Role,
    Terms,
    Vocabulary,
)
from tests.small_logs import claims, event_table

FILE = Path(__file__).with_suffix(".json")
ACCEPT = "python -m tests.golden.journal_entries"
SEED = 20_240_615
SIGNING_KEY = b"k" * 32
_REPLAYED = ("ppi", "period", "group", "value", "unit", "charged", "replayed")

ASKED = """\
log: small
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    target: "<= 4 days"
    scope: every month
  - id: paid
    measure: {sum: {count: {activity: Pay}}, by: {data: channel, keys: [web, phone]}}
    bounds: [0, 1]
    scope: every month
"""
STANDS = """\
log: small
ppis:
  - id: rejected
    measure: {sum: {count: {activity: Reject}}}
    bounds: [0, 1]
    scope: every month
"""

# Whatever a declaration can hold.
DECLARED = LogDeclaration(
    data="events_1",
    table="events_1_p2",
    source=EventSource(
        url="postgresql://reader@db.example/events",
        table=("public", "events"),
        case=MappedColumn("case_id", ColumnForm.WHOLE),
        activity=MappedColumn("what", ColumnForm.TEXT),
        time=MappedColumn("at", ColumnForm.INSTANT),
        order=MappedColumn("nr", ColumnForm.WHOLE),
        attributes={"cost": MappedColumn("cost", ColumnForm.DECIMAL)},
        secret="SOURCE_PASSWORD",  # noqa: S106 - the name of a variable
        guarded=True,
    ),
    public=PublicLog(
        name="full",
        first=date(2024, 1, 1),
        until=date(2024, 7, 1),
        vocabulary=Vocabulary(
            ("Register", "Close"),
            {
                "person": Kind.TEXT,
                "region": Kind.TEXT,
                "cost": Kind.NUMBER,
                "urgent": Kind.TRUTH,
                "due": Kind.TIME,
                "waited": Kind.DURATION,
            },
            {"region": ("north", "south")},
        ),
        terms=Terms(
            timezone="Europe/Amsterdam",
            anchor=CaseBorder.START,
            blocks=Grid(Calendar.WEEK, 2),
            unit=PrivacyUnit("person", 3, Per.BLOCK),
            adjacency=Adjacency.ADD_REMOVE,
            block_budget=Epsilon.of("1.5"),
            total_budget=Epsilon.of("12"),
            expected_cases=250,
            bounds=DefaultBounds(
                durations=Bounds(Fraction(0), Fraction(86_400_000_000)),
                counts=Bounds(Fraction(0), Fraction(5)),
                attributes={"cost": Bounds(Fraction(-1, 3), Fraction(1_000))},
            ),
        ),
    ),
)


class Noon(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls(2024, 6, 15, 12, tzinfo=UTC).astimezone(tz)


class KnownRandom(random.Random):
    """Always the same. Ids and keys do not depend on how many coins the noise has tossed."""

    def __init__(self) -> None:
        super().__init__(SEED)
        self._ids = random.Random(SEED)  # noqa: S311 - no release

    def randbytes(self, n: int) -> bytes:
        return self._ids.randbytes(n)


@dataclass(frozen=True, slots=True)
class Story:
    """What was written, and what the analyst got to see of it when asking again."""

    entries: tuple[Entry, ...]
    replayed: tuple[dict[str, Any], ...]
    snapshot: tuple[str, str]
    mark: bytes


@contextmanager
def same_every_time() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        # The system's own sources, whatever a test may have put in their place.
        patched.setattr("pappi.mechanisms.mechanism.system_randbelow", system_randbelow)
        patched.setattr("pappi.store.workspace.secret_bytes", secret_bytes)
        patched.setattr(secrets, "_sysrand", KnownRandom())
        patched.setattr(journal, "datetime", Noon)
        patched.setattr(declarations, "datetime", Noon)
        for module in ("checkpoint.queries", "checkpoint.sets", "planning.sets"):
            patched.setattr(f"pappi.{module}.plan_alone", plan_ppi)
        yield


def told(folder: Path) -> Story:
    """The story of a workspace in this folder, in which every kind of entry comes up."""
    with same_every_time():
        workspace = pappi.create(folder / "w")
        _declared(workspace)
        _let_in(workspace)
        replayed = _asked(workspace)
        _stopped(workspace)
        _taken_back(workspace)
        _rolled_back(workspace, folder)
        ledger = workspace.root / "ledger.sqlite"
        with closing(bare_journal(ledger)) as file, file.writing():  # as a migration does
            file.append(EntryKind.REFORMAT, reformat_payload())
        _put_away(workspace)
        with closing(bare_journal(ledger)) as file:
            entries = tuple(file.entries())
            keep_snapshot(file, snapshot_of(entries), SIGNING_KEY)
            ((body, signature),) = file.run("SELECT body, signature FROM snapshot")
        mark = (workspace.root / "ledger.mark").read_bytes()
        return Story(entries, replayed, (body, signature), mark)


def _declared(workspace: Workspace) -> None:
    """Names are selected, which is a charge, and the log imported; then its budget changes."""
    new = NewLog(
        first=date(2024, 1, 1),
        until=date(2024, 3, 1),
        keys={"channel": ("web", "phone")},
        vocabulary=Vocabulary(
            ("Receive", "Pay", "Reject", "Dance"),
            {"channel": Kind.TEXT, "damage": Kind.NUMBER},
        ),
        terms=Terms(block_budget=Epsilon.of(5), expected_cases=20),
    )
    events = event_table(claims(60))
    chosen = workspace.select_names(events, new, Selection(Epsilon.of(2), 3), "small")
    workspace.import_log(events, "small", new=chosen)
    workspace.grant("small", "6", "100")


def _let_in(workspace: Workspace) -> None:
    owner = workspace.custody_of("olga")
    owner.grant_analyst("small", "ann", Epsilon.of("2.5"))
    issued = owner.issue_key(Role.ANALYST, "ann", expires=datetime(2099, 1, 1, tzinfo=UTC))
    owner.issue_key(Role.OWNER, "boss")
    owner.revoke_key(issued.record.id)


def _asked(workspace: Workspace) -> tuple[dict[str, Any], ...]:
    """Released, and kept; and a question stands, of which one month is released."""
    analyst = ann(workspace)
    analyst.release(catalogue(ASKED), "0.25", anyway=True)
    analyst.save(catalogue(ASKED))
    analyst.subscribe(catalogue(STANDS), date(2024, 7, 1), "0.125", anyway=True)
    events = [
        {"id": f"e{n}", "case": f"n{n}", "activity": "Reject", "time": "2024-03-15T12:00:00Z"}
        for n in range(3)
    ]
    workspace.custody.capture("small", [event_of(event) for event in events])
    workspace.custody.seal("small", date(2024, 4, 1))
    workspace.run_subscriptions()
    analyst.release(catalogue(ASKED), "0.25", anyway=True)  # March as well
    again = analyst.release(catalogue(ASKED), "0.25", anyway=True)
    answers = (answer for series in again for answer in series.answers)
    records = ({**to_wire(answer), "charged": float(answer.charged)} for answer in answers)
    return tuple({name: record[name] for name in _REPLAYED} for record in records)


def _stopped(workspace: Workspace) -> None:
    workspace.custody.stop("the press is here: “ε”")
    workspace.custody.resume()
    workspace.exact(catalogue(ASKED))


def _taken_back(workspace: Workspace) -> None:
    analyst = ann(workspace)
    (stands,), (kept,) = analyst.subscriptions(), analyst.saved()
    analyst.unsubscribe(stands.id)
    analyst.forget(kept.id)
    owner = workspace.custody_of("olga")
    owner.withdraw("small", "ann")
    owner.erase("small", cases=["c1"])
    owner.withdraw_names("small", attributes=["damage"])


def _rolled_back(workspace: Workspace, folder: Path) -> None:
    """The ledger is replaced with an older copy of itself, and the owner goes on with that."""
    workspace.close()
    ledger, older = workspace.root / "ledger.sqlite", folder / "older.sqlite"
    shutil.copyfile(ledger, older)
    workspace.grant("small", "7", "100")
    workspace.close()
    shutil.copyfile(older, ledger)
    accept_rollback(open_workspace(workspace.root))


def _put_away(workspace: Workspace) -> None:
    """A log is looked at, renamed and removed; so is one for which something was charged."""
    workspace.import_log(event_table(claims(8)), "second")
    owner = workspace.custody_of("olga")
    owner.profile("second")
    owner.rename("second", "third")
    owner.remove("third")
    owner.remove("small")
    workspace.close()


def ann(workspace: Workspace) -> pappi.LocalSession:
    """An analyst who needs a grant."""
    return workspace.granted_checkpoint("ann", lambda _register: None)


def catalogue(text: str) -> Catalogue:
    return parse_catalogue(text)


def registers(entries: Sequence[Entry]) -> dict[str, Registry]:
    """What the acts add up to: while most of them hold, and at the end."""
    before = tuple(takewhile(lambda entry: entry.kind != EntryKind.STOP, entries))
    stopped = entries[: len(before) + 1]
    return {"stopped": Registry().advanced(stopped), "at the end": Registry().advanced(entries)}


def snapshot_of(entries: Sequence[Entry]) -> Snapshot:
    """As a ledger keeps it when it is opened."""
    last, register = entries[-1], registers(entries)["at the end"]
    return Snapshot(last.seq, last.digest, standing(entries).balances, register.to_json())


def written(story: Story) -> dict[str, Any]:
    """As it is pinned: every stored text as the text it is."""
    snapshots = registers(story.entries)
    return {
        "entries": [
            {"seq": each.seq, "at": each.at, "kind": each.kind, "body": each.body}
            | {"digest": each.digest}
            for each in story.entries
        ],
        "declaration": canonical_json(DECLARED.to_json()),
        "registers": {name: canonical_json(each.to_json()) for name, each in snapshots.items()},
        "snapshot": list(story.snapshot),
        "mark": story.mark.decode("ascii"),
        "replayed": list(story.replayed),
    }


def pinned() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        record = json.dumps(written(told(Path(folder))), indent=1, ensure_ascii=False)
    FILE.write_text(record + "\n", encoding="utf-8")
