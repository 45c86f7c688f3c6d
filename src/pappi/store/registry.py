"""What holds now: a fold over the acts in the ledger's journal.

Logs as last declared, who was granted what, which keys are valid, whether everything is
stopped, which subscriptions and saved queries there are. A registry is a value: advancing it gives
a new one, so that whoever holds one sees one moment. The words of the journal are older: there a
subscription is `standing`, a saved query `kept`.

A `LedgerSession` is a workspace opened by one process. Its ledger is opened and verified once and
kept; what others have written since is read and verified whenever something is decided. If the
ledger fails, it is let go, and the next call opens and verifies it again, so a refusal ends when
its cause does. Opening starts from the ledger's snapshot (`ledger/ledger.py`), and every so many
entries a new one is kept. So neither costs more the longer the journal is. `verify` looks at all of
it, on a connection of its own; once it has found something wrong, nothing is decided by this ledger
until verifying it again finds it sound.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import weakref
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from pappi.errors import LedgerBroken, LedgerUnavailable, NotAuthenticated, UnknownLog
from pappi.ledger import (
    Account,
    Entry,
    EntryKind,
    Ledger,
    Progress,
    Verification,
    charges_in,
    no_progress,
    no_step,
)
from pappi.store.declarations import LogDeclaration
from pappi.store.workspace import WorkspaceFiles
from pappi.values import JSON, Epsilon, Grant, Grid, KeyRecord, Right, Role

if TYPE_CHECKING:
    from concurrent.futures import Future

K = TypeVar("K")
V = TypeVar("V")
_NO_DIGEST = "0" * 64
_OF_A_SET = ("total", "each")
"""What the query of a set says beside what is asked: the ε of all, or of each of its PPIs."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A catalogue to be released for every block from `first` on, as soon as it is sealed.

    `granted`: asked by an analyst who may ask about granted logs only, and no longer asked
    once the grant is withdrawn.
    """

    id: str
    analyst: str
    log: str
    definitions: str
    epsilon: Epsilon | None
    first: date
    until: date
    granted: bool = False


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A catalogue that an analyst has asked and wants to find again, with its ε in it.

    `names` are those of its first PPIs, of which there are `count`.
    """

    id: str
    analyst: str
    log: str
    definitions: str
    names: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class DaysActs:
    """How often somebody has done something on the last day they did it."""

    day: str
    count: int


@dataclass(frozen=True, slots=True)
class Frost:
    """What nobody knows any more about a log: what was spent of it up to a day.

    A part of the ledger was lost. Blocks that begin up to that day can no longer be charged; with
    a total budget, which counts what every block has spent, none can.
    """

    day: date
    whole: bool

    def holds(self, log: LogDeclaration, block: str) -> bool:
        """Whether an account of the log is frozen; of the log as a whole if no block is named."""
        if self.whole or log.terms.total_budget is not None:
            return True
        if not block:
            return False
        return block not in _beginning_after(self.day, log.terms.blocks, int(block[:4]))


@dataclass(frozen=True, slots=True)
class Registry:
    """What the acts up to `last` add up to: what holds, not what has ever been.

    `subscribed` and `saved` count what an analyst has subscribed to and saved on a day, ended and
    forgotten ones included. `sets` are the entries that charge or reserve a set of PPIs, by the
    first block they touch: whoever asks for a PPI of it finds it there, however long the journal.
    `charges` are all that charge, in the same way: what follows from the record is found there.
    `erased` are the entries by which something was erased from a log: what was released before and
    after is not about the same cases.
    """

    last: Entry | None = None
    logs: Mapping[str, LogDeclaration] = field(default_factory=dict)
    grants: Mapping[tuple[str, str], Grant] = field(default_factory=dict)
    keys: Mapping[str, KeyRecord] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict, repr=False)
    subscriptions: Mapping[str, Subscription] = field(default_factory=dict)
    saved_queries: Mapping[str, SavedQuery] = field(default_factory=dict)
    subscribed: Mapping[str, DaysActs] = field(default_factory=dict)
    saved: Mapping[str, DaysActs] = field(default_factory=dict)
    stopped: str | None = None
    frozen: Mapping[str, Frost] = field(default_factory=dict)
    sets: Mapping[Account, tuple[int, ...]] = field(default_factory=dict)
    charges: Mapping[Account, tuple[int, ...]] = field(default_factory=dict)
    erased: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def advanced(self, entries: Iterable[Entry]) -> Registry:
        now, last = self, self.last
        sets, charges = dict[Account, list[int]](), dict[Account, list[int]]()
        for last in entries:
            take = _TAKE.get(last.kind)
            if take is not None:
                now = take(now, last)
            elif last.kind in (EntryKind.CHARGE, EntryKind.RESERVE):
                _index(last, sets, charges)
        # All at once: a journal may have a million of them.
        grown = _grown(now.sets, sets), _grown(now.charges, charges)
        return replace(now, last=last, sets=grown[0], charges=grown[1])

    def to_json(self) -> dict[str, JSON]:
        """As a ledger's snapshot keeps it; `last` is the snapshot's own entry."""
        return {
            "logs": [log.to_json() for log in self.logs.values()],
            "grants": [
                {"log": grant.log, "analyst": grant.analyst, "per_block": grant.per_block.nano}
                for grant in self.grants.values()
            ],
            "keys": [
                {
                    **key_payload(key, self.digests[key.id]),
                    "created": key.created.isoformat(),
                    "revoked": key.revoked,
                }
                for key in self.keys.values()
            ],
            "standing": list(map(subscription_payload, self.subscriptions.values())),
            "kept": list(map(saved_query_payload, self.saved_queries.values())),
            "asked": {who: [acts.day, acts.count] for who, acts in self.subscribed.items()},
            "keeping": {who: [acts.day, acts.count] for who, acts in self.saved.items()},
            "stopped": self.stopped,
            "frozen": {
                log: [frost.day.isoformat(), frost.whole] for log, frost in self.frozen.items()
            },
            "sets": _written_index(self.sets),
            "charges": _written_index(self.charges),
            "erased": {log: list(entries) for log, entries in self.erased.items()},
        }

    @staticmethod
    def is_kept_in(written: Any) -> bool:  # noqa: ANN401 - JSON
        """Whether a snapshot has all of it: older versions knew no sets, charges or erasures."""
        return all(name in written for name in ("sets", "charges", "erased"))

    @classmethod
    def from_json(cls, written: Any, last: Entry) -> Registry:  # noqa: ANN401 - JSON
        logs = map(LogDeclaration.from_json, written["logs"])
        grants = map(_grant_of, written["grants"])
        return cls(
            last=last,
            logs={log.name: log for log in logs},
            grants={(grant.log, grant.analyst): grant for grant in grants},
            keys={
                key["id"]: replace(_key_of(key, key["created"]), revoked=key["revoked"])
                for key in written["keys"]
            },
            digests={key["id"]: key["digest"] for key in written["keys"]},
            subscriptions={
                subscription["id"]: _subscription_of(subscription)
                for subscription in written["standing"]
            },
            saved_queries={query["id"]: _saved_query_of(query) for query in written["kept"]},
            subscribed={who: DaysActs(*acts) for who, acts in written["asked"].items()},
            saved={who: DaysActs(*acts) for who, acts in written["keeping"].items()},
            stopped=written["stopped"],
            frozen={
                log: Frost(date.fromisoformat(day), whole)
                for log, (day, whole) in written["frozen"].items()
            },
            sets=_read_index(written.get("sets", ())),
            charges=_read_index(written.get("charges", ())),
            erased={log: tuple(entries) for log, entries in written.get("erased", {}).items()},
        )

    def log(self, name: str, among: Collection[str] | None = None) -> LogDeclaration:
        """A log, if it is there and among those that may be known."""
        if name not in self.logs or (among is not None and name not in among):
            known = sorted(self.logs if among is None else among)
            raise UnknownLog(
                f"there is no log called '{name}'; logs here: {', '.join(known) or 'none yet'}",
                hint="check its name; the owner imports logs, and grants them to analysts",
            )
        return self.logs[name]

    def is_frozen(self, log: LogDeclaration, block: str) -> bool:
        """Whether a block, or a log as a whole, can no longer be charged."""
        frost = self.frozen.get(log.name)
        return frost is not None and frost.holds(log, block)

    def granted_to(self, analyst: str) -> frozenset[str]:
        """The logs an analyst may ask about."""
        return frozenset(log for log, name in self.grants if name == analyst)

    def key_of(self, secret: str, now: datetime) -> KeyRecord:
        """Whose key this is. Takes the same time for a wrong key as for a right one."""
        identity = secret.split("_", 2)[1] if secret.count("_") >= 2 else ""
        digest = self.digests.get(identity, _NO_DIGEST)
        if not hmac.compare_digest(digest, digest_of(secret)):
            raise NotAuthenticated
        key = self.keys[identity]
        if key.revoked or (key.expires is not None and key.expires <= now):
            raise NotAuthenticated
        return key


@lru_cache(maxsize=256)
def _beginning_after(day: date, blocks: Grid, year: int) -> frozenset[str]:
    """The blocks that begin after a day, of those that are called by a year."""
    first, until = date(max(year - 1, 1), 1, 1), date(min(year + 2, date.max.year), 1, 1)
    # A week is called by the year that most of it lies in.
    return frozenset(block.label for block in blocks.walk(first, until) if block.start > day)


def digest_of(secret: str) -> str:
    """What is kept of a key: it is random and long, so one round of hashing protects it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def key_payload(key: KeyRecord, digest: str) -> dict[str, Any]:
    return {
        "id": key.id,
        "role": str(key.role),
        "name": key.name,
        "rights": sorted(map(str, key.rights)),
        "expires": None if key.expires is None else key.expires.isoformat(),
        "digest": digest,
    }


def subscription_payload(subscription: Subscription) -> dict[str, Any]:
    return {
        **asdict(subscription),
        "epsilon": None if subscription.epsilon is None else subscription.epsilon.nano,
        "first": subscription.first.isoformat(),
        "until": subscription.until.isoformat(),
    }


def saved_query_payload(query: SavedQuery) -> dict[str, Any]:
    return {**asdict(query), "names": list(query.names)}


def _grant_of(payload: Mapping[str, Any]) -> Grant:
    return Grant(payload["log"], payload["analyst"], Epsilon(payload["per_block"]))


def _key_of(payload: Mapping[str, Any], created: str) -> KeyRecord:
    expires = payload["expires"]
    return KeyRecord(
        id=payload["id"],
        role=Role(payload["role"]),
        name=payload["name"],
        rights=frozenset(map(Right, payload["rights"])),
        created=datetime.fromisoformat(created),
        expires=None if expires is None else datetime.fromisoformat(expires),
    )


def _subscription_of(payload: Mapping[str, Any]) -> Subscription:
    return Subscription(
        id=payload["id"],
        analyst=payload["analyst"],
        log=payload["log"],
        definitions=payload["definitions"],
        epsilon=None if payload["epsilon"] is None else Epsilon(payload["epsilon"]),
        first=date.fromisoformat(payload["first"]),
        until=date.fromisoformat(payload["until"]),
        granted=payload["granted"],
    )


def _saved_query_of(payload: Mapping[str, Any]) -> SavedQuery:
    return SavedQuery(
        id=payload["id"],
        analyst=payload["analyst"],
        log=payload["log"],
        definitions=payload["definitions"],
        names=tuple(payload["names"]),
        count=payload["count"],
    )


def _one_more(acts: Mapping[str, DaysActs], who: str, entry: Entry) -> Mapping[str, DaysActs]:
    day = day_of(datetime.fromisoformat(entry.at))
    return {**acts, who: DaysActs(day, acts_on(acts, who, day) + 1)}


def acts_on(acts: Mapping[str, DaysActs], who: str, day: str) -> int:
    """How often somebody has done it on a day, which is the last one or later."""
    last = acts.get(who)
    return last.count if last is not None and last.day == day else 0


def day_of(moment: datetime) -> str:
    """The day of a moment, in UTC."""
    return moment.astimezone(UTC).date().isoformat()


def _without(held: Mapping[K, V], gone: K) -> dict[K, V]:
    return {key: value for key, value in held.items() if key != gone}


def _declare(registry: Registry, entry: Entry) -> Registry:
    log = LogDeclaration.from_json(entry.payload)
    return replace(registry, logs={**registry.logs, log.name: log})


def _withdraw_names(registry: Registry, entry: Entry) -> Registry:
    payload = entry.payload
    log = registry.logs[payload["log"]].without_names(payload["activities"], payload["attributes"])
    return replace(registry, logs={**registry.logs, log.name: log})


def _rename(registry: Registry, entry: Entry) -> Registry:
    """Of a log about which nothing was asked: what was saved about it names it by its old name."""
    old, new = entry.payload["log"], entry.payload["to"]
    logs = {name: log for name, log in registry.logs.items() if name != old}
    grants = (
        replace(grant, log=new) if grant.log == old else grant for grant in registry.grants.values()
    )
    return replace(
        registry,
        logs={**logs, new: registry.logs[old].renamed(new)},
        grants={(grant.log, grant.analyst): grant for grant in grants},
        saved_queries=_about_others(registry.saved_queries, old),
        erased={new if name == old else name: own for name, own in registry.erased.items()},
    )


def _remove(registry: Registry, entry: Entry) -> Registry:
    """What was charged stays on record under the log's name, which nobody else can have."""
    name = entry.payload["log"]
    if entry.payload["charged"]:
        gone = replace(registry.logs[name], removed=True)
        return replace(registry, logs={**registry.logs, name: gone})
    return replace(
        registry,
        logs=_without(registry.logs, name),
        grants={who: grant for who, grant in registry.grants.items() if grant.log != name},
        saved_queries=_about_others(registry.saved_queries, name),
    )


def _about_others(queries: Mapping[str, SavedQuery], log: str) -> dict[str, SavedQuery]:
    return {identity: query for identity, query in queries.items() if query.log != log}


def _erase(registry: Registry, entry: Entry) -> Registry:
    """Whatever was found to erase: that is nobody's business."""
    log = entry.payload["log"]
    known = registry.erased.get(log, ())
    return replace(registry, erased={**registry.erased, log: (*known, entry.seq)})


def _grant(registry: Registry, entry: Entry) -> Registry:
    grant = _grant_of(entry.payload)
    return replace(registry, grants={**registry.grants, (grant.log, grant.analyst): grant})


def _withdraw(registry: Registry, entry: Entry) -> Registry:
    gone = (entry.payload["log"], entry.payload["analyst"])
    return replace(registry, grants=_without(registry.grants, gone))


def _key(registry: Registry, entry: Entry) -> Registry:
    payload = entry.payload
    key = _key_of(payload, entry.at)
    digests = {**registry.digests, key.id: payload["digest"]}
    return replace(registry, keys={**registry.keys, key.id: key}, digests=digests)


def _revoke(registry: Registry, entry: Entry) -> Registry:
    key = registry.keys[entry.payload["id"]]
    return replace(registry, keys={**registry.keys, key.id: replace(key, revoked=True)})


def _subscribe(registry: Registry, entry: Entry) -> Registry:
    subscription = _subscription_of(entry.payload)
    return replace(
        registry,
        subscriptions={**registry.subscriptions, subscription.id: subscription},
        subscribed=_one_more(registry.subscribed, subscription.analyst, entry),
    )


def _save(registry: Registry, entry: Entry) -> Registry:
    query = _saved_query_of(entry.payload)
    return replace(
        registry,
        saved_queries={**registry.saved_queries, query.id: query},
        saved=_one_more(registry.saved, query.analyst, entry),
    )


Index = Mapping[Account, tuple[int, ...]]
"""Entries by the first block they touch."""


def _index(entry: Entry, sets: dict[Account, list[int]], charges: dict[Account, list[int]]) -> None:
    for charge in charges_in(entry):
        of_a_set = any(name in charge.query for name in _OF_A_SET)
        for index, is_in in ((charges, entry.kind == EntryKind.CHARGE), (sets, of_a_set)):
            known = index.setdefault(charge.accounts[0], []) if is_in else [entry.seq]
            if known[-1:] != [entry.seq]:
                known.append(entry.seq)


def _grown(index: Index, more: Mapping[Account, Sequence[int]]) -> Index:
    own = {first: (*index.get(first, ()), *seqs) for first, seqs in more.items()}
    return {**index, **own} if own else index


def _written_index(index: Index) -> JSON:
    return [[own.log, own.block, list(seqs)] for own, seqs in index.items()]


def _read_index(written: Any) -> Index:  # noqa: ANN401 - JSON
    return {Account(log, block): tuple(seqs) for log, block, seqs in written}


def _rollback(registry: Registry, entry: Entry) -> Registry:
    frozen = {**registry.frozen}
    for log, (day, whole) in entry.payload["frozen"].items():
        before = frozen.get(log, Frost(date.min, whole=False))
        until = max(before.day, date.fromisoformat(day))
        frozen[log] = Frost(until, whole=before.whole or whole)
    return replace(registry, frozen=frozen)


_TAKE: Mapping[str, Callable[[Registry, Entry], Registry]] = {
    EntryKind.DECLARE: _declare,
    EntryKind.WITHDRAW_NAMES: _withdraw_names,
    EntryKind.RENAME: _rename,
    EntryKind.REMOVE: _remove,
    EntryKind.ERASE: _erase,
    EntryKind.GRANT: _grant,
    EntryKind.WITHDRAW: _withdraw,
    EntryKind.KEY: _key,
    EntryKind.REVOKE: _revoke,
    EntryKind.STOP: lambda registry, entry: replace(registry, stopped=entry.payload["reason"]),
    EntryKind.RESUME: lambda registry, _entry: replace(registry, stopped=None),
    EntryKind.STAND: _subscribe,
    EntryKind.END: lambda registry, entry: replace(
        registry, subscriptions=_without(registry.subscriptions, entry.payload["id"])
    ),
    EntryKind.KEEP: _save,
    EntryKind.FORGET: lambda registry, entry: replace(
        registry, saved_queries=_without(registry.saved_queries, entry.payload["id"])
    ),
    EntryKind.ROLLBACK: _rollback,
}


# --- one verified ledger kept open, with its registry -------------------------------------


T = TypeVar("T")
_MOST_FOLLOWING = 40_000  # answers, of about a kilobyte each


class LedgerSession:
    """Shared by the threads of a process; a forked child opens its own ledger."""

    def __init__(self, files: WorkspaceFiles, on_step: Callable[[str], None] = no_step) -> None:
        self.files = files
        self._on_step = on_step
        self._opening = threading.Lock()
        self._ledger: Ledger | None = None
        self._registry = Registry()
        self._following: tuple[Entry | None, dict[Hashable, tuple[Any, int]]] = None, {}
        self._working_out: dict[Hashable, threading.Lock] = {}
        self._snapshot_at = 0
        self._keeping = threading.Lock()
        self._unsound: LedgerBroken | None = None
        self._verifying: tuple[int, Future[Verification]] | None = None
        self._process = os.getpid()
        self._inherited: Ledger | None = None

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """The ledger, for one piece of work."""
        if self._unsound is not None:
            raise LedgerBroken(self._unsound.message, hint=self._unsound.hint)
        ledger = self._opened()
        try:
            yield ledger
        except LedgerUnavailable:
            with self._opening:
                if self._ledger is ledger:
                    self._ledger = None
            ledger.close()
            raise
        self._renew_snapshot()

    def registry(self, ledger: Ledger) -> Registry:
        """What holds at this moment; inside a transaction, at the moment of the transaction."""
        before = self._registry
        # Threads may do this at once, each from the same start: all come to the same end.
        now = before.advanced(ledger.news(before.last))
        if now.last != before.last:
            ledger.remember(now.last)
        self._registry = now
        return now

    def following(
        self, registry: Registry, key: Hashable, work_out: Callable[[], T], size: Callable[[T], int]
    ) -> T:
        """What follows from the journal and a key alone: worked out once until an entry is added.

        Every act, charge and result is an entry: nothing that was withdrawn or declared anew since
        can be in it. Whether somebody may see it is for the caller to ask, each time. By its size,
        only so much is kept in memory.
        """
        last, known = self._following
        if last != registry.last:
            known = {}
            self._following = registry.last, known
        kept: tuple[T, int] | None = known.get(key)
        if kept is None:
            # Many may ask for it at once: one works it out, and the others wait for that.
            working = self._working_out.setdefault((os.getpid(), key), threading.Lock())
            try:
                with working:
                    kept = known.get(key)  # looked up once: another thread may clear all of it
                    if kept is None:
                        worked_out = work_out()
                        kept = worked_out, 1 + size(worked_out)
                        if sum(own for _, own in list(known.values())) + kept[1] > _MOST_FOLLOWING:
                            known.clear()
                        known[key] = kept
            finally:
                self._working_out.pop((os.getpid(), key), None)
        return kept[0]

    def verify(self, progress: Progress = no_progress) -> Verification:
        """Verify the ledger in full; whoever asks meanwhile gets the same finding."""
        # Imported here: it brings logging along, which a preview has no use for.
        from concurrent.futures import Future

        with self._opening:
            running = self._verifying
            shared = running is not None and running[0] == os.getpid()
            if running is None or not shared:
                running = self._verifying = os.getpid(), Future()
        finding = running[1]
        if shared:
            return finding.result()
        try:
            with self.files.ledger_to_verify() as ledger:
                verification = ledger.verify(progress)
        except BaseException as error:
            finding.set_exception(error)
            raise
        else:
            self._unsound = ledger.refusal(verification)
            finding.set_result(verification)
            return verification
        finally:
            with self._opening:
                self._verifying = None

    def close(self) -> None:
        with self._opening:
            if self._ledger is not None and self._process == os.getpid():
                self._ledger.close()
            self._ledger = None

    def _opened(self) -> Ledger:
        with self._opening:
            if self._process != os.getpid():
                # The parent's connection: not ours to use, nor to close.
                self._inherited = self._ledger
                self._ledger, self._process = None, os.getpid()
            if self._ledger is None:
                self._ledger = self._newly_opened()
                # A session that nobody closes closes its ledger when it is forgotten.
                weakref.finalize(self, _close_in, os.getpid(), self._ledger)
            return self._ledger

    def _newly_opened(self) -> Ledger:
        """Verified, and with a snapshot for the next time if this one had much to read."""
        ledger = self.files.open_ledger(self._on_step)
        try:
            self._bring_forward(ledger)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def _bring_forward(self, ledger: Ledger) -> None:
        registry, start = self._registry, ledger.brought_forward
        outdated = start is not None and not Registry.is_kept_in(start[1])
        if outdated:
            start = None
        if start is not None and (registry.last is None or registry.last.seq < start[0].seq):
            entry, written = start
            registry = Registry.from_json(written, entry)
        end = ledger.verified_to
        # Also if there is nothing new: what was read before must still be in this ledger.
        news = ledger.news(registry.last)
        now = registry.advanced(takewhile(lambda entry: entry.seq <= end, news))
        if now.last != registry.last:
            ledger.remember(now.last)
        self._registry = now
        kept = start[0].seq if start else 0
        due = ledger.snapshot_is_due or outdated
        if due and now.last is not None and now.last.seq == end:
            # Without a snapshot everything works, if later: who may only read goes on.
            try:
                ledger.keep_snapshot(now.to_json())
            except LedgerBroken:
                raise
            except LedgerUnavailable:
                pass
            kept = end
        self._snapshot_at = kept + Ledger.snapshot_every

    def _renew_snapshot(self) -> None:
        """Every so many entries: open the ledger once more, on a connection of its own."""
        last = self._registry.last
        if last is None or last.seq < self._snapshot_at:
            return
        if not self._keeping.acquire(blocking=False):
            return
        try:
            self._snapshot_at = last.seq + Ledger.snapshot_every
            self._newly_opened().close()
        except LedgerUnavailable:
            # What was asked for is done. Whoever asks next opens it anew, and is told why not.
            self.close()
        finally:
            self._keeping.release()


def _close_in(process: int, ledger: Ledger) -> None:
    if os.getpid() == process:
        ledger.close()
