"""Subscriptions: reserved for future blocks, released as soon as each is sealed.

What will be charged, and to which blocks, is known beforehand: the cells of time that is
not sealed yet have the same keys as they will have when they are asked. So a reservation
is a list of charges to be made later, and running a subscription is asking it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date

from pappi.checkpoint.access import Caller, ChargeRules, Overtaken
from pappi.checkpoint.counts import counting_on_record
from pappi.checkpoint.derivation import Derivations
from pappi.checkpoint.queries import (
    Release,
    checked_log,
    plans_of,
    refuse_telling_nothing,
    refuse_too_many,
    refuse_too_many_answers,
    refuse_too_much,
    releases_of,
)
from pappi.checkpoint.sets import with_record
from pappi.errors import NotFound, NotReleasable, Refused, UsageError
from pappi.ledger import EntryKind, KeyState, Ledger, utc_now
from pappi.mechanisms import secret_bytes
from pappi.planning import Plan
from pappi.ppinot import Catalogue, Scope, parse_catalogue, write_yaml
from pappi.store import (
    LedgerSession,
    LogDeclaration,
    Registry,
    Subscription,
    acts_on,
    day_of,
    subscription_payload,
)
from pappi.values import Epsilon

_ID_BYTES = 6
_FILE = "standing"
_LONGEST = 100_000
_MOST_YEARS = 5
_MOST_CELLS = 600
_MOST_OPEN = 50
_MOST_A_DAY = 20


def subscribe(
    ledger_session: LedgerSession,
    caller: Caller,
    catalogue: Catalogue,
    until: date,
    epsilon: Epsilon | None,
    *,
    anyway: bool,
) -> Subscription:
    """Reserve the price of every block from what is sealed now up to `until`, or of none."""
    with ledger_session.ledger() as ledger:
        registry = ledger_session.registry(ledger)
        caller.permit(registry)
        refuse_too_many(catalogue)
        log = checked_log(registry, caller.logs(registry), catalogue)
        _refuse_far(until, log)
        subscription = Subscription(
            id=secret_bytes(_ID_BYTES).hex(),
            analyst=caller.name,
            log=log.name,
            definitions=write_yaml(catalogue),
            epsilon=epsilon,
            first=log.public.until,
            until=until,
            granted=caller.only_granted,
        )
        rules = ChargeRules(ledger_session, ledger, caller, log)
        while True:
            with suppress(Overtaken):
                _reserve(subscription, log, ledger_session, ledger, rules, anyway=anyway)
                return subscription


def _reserve(
    subscription: Subscription,
    log: LogDeclaration,
    ledger_session: LedgerSession,
    ledger: Ledger,
    rules: ChargeRules,
    *,
    anyway: bool,
) -> None:
    registry = ledger_session.registry(ledger)
    releases = _releases(subscription, log, subscription.until, ledger, registry)
    if not releases:
        raise UsageError(
            f"that day leaves no whole {log.terms.blocks.unit} after {log.public.until}, where the "
            "sealed time ends",
            hint="name a later day, and use periods that blocks divide into",
        )
    refuse_too_much(releases)
    if not anyway:
        plans = {release.plan.ppi.id: release.plan for release in releases}
        counted = counting_on_record(plans.values(), Derivations(ledger, registry, log))
        refuse_telling_nothing(counted, log.public)
    act = (EntryKind.STAND, subscription_payload(subscription))

    def permit() -> None:
        latest = rules.permit()
        _refuse_hoarding(subscription, len(releases), latest)
        if latest.last != registry.last:
            now = _releases(subscription, log, subscription.until, ledger, latest)
            if [release.key for release in now] != [release.key for release in releases]:
                raise Overtaken

    ledger.reserve([release.charge for release in releases], rules.limit, act, permit)


def _refuse_far(until: date, log: LogDeclaration) -> None:
    most = log.horizon.now.year + _MOST_YEARS
    if until.year > most:
        raise UsageError(
            f"a subscription can run until {most} at most",
            hint="choose an earlier day, and renew the subscription before it ends",
        )


def _refuse_hoarding(subscription: Subscription, cells: int, registry: Registry) -> None:
    """The journal keeps every subscription for ever, and an ended one costs nothing."""
    theirs = _open_of(registry, subscription.analyst)
    today = acts_on(registry.subscribed, subscription.analyst, day_of(utc_now()))
    for number, most, what in (
        (len(subscription.definitions), _LONGEST, "characters in a subscription"),
        (cells, _MOST_CELLS, "reservations in a subscription"),
        (1 + len(theirs), _MOST_OPEN, "subscriptions"),
        (1 + today, _MOST_A_DAY, "new subscriptions a day, including ended ones"),
    ):
        if number > most:
            raise Refused(
                f"an analyst may have at most {most:,} {what}",
                hint="put several PPIs into one subscription, or ask for fewer",
            )
    wanted = (subscription.definitions, subscription.epsilon, subscription.until)
    if any((own.definitions, own.epsilon, own.until) == wanted for own in theirs):
        raise Refused("you already have this subscription", hint="list your subscriptions")


def end(ledger_session: LedgerSession, caller: Caller, identity: str) -> int:
    """Free what is reserved for this subscription alone; returns the number of cells.

    What somebody else reserved stays, and what another subscription of this analyst stands for.
    """
    with ledger_session.ledger() as ledger:
        registry = ledger_session.registry(ledger)
        caller.permit(registry)
        subscription = registry.subscriptions.get(identity)
        if subscription is None or subscription.analyst != caller.name:
            raise NotFound("there is no such subscription", hint="list your subscriptions")
        log = registry.logs[subscription.log]
        still_wanted = {
            release.key
            for other in _open_of(registry, caller.name)
            if other.log == subscription.log and other.id != identity
            for release in _releases(other, log, other.until, ledger, registry)
        }
        reserved = _releases(subscription, log, subscription.until, ledger, registry)
        own = [release.key for release in reserved if release.key not in still_wanted]
        return ledger.cancel(own, caller.name, (EntryKind.END, {"id": identity}))


def end_all(ledger_session: LedgerSession, analyst: str, log: str) -> int:
    """End every subscription of an analyst to a log, as its owner; returns how many."""
    caller = Caller(analyst)
    ended = [each for each in subscriptions_of(ledger_session, caller) if each.log == log]
    for subscription in ended:
        end(ledger_session, caller, subscription.id)
    return len(ended)


def _open_of(registry: Registry, analyst: str) -> tuple[Subscription, ...]:
    return tuple(each for each in registry.subscriptions.values() if each.analyst == analyst)


def subscriptions_of(ledger_session: LedgerSession, caller: Caller) -> tuple[Subscription, ...]:
    """An analyst's active subscriptions."""
    with ledger_session.ledger() as ledger:
        registry = ledger_session.registry(ledger)
        caller.permit(registry)
        return _open_of(registry, caller.name)


def subscriber(subscription: Subscription) -> Caller:
    """Whoever asked for it; one who needs a grant is refused once it is withdrawn."""
    if not subscription.granted:
        return Caller(subscription.analyst)

    def still_granted(registry: Registry) -> None:
        registry.log(subscription.log, registry.granted_to(subscription.analyst))

    return Caller(subscription.analyst, still_granted, only_granted=True)


def releases_due(
    ledger: Ledger, registry: Registry, subscription: Subscription, log: LogDeclaration
) -> list[Release]:
    """Of the blocks that are sealed, what was not released yet."""
    until = min(subscription.until, log.public.until)
    releases = _releases(subscription, log, until, ledger, registry)
    states = ledger.states(release.key for release in releases)
    return [one for one in releases if states[one.key] is not KeyState.RELEASED]


def _releases(
    subscription: Subscription,
    log: LogDeclaration,
    until: date,
    ledger: Ledger,
    registry: Registry,
) -> list[Release]:
    """What a subscription asks in the blocks from its first day up to a later one."""
    if until <= subscription.first:
        return []
    horizon = replace(log.horizon, first=subscription.first, until=until)
    catalogue = parse_catalogue(subscription.definitions, _FILE)
    # Planned with all of them, as later: who is in a set decides about its draw.
    every = map(_of_figures, plans_of(catalogue, subscription.epsilon, log.public))
    plans = [plan for plan in every if plan.ppi.scope.start is None or plan.ppi.scope.start < until]
    for plan in plans:
        _require_blockwise(plan.ppi.scope, plan)
    refuse_too_many_answers(plans, horizon)
    # The log as it will be when the subscription is asked: the key must be the same then.
    sealed = log.sealed(max(log.public.until, until))
    analyst = subscription.analyst
    every_cell = (releases_of(plan, sealed, analyst, horizon) for plan in plans)
    within = [
        [release for release in own if _lies_within(release, subscription.first, until)]
        for own in every_cell
    ]
    # Each block is released for itself: who subscribes has agreed to pay for it.
    settled = with_record(within, ledger, registry.sets, sealed, analyst, derive=lambda _: None)
    return [release for own in settled for release in own if isinstance(release, Release)]


def _of_figures(plan: Plan) -> Plan:
    """One block alone has nothing to be compared with, or to be added to: its figures are shown.

    What a view makes of all blocks, a replay tells.
    """
    if plan.ppi.view is None:
        return plan
    return replace(plan, ppi=replace(plan.ppi, written=None, name=f"{plan.ppi.name}: figures"))


def _lies_within(release: Release, first: date, until: date) -> bool:
    return all(first <= block.start and block.end <= until for block in release.cell.blocks)


def _require_blockwise(scope: Scope, plan: Plan) -> None:
    """Refuse what has no answer of its own for each block."""
    anew: Sequence[object] = (scope.anchor, scope.recent, scope.last_cases)
    if scope.grid is None or any(each is not None for each in anew):
        raise NotReleasable(
            f"you cannot subscribe to PPI '{plan.ppi.id}': it has no separate value for each "
            "period",
            hint="set its scope to every month, or another period that blocks divide into",
        )
