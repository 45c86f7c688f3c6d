"""What holds now: a fold over the acts in the ledger's journal.

Logs as last declared, who was granted what, which keys are valid, whether everything is
stopped, which questions stand or are kept. A register is a value: advancing it gives a new one, so
that whoever holds one sees one moment.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from pappi.budget.chain import Entry
from pappi.budget.journal import (
    DECLARE,
    END,
    FORGET,
    GRANT,
    KEEP,
    KEY,
    RESUME,
    REVOKE,
    ROLLBACK,
    STAND,
    STOP,
    WITHDRAW,
    WITHDRAW_NAMES,
)
from pappi.errors import NotAuthenticated, UnknownLog
from pappi.store.declarations import LogDeclaration
from pappi.values.access import Grant, KeyRecord, Right, Role
from pappi.values.epsilon import Epsilon
from pappi.values.periods import Grid
from pappi.values.plain_data import JSON

_NO_DIGEST = "0" * 64


@dataclass(frozen=True, slots=True)
class StandingQuestion:
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
class KeptQuestion:
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
        if self.whole or log.total_budget is not None:
            return True
        if not block:
            return False
        return block not in _beginning_after(self.day, log.blocks, int(block[:4]))


@dataclass(frozen=True, slots=True)
class Register:
    """What the acts up to `last` add up to: what holds, not what has ever been.

    `asked` and `keeping` count an analyst's standing and kept questions of a day, ended and
    forgotten ones included.
    """

    last: Entry | None = None
    logs: Mapping[str, LogDeclaration] = field(default_factory=dict)
    grants: Mapping[tuple[str, str], Grant] = field(default_factory=dict)
    keys: Mapping[str, KeyRecord] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict, repr=False)
    standing: Mapping[str, StandingQuestion] = field(default_factory=dict)
    kept: Mapping[str, KeptQuestion] = field(default_factory=dict)
    asked: Mapping[str, DaysActs] = field(default_factory=dict)
    keeping: Mapping[str, DaysActs] = field(default_factory=dict)
    stopped: str | None = None
    frozen: Mapping[str, Frost] = field(default_factory=dict)

    def advanced(self, entries: Iterable[Entry]) -> Register:
        found, last = self, self.last
        for last in entries:
            take = _TAKE.get(last.kind)
            if take is not None:
                found = take(found, last)
        return replace(found, last=last)

    def to_json(self) -> dict[str, JSON]:
        """As a ledger's snapshot keeps it; `last` is the snapshot's own entry."""
        return {
            "logs": [log.to_json() for log in self.logs.values()],
            "grants": [_grant_payload(grant) for grant in self.grants.values()],
            "keys": [
                {
                    **key_payload(key, self.digests[key.id]),
                    "created": key.created.isoformat(),
                    "revoked": key.revoked,
                }
                for key in self.keys.values()
            ],
            "standing": [standing_payload(each) for each in self.standing.values()],
            "kept": [kept_payload(each) for each in self.kept.values()],
            "asked": {who: [acts.day, acts.count] for who, acts in self.asked.items()},
            "keeping": {who: [acts.day, acts.count] for who, acts in self.keeping.items()},
            "stopped": self.stopped,
            "frozen": {
                log: [frost.day.isoformat(), frost.whole] for log, frost in self.frozen.items()
            },
        }

    @classmethod
    def from_json(cls, written: Any, last: Entry) -> Register:  # noqa: ANN401 - JSON
        logs = map(LogDeclaration.from_json, written["logs"])
        grants = map(_grant_of, written["grants"])
        return cls(
            last=last,
            logs={log.name: log for log in logs},
            grants={(grant.log, grant.analyst): grant for grant in grants},
            keys={
                each["id"]: replace(_key_of(each, each["created"]), revoked=each["revoked"])
                for each in written["keys"]
            },
            digests={each["id"]: each["digest"] for each in written["keys"]},
            standing={each["id"]: _standing_of(each) for each in written["standing"]},
            kept={each["id"]: _kept_of(each) for each in written["kept"]},
            asked={who: DaysActs(*acts) for who, acts in written["asked"].items()},
            keeping={who: DaysActs(*acts) for who, acts in written["keeping"].items()},
            stopped=written["stopped"],
            frozen={
                log: Frost(date.fromisoformat(day), whole)
                for log, (day, whole) in written["frozen"].items()
            },
        )

    def log(self, name: str, among: Collection[str] | None = None) -> LogDeclaration:
        """A log, if it is there and among those that may be known."""
        known = sorted(self.logs if among is None else among)
        if name not in known or name not in self.logs:
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
    return frozenset(each.label for each in blocks.walk(first, until) if each.start > day)


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


def standing_payload(question: StandingQuestion) -> dict[str, Any]:
    return {
        "id": question.id,
        "analyst": question.analyst,
        "log": question.log,
        "definitions": question.definitions,
        "epsilon": None if question.epsilon is None else question.epsilon.nano,
        "first": question.first.isoformat(),
        "until": question.until.isoformat(),
        "granted": question.granted,
    }


def kept_payload(question: KeptQuestion) -> dict[str, Any]:
    return {
        "id": question.id,
        "analyst": question.analyst,
        "log": question.log,
        "definitions": question.definitions,
        "names": list(question.names),
        "count": question.count,
    }


def _grant_payload(grant: Grant) -> dict[str, Any]:
    return {"log": grant.log, "analyst": grant.analyst, "per_block": grant.per_block.nano}


def _grant_of(found: Mapping[str, Any]) -> Grant:
    return Grant(found["log"], found["analyst"], Epsilon(found["per_block"]))


def _key_of(found: Mapping[str, Any], created: str) -> KeyRecord:
    expires = found["expires"]
    return KeyRecord(
        id=found["id"],
        role=Role(found["role"]),
        name=found["name"],
        rights=frozenset(map(Right, found["rights"])),
        created=datetime.fromisoformat(created),
        expires=None if expires is None else datetime.fromisoformat(expires),
    )


def _standing_of(found: Mapping[str, Any]) -> StandingQuestion:
    return StandingQuestion(
        id=found["id"],
        analyst=found["analyst"],
        log=found["log"],
        definitions=found["definitions"],
        epsilon=None if found["epsilon"] is None else Epsilon(found["epsilon"]),
        first=date.fromisoformat(found["first"]),
        until=date.fromisoformat(found["until"]),
        granted=found["granted"],
    )


def _kept_of(found: Mapping[str, Any]) -> KeptQuestion:
    return KeptQuestion(
        id=found["id"],
        analyst=found["analyst"],
        log=found["log"],
        definitions=found["definitions"],
        names=tuple(found["names"]),
        count=found["count"],
    )


def _one_more(acts: Mapping[str, DaysActs], who: str, entry: Entry) -> Mapping[str, DaysActs]:
    day = day_of(datetime.fromisoformat(entry.at))
    return {**acts, who: DaysActs(day, acts_on(acts, who, day) + 1)}


def acts_on(acts: Mapping[str, DaysActs], who: str, day: str) -> int:
    """How often somebody has done it on a day, which is the last one or later."""
    found = acts.get(who)
    return found.count if found is not None and found.day == day else 0


def day_of(moment: datetime) -> str:
    """The day of a moment, in UTC."""
    return moment.astimezone(UTC).date().isoformat()


def _declare(register: Register, entry: Entry) -> Register:
    log = LogDeclaration.from_json(entry.payload)
    return replace(register, logs={**register.logs, log.name: log})


def _withdraw_names(register: Register, entry: Entry) -> Register:
    found = entry.payload
    log = register.logs[found["log"]].without_names(found["activities"], found["attributes"])
    return replace(register, logs={**register.logs, log.name: log})


def _grant(register: Register, entry: Entry) -> Register:
    grant = _grant_of(entry.payload)
    return replace(register, grants={**register.grants, (grant.log, grant.analyst): grant})


def _withdraw(register: Register, entry: Entry) -> Register:
    gone = (entry.payload["log"], entry.payload["analyst"])
    left = {place: grant for place, grant in register.grants.items() if place != gone}
    return replace(register, grants=left)


def _key(register: Register, entry: Entry) -> Register:
    found = entry.payload
    key = _key_of(found, entry.at)
    digests = {**register.digests, key.id: found["digest"]}
    return replace(register, keys={**register.keys, key.id: key}, digests=digests)


def _revoke(register: Register, entry: Entry) -> Register:
    key = register.keys[entry.payload["id"]]
    return replace(register, keys={**register.keys, key.id: replace(key, revoked=True)})


def _stop(register: Register, entry: Entry) -> Register:
    return replace(register, stopped=entry.payload["reason"])


def _resume(register: Register, _entry: Entry) -> Register:
    return replace(register, stopped=None)


def _stand(register: Register, entry: Entry) -> Register:
    question = _standing_of(entry.payload)
    standing = {**register.standing, question.id: question}
    asked = _one_more(register.asked, question.analyst, entry)
    return replace(register, standing=standing, asked=asked)


def _end(register: Register, entry: Entry) -> Register:
    ended = entry.payload["id"]
    left = {name: each for name, each in register.standing.items() if name != ended}
    return replace(register, standing=left)


def _keep(register: Register, entry: Entry) -> Register:
    question = _kept_of(entry.payload)
    kept = {**register.kept, question.id: question}
    keeping = _one_more(register.keeping, question.analyst, entry)
    return replace(register, kept=kept, keeping=keeping)


def _forget(register: Register, entry: Entry) -> Register:
    forgotten = entry.payload["id"]
    left = {name: each for name, each in register.kept.items() if name != forgotten}
    return replace(register, kept=left)


def _rollback(register: Register, entry: Entry) -> Register:
    frozen = {**register.frozen}
    for log, (day, whole) in entry.payload["frozen"].items():
        before = frozen.get(log, Frost(date.min, whole=False))
        until = max(before.day, date.fromisoformat(day))
        frozen[log] = Frost(until, whole=before.whole or whole)
    return replace(register, frozen=frozen)


_TAKE = {
    DECLARE: _declare,
    WITHDRAW_NAMES: _withdraw_names,
    GRANT: _grant,
    WITHDRAW: _withdraw,
    KEY: _key,
    REVOKE: _revoke,
    STOP: _stop,
    RESUME: _resume,
    STAND: _stand,
    END: _end,
    KEEP: _keep,
    FORGET: _forget,
    ROLLBACK: _rollback,
}
