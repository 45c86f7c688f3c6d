"""A catalogue planned as one: a single ε for all its PPIs, and one draw where that is better.

Means, shares and sums over the same cases, cut into the same periods and groups, are released
together by the joint mechanism: one draw has all of their ε, instead of a share for each. What
joins them is decided by their definitions alone, never by data:

- *cells*: the same scope and the same groups, so that one case is in the same cell of each;
- *presence*: functions that every case has a value of form one class, those of the same condition
  or the same measure another. A sum is a function of every case: one without a value adds nothing.

A single mean, too, may have less noise as a set of its own: whole radii err less than two bins.

Everything else (extremes, quantiles, formulas, verdicts, private bounds, a mechanism of its own,
`set: off`) is planned by itself, with a share of the total. A PPI with an ε of its own has that:
so one that matters most is split off. What is left is divided evenly: a draw has as many parts of
it as it answers PPIs. So nobody is worse off than one by one, and the product of all errors, each
of which falls as 1/ε, is as small as it can be.

**Later.** A member of a released set is read off the record again (`recorded_member`), by itself
or with others. A PPI that joins later is planned with the other newcomers alone, at an ε that gives
them the errors that the whole set would have given (`plan_newcomers`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pappi.errors import Refused
from pappi.mechanisms import Contribution, PresenceClass, joint_members, read_set
from pappi.planning.bounds import bounds_of, is_integral, looseness_of
from pappi.planning.error_prediction import predicted_error
from pappi.planning.expected import expected_cases
from pappi.planning.measurements import Measurement, Request, settings_of
from pappi.planning.plan import Plan, plan_ppi
from pappi.ppinot import (
    ROOT,
    AggregatedMeasure,
    Ppi,
    ReleaseChoice,
    Scope,
    canonical_form,
    is_total,
)
from pappi.values import JSON, Adjacency, Epsilon, PublicLog

_JOINED = ("mean", "share", "sum")
_STEPS_TO_EPSILON = 4
_DIGITS_OF_EPSILON = 2
_DIGITS_OF_PORTION = 4
_PLACES = (0.5, 0.1, 0.02)
_MOST_TOGETHER = 40
_LEAST = Epsilon.of("0.001")


@dataclass(frozen=True, slots=True)
class _Member:
    """A PPI that a joint draw can answer."""

    ppi: Ppi
    measure: AggregatedMeasure
    contribution: Contribution
    presence: str
    """Whose cases have it: empty if all of them do."""


def plan_set(ppis: Sequence[Ppi], total: Epsilon, log: PublicLog) -> tuple[Plan, ...]:
    """The plans of a catalogue whose PPIs share one ε in every block, in their order."""
    own = {ppi.id: plan_ppi(ppi, ppi.epsilon, log) for ppi in ppis if ppi.epsilon is not None}
    shared = [ppi for ppi in ppis if ppi.id not in own]
    left = total.nano - sum(plan.epsilon.nano for plan in own.values())
    if left < 0 or (shared and not left):
        raise Refused(
            f"the PPIs with an epsilon of their own leave nothing of the total {total}",
            hint="give a larger total, or leave out the epsilon of single PPIs",
        )
    plans = {**own, **(_shared(shared, Epsilon(left), log) if shared else {})}
    apart = _portion(total, Fraction(1, len(ppis)))
    return tuple(replace(plans[ppi.id], total=total, apart=apart) for ppi in ppis)


def plan_newcomers(
    plans: Sequence[Plan], newcomers: Collection[str], log: PublicLog
) -> dict[str, Plan]:
    """Some PPIs of one planned set by themselves, by id, about as exact as the set would make them.

    With fewer others to share a draw with, that takes less than the ε of the set.
    """
    theirs = [plan for plan in plans if plan.ppi.id in newcomers]
    ppis, wanted, most = [plan.ppi for plan in theirs], _weight(theirs, log), theirs[0].epsilon
    epsilon = most
    for _ in range(_STEPS_TO_EPSILON):
        off = _weight(plan_unit(ppis, epsilon, log), log) / wanted
        epsilon = min(most, Epsilon(math.ceil(epsilon.nano * off)))
    step = 10 ** max(0, len(str(epsilon.nano)) - _DIGITS_OF_EPSILON)
    rounded = min(most, Epsilon(-(-epsilon.nano // step) * step))
    found = {plan.ppi.id: plan for plan in plan_unit(ppis, rounded, log)}
    before = theirs[0]
    return {
        ppi: replace(plan, total=before.total, apart=before.apart) for ppi, plan in found.items()
    }


def recorded_member(
    ppi: Ppi, epsilon: Epsilon, inputs: Sequence[JSON], settings: str, log: PublicLog
) -> Plan | None:
    """The plan that reads a PPI off a joint release on record, if it was among what was asked."""
    member, classes = _member(ppi, log), read_set(settings)
    if member is None or classes is None:
        return None
    asked = canonical_form(member.measure)
    if asked not in inputs:
        return None
    request = Request(ppi, log)
    whole, adjacency = _calibrated(classes, epsilon, request)
    mechanism = joint_members(classes, whole, adjacency)[inputs.index(asked)]
    # It is never drawn again, so it does not matter what else the draw has read.
    columns = (member.measure,) * len(inputs)
    part = Measurement(ROOT, columns, mechanism, settings_of(mechanism))
    return _plan(ppi, epsilon, part, log)


def _plan(ppi: Ppi, epsilon: Epsilon, part: Measurement, log: PublicLog) -> Plan:
    expected = expected_cases(log, ppi)
    error = predicted_error(ppi, (part,), expected.cases)
    return Plan(ppi, epsilon, (part,), error, expected)


def _shared(ppis: Sequence[Ppi], total: Epsilon, log: PublicLog) -> dict[str, Plan]:
    plans: dict[str, Plan] = {}
    for unit in units_of(ppis, log):
        portion = _portion(total, Fraction(len(unit), len(ppis)))
        if portion < _LEAST:
            raise Refused(
                f"the total leaves ε {portion} for '{unit[0].id}': the answer would be pure noise",
                hint="give a larger total, or ask for fewer PPIs",
            )
        plans |= {plan.ppi.id: plan for plan in plan_unit(unit, portion, log)}
    return plans


def _portion(total: Epsilon, share: Fraction) -> Epsilon:
    """Rounded down, to an amount that people can read."""
    nano = math.floor(total.nano * share)
    step = 10 ** max(0, len(str(nano)) - _DIGITS_OF_PORTION)
    portion = total if share == 1 else Epsilon(nano // step * step)
    if not portion.nano:
        raise Refused("the total epsilon is too small to be divided", hint="give a larger one")
    return portion


def _weight(plans: Iterable[Plan], log: PublicLog) -> float:
    """How far off these are together, each in proportion to the range of its value."""
    return math.sqrt(sum(_relative_error(plan, log) ** 2 for plan in plans))


def _relative_error(plan: Plan, log: PublicLog) -> float:
    """At most 1: an answer that knows nothing is off by no more.

    By the cases that plans are chosen for, and whatever the target is: neither a forecast nor a
    target may change a question.
    """
    ranges = [m.mechanism.output_range for m in plan.measurements]
    cases = Request(plan.ppi, log).planned_cases
    error = predicted_error(replace(plan.ppi, target=None), plan.measurements, cases)
    widths = [high - low for low, high in ranges]
    width = sum(
        w if math.isfinite(w) else cases * float(m.mechanism.bounds.magnitude)
        for w, m in zip(widths, plan.measurements, strict=True)
    )
    return min(error / width, 1.0) if width else 1.0


def plan_unit(unit: Sequence[Ppi], epsilon: Epsilon, log: PublicLog) -> list[Plan]:
    """One draw for all that err no more by it than alone, each at an equal share of this ε."""
    apart = _portion(epsilon, Fraction(1, len(unit)))
    plans = {ppi.id: plan_ppi(ppi, apart, log) for ppi in unit}
    kept = [ppi for ppi in unit if _member(ppi, log) is not None]
    while kept:
        joint = _joint(kept, _portion(epsilon, Fraction(len(kept), len(unit))), log)
        good = {plan.ppi.id: plan for plan in joint if _is_as_good(plan, plans[plan.ppi.id], log)}
        if len(good) == len(kept):
            plans |= good
            break
        kept = [ppi for ppi in kept if ppi.id in good]
    return [plans[ppi.id] for ppi in unit]


def _is_as_good(plan: Plan, other: Plan, log: PublicLog) -> bool:
    """Whether a plan errs no more than another, in the middle of the bounds and near their ends."""
    cases = Request(plan.ppi, log).planned_cases
    mechanisms = [each.measurements[0].mechanism for each in (plan, other)]
    low, width = float(mechanisms[0].bounds.low), float(mechanisms[0].bounds.width)
    return all(
        mechanisms[0].predicted_error(cases, low + place * width)
        <= mechanisms[1].predicted_error(cases, low + place * width)
        for place in _PLACES
    )


def units_of(ppis: Sequence[Ppi], log: PublicLog) -> list[list[Ppi]]:
    """Those that one draw may answer, together; each other PPI alone."""
    alone = ([ppi] for ppi in ppis if _member(ppi, log) is None)
    return [*_joint_sets(ppis, log), *alone]


# --- joint sets ------------------------------------------------------------------------------


def _joint_sets(ppis: Sequence[Ppi], log: PublicLog) -> list[list[Ppi]]:
    """PPIs over the same cells, each once; so many that their draw is quickly made."""
    sets: dict[tuple[Scope, object], list[tuple[str, Ppi]]] = {}
    for ppi in ppis:
        member = _member(ppi, log)
        if member is not None:
            cells = sets.setdefault((ppi.scope, member.measure.grouping), [])
            cells.append((str(canonical_form(member.measure)), ppi))
    chosen: list[list[Ppi]] = []
    for members in sets.values():
        if len(members) > _MOST_TOGETHER:
            members.sort(key=lambda each: each[0])  # whatever their order in the catalogue
        in_order = [ppi for _, ppi in members]
        starts = range(0, len(in_order), _MOST_TOGETHER)
        chosen += [in_order[start : start + _MOST_TOGETHER] for start in starts]
    return chosen


def _member(ppi: Ppi, log: PublicLog) -> _Member | None:
    measure = ppi.measure
    if not isinstance(measure, AggregatedMeasure) or measure.called not in _JOINED:
        return None
    plain = ppi.release == ReleaseChoice() and ppi.value_range is None
    if not plain or looseness_of(measure, log.vocabulary) is not None:
        return None
    contribution = Contribution(
        measure.called,
        bounds_of(measure, log.vocabulary),
        is_integral(measure, log.vocabulary),
    )
    return _Member(ppi, measure, contribution, _presence(measure))


def _presence(measure: AggregatedMeasure) -> str:
    if measure.called == "sum" or (is_total(measure.base) and measure.filter is None):
        return ""
    base = None if is_total(measure.base) else canonical_form(measure.base)
    return str((canonical_form(measure.filter), base))


def _joint(ppis: Sequence[Ppi], epsilon: Epsilon, log: PublicLog) -> list[Plan]:
    """In an order that does not depend on that of the catalogue: the set is the question."""
    request = Request(ppis[0], log)
    members = [member for ppi in ppis if (member := _member(ppi, log)) is not None]
    distinct = {str(canonical_form(m.measure)): m for m in members}
    classes = _classes(distinct)
    inputs = tuple(distinct[key].measure for keys in classes.values() for key in keys)
    shape = tuple(
        PresenceClass(
            tuple(distinct[key].contribution for key in keys), _is_everyones(keys, distinct)
        )
        for keys in classes.values()
    )
    whole, adjacency = _calibrated(shape, epsilon, request)
    order = [key for keys in classes.values() for key in keys]
    by_key = dict(zip(order, joint_members(shape, whole, adjacency), strict=True))
    together = tuple(member.ppi.id for member in members) if len(members) > 1 else ()
    plans = []
    for member in members:
        mechanism = by_key[str(canonical_form(member.measure))]
        part = Measurement(ROOT, inputs, mechanism, settings_of(mechanism))
        plans.append(replace(_plan(member.ppi, epsilon, part, log), together=together))
    return plans


def _calibrated(
    classes: Sequence[PresenceClass], epsilon: Epsilon, request: Request
) -> tuple[Fraction, Adjacency]:
    """What the draw itself is made at: see `measurements`."""
    whole, adjacency = epsilon.fraction / request.stability, request.adjacency
    if adjacency is Adjacency.REPLACE and not all(each.everyone for each in classes):
        return whole / 2, Adjacency.ADD_REMOVE
    return whole, adjacency


def _is_everyones(keys: Sequence[str], members: Mapping[str, _Member]) -> bool:
    """Whether each case of a period is in a class; in groups, only those of the group are."""
    member = members[keys[0]]
    return not member.presence and member.measure.grouping is None


def _classes(members: Mapping[str, _Member]) -> dict[str, list[str]]:
    """The members of each presence class, both in the order of their canonical forms."""
    classes: dict[str, list[str]] = {}
    for key in sorted(members):
        classes.setdefault(members[key].presence, []).append(key)
    return dict(sorted(classes.items()))
