"""What the owner of a workspace can do with it. Every act is an entry of the journal.

Renaming a log, and removing one, is mostly needed after an import that went wrong. As long as
nothing was charged for a log, both are clean. A removed log loses its declaration, its grants and
its events, and its name is free; a log imported under the same name is another one
(`LogDeclaration.data`) with nothing spent. The removal is on record.

Once something was charged, the record has to stay. Removing a log then deletes its events, which
are personal data, and nothing else: what was charged stays charged, what was released can be
replayed, and the name stays taken, so that no new log gets a fresh budget under it. Renaming
is refused then: accounts, the keys of releases and the files of analysts refer to the name, and a
release that is no longer found would be charged a second time.

If part of the ledger was lost, every log counts as charged that could have been.

A removal takes effect with its journal entry; it is decided inside the transaction, after which
nothing new can be charged. Then the events are deleted. If a crash comes in between, the next
change of the workspace deletes them, and so does the same call again. A release that was charged
before and not drawn yet fails and stays charged: there is nothing left to draw it from.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import islice, takewhile

from pappi.custody.capture import (
    Erased,
    ErasureRequest,
    Sealed,
    capture,
    erase,
    grows,
    require_here,
    seal,
    seal_source,
)
from pappi.custody.exact import exact_answers, look_payload, proposal_of
from pappi.custody.imports import (
    Added,
    Declarations,
    Imported,
    NewLog,
    SourceMapping,
    add_log,
    check_name,
    create_log,
    import_log,
    inspect_log,
    sweep,
    sweep_within,
)
from pappi.custody.names import Selection, refuse_unwithdrawable, select_names
from pappi.custody.trail import (
    ChargePage,
    Spending,
    charges_before,
    done_by,
    gather_pack,
    spending_of,
)
from pappi.errors import Conflict, NotFound, UsageError
from pappi.eventlog import EventReader, Profile, Progress
from pappi.ledger import ChargeRecord, EntryKind, Ledger, Mark, Verification, no_progress
from pappi.ledger import Progress as Watch
from pappi.mechanisms import secret_bytes, understood_names
from pappi.planning import Proposal
from pappi.ppinot import Catalogue, require_sound
from pappi.report import Pack
from pappi.store import (
    Captured,
    CapturedEvent,
    LedgerSession,
    LogDeclaration,
    Registry,
    digest_of,
    key_payload,
    profile_events,
    today,
)
from pappi.values import (
    JSON,
    RIGHTS,
    Epsilon,
    ExactAnswer,
    Grant,
    KeyRecord,
    Right,
    Role,
    Vocabulary,
    quoted,
    require_name,
)

_REASON = 200
_ID_BYTES = 6
_SECRET_BYTES = 32
_KEPT_BACK = frozenset({"digest", "result"})


@dataclass(frozen=True, slots=True)
class TrailEntry:
    """One entry of the journal, without key digests and released numbers."""

    seq: int
    at: str
    kind: str
    what: Mapping[str, JSON]

    @property
    def by(self) -> str:
        """Who did it: an owner, or the analyst who pays; empty if nobody is named."""
        return done_by(self.what)


@dataclass(frozen=True, slots=True)
class Removed:
    """A log that was removed; if it was `charged`, its record and its name stay."""

    log: str
    charged: bool


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key. The secret is shown to its bearer once, and stored nowhere."""

    record: KeyRecord
    secret: str = field(repr=False)


class Custody:
    """The owner's side of a workspace. Never hand it to an analyst.

    `by` is who acts: it goes on record with every act.
    """

    def __init__(self, session: LedgerSession, by: str = "owner") -> None:
        self._session = session
        self._by = require_name(by, "an owner")

    def import_log(
        self, name: str, reader: EventReader, new: NewLog, progress: Progress
    ) -> Imported:
        """Import a log and declare it, all or nothing."""
        with self._session.ledger() as ledger:
            return import_log(self._declarations(ledger), name, reader, new, progress)

    def inspect_log(
        self, name: str, reader: EventReader, new: NewLog, progress: Progress
    ) -> Imported:
        """What importing this log would declare; nothing is imported or recorded."""
        with self._session.ledger() as ledger:
            return inspect_log(self._declarations(ledger), name, reader, new, progress)

    def select_names(
        self,
        name: str,
        reader: EventReader,
        new: NewLog,
        selection: Selection,
        progress: Progress,
    ) -> Vocabulary:
        """Those of the candidate names that enough cases have; its ε is charged to every block."""
        with self._opened() as (ledger, registry):
            files = self._session.files
            return select_names(
                files, ledger, registry.logs, name, reader, new, selection, progress
            )

    def add_log(self, name: str, source: SourceMapping, new: NewLog) -> Added:
        """Declare a log whose events stay where they are; its source is only ever read."""
        with self._session.ledger() as ledger:
            return add_log(self._declarations(ledger), name, source, new)

    def create_log(self, name: str, new: NewLog, vocabulary: Vocabulary) -> LogDeclaration:
        """Declare an empty log that will capture events; nothing is sealed yet."""
        with self._session.ledger() as ledger:
            return create_log(self._declarations(ledger), name, new, vocabulary)

    def capture(self, name: str, events: Sequence[CapturedEvent]) -> Captured:
        """Capture events; they are on disk when this returns, and can be queried once sealed."""
        log = self._kept(name)
        require_here(log, "captured")
        captured = capture(self._session.files.inbox, log, events)
        with self._opened() as (ledger, registry):
            # If it was removed meanwhile, events that came in after its inbox was emptied must go.
            if log.data not in {kept.data for kept in registry.logs.values() if not kept.removed}:
                sweep(self._declarations(ledger))
                raise Conflict(f"the log '{name}' was removed", hint="nothing was captured")
        return captured

    def grows(self, name: str) -> bool:
        """Whether a log grows, from a source or by capture; an imported one does not."""
        log = self.log(name)
        return not log.removed and grows(self._session.files.inbox, log)

    def seal(self, name: str, until: date | None = None) -> Sealed:
        """Seal time up to a day so that it can be queried; later events for it are set aside.

        Without a day, a growing log is sealed up to its last complete block.
        """
        log = self._kept(name)
        if until is None and not self.grows(name):
            raise UsageError(
                "this log was imported, and nothing has been captured since",
                hint="sealing would add empty time that cannot be removed; if you want that, name "
                "the day",
            )
        with self._session.ledger() as ledger:

            def commit(sealed: LogDeclaration) -> None:
                table, end = sealed.table, sealed.public.until
                self._change(ledger, name, lambda now: replace(now.sealed(end), table=table))

            files = self._session.files
            if log.source is not None:
                return seal_source(files, lambda: self._kept(name), until, commit)
            sweep(self._declarations(ledger))
            return seal(files, lambda: self._kept(name), until, today(log.terms.zone), commit)

    def erase(
        self,
        name: str,
        cases: Sequence[str] = (),
        persons: Sequence[str] = (),
        blocks: Sequence[str] = (),
    ) -> Erased:
        """Delete cases, persons or blocks from disk; what was released stays on record."""
        require_here(self._kept(name), "erased")
        request = ErasureRequest(tuple(cases), tuple(persons), tuple(blocks))
        with self._session.ledger() as ledger:

            def note(erased: Erased) -> None:
                payload: dict[str, JSON] = {"log": name, "by what": list(erased.kinds)}
                payload |= {"cases": erased.cases, "events": erased.events}
                self._act(ledger, EntryKind.ERASE, payload)

            sweep(self._declarations(ledger))
            return erase(self._session.files, lambda: self._kept(name), request, note)

    def subscribers(self, name: str) -> tuple[str, ...]:
        """The analysts who subscribe to a log."""
        of_log = (kept for kept in self._registry.subscriptions.values() if kept.log == name)
        return tuple(dict.fromkeys(subscription.analyst for subscription in of_log))

    def rename(self, name: str, new: str) -> LogDeclaration:
        """Give a log another name, as long as nothing was charged for it."""
        with self._session.ledger() as ledger, self._declarations(ledger).changing():
            ledger.append(EntryKind.RENAME, lambda: self._renaming(ledger, name, new))
            return self._session.registry(ledger).log(new)

    def check_rename(self, name: str, new: str) -> None:
        """Refuse what `rename` would refuse, and change nothing."""
        with self._session.ledger() as ledger:
            self._renaming(ledger, name, new)

    def _renaming(self, ledger: Ledger, name: str, new: str) -> Mapping[str, JSON]:
        registry = self._session.registry(ledger)
        registry.log(name)
        check_name(new, registry.logs)
        _refuse_subscribed(registry, name)
        if _is_charged(ledger, registry, name):
            raise Conflict(
                f"{quoted(name)} cannot be renamed: budget was spent under this name",
                hint="past releases and accounts refer to the name, and would be charged again "
                "under another",
            )
        if _is_charged(ledger, registry, new):
            raise Conflict(
                f"budget was spent under the name {quoted(new)}", hint="choose another name"
            )
        return {"log": name, "to": new, "by": self._by}

    def remove(self, name: str) -> Removed:
        """Remove a log and its events from disk; what was charged and released stays on record.

        As long as nothing was charged, its name is free afterwards. Subscriptions must have ended.
        A second call finishes what a crash has interrupted.
        """

        def act() -> Mapping[str, JSON]:
            registry = self._session.registry(ledger)
            log = registry.log(name)
            _refuse_subscribed(registry, name)
            charged = _is_charged(ledger, registry, name)
            return {"log": name, "data": log.data, "charged": charged, "by": self._by}

        with self._session.ledger() as ledger:
            declarations = self._declarations(ledger)
            with declarations.changing():
                swept = sweep_within(declarations)
                logs = self._session.registry(ledger).logs
                if name in logs and logs[name].removed:
                    return Removed(name, charged=True)
                removals = (entry.payload for entry in ledger.acts(EntryKind.REMOVE))
                # The events that were just swept may be those of a log that had this name.
                if name not in logs and any(
                    removal["log"] == name and removal["data"] in swept for removal in removals
                ):
                    return Removed(name, charged=False)
                ledger.append(EntryKind.REMOVE, act)
                sweep_within(declarations)
                return Removed(name, charged=name in self._session.registry(ledger).logs)

    def withdraw_names(
        self, name: str, activities: Sequence[str] = (), attributes: Sequence[str] = ()
    ) -> LogDeclaration:
        """Remove activities and attributes that nothing has used yet from a log's vocabulary.

        No new query can use them. Anyone who has seen them still knows them, and the events stay.
        """
        if not activities and not attributes:
            raise UsageError("name an activity or an attribute to withdraw")
        names = {"activity": tuple(activities), "attribute": tuple(attributes)}
        with self._session.ledger() as ledger:

            def act() -> Mapping[str, JSON]:
                registry = self._session.registry(ledger)
                refuse_unwithdrawable(ledger, registry, registry.log(name), names)
                return {
                    "log": name,
                    "activities": list(activities),
                    "attributes": list(attributes),
                    "by": self._by,
                }

            ledger.append(EntryKind.WITHDRAW_NAMES, act)
        return self.log(name)

    def logs(self) -> tuple[LogDeclaration, ...]:
        return tuple(self._registry.logs.values())

    def log(self, name: str) -> LogDeclaration:
        return self._registry.log(name)

    def grant(
        self, name: str, per_block: Epsilon, total_budget: Epsilon | None = None
    ) -> LogDeclaration:
        """Set what each block of a log, and all together, may spend; what is spent stays spent."""
        if per_block.nano == 0 or (total_budget is not None and total_budget.nano == 0):
            raise UsageError("a budget of 0 allows no answers", hint="grant e.g. 2")
        with self._session.ledger() as ledger:
            return self._change(ledger, name, lambda log: log.with_budget(per_block, total_budget))

    def grant_analyst(self, name: str, analyst: str, per_block: Epsilon) -> Grant:
        """Let an analyst query a log and spend up to this much of each block's budget."""
        require_name(analyst, "an analyst")
        if per_block.nano == 0:
            raise UsageError("a budget of 0 allows no answers", hint="grant e.g. 0.5, or withdraw")
        with self._opened() as (ledger, registry):
            grant = Grant(registry.log(name).name, analyst, per_block)
            payload: dict[str, JSON] = {"log": grant.log, "analyst": analyst}
            payload["per_block"] = per_block.nano
            self._act(ledger, EntryKind.GRANT, payload)
            return grant

    def withdraw(self, name: str, analyst: str) -> None:
        """Withdraw an analyst's access to a log."""
        with self._opened() as (ledger, registry):
            if (name, analyst) not in registry.grants:
                raise NotFound("there is no such grant", hint="list the grants")
            self._act(ledger, EntryKind.WITHDRAW, {"log": name, "analyst": analyst})

    def grants(self) -> tuple[Grant, ...]:
        return tuple(self._registry.grants.values())

    def issue_key(
        self,
        role: Role,
        name: str,
        rights: Collection[Right] | None = None,
        expires: datetime | None = None,
    ) -> IssuedKey:
        """A new key, for an owner or for the analyst of that name.

        It has all rights of its role, or some of them.
        """
        require_name(name, f"the bearer of an {role}'s key")
        chosen = RIGHTS[role] if rights is None else frozenset(rights)
        if not chosen or not chosen <= RIGHTS[role]:
            raise UsageError(
                f"an {role}'s key can have the rights {', '.join(sorted(RIGHTS[role]))}",
                hint="name at least one of them; leave the option out for all",
            )
        now = datetime.now(UTC)
        if expires is not None and (expires.tzinfo is None or expires <= now):
            raise UsageError(
                "the expiry of a key must lie in the future",
                hint="write e.g. 2027-01-31T00:00:00+00:00",
            )
        identity = secret_bytes(_ID_BYTES).hex()
        random = base64.urlsafe_b64encode(secret_bytes(_SECRET_BYTES)).rstrip(b"=").decode("ascii")
        record = KeyRecord(identity, role, name, chosen, now, expires)
        issued = IssuedKey(record, f"pappi_{identity}_{random}")
        with self._opened() as (ledger, _):
            self._act(ledger, EntryKind.KEY, key_payload(record, digest_of(issued.secret)))
        return issued

    def revoke_key(self, identity: str) -> KeyRecord:
        """Revoke a key; revoking it again changes nothing."""
        with self._opened() as (ledger, registry):
            if identity not in registry.keys:
                raise NotFound("there is no key with this id", hint="list the keys")
            key = registry.keys[identity]
            if not key.revoked:
                self._act(ledger, EntryKind.REVOKE, {"id": identity})
            return replace(key, revoked=True)

    def all_keys(self) -> tuple[KeyRecord, ...]:
        return tuple(self._registry.keys.values())

    def key_of(self, secret: str, now: datetime) -> KeyRecord:
        """Whose key this is; NotAuthenticated if it is nobody's."""
        return self._registry.key_of(secret, now)

    def stop(self, reason: str) -> None:
        """Refuse every answer, including replays, until `resume`. Analysts see the reason."""
        if not reason.strip() or len(reason) > _REASON or not reason.isprintable():
            raise UsageError(f"a stop needs a reason of up to {_REASON} printable characters")
        with self._opened() as (ledger, _):
            self._act(ledger, EntryKind.STOP, {"reason": reason.strip()})

    def resume(self) -> None:
        with self._opened() as (ledger, registry):
            if registry.stopped is not None:
                self._act(ledger, EntryKind.RESUME, {})

    def stopped(self) -> str | None:
        """The reason why nothing is answered, or None."""
        return self._registry.stopped

    def trail(self, after: int = 0, limit: int = 100) -> tuple[TrailEntry, ...]:
        """What happened after an entry of the journal, oldest first."""
        with self._session.ledger() as ledger:
            return tuple(
                TrailEntry(
                    *(entry.seq, entry.at, entry.kind),
                    {name: part for name, part in entry.payload.items() if name not in _KEPT_BACK},
                )
                for entry in islice(ledger.entries(after + 1), limit)
            )

    def declared_before(self, entries: Collection[TrailEntry]) -> Mapping[int, Mapping[str, JSON]]:
        """For each declaration among the entries, the one before it of the same log."""
        declarations = {entry.seq for entry in entries if entry.kind == EntryKind.DECLARE}
        # By its data: a log imported under the name of a removed one is another.
        latest: dict[str, Mapping[str, JSON]] = {}
        before: dict[int, Mapping[str, JSON]] = {}
        if not declarations:
            return before
        with self._session.ledger() as ledger:
            for act in takewhile(
                lambda act: act.seq <= max(declarations), ledger.acts(EntryKind.DECLARE)
            ):
                payload = act.payload
                if act.seq in declarations and payload["data"] in latest:
                    before[act.seq] = latest[payload["data"]]
                latest[payload["data"]] = payload
        return before

    def charges(
        self, name: str, after: int = 0, limit: int | None = None
    ) -> tuple[ChargeRecord, ...]:
        """The charges that touched a log, after an entry of the journal, oldest first."""
        with self._opened() as (ledger, registry):
            return ledger.charges(registry.log(name).name, after, limit)

    def latest_charges(
        self, log: str | None = None, before: int | None = None, limit: int = 100
    ) -> ChargePage:
        """The charges of a log, or of all, before an entry of the journal: newest first."""
        with self._opened() as (ledger, registry):
            if log is not None:
                registry.log(log)
            end = _length(registry) + 1
            return charges_before(ledger, log, end if before is None else min(before, end), limit)

    def spending(self, name: str) -> Spending:
        """What each block of a log, all together and each analyst may spend, and have spent."""
        with self._opened() as (ledger, registry):
            return spending_of(registry.log(name), ledger.balances(name), registry)

    def length(self) -> int:
        """How many entries the journal has."""
        return _length(self._registry)

    def exact(self, catalogue: Catalogue) -> tuple[ExactAnswer, ...]:
        """The non-private values of a catalogue; the view is recorded first."""
        files = self._session.files
        with self._opened() as (ledger, registry):
            log = registry.log(catalogue.log)
            require_sound(catalogue, log.public.vocabulary, understood_names())
            log.require_kept()
            # Durable when it returns: without the record no event is read.
            self._act(ledger, EntryKind.EXACT, look_payload(catalogue))
        log.require_ready(files.events)
        return exact_answers(files.events, catalogue, log, files.key())

    def profile(self, name: str) -> Profile:
        """What an imported log holds, for the owner alone; the view is recorded first."""
        log = self._kept(name)
        require_here(log, "profiled")
        log.require_ready(self._session.files.events)
        with self._session.ledger() as ledger:
            # Durable when it returns: without the record no event is read.
            self._act(ledger, EntryKind.PROFILE, {"log": log.name})
        return profile_events(self._session.files.events, log.table, log.public)

    def proposal(self, name: str) -> Proposal:
        """What the data proposes for a catalogue; recorded as a view of the profile."""
        return proposal_of(self.profile(name))

    def verify(self, progress: Watch = no_progress) -> Verification:
        """Check the whole ledger, from its first entry to its last; blocks nobody."""
        return self._session.verify(progress)

    def contains(self, mark: Mark) -> bool:
        """Whether the ledger still has an entry that somebody noted earlier."""
        with self._opened() as (ledger, _):
            return ledger.contains(mark)

    def pack(self, log: str | None = None) -> Pack:
        """What a data protection officer asks about a log, or about all; reads no event."""
        return gather_pack(self._session, log)

    def _kept(self, name: str) -> LogDeclaration:
        """A log that was not removed."""
        log = self.log(name)
        log.require_kept()
        return log

    @property
    def _registry(self) -> Registry:
        """What holds by now."""
        with self._opened() as (_, registry):
            return registry

    @contextmanager
    def _opened(self) -> Iterator[tuple[Ledger, Registry]]:
        with self._session.ledger() as ledger:
            yield ledger, self._session.registry(ledger)

    def _declarations(self, ledger: Ledger) -> Declarations:
        return Declarations(
            files=self._session.files,
            known=lambda: self._session.registry(ledger).logs,
            number=lambda: len(ledger.acts(EntryKind.DECLARE)) + 1,
            declare=lambda log: self._act(ledger, EntryKind.DECLARE, log.to_json()),
        )

    def _change(
        self, ledger: Ledger, name: str, change: Callable[[LogDeclaration], LogDeclaration]
    ) -> LogDeclaration:
        """Declare a log again, from its declaration at that moment: no other change is lost."""
        declared: list[LogDeclaration] = []

        def act() -> Mapping[str, JSON]:
            log = self._session.registry(ledger).log(name)
            log.require_kept()
            declared.append(change(log))
            return {**declared[0].to_json(), "by": self._by}

        ledger.append(EntryKind.DECLARE, act)
        return declared[0]

    def _act(self, ledger: Ledger, kind: str, payload: Mapping[str, JSON]) -> None:
        ledger.append(kind, {**payload, "by": self._by})


def _length(registry: Registry) -> int:
    return registry.last.seq if registry.last else 0


def _is_charged(ledger: Ledger, registry: Registry, name: str) -> bool:
    """Whether anything was charged or reserved under a name, as far as anybody knows."""
    used = (balance.used.nano for balance in ledger.balances(name).values())
    return name in registry.frozen or any(used)


def _refuse_subscribed(registry: Registry, name: str) -> None:
    for subscription in registry.subscriptions.values():
        if subscription.log == name:
            raise Conflict(
                f"{quoted(subscription.analyst)} subscribes to {quoted(name)}",
                hint="withdraw this analyst's access first: that ends their subscriptions",
            )
