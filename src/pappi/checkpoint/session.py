"""A session on this machine, and the release protocol behind it.

1. Parse, check, plan, price: functions of the request, the declarations and the
   ledger. Every refusal happens here.
2. Charge all of it, durably, in one transaction.
3. Read the cases, draw, record. Evaluation is total, so this always completes. Results go on
   record on a time grid that begins with the charge.
4. Answer from the record. A crash after 2 stays charged, and the same request
   completes that release at no new cost; an identical request is a replay.

What follows from the record (`derivation`) is answered by 1 and 4 alone.

Why on a grid: whoever may ask also sees what is on record, as lists of past releases, replays,
prices that fall to nothing, and the numbers of entries in the journal. If results went there as
soon as they are drawn, polling would tell how long reading the cases took. So they wait for the
next whole multiple of a fixed time after the charge. Everything that depends on the record then
changes on that grid, without having to know of it: what is shown, what a second request finds,
which entry of the journal comes first, and when a waiting request gets its turn.

What is left is how many steps were needed. A process that has no pace records at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pappi.checkpoint.access import (
    Caller,
    ChargeRules,
    Overtaken,
    Permit,
    permit_all,
    refuse_stopped,
)
from pappi.checkpoint.answers import series_of, told_by_plan
from pappi.checkpoint.counts import (
    counting_on_record,
    counts_on_record,
    with_counted_cases,
)
from pappi.checkpoint.derivation import Derivations
from pappi.checkpoint.prices import (
    UNPAID,
    Price,
    alternatives_in,
    budget_lines,
    derivable_of,
    forecast_of,
    half_width_of,
    price_of,
    quote_of,
    remaining_budget,
    with_record_of,
)
from pappi.checkpoint.protocol import Session
from pappi.checkpoint.queries import (
    MOST_AT_ACCURACY,
    Amount,
    Derived,
    Ids,
    Known,
    Release,
    at_accuracy,
    catalogue_of,
    checked_log,
    digest_of,
    epsilon_if_any,
    epsilon_of,
    planned,
    plans_of,
    refuse_both,
    refuse_telling_nothing,
    refuse_too_many,
    refuse_too_many_answers,
    refuse_too_much,
    releases_of,
)
from pappi.checkpoint.saved import forget, save, saved_by
from pappi.checkpoint.sets import with_record
from pappi.checkpoint.subscriptions import (
    end,
    releases_due,
    subscribe,
    subscriber,
    subscriptions_of,
)
from pappi.checkpoint.views import Budget, Checked, PastRelease, Quotes, Released
from pappi.errors import (
    Conflict,
    NotFound,
    Option,
    PappiError,
    Problem,
    Refused,
    ReleaseFailed,
    UsageError,
)
from pappi.ledger import Forecast, KeyState, Ledger, RemainingBudget, no_step
from pappi.planning import Plan, nothing_because, why_unseen
from pappi.ppinot import Catalogue, Definitions, definitions_in
from pappi.store import (
    LedgerSession,
    LogDeclaration,
    Registry,
    SavedQuery,
    Subscription,
)
from pappi.values import Epsilon, PublicLog, Series

if TYPE_CHECKING:
    from pappi.audit import Subject, SubjectReport
    from pappi.ppinot import Understanding

_WORTH_TELLING = 0.98
"""What the record adds to a draw has a line in a quote if it takes over 2 % off the margin."""

Step = Callable[[str], None]
"""Called with the name of each step of the protocol; tests place their faults here."""


T = TypeVar("T")


# --- when a result goes on record --------------------------------------------------------------

GRID_SECONDS = 0.25

Clock: TypeAlias = Callable[[], float]
"""Seconds that only ever grow: no change of the wall clock makes a result wait longer."""

Pace: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Wraps the reading of cases, and ends when its result may go on record."""

AT_ONCE: Pace = nullcontext


def time_to_wait(passed: float, grid: float) -> float:
    """From now to the next multiple of the grid; nothing ends before the first.

    >>> time_to_wait(0.125, 0.25), time_to_wait(0.25, 0.25), time_to_wait(0.5625, 0.25)
    (0.125, 0.0, 0.1875)
    """
    steps = max(1, math.ceil(passed / grid))
    return max(0.0, steps * grid - passed)


def on_grid(
    seconds: float = GRID_SECONDS,
    clock: Clock = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> Pace:
    """The pace of a grid with this many seconds; failures end on it as well."""

    @contextmanager
    def pace() -> Iterator[None]:
        began = clock()
        try:
            yield
        finally:
            sleep(time_to_wait(clock() - began, seconds))

    return pace


# --- what a request is answered by -------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """The ledger, what holds, and the log that an analyst asks about; what is on record of it."""

    ledger: Ledger
    registry: Registry
    log: LogDeclaration
    analyst: str

    @cached_property
    def derivations(self) -> Derivations:
        return Derivations(self.ledger, self.registry, self.log)

    def on_record(
        self, plans: Sequence[Plan], *, derived: bool | None = None
    ) -> list[tuple[Known, ...]]:
        """What each plan asks, read off the record or derived from it where that can be."""
        refuse_too_many_answers(plans, self.log.horizon)
        by_plan = [releases_of(plan, self.log, self.analyst) for plan in plans]

        def derive(release: Release) -> Derived | None:
            if derived is False:  # who wants a draw of its own pays for it
                return None
            derivations = self.derivations
            return derivations.of(release) if derived else derivations.good_enough(release)

        sets = self.registry.sets
        return with_record(by_plan, self.ledger, sets, self.log, self.analyst, derive)

    def known(self, catalogue: Catalogue, *, derived: bool | None = None) -> list[Known]:
        """Everything a catalogue asks for, as far as that is not too much."""
        by_plan = self.on_record(plans_of(catalogue, None, self.log.public), derived=derived)
        refuse_too_much(releases_in(by_plan))
        return [known for own in by_plan for known in own]

    def releases(self, catalogue: Catalogue) -> tuple[list[Release], Mapping[str, KeyState]]:
        """What of it is no derivation, and how far each has come."""
        releases = releases_in([self.known(catalogue)])
        return releases, self.ledger.states(release.key for release in releases)


def releases_in(by_plan: Sequence[Sequence[Known]]) -> list[Release]:
    """All but what is derived."""
    return [known for own in by_plan for known in own if isinstance(known, Release)]


def _asked(
    plans: Sequence[Plan],
    standing: Standing,
    price: str | None,
    *,
    anyway: bool,
    derived: bool | None,
) -> tuple[list[Known], Permit]:
    """What is to be answered; and the check, when it is charged, that this is still so.

    Somebody else may have been charged for a part of it in the meantime. One PPI may be in many
    sets, so that the same key is no longer all that could be paid twice.
    """
    ledger, log = standing.ledger, standing.log
    by_plan = standing.on_record(plans, derived=derived)
    known = [one for own in by_plan for one in own]
    keys = [release.key for release in releases_in(by_plan)]
    if derived:
        known = _as_exact_as_possible(known, standing)
    releases = releases_in([known])
    refuse_too_much(releases)
    states = ledger.states(release.key for release in releases)
    if price is not None:
        # It was named for what is not as exact by derivation: to take that instead is cheaper.
        named = releases_in(standing.on_record(plans)) if derived else releases
        if price_of(named, ledger.states(release.key for release in named)).name != price:
            raise Conflict(
                "the price has changed since you saw it",
                hint="nothing was charged; check the new price",
            )
    if not anyway:  # what was reserved was agreed to at that time
        new = {one.plan.ppi.id: one.plan for one in releases if states[one.key] is KeyState.NEW}
        counted = counting_on_record(new.values(), standing.derivations)
        refuse_telling_nothing(counted, log.public, log.horizon)

    def check(now: Registry) -> None:
        if now.last != standing.registry.last:
            anew = replace(standing, registry=now).on_record(plans, derived=derived)
            if [release.key for release in releases_in(anew)] != keys:
                raise Overtaken

    return known, check


def _as_exact_as_possible(known: Sequence[Known], standing: Standing) -> list[Known]:
    """What was released, read together with whatever else is on record about it."""
    releases = releases_in([known])
    states = standing.ledger.states(release.key for release in releases)
    released = [one for one in releases if states[one.key] is KeyState.RELEASED]
    plans = {release.plan.ppi.id: release.plan for release in released}.values()
    counting = counting_on_record(plans, standing.derivations)
    expected = {plan.ppi.id: plan.expected for plan in counting}
    more_exact = {
        (one.plan.ppi.id, one.key): standing.derivations.more_exact(one, expected[one.plan.ppi.id])
        for one in released
    }
    return [
        one if isinstance(one, Derived) else more_exact.get((one.plan.ppi.id, one.key)) or one
        for one in known
    ]


# --- the session -------------------------------------------------------------------------------


class LocalSession(Session):
    """A session with a workspace on this machine: the only way from an analyst to a log.

    Definitions are the path of a file, the text itself, a dict, a PPI built in Python, or a
    catalogue; `ppi` takes one of its PPIs, or some.
    """

    def __init__(
        self,
        ledger_session: LedgerSession,
        caller: Caller,
        on_step: Step = no_step,
        pace: Pace = AT_ONCE,
    ) -> None:
        self._ledger_session = ledger_session
        self._caller = caller
        self._on_step = on_step
        self._pace = pace

    def __repr__(self) -> str:
        return (
            f"<LocalSession of {self._caller.name!r} in {str(self._ledger_session.files.root)!r}>"
        )

    # --- what is public, and what is left ---

    def logs(self) -> tuple[PublicLog, ...]:
        with self._permitted() as (_, registry):
            names = sorted(self._caller.logs(registry))
        return tuple(registry.logs[name].public for name in names)

    def log(self, name: str) -> PublicLog:
        with self._permitted() as (_, registry):
            return registry.log(name, self._caller.logs(registry)).public

    def budget(self, log: str) -> Budget:
        with self._permitted() as (ledger, registry):
            declared = registry.log(log, self._caller.logs(registry))
            balances = ledger.balances(log)
            return Budget(budget_lines(declared, balances, registry, self._caller.name))

    def releases(
        self, log: str, after: int = 0, limit: int | None = None
    ) -> tuple[PastRelease, ...]:
        with self._permitted() as (ledger, registry):
            registry.log(log, self._caller.logs(registry))
            charges = ledger.charges(log, after, limit)
        return tuple(PastRelease.of(record, self._caller.name) for record in charges)

    def suggest(self, log: str) -> str:
        from pappi.planning import suggest_catalogue

        return suggest_catalogue(self.log(log))

    # --- before anything is spent ---

    def understand(self, text: str, log: str | None = None) -> Understanding:
        logs = self.logs() if log is None else (self.log(log),)
        if len(logs) != 1:
            names = ", ".join(one.name for one in logs) or "there is none"
            options = (Option("log", logs[0].name),) if logs else ()
            hint = f"name one of your logs ({names})"
            raise UsageError("which log is this about?", hint=hint, options=options)
        # Imported here: only this verb needs to know English.
        from pappi.ppinot import understand

        return understand(text, logs[0].vocabulary, logs[0].name)

    def check(self, definitions: Definitions) -> Checked:
        reading = definitions_in(definitions)
        catalogue = reading.catalogue
        warnings = (*reading.remarks, *self.unreleasable(catalogue))
        return Checked(catalogue.log, tuple(ppi.id for ppi in catalogue.ppis), warnings)

    def unreleasable(self, definitions: Definitions) -> list[Problem]:
        """Why PPIs could not be released, all at once; reads no data, spends nothing."""
        catalogue = catalogue_of(definitions)
        with self._open_for(catalogue) as standing:
            log = standing.log
        problems = []
        for ppi in catalogue.ppis:
            try:
                refuse_too_many_answers([planned(ppi, None, log.public)], log.horizon)
            except Refused as refusal:
                message = refusal.message.removeprefix(f"{ppi.position}: ")
                problems.append(Problem(ppi.position, message, refusal.hint, "warning"))
        return problems

    def preview(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        accuracy: str | None = None,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Quotes:
        return self._quotes(catalogue_of(definitions, total, ppi), epsilon, accuracy, total)

    def advise(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Quotes:
        catalogue = catalogue_of(definitions, total, ppi)
        return self._quotes(catalogue, epsilon, None, total, advised=True)

    def _quotes(
        self,
        catalogue: Catalogue,
        epsilon: Amount | None,
        accuracy: str | None,
        total: Amount | None,
        *,
        advised: bool = False,
    ) -> Quotes:
        refuse_both(epsilon, total, accuracy)
        amount = epsilon_if_any(epsilon)
        if accuracy is not None:
            refuse_too_many(catalogue, MOST_AT_ACCURACY)
        with self._open_for(catalogue) as standing:
            ledger, log, derivations = standing.ledger, standing.log, standing.derivations
            counts = counts_on_record(catalogue.ppis, derivations)
            plans: Iterable[Plan]
            if accuracy is None:
                plans = plans_of(catalogue, amount, log.public)
            else:
                # What each costs by itself; asked at these ε, some may share a draw and be better.
                plans = (
                    planned(at_accuracy(ppi, accuracy, log.public, counted), None, log.public)
                    for ppi, counted in zip(catalogue.ppis, counts, strict=True)
                )
            by_plan = standing.on_record(tuple(plans))
            refuse_too_much(releases_in(by_plan))
            states = ledger.states(known.drawn.key for own in by_plan for known in own)
            asked, added = [], []
            for own, counted in zip(by_plan, counts, strict=True):
                unpaid = [one for one in releases_in([own]) if states[one.key] in UNPAID]
                dearest = max(
                    unpaid or [one.drawn for one in own], key=lambda release: release.charge.amount
                )
                plan = with_counted_cases(dearest.plan, log, counted)
                recorded = own, states, derivations, plan.expected
                if not unpaid:
                    plan = derivations.widest(own, plan)
                asked.append((plan, len(own), len(unpaid)))
                added.append((derivable_of(*recorded), with_record_of(*recorded)))
        # What costs nothing any more needs no advice, unless somebody asks for it.
        needing = [plan for plan, _, unpaid in asked if unpaid or advised]
        instead = alternatives_in(
            needing, log.public, among=[plan for plan, *_ in asked], advised=advised
        )
        quotes = []
        for (plan, charges, new), (derivable, margin) in zip(asked, added, strict=True):
            quote = quote_of(plan, log.public, charges, new, instead.get(plan.ppi.id, ()))
            if unseen := why_unseen(plan, log.horizon):
                quote = replace(quote, tells_nothing=True, advice=nothing_because(unseen))
            others = (quote.half_width, None if derivable is None else derivable.margin)
            least = min((each for each in others if each is not None), default=math.inf)
            helps = margin is not None and margin < _WORTH_TELLING * least
            with_record = margin if helps else None
            quotes.append(replace(quote, derivable=derivable, with_record=with_record))
        return Quotes(quotes)

    def margins(
        self, definitions: Definitions, epsilons: Sequence[Epsilon]
    ) -> tuple[float | None, ...]:
        """What accuracy each epsilon buys of the first PPI, in its unit; None is not known."""
        catalogue = catalogue_of(definitions)
        with self._open_for(catalogue) as standing:
            ppi, log = catalogue.ppis[0], standing.log
            (counted,) = counts_on_record([ppi], standing.derivations)
            plans = (planned(ppi, epsilon, log.public) for epsilon in epsilons)
            return tuple(half_width_of(with_counted_cases(plan, log, counted)) for plan in plans)

    def price(
        self, definitions: Definitions, *, total: Amount | None = None, ppi: Ids | None = None
    ) -> Price:
        catalogue = catalogue_of(definitions, total, ppi)
        with self._open_for(catalogue) as standing:
            return price_of(*standing.releases(catalogue))

    def paid(self, definitions: Definitions, *, total: Amount | None = None) -> Price:
        """What was charged, once and by whomever, for all that is on record of a catalogue."""
        catalogue = catalogue_of(definitions, total)
        with self._open_for(catalogue) as standing:
            releases, states = standing.releases(catalogue)
        released = [release for release in releases if states[release.key] is KeyState.RELEASED]
        return price_of(released, dict.fromkeys(states, KeyState.NEW))

    def forecasts(
        self, definitions: Definitions, *, total: Amount | None = None
    ) -> tuple[Forecast | None, ...]:
        remaining, log, unpaid = self._unpaid(catalogue_of(definitions, total))
        parts = ([replace(one.charge, amount=one.plan.price) for one in own] for own in unpaid)
        return tuple(forecast_of(charges, remaining, log) for charges in parts)

    def outlook(self, definitions: Definitions, *, total: Amount | None = None) -> Forecast | None:
        remaining, log, unpaid = self._unpaid(catalogue_of(definitions, total))
        return forecast_of([one.charge for own in unpaid for one in own], remaining, log)

    def rehearse(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        smooth: bool = False,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Released:
        from pappi.checkpoint.rehearsal import rehearsed

        refuse_both(epsilon, total)
        catalogue = catalogue_of(definitions, total, ppi)
        with self._open_for(catalogue) as standing:
            log = standing.log
        series = rehearsed(catalogue, epsilon_if_any(epsilon), log)
        return Released(_smoothed(series) if smooth else series)

    def audited(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> tuple[Subject, ...]:
        """What each PPI would release, for `pappi.audit` to examine."""
        refuse_both(epsilon, total)
        catalogue = catalogue_of(definitions, total, ppi)
        with self._open_for(catalogue) as standing:
            log = standing.log
        return subjects_of(catalogue, epsilon_if_any(epsilon), log.public)

    def audit(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        total: Amount | None = None,
        ppi: Ids | None = None,
        pairs: int = 2_000,
        samples: int = 10_000,
    ) -> tuple[SubjectReport, ...]:
        from pappi.audit import audit_subject

        subjects = self.audited(definitions, epsilon, total=total, ppi=ppi)
        return tuple(audit_subject(subject, pairs, samples) for subject in subjects)

    # --- releases ---

    def release(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        smooth: bool = False,
        whole: Amount | None = None,
        price: str | None = None,
        total: Amount | None = None,
        anyway: bool = False,
        ppi: Ids | None = None,
        derived: bool | None = None,
    ) -> Released:
        refuse_both(epsilon, total)
        amount, catalogue = epsilon_if_any(epsilon), catalogue_of(definitions, total, ppi)
        if whole is not None:
            if not smooth or price is not None or catalogue.total is not None or derived:
                raise UsageError(
                    "`whole` needs `smooth`, and takes no `price`, no `total` and nothing derived"
                )
            if any(each.show is not None for each in catalogue.ppis):
                raise UsageError("`whole` is for figures, not for what is shown of them")
            share = epsilon_of(whole).fraction
            # The whole time tells nothing new about its periods if it was derived from them.
            release = partial(self.release, anyway=anyway, derived=False)
            from pappi.checkpoint.levels import released_in_levels

            levels = released_in_levels(release, catalogue, amount, share)
            return Released(_smoothed(levels))
        with self._open_for(catalogue) as opened:
            plans = plans_of(catalogue, amount, opened.log.public)
            standing, series = opened, None
            while series is None:
                known, check = _asked(plans, standing, price, anyway=anyway, derived=derived)
                try:
                    series = self.answer(standing.ledger, known, standing.log, check)
                except Overtaken:
                    now = self._ledger_session.registry(standing.ledger)
                    standing = replace(standing, registry=now)
        return Released(_smoothed(series) if smooth else series)

    def replay(
        self,
        definitions: Definitions,
        *,
        smooth: bool = False,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Released:
        catalogue = catalogue_of(definitions, total, ppi)
        return self.replay_as(_as_it_is, catalogue, smooth=smooth)

    def replay_as(
        self, form: Callable[[str, Released], T], catalogue: Catalogue, *, smooth: bool = False
    ) -> T:
        """A replay in some form, such as its text on the wire; `form` takes the log's name and it.

        Made once until the journal grows, for all who may see it. Only who has ever subscribed has
        an own: what is reserved for somebody comes first for them.
        """
        with self._open_for(catalogue) as standing:
            asker = self._caller.name if self._caller.name in standing.registry.subscribed else None
            following = partial(self._ledger_session.following, standing.registry)
            asked = asker, digest_of(repr(catalogue))  # also what equality does not look at

            def replayed() -> tuple[Series, ...]:
                on_file = partial(self._on_file, catalogue, standing)
                return following(asked, lambda: series_of(*on_file()), _answers_in)

            def formed() -> tuple[T, int]:
                series = replayed()
                shown = Released(_smoothed(series) if smooth else series)
                return form(catalogue.log, shown), _answers_in(shown)

            return following((*asked, smooth, form), formed, lambda made: made[1])[0]

    def compare(
        self,
        definitions: Definitions,
        *,
        periods: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        by: str = "difference",
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Released:
        from pappi.checkpoint.shown import Picked, compared_series

        picked = Picked.of(by, periods, groups)
        catalogue = catalogue_of(definitions, total, ppi)
        with self._open_for(catalogue) as standing:
            told = told_by_plan(*self._on_file(catalogue, standing))
        if not told:
            raise NotFound("nothing of this is on record", hint="release it first")
        return Released(compared_series(*one, picked) for one in told)

    def _on_file(
        self, catalogue: Catalogue, standing: Standing
    ) -> tuple[list[Known], Mapping[str, KeyState], Mapping[str, Any], LogDeclaration]:
        """All that is known of a catalogue: released, or derived from that."""
        every, ledger = standing.known(catalogue, derived=True), standing.ledger
        keys = [release.key for release in releases_in([every])]
        states, results = ledger.states(keys), ledger.results(keys)
        known = [one for one in every if isinstance(one, Derived) or one.key in results]
        # Remembered before it is shown: whoever recorded it may not have come to do that.
        self._ledger_session.registry(ledger)
        return known, states, results, standing.log

    def answer(
        self,
        ledger: Ledger,
        known: Sequence[Known],
        log: LogDeclaration,
        check: Permit = permit_all,
    ) -> tuple[Series, ...]:
        """Steps 2 to 4 of the protocol: the only place that charges, reads cases and records.

        `check` is asked inside the transaction that charges, of what holds then, and may raise.
        What is derived takes no part in either: it is known already.
        """
        releases, files = releases_in([known]), self._ledger_session.files
        refuse_too_much(releases)
        states = ledger.states(release.key for release in releases)
        if any(state is not KeyState.RELEASED for state in states.values()):
            # What is known beforehand to fail is not charged; a replay reads nothing.
            log.require_ready(files.events)
            files.key()
        rules = ChargeRules(self._ledger_session, ledger, self._caller, log)
        charges = [release.charge for release in releases]

        def permit() -> None:
            check(rules.permit())

        states = ledger.charge(charges, rules.limit, permit)
        self._on_step("charged")
        results: Mapping[str, Any] = {}
        undrawn = {one.key: one for one in releases if states[one.key] is not KeyState.RELEASED}
        if undrawn:
            # What was asked at less ε goes on record first: of all that would do for it, the first
            # on record is what it is read off again (`sets`).
            in_order = sorted(undrawn.values(), key=lambda one: one.plan.apart or one.plan.epsilon)
            # Imported here: a replay, which reads no case, does without numpy and DuckDB.
            from pappi.checkpoint.draw import draw_cells

            with self._pace():
                try:
                    drawn = draw_cells(files.events, in_order, log, files.key())
                except Exception as error:  # noqa: BLE001 - a library's own words may quote data
                    raise ReleaseFailed(detail=_cause(error)) from None
            self._on_step("drawn")
            results = ledger.record(drawn)
            self._on_step("recorded")
        earlier = ledger.results(one.key for one in releases if one.key not in results)
        # Remembers what was just written: an older ledger put in its place will be noticed.
        self._ledger_session.registry(ledger)
        return series_of(known, states, {**results, **earlier}, log)

    # --- subscriptions and saved queries ---

    def subscribe(
        self,
        definitions: Definitions,
        until: date,
        epsilon: Amount | None = None,
        *,
        total: Amount | None = None,
        anyway: bool = False,
        ppi: Ids | None = None,
    ) -> Subscription:
        refuse_both(epsilon, total)
        amount, catalogue = epsilon_if_any(epsilon), catalogue_of(definitions, total, ppi)
        return subscribe(
            self._ledger_session, self._caller, catalogue, until, amount, anyway=anyway
        )

    def subscriptions(self) -> tuple[Subscription, ...]:
        return subscriptions_of(self._ledger_session, self._caller)

    def unsubscribe(self, identity: str) -> int:
        return end(self._ledger_session, self._caller, identity)

    def save(self, definitions: Definitions, *, total: Amount | None = None) -> SavedQuery | None:
        return save(self._ledger_session, self._caller, catalogue_of(definitions, total))

    def saved(self, log: str | None = None) -> tuple[SavedQuery, ...]:
        return saved_by(self._ledger_session, self._caller, log)

    def forget(self, identity: str) -> None:
        forget(self._ledger_session, self._caller, identity)

    # --- what the verbs share ---

    @contextmanager
    def _permitted(self) -> Iterator[tuple[Ledger, Registry]]:
        with self._ledger_session.ledger() as ledger:
            registry = self._ledger_session.registry(ledger)
            self._caller.permit(registry)
            yield ledger, registry

    @contextmanager
    def _open_for(self, catalogue: Catalogue, *, stopped: bool = False) -> Iterator[Standing]:
        """What answers a sound catalogue, while nothing is stopped, or even then."""
        with self._permitted() as (ledger, registry):
            if not stopped:
                refuse_stopped(registry)
            refuse_too_many(catalogue)
            log = checked_log(registry, self._caller.logs(registry), catalogue)
            yield Standing(ledger, registry, log, self._caller.name)

    def _unpaid(
        self, catalogue: Catalogue
    ) -> tuple[RemainingBudget, LogDeclaration, list[list[Release]]]:
        """What is left, and of each PPI the releases that nobody has paid for yet."""
        with self._open_for(catalogue, stopped=True) as standing:
            ledger, log = standing.ledger, standing.log
            grant = standing.registry.grants.get((log.name, self._caller.name))
            share = None if grant is None else grant.per_block
            remaining = remaining_budget(log, ledger.balances(log.name), self._caller.name, share)
            by_plan = standing.on_record(plans_of(catalogue, None, log.public))
            states = ledger.states(release.key for release in releases_in(by_plan))
        new = [
            [release for release in releases_in([own]) if states[release.key] is KeyState.NEW]
            for own in by_plan
        ]
        return remaining, log, new


def subjects_of(
    catalogue: Catalogue, epsilon: Epsilon | None, log: PublicLog
) -> tuple[Subject, ...]:
    """What each PPI would release, as a subject of the audit: public facts tell it all."""
    from pappi.checkpoint.audits import subject_of

    # One draw is one subject, whatever it answers.
    every = plans_of(catalogue, epsilon, log)
    plans = [plan for plan in every if plan.ppi.id == (plan.together or (plan.ppi.id,))[0]]
    return tuple(subject_of(plan, log.terms.adjacency, log.terms.unit.max_cases) for plan in plans)


@dataclass(frozen=True, slots=True)
class Run:
    """The result of running a subscription: the releases that were due, or why there are none."""

    subscription: Subscription
    series: tuple[Series, ...] = ()
    problem: PappiError | None = None


def run_due(
    ledger_session: LedgerSession, on_step: Step = no_step, pace: Pace = AT_ONCE
) -> Iterator[Run]:
    """Release what is due for every subscription: its sealed blocks, once each.

    One after the other, each at the pace of a release: when the next one is charged would
    else tell how long the one before took. One failure must not keep the others from theirs.
    """
    with ledger_session.ledger() as ledger:
        registry = ledger_session.registry(ledger)
        for subscription in registry.subscriptions.values():
            log = registry.logs[subscription.log]
            session = LocalSession(ledger_session, subscriber(subscription), on_step, pace)
            try:
                due = releases_due(ledger, ledger_session.registry(ledger), subscription, log)
                if due:
                    yield Run(subscription, session.answer(ledger, due, log))
            except PappiError as problem:
                yield Run(subscription, problem=problem)


def _as_it_is(_log: str, released: Released) -> Released:
    return released


def _answers_in(series: Sequence[Series]) -> int:
    return sum(len(each.answers) for each in series)


def _smoothed(series: Sequence[Series]) -> tuple[Series, ...]:
    from pappi.series import smoothed_all

    return smoothed_all(series)


def _cause(error: Exception) -> str:
    """For the owner alone; an error of ours keeps what a driver said as its own detail."""
    said = f"{type(error).__name__}: {error}"
    inner = error.detail if isinstance(error, PappiError) else ""
    return f"{said} ({inner})" if inner else said
