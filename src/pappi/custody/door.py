"""What the owner of a workspace can do with it. Every act is an entry of the journal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import islice, takewhile

from pappi.budget.chain import Entry
from pappi.budget.journal import (
    DECLARE,
    ERASE,
    EXACT,
    GRANT,
    KEY,
    RESUME,
    REVOKE,
    STOP,
    WITHDRAW,
    WITHDRAW_NAMES,
    ChargeRecord,
)
from pappi.custody.adding import Added, Given, add_log, require_here, seal_source
from pappi.custody.capture import Captured, CapturedEvent, capture, grows
from pappi.custody.erasure import Erased, Request, erase
from pappi.custody.exact import exact_answers, look_payload
from pappi.custody.imports import (
    Books,
    Imported,
    Progress,
    Terms,
    create_log,
    import_log,
    inspect_log,
    sweep,
)
from pappi.custody.keys import IssuedKey, new_key
from pappi.custody.naming import refuse_unwithdrawable
from pappi.custody.pack import gather_pack
from pappi.custody.sealing import Sealed, seal
from pappi.custody.selection import Selection, select_names
from pappi.custody.spending import ChargePage, Spending, charges_before, spending_of
from pappi.errors import NotFound, UsageError
from pappi.eventlog.log import EventReader
from pappi.ppinot.checks import require_sound
from pappi.ppinot.model import Catalogue
from pappi.report.dpo.facts import Pack
from pappi.store.declarations import LogDeclaration, today
from pappi.store.ledger import Ledger, Verification
from pappi.store.ledger.rules import Progress as Watch
from pappi.store.ledger.rules import no_progress
from pappi.store.mark import Mark
from pappi.store.office import Office
from pappi.store.register import Register, digest_of, key_payload
from pappi.values.access import Grant, KeyRecord, Right, Role, require_name
from pappi.values.answers import ExactAnswer
from pappi.values.epsilon import Epsilon
from pappi.values.plain_data import JSON
from pappi.values.vocabulary import Vocabulary

_REASON = 200
_KEPT_BACK = frozenset({"digest", "result"})


@dataclass(frozen=True, slots=True)
class TrailEntry:
    """One entry of the journal, without key digests and released numbers."""

    seq: int
    at: str
    kind: str
    what: Mapping[str, JSON]


class Custody:
    """The owner's side of a workspace. Never hand it to an analyst.

    `by` is who acts: it goes on record with every act.
    """

    def __init__(self, office: Office, by: str = "owner") -> None:
        self._office = office
        self._by = require_name(by, "an owner")

    def import_log(
        self, name: str, reader: EventReader, terms: Terms, progress: Progress
    ) -> Imported:
        """Take a log into custody and declare it; all of it or nothing."""
        with self._office.ledger() as ledger:
            books = self._books(ledger)
            return import_log(self._office.files, books, name, reader, terms, progress)

    def inspect_log(
        self, name: str, reader: EventReader, terms: Terms, progress: Progress
    ) -> Imported:
        """What importing this log would declare; nothing is taken in, nothing goes on record."""
        with self._office.ledger() as ledger:
            books = self._books(ledger)
            return inspect_log(self._office.files, books, name, reader, terms, progress)

    def select_names(
        self,
        name: str,
        reader: EventReader,
        terms: Terms,
        selection: Selection,
        progress: Progress,
    ) -> Vocabulary:
        """Those names of the terms that enough cases have, at a price that every block bears."""
        with self._opened() as (ledger, register):
            files = self._office.files
            return select_names(
                files, ledger, register.logs, name, reader, terms, selection, progress
            )

    def add_log(self, name: str, given: Given, terms: Terms) -> Added:
        """Declare a log whose events stay where they are; its source is only ever read."""
        with self._office.ledger() as ledger:
            return add_log(self._office.files, self._books(ledger), name, given, terms)

    def create_log(self, name: str, terms: Terms, vocabulary: Vocabulary) -> LogDeclaration:
        """Declare a log without events, to be fed by capture; nothing of it is sealed yet."""
        with self._office.ledger() as ledger:
            return create_log(self._office.files, self._books(ledger), name, terms, vocabulary)

    def capture(self, name: str, events: Sequence[CapturedEvent]) -> Captured:
        """Take events in; they are on the disk when this returns, and answered once sealed."""
        log = self.log(name)
        require_here(log, "captured")
        return capture(self._office.files.inbox, log, events)

    def grows(self, name: str) -> bool:
        """Whether a log is fed: from a source, or by capture; an imported one is as it is."""
        return grows(self._office.files.inbox, self.log(name))

    def seal(self, name: str, until: date | None = None) -> Sealed:
        """Let time up to a day be answered; what comes later about it is kept apart.

        Without a day it is as far as whole blocks have passed: of a log that is fed.
        """
        log = self.log(name)
        if until is None and not self.grows(name):
            raise UsageError(
                "this log was imported, and nothing was captured since",
                hint="empty time would be added for good; if that is meant, say until which day",
            )
        with self._office.ledger() as ledger:

            def commit(sealed: LogDeclaration) -> None:
                table, end = sealed.table, sealed.until
                self._change(ledger, name, lambda now: replace(now, table=table, until=end))

            files = self._office.files
            if log.source is not None:
                return seal_source(files, lambda: self.log(name), until, commit)
            sweep(files, self._books(ledger))
            return seal(files, lambda: self.log(name), until, today(log.zone), commit)

    def erase(
        self,
        name: str,
        cases: Sequence[str] = (),
        persons: Sequence[str] = (),
        blocks: Sequence[str] = (),
    ) -> Erased:
        """Delete cases, persons or blocks from disk; what was released stays on record."""
        require_here(self.log(name), "erased")
        request = Request(tuple(cases), tuple(persons), tuple(blocks))
        with self._office.ledger() as ledger:

            def note(found: Erased) -> None:
                what: dict[str, JSON] = {"log": name, "by what": list(found.kinds)}
                self._act(ledger, ERASE, {**what, "cases": found.cases, "events": found.events})

            sweep(self._office.files, self._books(ledger))
            return erase(self._office.files, lambda: self.log(name), request, note)

    def withdraw_names(
        self, name: str, activities: Sequence[str] = (), attributes: Sequence[str] = ()
    ) -> LogDeclaration:
        """Take activities and attributes out of a log's vocabulary that nothing has used yet.

        No question can use them from now on. What was public was public, and the events stay.
        """
        if not activities and not attributes:
            raise UsageError("name an activity or an attribute to withdraw")
        names = {"activity": tuple(activities), "attribute": tuple(attributes)}
        with self._office.ledger() as ledger:

            def act() -> Mapping[str, JSON]:
                register = self._office.register(ledger)
                refuse_unwithdrawable(ledger, register, register.log(name), names)
                return {
                    "log": name,
                    "activities": list(activities),
                    "attributes": list(attributes),
                    "by": self._by,
                }

            ledger.append(WITHDRAW_NAMES, act)
        return self.log(name)

    def logs(self) -> tuple[LogDeclaration, ...]:
        with self._opened() as (_, register):
            return tuple(register.logs.values())

    def log(self, name: str) -> LogDeclaration:
        with self._opened() as (_, register):
            return register.log(name)

    def grant(self, name: str, per_block: Epsilon, total: Epsilon | None = None) -> LogDeclaration:
        """Set what each block of a log, and all together, may spend; what is spent stays spent."""
        if per_block.nano == 0 or (total is not None and total.nano == 0):
            raise UsageError("a budget of 0 answers nothing", hint="grant e.g. 2")
        with self._office.ledger() as ledger:
            return self._change(
                ledger, name, lambda log: replace(log, block_budget=per_block, total_budget=total)
            )

    def grant_analyst(self, name: str, analyst: str, per_block: Epsilon) -> Grant:
        """Let an analyst ask about a log, and spend up to so much of each block's budget."""
        require_name(analyst, "an analyst")
        if per_block.nano == 0:
            raise UsageError("a budget of 0 answers nothing", hint="grant e.g. 0.5, or withdraw")
        with self._opened() as (ledger, register):
            grant = Grant(register.log(name).name, analyst, per_block)
            what: dict[str, JSON] = {"log": grant.log, "analyst": analyst}
            what["per_block"] = per_block.nano
            self._act(ledger, GRANT, what)
            return grant

    def withdraw(self, name: str, analyst: str) -> None:
        """Let an analyst no longer ask about a log."""
        with self._opened() as (ledger, register):
            if (name, analyst) not in register.grants:
                raise NotFound("there is no such grant", hint="see who was granted what")
            self._act(ledger, WITHDRAW, {"log": name, "analyst": analyst})

    def grants(self) -> tuple[Grant, ...]:
        with self._opened() as (_, register):
            return tuple(register.grants.values())

    def issue_key(
        self,
        role: Role,
        name: str,
        rights: Collection[Right] | None = None,
        expires: datetime | None = None,
    ) -> IssuedKey:
        """A new key, for an owner or for the analyst of that name."""
        issued = new_key(role, name, rights, expires)
        with self._opened() as (ledger, _):
            self._act(ledger, KEY, key_payload(issued.record, digest_of(issued.secret)))
        return issued

    def revoke_key(self, identity: str) -> KeyRecord:
        """Refuse a key from now on; revoking it again changes nothing."""
        with self._opened() as (ledger, register):
            if identity not in register.keys:
                raise NotFound("there is no key with this id", hint="see the list of keys")
            key = register.keys[identity]
            if not key.revoked:
                self._act(ledger, REVOKE, {"id": identity})
            return replace(key, revoked=True)

    def all_keys(self) -> tuple[KeyRecord, ...]:
        with self._opened() as (_, register):
            return tuple(register.keys.values())

    def key_of(self, secret: str, now: datetime) -> KeyRecord:
        """Whose key this is; NotAuthenticated if it is nobody's."""
        with self._opened() as (_, register):
            return register.key_of(secret, now)

    def stop(self, reason: str) -> None:
        """Refuse every answer, replays too, until `resume`. Analysts are told the reason."""
        if not reason.strip() or len(reason) > _REASON or not reason.isprintable():
            raise UsageError(f"a stop needs a reason of up to {_REASON} printable characters")
        with self._opened() as (ledger, _):
            self._act(ledger, STOP, {"reason": reason.strip()})

    def resume(self) -> None:
        with self._opened() as (ledger, register):
            if register.stopped is not None:
                self._act(ledger, RESUME, {})

    def stopped(self) -> str | None:
        """The reason why nothing is answered, or None."""
        with self._opened() as (_, register):
            return register.stopped

    def trail(self, after: int = 0, limit: int = 100) -> tuple[TrailEntry, ...]:
        """What happened after an entry of the journal, oldest first."""
        with self._office.ledger() as ledger:
            return tuple(map(_trail_entry, islice(ledger.entries(after + 1), limit)))

    def declared_before(self, entries: Collection[TrailEntry]) -> Mapping[int, Mapping[str, JSON]]:
        """What was declared of the same log before each declaration among the entries."""
        wanted = {entry.seq for entry in entries if entry.kind == DECLARE}
        latest: dict[str, Mapping[str, JSON]] = {}
        found: dict[int, Mapping[str, JSON]] = {}
        if not wanted:
            return found
        with self._office.ledger() as ledger:
            for act in takewhile(lambda act: act.seq <= max(wanted), ledger.acts(DECLARE)):
                payload = act.payload
                if act.seq in wanted and payload["name"] in latest:
                    found[act.seq] = latest[payload["name"]]
                latest[payload["name"]] = payload
        return found

    def charges(
        self, name: str, after: int = 0, limit: int | None = None
    ) -> tuple[ChargeRecord, ...]:
        """The charges that touched a log, after an entry of the journal, oldest first."""
        with self._opened() as (ledger, register):
            return ledger.charges(register.log(name).name, after, limit)

    def latest_charges(
        self, log: str | None = None, before: int | None = None, limit: int = 100
    ) -> ChargePage:
        """The charges of a log, or of all, before an entry of the journal: newest first."""
        with self._opened() as (ledger, register):
            if log is not None:
                register.log(log)
            end = _length(register) + 1
            return charges_before(ledger, log, end if before is None else min(before, end), limit)

    def spending(self, name: str) -> Spending:
        """What each block of a log, all together and each analyst may spend, and have spent."""
        with self._opened() as (ledger, register):
            return spending_of(register.log(name), ledger.balances(name), register)

    def length(self) -> int:
        """How many entries the journal has."""
        with self._opened() as (_, register):
            return _length(register)

    def exact(self, catalogue: Catalogue) -> tuple[ExactAnswer, ...]:
        """The non-private values of a catalogue; that somebody looked is on record before."""
        files = self._office.files
        with self._opened() as (ledger, register):
            log = register.log(catalogue.log)
            require_sound(catalogue, log.vocabulary)
            # Durable when it returns: without the record no event is read.
            self._act(ledger, EXACT, look_payload(catalogue))
        log.require_ready(files.events)
        return exact_answers(files.events, catalogue, log, files.key())

    def verify(self, progress: Watch = no_progress) -> Verification:
        """Check the whole ledger, from its first entry to its last; nobody waits for it."""
        return self._office.verify(progress)

    def contains(self, mark: Mark) -> bool:
        """Whether the ledger still has an entry that was noted earlier."""
        with self._opened() as (ledger, _):
            return ledger.contains(mark)

    def pack(self, log: str | None = None) -> Pack:
        """What a data protection officer asks about a log, or about all; reads no event."""
        return gather_pack(self._office, log)

    @contextmanager
    def _opened(self) -> Iterator[tuple[Ledger, Register]]:
        with self._office.ledger() as ledger:
            yield ledger, self._office.register(ledger)

    def _books(self, ledger: Ledger) -> Books:
        return Books(
            known=lambda: self._office.register(ledger).logs,
            number=lambda: len(ledger.acts(DECLARE)) + 1,
            declare=lambda log: self._act(ledger, DECLARE, log.to_json()),
        )

    def _change(
        self, ledger: Ledger, name: str, change: Callable[[LogDeclaration], LogDeclaration]
    ) -> LogDeclaration:
        """Declare a log anew, from what is declared at that moment: no other change is lost."""
        declared: list[LogDeclaration] = []

        def act() -> Mapping[str, JSON]:
            declared.append(change(self._office.register(ledger).log(name)))
            return {**declared[0].to_json(), "by": self._by}

        ledger.append(DECLARE, act)
        return declared[0]

    def _act(self, ledger: Ledger, kind: str, what: Mapping[str, JSON]) -> None:
        ledger.append(kind, {**what, "by": self._by})


def _length(register: Register) -> int:
    return register.last.seq if register.last else 0


def _trail_entry(entry: Entry) -> TrailEntry:
    what = {name: item for name, item in entry.payload.items() if name not in _KEPT_BACK}
    return TrailEntry(entry.seq, entry.at, entry.kind, what)
