"""What is asked: definitions become plans, and plans become releases with a price and a key.

All of it is a function of the request and of the owner's declarations, so every refusal here
says nothing about data.

1. A PPI becomes a plan: with the log's default bounds, at the ε it names.
2. A plan becomes releases, one per cell. A release is about the functions that carry noise:
   names, targets and formulas above them do not enter its key, so two PPIs that differ in those
   alone share it. Same key, same answer.
3. What would be too much is refused while that is still free: the journal keeps every answer for
   ever, and some measures look at the events again and again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from pappi.errors import Option, Refused, TellsNothing, UsageError
from pappi.ledger import Account, Charge, canonical_json, canonical_object
from pappi.mechanisms import Outcome, understood_names
from pappi.planning import (
    DEAREST,
    EACH,
    Cell,
    Plan,
    alternatives_to,
    cells_of,
    epsilon_for,
    periods_of,
    plan_alone,
    plan_by_need,
    plan_each,
    plan_error_law,
    plan_set,
    refuse_unviewable,
    wanted_accuracy,
    why_nothing,
    why_unseen,
    with_current_names,
)
from pappi.ppinot import (
    Catalogue,
    Definitions,
    DerivedSingleInstance,
    EventCondition,
    Occurrence,
    Occurs,
    Pick,
    Ppi,
    SingleInstance,
    TimeMeasure,
    anchor_time,
    base_query,
    canonical_form,
    composition_tree,
    definitions_in,
    leaves,
    reduced_form,
    require_sound,
    with_default_bounds,
)
from pappi.store import LogDeclaration, Registry
from pappi.values import (
    JSON,
    CaseBorder,
    Epsilon,
    Horizon,
    Period,
    PublicLog,
    Source,
    quoted,
)

Amount = Epsilon | str | float | Decimal
"""An ε as people write it."""

Ids = str | Collection[str]
"""One PPI of a catalogue by its id, or several of them."""


def catalogue_of(
    definitions: Definitions, total: Amount | None = None, ppi: Ids | None = None
) -> Catalogue:
    """The catalogue, or those of its PPIs that are named; under one ε for them, if it is given."""
    catalogue = definitions_in(definitions).catalogue
    if ppi is not None:
        named, known = {ppi} if isinstance(ppi, str) else set(ppi), [it.id for it in catalogue.ppis]
        unknown = sorted(named - set(known))
        if unknown or not named:
            what = f"PPI {quoted(unknown[0])} in these definitions" if unknown else "PPI named"
            raise UsageError(f"no {what}", hint=f"there is: {', '.join(known)}")
        catalogue = replace(catalogue, ppis=tuple(it for it in catalogue.ppis if it.id in named))
    return catalogue if total is None else replace(catalogue, total=epsilon_of(total))


def epsilon_of(amount: Amount) -> Epsilon:
    return amount if isinstance(amount, Epsilon) else Epsilon.of(amount)


def refuse_both(epsilon: Amount | None, total: Amount | None, accuracy: str | None = None) -> None:
    """A price is said in one way: for each PPI, for all of them, or by what it buys."""
    named = {"epsilon": epsilon, "total": total, "accuracy": accuracy}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise UsageError(
            f"send either {' or '.join(given)}, not both", hint="leave one of them out"
        )


def epsilon_if_any(amount: Amount | None) -> Epsilon | None:
    return None if amount is None else epsilon_of(amount)


# --- plans -----------------------------------------------------------------------------------

DEFAULT_EPSILON = EACH
"""Of one PPI by itself, where nothing says what it needs."""

LEAST_EPSILON = Epsilon.of("0.001")


def checked_log(registry: Registry, among: Collection[str], catalogue: Catalogue) -> LogDeclaration:
    """The log a catalogue is about, if every word of the catalogue fits it."""
    log = registry.log(catalogue.log, among)
    require_sound(catalogue, log.public.vocabulary, understood_names())
    return log


def planned(ppi: Ppi, epsilon: Epsilon | None, log: PublicLog) -> Plan:
    """By public facts alone: an analyst can make the same plan on a machine of their own."""
    return _viewable(plan_alone(_settled(ppi, log), _epsilon(ppi, epsilon), log))


def plans_of(catalogue: Catalogue, epsilon: Epsilon | None, log: PublicLog) -> tuple[Plan, ...]:
    """Of each PPI; under the catalogue's total, if it has one and no ε is asked for each.

    PPIs for which nobody names an ε get what they need. Planned once, whoever asks: plans follow
    from the definitions and from what is public about the log, by all of which they are kept.
    """
    defined = repr(catalogue)  # also what equality does not look at
    asked = digest_of(repr((defined, epsilon, log)))
    plans, _ = _PLANNED.get(asked, (None, 0))
    if plans is None:
        plans = _plans_of(catalogue, epsilon, log)
        if sum(length for _, length in list(_PLANNED.values())) + len(defined) > _MOST_PLANNED:
            _PLANNED.clear()
        _PLANNED[asked] = plans, len(defined)
    return plans


def digest_of(text: str) -> str:
    """What a text is kept by that may be very long."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_PLANNED: dict[str, tuple[tuple[Plan, ...], int]] = {}
_MOST_PLANNED = 5_000_000  # characters of definitions, each of which takes some 6 bytes planned


def _plans_of(catalogue: Catalogue, epsilon: Epsilon | None, log: PublicLog) -> tuple[Plan, ...]:
    if catalogue.total is None or epsilon is not None:
        needy = [_settled(ppi, log) for ppi in catalogue.ppis if not (epsilon or ppi.epsilon)]
        named = [ppi for ppi in catalogue.ppis if epsilon or ppi.epsilon]
        asked = [(_settled(ppi, log), _epsilon(ppi, epsilon)) for ppi in named]
        by_need = plan_by_need(needy, log) if needy else ()
        plans = {plan.ppi.id: plan for plan in (*by_need, *plan_each(asked, log))}
        return tuple(_viewable(plans[ppi.id]) for ppi in catalogue.ppis)
    for amount in (catalogue.total, *(ppi.epsilon for ppi in catalogue.ppis if ppi.epsilon)):
        _refuse_tiny(amount)
    settled = [_settled(ppi, log) for ppi in catalogue.ppis]
    return tuple(map(_viewable, plan_set(settled, catalogue.total, log)))


def _viewable(plan: Plan) -> Plan:
    """The plan, if what is to be shown follows from its figures."""
    refuse_unviewable(plan)
    return plan


def at_accuracy(ppi: Ppi, accuracy: str, log: PublicLog, counted: int | None = None) -> Ppi:
    """The PPI with the epsilon that its wanted accuracy costs."""
    ppi = _settled(ppi, log)
    wanted = wanted_accuracy(accuracy, ppi)
    if wanted is None:
        raise UsageError(
            f"'{accuracy}' is not an accuracy for a value in {ppi.unit.name or 'plain numbers'}",
            hint='write e.g. "6 h", "2 %" or a plain number; add a confidence from 50 % to 99 %: '
            '"6 h, 90 %"',
        )
    epsilon = epsilon_for(ppi, wanted, log, counted)
    if epsilon is not None:
        return replace(ppi, epsilon=epsilon)
    if plan_error_law(plan_alone(ppi, DEAREST, log)) is None:
        raise Refused(
            f"no accuracy can be promised for PPI '{ppi.id}': its clipping bound is chosen "
            "privately",
            hint="give an epsilon, or declare public bounds",
        )
    raise Refused(
        f"no epsilon up to {DEAREST} keeps PPI '{ppi.id}' within ±{accuracy.strip(' ±')}",
        hint="ask for less accuracy, or declare tighter bounds",
    )


def refuse_telling_nothing(
    plans: Sequence[Plan], log: PublicLog, horizon: Horizon | None = None
) -> None:
    """What is not on record yet, and would tell nothing, is charged only if that is wanted.

    Of views, where the horizon is given: a subscription is about days to come as well.
    """
    reasons = (
        (plan, why_nothing(plan) or ("" if horizon is None else why_unseen(plan, horizon)))
        for plan in plans
    )
    empty = [(plan, reason) for plan, reason in reasons if reason]
    if not empty:
        return
    (plan, reason), *others = empty
    likewise = (
        f"; so would {', '.join(repr(other.ppi.id) for other, _ in others)}" if others else ""
    )
    # What is wrong with a view is wrong with its figures: those have alternatives.
    plain = [each for each in plans if each.ppi.view is None]
    alternatives = alternatives_to(plan, log, plain) if plan in plain else ()
    ways = "; or ".join(f"{each.change} (ε {each.epsilon})" for each in alternatives)
    better = f"better: {ways}; " if ways else ""
    raise TellsNothing(
        f"PPI '{plan.ppi.id}' would tell you nothing: {reason}{likewise}",
        hint=f"nothing was charged; {better}to release it all the same, add",
        options=[Option("anyway")],
    )


def _settled(ppi: Ppi, log: PublicLog) -> Ppi:
    """The PPI's base query, with everything that the log's declarations add to it."""
    base = with_current_names(base_query(ppi))
    return with_default_bounds(reduced_form(base, log.terms.anchor), log.terms.bounds)


def _epsilon(ppi: Ppi, asked: Epsilon | None) -> Epsilon:
    epsilon = asked or ppi.epsilon or DEFAULT_EPSILON
    _refuse_tiny(epsilon)
    return epsilon


def _refuse_tiny(epsilon: Epsilon) -> None:
    if epsilon < LEAST_EPSILON:
        raise UsageError(
            f"an epsilon of {epsilon} is below {LEAST_EPSILON}: the answer would be pure noise",
            hint="use an epsilon of e.g. 0.1",
        )


# --- releases --------------------------------------------------------------------------------

# Changes when a mechanism's law or the meaning of a measure does: older releases
# then answer older queries only.
SEMANTICS = 3


@dataclass(frozen=True, slots=True)
class Release:
    """One cell of one PPI's plan: charged once, released once."""

    plan: Plan
    cell: Cell
    charge: Charge

    @property
    def key(self) -> str:
        return self.charge.key

    @property
    def drawn(self) -> Release:
        """The release that this is, or that is derived instead."""
        return self

    @property
    def figures(self) -> int:
        """How many answers it gives: one per period and group."""
        return len(self.cell.periods) * len(self.plan.groups)


@dataclass(frozen=True, slots=True)
class Figure:
    """What one answer is made of: the plan it is read by, and the integers of its functions."""

    period: Period
    group: str | None
    plan: Plan
    noisy: tuple[Outcome, ...]
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Derived:
    """One cell of a PPI that follows from the record: it has no key, no charge and no draw.

    `drawn` is what would be released, and paid for, if it did not.
    """

    figures: tuple[Figure, ...]
    drawn: Release

    @property
    def plan(self) -> Plan:
        return self.figures[0].plan


Known = Release | Derived
"""What answers one cell of a PPI."""


def figures_of(known: Known, results: Mapping[str, Any]) -> Iterator[Figure]:
    """In the order they were drawn: period by period, group by group."""
    if isinstance(known, Derived):
        yield from known.figures
        return
    plan = known.plan
    drawn = ((period, group) for period in known.cell.periods for group in plan.groups)
    for (period, group), parts in zip(drawn, results[known.key], strict=True):
        yield Figure(period, group, plan, tuple(tuple(part) for part in parts))


def releases_of(
    plan: Plan,
    log: LogDeclaration,
    analyst: str,
    horizon: Horizon | None = None,
    *,
    cells: Sequence[Cell] | None = None,
) -> tuple[Release, ...]:
    """What a plan asks within a log's horizon, or within another: what is yet to come.

    All of it, or only what it asks in some of its cells.
    """
    query = Query(plan, log)
    if cells is None:
        cells = cells_of(plan.ppi.scope, horizon or log.horizon)
    return tuple(query.release_in(cell, analyst) for cell in cells)


class Query:
    """What a plan asks of a log. Most of it is the same for every cell, and is written once."""

    def __init__(self, plan: Plan, log: LogDeclaration) -> None:
        self._plan, self._log = plan, log
        scope, terms = plan.ppi.scope, log.terms
        self._asked: dict[str, JSON] = {
            "semantics": SEMANTICS,
            "log": log.name,
            "data": log.data,
            "timezone": terms.timezone,
            "anchor": str(terms.anchor),
            "unit": terms.unit.to_json(),
            "adjacency": str(terms.adjacency),
            "epsilon": plan.epsilon.nano,
            "groups": list(plan.groups),
            # Which cases a period has; what they are cut into is in the periods themselves.
            "own_anchor": canonical_form(scope.anchor),
            "last_cases": scope.last_cases,
            "cases": canonical_form(scope.cases),
            "parts": [
                {
                    "inputs": canonical_form(part.recorded_inputs),
                    "mechanism": part.mechanism.recorded_name,
                    "epsilon": str(part.mechanism.epsilon),
                    "settings": canonical_form(part.settings),
                }
                for part in plan.measurements
            ],
        }
        self._written = {name: canonical_json(asked) for name, asked in self._asked.items()}
        # Under which name it is asked goes on record, too; the key does not depend on it.
        self._named: dict[str, JSON] = {"ppi": ", ".join(plan.together) or plan.ppi.id}
        if plan.total is not None:
            self._named["total"] = plan.total.nano
        if plan.together:
            answered = max(len(plan.measurements[0].inputs), len(plan.together))
            self._named["each"] = plan.epsilon.nano // answered

    def release_in(self, cell: Cell, analyst: str) -> Release:
        """What it asks in one cell; the key does not depend on who asks."""
        plan, log = self._plan, self._log
        own: dict[str, JSON] = {}
        # How far the log was sealed, if the answer to the same query will change with that.
        goes_on = any(block.end > log.public.until for block in cell.blocks)
        if plan.ppi.scope.anchor is not None or goes_on:
            own["sealed"] = log.public.until.isoformat()
        own["periods"] = [canonical_form(period) for period in cell.periods]
        written = canonical_object(
            {**self._written, **{name: canonical_json(part) for name, part in own.items()}}
        )
        key = hashlib.sha256(written.encode("ascii")).hexdigest()
        accounts = tuple(Account(log.name, block.label) for block in cell.blocks)
        asked = {**self._named, **self._asked, **own}
        return Release(plan, cell, Charge(key, accounts, plan.epsilon, asked, analyst))


# --- limits ----------------------------------------------------------------------------------

MOST_ANSWERS = 20_000
MOST_BUCKETS = 500_000
MOST_LOOKS = 64
MOST_CALENDARS = 8
MOST_MEASURES = 2_000
MOST_PPIS = 200
MOST_AT_ACCURACY = 50
MOST_ACCOUNTS = 20_000
_FEWER_ANSWERS = "fewer PPIs, groups or periods"


def refuse_too_many(catalogue: Catalogue, most: int = MOST_PPIS) -> None:
    """Called before planning, which takes time for every PPI."""
    _refuse_beyond(len(catalogue.ppis), most, "PPIs at once", "fewer of them")


def refuse_too_many_answers(plans: Sequence[Plan], horizon: Horizon) -> None:
    """Called before cells become releases, which takes time too."""
    answers = 0
    for plan in plans:
        answers += len(plan.groups) * len(periods_of(plan.ppi.scope, horizon))
        _refuse_beyond(answers, MOST_ANSWERS, "answers or more at once", _FEWER_ANSWERS)


def refuse_too_much(releases: Sequence[Release]) -> None:
    """Nothing, or the reason why a request is too large."""
    answers = sum(release.figures for release in releases)
    _refuse_beyond(answers, MOST_ANSWERS, "answers at once", _FEWER_ANSWERS)
    accounts = sum(len(release.cell.blocks) for release in releases)
    _refuse_beyond(accounts, MOST_ACCOUNTS, "blocks to charge", "shorter periods or less time")
    parts = ((release, part) for release in releases for part in release.plan.measurements)
    buckets = sum(one.figures * (part.buckets or 0) * len(part.inputs) for one, part in parts)
    hint = "fewer buckets, variables, groups or periods"
    _refuse_beyond(buckets, MOST_BUCKETS, "values of buckets", hint)
    plans = {id(release.plan): release.plan for release in releases}.values()
    read = dict.fromkeys(measure for plan in plans for measure in _read(plan))
    _refuse_beyond(len(read), MOST_MEASURES, "different measures of a case", "fewer of them")
    looks = sum(map(_looks, read))
    hint = "fewer cycles, onsets, sequences, first ends or stopped clocks"
    _refuse_beyond(looks, MOST_LOOKS, "looks at neighbouring events", hint)
    calendars = {measure.calendar for measure in read if isinstance(measure, TimeMeasure)} - {None}
    _refuse_beyond(len(calendars), MOST_CALENDARS, "working calendars", "fewer of them")


def _refuse_beyond(wanted: int, most: int, what: str, hint: str) -> None:
    if wanted > most:
        message = f"this asks for {wanted:,} {what}; the limit is {most:,}"
        raise Refused(message, hint=f"ask for {hint}")


def _read(plan: Plan) -> Iterator[SingleInstance]:
    """Every measure of a case that a plan reads, and all they are derived from."""
    for part in plan.measurements:
        for measure in part.inputs:
            for leaf in leaves(composition_tree(measure)):
                yield from _with_variables(leaf.measure)
    scope = plan.ppi.scope
    if scope.anchor is not None:
        yield anchor_time(scope.anchor)
    if scope.cases is not None:
        yield from _with_variables(scope.cases)


def _with_variables(measure: SingleInstance) -> Iterator[SingleInstance]:
    yield measure
    if isinstance(measure, DerivedSingleInstance):
        for _, variable in measure.variables:
            yield from _with_variables(variable)


def _looks(measure: SingleInstance) -> int:
    """How often a measure looks at the events again, beyond the scan that all share."""
    if isinstance(measure, TimeMeasure):
        ends = sum(_windows(each) for each in (measure.start, measure.end))
        again = measure.cycles is not None or measure.end_pick is Pick.FIRST
        return ends + again + 2 * (measure.running is not None)
    condition = getattr(measure, "when", None)
    return 0 if condition is None else _windows(condition)


def _windows(condition: EventCondition | CaseBorder) -> int:
    if isinstance(condition, CaseBorder):
        return 0
    if isinstance(condition, Occurs):
        return int(condition.occurrence is Occurrence.ONSET)
    return 1 + _windows(condition.first) + _windows(condition.then)
