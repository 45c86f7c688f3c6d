"""Keys for the service: random, shown once, kept only as a digest."""

from __future__ import annotations

import base64
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pappi.errors import UsageError
from pappi.mechanisms.noise import secret_bytes
from pappi.values.access import RIGHTS, KeyRecord, Right, Role, require_name

_ID_BYTES = 6
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key. The secret is shown to its bearer once, and found nowhere afterwards."""

    record: KeyRecord
    secret: str = field(repr=False)


def new_key(
    role: Role, name: str, rights: Collection[Right] | None, expires: datetime | None
) -> IssuedKey:
    """A key with all rights of its role, or with some of them."""
    require_name(name, f"the bearer of an {role}'s key")
    chosen = RIGHTS[role] if rights is None else frozenset(rights)
    if not chosen or not chosen <= RIGHTS[role]:
        raise UsageError(
            f"an {role}'s key can have the rights {', '.join(sorted(RIGHTS[role]))}",
            hint="name at least one of them, or none for all",
        )
    now = datetime.now(UTC)
    if expires is not None and (expires.tzinfo is None or expires <= now):
        raise UsageError("a key expires in the future", hint="write e.g. 2027-01-31T00:00:00+00:00")
    identity = secret_bytes(_ID_BYTES).hex()
    random = base64.urlsafe_b64encode(secret_bytes(_SECRET_BYTES)).rstrip(b"=").decode("ascii")
    record = KeyRecord(identity, role, name, chosen, now, expires)
    return IssuedKey(record, f"pappi_{identity}_{random}")
