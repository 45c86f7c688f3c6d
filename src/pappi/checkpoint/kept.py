"""Questions an analyst has asked and wants to find again: a list of catalogues of their own.

A charge puts on record which functions were released. What people called them, their targets
and the formulas above them are the analyst's, and are kept here, as acts in the journal. They
cost nothing, so there are limits to what one analyst can make the journal keep.
"""

from __future__ import annotations

import hashlib

from pappi.budget.chain import canonical_json
from pappi.budget.journal import FORGET, KEEP
from pappi.checkpoint.door import Caller
from pappi.checkpoint.plans import checked_log
from pappi.errors import NotFound
from pappi.ppinot.catalogue import write_yaml
from pappi.ppinot.model import Catalogue
from pappi.store.ledger.journal import utc_now
from pappi.store.office import Office
from pappi.store.register import KeptQuestion, Register, acts_on, day_of, kept_payload

_MOST_BYTES = 20_000
_MOST_KEPT = 500
_MOST_A_DAY = 100
_ID_LENGTH = 16
_NAMES = 3


def keep(office: Office, caller: Caller, catalogue: Catalogue) -> KeptQuestion | None:
    """Remember a catalogue once; None if it is too long, or the list is full."""
    with office.ledger() as ledger:
        register = office.register(ledger)
        caller.permit(register)
        log = checked_log(register, caller.logs(register), catalogue)
        question = _question(caller.name, log.name, catalogue)
        known = register.kept.get(question.id)
        if known is not None:
            return known
        payload = kept_payload(question)
        if len(canonical_json(payload)) > _MOST_BYTES or not _has_room(register, caller.name):
            return None
        ledger.append(KEEP, payload)
        return question


def _has_room(register: Register, analyst: str) -> bool:
    """Of a day, also those that were forgotten again count: the journal forgets none of them."""
    kept = sum(each.analyst == analyst for each in register.kept.values())
    today = acts_on(register.keeping, analyst, day_of(utc_now()))
    return kept < _MOST_KEPT and today < _MOST_A_DAY


def kept_of(office: Office, caller: Caller, log: str | None) -> tuple[KeptQuestion, ...]:
    """What an analyst has kept about the logs they may ask about, the latest first."""
    with office.ledger() as ledger:
        register = office.register(ledger)
        caller.permit(register)
        logs = (
            caller.logs(register)
            if log is None
            else {register.log(log, caller.logs(register)).name}
        )
    found = [
        each for each in register.kept.values() if each.analyst == caller.name and each.log in logs
    ]
    return tuple(reversed(found))


def forget(office: Office, caller: Caller, identity: str) -> None:
    """Strike a question off the list."""
    with office.ledger() as ledger:
        register = office.register(ledger)
        caller.permit(register)
        question = register.kept.get(identity)
        if question is None or question.analyst != caller.name:
            raise NotFound("there is no such question among yours", hint="see the list of them")
        ledger.append(FORGET, {"id": identity})


def _question(analyst: str, log: str, catalogue: Catalogue) -> KeptQuestion:
    """With an identity made of its content: kept twice, it is the same."""
    definitions = write_yaml(catalogue)
    content = "\0".join((analyst, log, definitions)).encode("utf-8", "surrogatepass")
    identity = hashlib.sha256(content).hexdigest()[:_ID_LENGTH]
    names = tuple(ppi.name for ppi in catalogue.ppis[:_NAMES])
    return KeptQuestion(identity, analyst, log, definitions, names, len(catalogue.ppis))
