"""A catalogue planned as one: PPIs share an ε, and one draw, where that is better.

Means, shares and sums over the same cases, cut into the same periods and groups, are released
together by the joint mechanism: one draw has all of their ε, instead of a share for each. What
joins them is decided by their definitions alone, never by data:

- *cells*: the same scope and the same groups, so that one case is in the same cell of each;
- *presence*: functions that every case has a value of form one class, those of the same condition
  or the same measure another. A sum is a function of every case: one without a value adds nothing.

The number of cases of a class is told by its draw anyway, so that a PPI that asks for it need not
be a member of its own, which would be one number more for all: it is read off where that is better.

How many cases the bounds of means and sums cut off is one more number of the same draw, unless the
PPI turns that off. A single mean or sum is then a set of its own (`plan_alone`).

**Limits.** Shares of one measure within several limits (`t < 3 days`, `t < 10 days`) are read off
one histogram whose bins end there: a case lies in one bin, so that one draw has all of their ε. It
is compared with the joint draw and with each share alone, by the predicted errors, and taken where
it is best. A share that is asked alone stays what it is.

**Percentiles** of one measure are read off one histogram as well: under a total, it has the parts
of all of them.

Everything else (extremes, formulas, verdicts, private bounds, a mechanism of its own, `set: off`)
is planned by itself.

**An ε for each** (`plan_each`). Who has the same cells and the same ε shares a draw, at the sum of
theirs: the blocks pay what they would pay one by one, and nobody errs more. A PPI that matters
more, and has more ε, is thereby split off. One that finds no other to share with is planned as if
it were asked alone, which it then is.

**One ε for all** (`plan_set`). A PPI with an ε of its own has that. What is left of the total is
divided evenly: a draw has as many parts of it as it answers PPIs. So nobody is worse off than one
by one, and the product of all errors, each of which falls as 1/ε, is as small as it can be. Here a
single mean, too, may be a set of its own: whole radii err less than two bins.

**Later.** A member of a released set is read off the record again (`recorded_member`), by itself
or with others. A PPI that joins later shares a draw with the other newcomers alone; under a total
it has the ε that gives them the errors that the whole set would have given (`plan_newcomers`).

**Conditions** on one measure are stretches of its values (`Stretches`). `t < 10 days` says of a
case whether its value lies in one stretch. Where those of several conditions are made of the bins
of one histogram, their shares are all read off it: a case lies in one bin. A bin includes its upper
end, so that `t <= 10 days` ends with a bin that ends there. For `t < 10 days` a bin must end just
below: durations are whole microseconds and counts whole numbers, so that there is a last value
below. Of other numbers there is none, and nothing is read off.

Who is counted: a histogram counts the cases that have a value. A share does so too if it leaves the
others out, or if every case has one. Elsewhere a case without a value is among all cases of the
share (`t < 10 days` is false of it), and in no bin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import groupby

from pappi.errors import Refused
from pappi.mechanisms import (
    MOST_BINS,
    Bins,
    Contribution,
    PresenceClass,
    binned_share,
    joint_members,
    joint_numbers,
    quantile_level,
    read_set,
)
from pappi.planning.bounds import bounds_of, is_integral, looseness_of, sides_cut
from pappi.planning.error_prediction import predicted_error
from pappi.planning.measurements import Measurement, Request, settings_of
from pappi.planning.plan import Plan, plan_derived, plan_ppi
from pappi.planning.scopes import expected_cases
from pappi.ppinot import (
    EVERY_CASE,
    ROOT,
    AggregatedMeasure,
    Aggregation,
    Binary,
    Bounding,
    CountMeasure,
    Cycles,
    DerivedSingleInstance,
    DurationLiteral,
    Expression,
    IsMissing,
    Missing,
    MultiInstance,
    Name,
    Not,
    NumberLiteral,
    Operator,
    Ppi,
    Scope,
    SingleInstance,
    TimeMeasure,
    canonical_form,
    is_total,
    spans_case,
)
from pappi.values import JSON, UNIT_INTERVAL, Adjacency, Bounds, Epsilon, PublicLog

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
    counts: str | None
    """Of a number of cases, the presence of those that it counts."""

    @property
    def key(self) -> str:
        """What it asks: members of a class are in the order of these."""
        return str(canonical_form(self.measure))


def plan_each(asked: Sequence[tuple[Ppi, Epsilon]], log: PublicLog) -> tuple[Plan, ...]:
    """The plans of PPIs with an ε each, in their order; by one draw for several where they gain.

    In every block, all of them together cost what they would cost one by one.
    """
    alone = {ppi.id: plan_alone(ppi, epsilon, log) for ppi, epsilon in asked}
    alike: dict[Epsilon, list[Ppi]] = {}
    for ppi, epsilon in asked:
        alike.setdefault(epsilon, []).append(ppi)
    plans = dict(alone)
    for epsilon, ppis in alike.items():
        sets, copies = _joint_sets(ppis, log)
        for unit in (ppis for ppis in sets if len(ppis) > 1):  # one by itself shares no draw
            joint = _Sharing(alone, partial(_times, epsilon), log).best(unit)
            together = (plan for plan in joint.values() if plan.together)
            plans |= {plan.ppi.id: replace(plan, apart=epsilon) for plan in together}
        plans |= {copy.id: copied(plans[of.id], copy, log) for copy, of in copies}
    return tuple(plans[ppi.id] for ppi, _ in asked)


def plan_set(ppis: Sequence[Ppi], total: Epsilon, log: PublicLog) -> tuple[Plan, ...]:
    """The plans of a catalogue whose PPIs share one ε in every block, in their order."""
    own = {ppi.id: plan_alone(ppi, ppi.epsilon, log) for ppi in ppis if ppi.epsilon is not None}
    shared = [ppi for ppi in ppis if ppi.id not in own]
    left = total.nano - sum(plan.epsilon.nano for plan in own.values())
    if left < 0 or (shared and not left):
        raise Refused(
            f"the PPIs with an epsilon of their own leave nothing of the total {total}",
            hint="give a larger total, or leave out the epsilon of single PPIs",
        )
    plans = {ppi: replace(plan, apart=plan.epsilon) for ppi, plan in own.items()}
    if shared:
        apart = _portion(Epsilon(left), Fraction(1, len(shared)))
        together = _shared(shared, Epsilon(left), log)
        plans |= {ppi: replace(plan, apart=apart) for ppi, plan in together.items()}
    return tuple(replace(plans[ppi.id], total=total) for ppi in ppis)


def plan_alone(ppi: Ppi, epsilon: Epsilon, log: PublicLog) -> Plan:
    """The plan of one PPI by itself, which tells what its bounds cut off wherever that can be."""
    plan, member = plan_ppi(ppi, epsilon, log), _member(ppi, log)
    if member is None or not member.contribution.counts_beyond:
        return plan
    (telling,) = _joint([ppi], epsilon, log)
    return telling


def untold(plan: Plan, log: PublicLog) -> Plan:
    """The plan without counting the cases that bounds cut: what is compared with one that does."""
    if not plan.together:
        release = replace(plan.ppi.release, clipping=False)
        return plan_ppi(replace(plan.ppi, release=release), plan.epsilon, log)
    (part,), asked = plan.measurements, canonical_form(plan.ppi.measure)
    ((_, written),) = part.settings
    classes = tuple(
        replace(
            presence_class,
            members=tuple(
                replace(member, counts_beyond=False) for member in presence_class.members
            ),
        )
        for presence_class in read_set(written) or ()
    )
    members = joint_members(classes, part.mechanism.epsilon, part.mechanism.adjacency)
    place = [canonical_form(measure) for measure in part.inputs].index(asked)
    return replace(plan, measurements=(replace(part, mechanism=members[place]),))


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
        off = _weight(_planned(ppis, epsilon, log).values(), log)
        if not wanted or not off:  # at a large ε nothing is off, as far as a float can tell
            break
        epsilon = min(most, Epsilon(math.ceil(epsilon.nano * off / wanted)))
    step = 10 ** max(0, len(str(epsilon.nano)) - _DIGITS_OF_EPSILON)
    rounded = min(most, Epsilon(-(-epsilon.nano // step) * step))
    before, planned = theirs[0], _planned(ppis, rounded, log)
    return {
        ppi: replace(plan, total=before.total, apart=before.apart) for ppi, plan in planned.items()
    }


def recorded_member(
    ppi: Ppi,
    epsilon: Epsilon,
    inputs: Sequence[JSON],
    settings: str,
    log: PublicLog,
    everyone: Sequence[Ppi] = (),
    beside: Sequence[Ppi] = (),
) -> Plan | None:
    """The plan that reads a PPI off a joint release on record, if it was among what was asked.

    With all PPIs that were asked, `everyone` in the order of the inputs, it can also be drawn. Of
    those that are asked `beside` it, a class may tell the number of cases.
    """
    member, classes = _member(ppi, log), read_set(settings)
    if member is None or classes is None:
        return None
    asked = canonical_form(member.measure)
    request = Request(ppi, log)
    whole, adjacency = _calibrated(classes, epsilon, request)
    if asked in inputs:
        mechanism = joint_members(classes, whole, adjacency)[inputs.index(asked)]
    else:
        number = _class_that_tells(member, classes, inputs, beside)
        if number is None:
            return None
        mechanism = joint_numbers(classes, whole, adjacency)[number]
    # What is on record is never drawn again: then it does not matter what else it has read.
    # A draw needs a column of each: the measure is what counts, however its PPI is released.
    columns = [other.measure for other in everyone if isinstance(other.measure, AggregatedMeasure)]
    read = tuple(columns) or (member.measure,) * len(inputs)
    part = Measurement(ROOT, read, mechanism, settings_of(mechanism))
    return _plan(ppi, epsilon, part, log)


def _class_that_tells(
    member: _Member, classes: Sequence[PresenceClass], inputs: Sequence[JSON], beside: Sequence[Ppi]
) -> int | None:
    """Of which class of a draw this is the number of cases, by what is asked beside it."""
    if member.counts is None:
        return None
    forms = [
        canonical_form(ppi.measure)
        for ppi in beside
        if isinstance(ppi.measure, AggregatedMeasure)
        and ppi.measure.grouping == member.measure.grouping
        and _presence(ppi.measure) == member.counts
    ]
    start = 0
    for number, presence_class in enumerate(classes):
        if any(form in inputs[start : start + len(presence_class.members)] for form in forms):
            return number
        start += len(presence_class.members)
    return None


def _plan(ppi: Ppi, epsilon: Epsilon, part: Measurement, log: PublicLog) -> Plan:
    return plan_derived(ppi, epsilon, (part,), expected_cases(log, ppi))


def _shared(ppis: Sequence[Ppi], total: Epsilon, log: PublicLog) -> dict[str, Plan]:
    units, copies = units_of(ppis, log)
    distinct = len(ppis) - len(copies)
    plans: dict[str, Plan] = {}
    for unit in units:
        portion = _portion(total, Fraction(len(unit), distinct))
        if portion < _LEAST:
            raise Refused(
                f"the total leaves ε {portion} for '{unit[0].id}': the answer would be pure noise",
                hint="give a larger total, or ask for fewer PPIs",
            )
        plans |= _planned(unit, portion, log)
    for family in _quantiles_of_one(ppis):
        portion = _portion(total, Fraction(len(family), distinct))
        read_off = [plan_alone(ppi, portion, log) for ppi in family]
        if _is_one_draw(read_off):
            plans |= {plan.ppi.id: plan for plan in read_off}
    return plans | {copy.id: copied(plans[of.id], copy, log) for copy, of in copies}


def _quantiles_of_one(ppis: Sequence[Ppi]) -> Iterator[list[Ppi]]:
    """Percentiles of one measure over the same cells, where there are several."""
    families: dict[str, list[Ppi]] = {}
    for ppi in ppis:
        measure = ppi.measure
        if isinstance(measure, AggregatedMeasure) and quantile_level(measure.called) is not None:
            whole = replace(measure, function=Aggregation.DISTRIBUTION, percent=None)
            families.setdefault(str(canonical_form((ppi.scope, whole))), []).append(ppi)
    yield from (family for family in families.values() if len(family) > 1)


def _is_one_draw(plans: Sequence[Plan]) -> bool:
    """Whether these are all read off the same histogram, which is then paid once."""
    draws = {
        str((canonical_form(part.recorded_inputs), part.mechanism.drawn_for, part.settings))
        for plan in plans
        for part in plan.measurements
    }
    return len(draws) == 1 and all(part.mechanism.drawn_for for part in plans[0].measurements)


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
    target may change a query.
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
    """The plans of PPIs that may share a draw, at equal parts of this ε, in their order.

    One that shares none is planned as if it were asked at its part: it is the same query then.
    """
    apart = _portion(epsilon, Fraction(1, len(unit)))
    plans = _planned(unit, epsilon, log)
    return [
        replace(plans[ppi.id], apart=apart)
        if plans[ppi.id].together
        else plan_alone(ppi, apart, log)
        for ppi in unit
    ]


def _planned(unit: Sequence[Ppi], epsilon: Epsilon, log: PublicLog) -> dict[str, Plan]:
    """The plans of PPIs that have equal shares of this ε."""

    def share(ppis: int) -> Epsilon:
        return _portion(epsilon, Fraction(ppis, len(unit)))

    alone = {ppi.id: plan_alone(ppi, share(1), log) for ppi in unit}
    members = [ppi for ppi in unit if _member(ppi, log) is not None]
    return alone | _Sharing(alone, share, log).best(members)


@dataclass(frozen=True, slots=True)
class _Sharing:
    """PPIs that may share a draw: their plans `alone`, and the ε of a draw for so many of them."""

    alone: Mapping[str, Plan]
    share: Callable[[int], Epsilon]
    log: PublicLog

    def best(self, unit: Sequence[Ppi]) -> dict[str, Plan]:
        """One draw for all, or histograms for limits of one measure and one draw for the others."""
        plain = self._joined(unit)
        binned: dict[str, Plan] = {}
        for family in _limits_of_one(unit):
            plans = _binned(family, self.share(len(family)), self.log)
            if plans and all(map(self._is_as_good, plans)):
                binned |= {plan.ppi.id: plan for plan in plans}
        if not binned:
            return plain
        others = self._joined([ppi for ppi in unit if ppi.id not in binned])
        return self._least_off(unit, plain, binned | others)

    def _joined(self, unit: Sequence[Ppi]) -> dict[str, Plan]:
        """One draw for all that err no more by it than alone; at an ε by how many they are.

        Numbers of cases are read off it, or are members of their own: whatever is better.
        """
        as_members, read_off = (self._kept(unit, off=off) for off in (False, True))
        mechanisms = [plan.measurements[0].mechanism for plan in read_off.values() if plan.together]
        # What is read off a draw is none of those that it answers.
        if all(mechanism.answers_for > 1 for mechanism in mechanisms):
            return as_members
        return self._least_off(unit, as_members, read_off)

    def _kept(self, unit: Sequence[Ppi], *, off: bool) -> dict[str, Plan]:
        kept = unit
        while kept:
            joint = _joint(kept, self.share(len(kept)), self.log, off=off)
            good = {plan.ppi.id: plan for plan in joint if self._is_as_good(plan)}
            if len(good) == len(kept):
                return good
            kept = [ppi for ppi in kept if ppi.id in good]
        return {}

    def _is_as_good(self, plan: Plan) -> bool:
        return _is_as_good(plan, self.alone[plan.ppi.id], self.log)

    def _least_off(self, unit: Sequence[Ppi], *ways: dict[str, Plan]) -> dict[str, Plan]:
        """The way by which all are least off together, the first of equals."""

        def off(way: dict[str, Plan]) -> float:
            return _weight([way.get(ppi.id) or self.alone[ppi.id] for ppi in unit], self.log)

        return min(ways, key=off)


def _limits_of_one(unit: Sequence[Ppi]) -> Iterator[list[Ppi]]:
    """Shares of the same cases within limits of one measure, where there are several."""
    families: dict[str, list[Ppi]] = {}
    for ppi in unit:
        limits = _limits(ppi)
        if limits is not None and isinstance(ppi.measure, AggregatedMeasure):
            cases = canonical_form((ppi.measure.filter, limits.base))
            families.setdefault(str(cases), []).append(ppi)
    yield from (family for family in families.values() if len(family) > 1)


def _limits(ppi: Ppi) -> Stretches | None:
    """Where a share's condition holds, if a histogram counts the same cases."""
    measure = ppi.measure
    if not isinstance(measure, AggregatedMeasure) or measure.called != "share":
        return None
    limits = stretches_of(measure.base)
    return limits if limits is not None and limits.of_values else None


def _binned(ppis: Sequence[Ppi], epsilon: Epsilon, log: PublicLog) -> list[Plan]:
    """Shares within limits by one histogram; none if there are too many limits for one."""
    with_limits = [(ppi, limits) for ppi in ppis if (limits := _limits(ppi)) is not None]
    request = Request(ppis[0], log)
    asked, cuts = histogram_of(ppis[0].measure, [limits for _, limits in with_limits])
    if len(cuts) >= MOST_BINS:
        return []
    bins = Bins.at(asked.bounds or UNIT_INTERVAL, cuts)
    whole = epsilon.fraction / request.stability
    together, plans = tuple(ppi.id for ppi in ppis), []
    for ppi, limits in with_limits:
        mechanism = binned_share(bins, limits.inside(bins) or (), whole, request.adjacency)
        part = Measurement(ROOT, (asked,), mechanism, settings_of(mechanism))
        plans.append(replace(_plan(ppi, epsilon, part, log), together=together))
    return plans


def _times(epsilon: Epsilon, ppis: int) -> Epsilon:
    return Epsilon(epsilon.nano * ppis)


def copied(plan: Plan, ppi: Ppi, log: PublicLog) -> Plan:
    """For a PPI that asks what another asks in the same catalogue: it is read off the same."""
    copy = _plan(ppi, plan.epsilon, plan.measurements[0], log)
    return replace(copy, apart=plan.apart)


def _is_as_good(plan: Plan, other: Plan, log: PublicLog) -> bool:
    """Whether a plan errs no more than another, in the middle of the bounds and near their ends."""
    cases = Request(plan.ppi, log).planned_cases
    mechanisms = [compared.measurements[0].mechanism for compared in (plan, other)]
    low, width = float(mechanisms[0].bounds.low), float(mechanisms[0].bounds.width)
    return all(
        mechanisms[0].predicted_error(cases, low + place * width)
        <= mechanisms[1].predicted_error(cases, low + place * width)
        for place in _PLACES
    )


def units_of(ppis: Sequence[Ppi], log: PublicLog) -> tuple[list[list[Ppi]], list[tuple[Ppi, Ppi]]]:
    """Those that one draw may answer, together, each other PPI alone; and copies of others."""
    sets, copies = _joint_sets(ppis, log)
    return [*sets, *([ppi] for ppi in ppis if _member(ppi, log) is None)], copies


# --- joint sets ------------------------------------------------------------------------------


def _joint_sets(
    ppis: Sequence[Ppi], log: PublicLog
) -> tuple[list[list[Ppi]], list[tuple[Ppi, Ppi]]]:
    """PPIs over the same cells; so many that their draw is quickly made.

    And who asks the same as another, with that one: what is asked twice is drawn once.
    """
    sets: dict[tuple[Scope, object], dict[str, Ppi]] = {}
    copies = []
    for ppi in ppis:
        member = _member(ppi, log)
        if member is not None:
            cells = sets.setdefault((ppi.scope, member.measure.grouping), {})
            first = cells.setdefault(member.key, ppi)
            if first is not ppi:
                copies.append((ppi, first))
    chosen: list[list[Ppi]] = []
    for members in sets.values():
        keys = list(members)
        if len(keys) > _MOST_TOGETHER:
            keys.sort()  # whatever their order in the catalogue
        in_order = [members[key] for key in keys]
        starts = range(0, len(keys), _MOST_TOGETHER)
        chosen += [in_order[start : start + _MOST_TOGETHER] for start in starts]
    return chosen, copies


def _member(ppi: Ppi, log: PublicLog) -> _Member | None:
    measure = ppi.measure
    if not isinstance(measure, AggregatedMeasure) or measure.called not in _JOINED:
        return None
    plain = ppi.release.is_free and ppi.value_range is None
    if not plain or looseness_of(measure, log.vocabulary) is not None:
        return None
    contribution = Contribution(
        measure.called,
        bounds_of(measure, log.vocabulary),
        is_integral(measure, log.vocabulary),
        counts_beyond=ppi.release.clipping and any(sides_cut(measure, log.vocabulary)),
    )
    return _Member(ppi, measure, contribution, _presence(measure), _counted(measure))


def _counted(measure: AggregatedMeasure) -> str | None:
    """The presence of the cases whose number is asked for: as `reduced_form` writes that."""
    if measure.called != "sum" or measure.bounds != UNIT_INTERVAL:
        return None
    base = measure.base
    if base != EVERY_CASE:
        if not isinstance(base, DerivedSingleInstance) or base.formula != Not(IsMissing(Name("x"))):
            return None
        base = dict(base.variables)["x"]
    return _presence(replace(measure, function=Aggregation.MEAN, base=base))


def _presence(measure: AggregatedMeasure) -> str:
    everyones = is_total(measure.base) or spans_case(measure.base)
    if measure.called == "sum" or (everyones and measure.filter is None):
        return ""
    base = None if everyones else canonical_form(measure.base)
    return str((canonical_form(measure.filter), base))


def _joint(
    ppis: Sequence[Ppi], epsilon: Epsilon, log: PublicLog, *, off: bool = False
) -> list[Plan]:
    """In an order that does not depend on that of the catalogue: the set is the query.

    Numbers of cases that a class tells are read `off` it, if that is wanted.
    """
    request = Request(ppis[0], log)
    members = [member for ppi in ppis if (member := _member(ppi, log)) is not None]
    # Of two that are the same but for telling what bounds cut, the one that does comes last.
    ordered = sorted(members, key=lambda member: member.contribution.counts_beyond)
    distinct = {member.key: member for member in ordered}
    numbers = _told_by_class(distinct) if off else {}
    drawn = (distinct[key] for key in sorted(distinct) if key not in numbers)
    in_order = sorted(drawn, key=lambda member: member.presence)
    classes = {
        presence: tuple(own) for presence, own in groupby(in_order, lambda member: member.presence)
    }
    shape = tuple(
        # In groups, only the cases of the group are in a class.
        PresenceClass(
            tuple(member.contribution for member in own),
            everyone=not presence and own[0].measure.grouping is None,
        )
        for presence, own in classes.items()
    )
    whole, adjacency = _calibrated(shape, epsilon, request)
    inputs = tuple(member.measure for member in in_order)
    read = zip(in_order, joint_members(shape, whole, adjacency), strict=True)
    by_key = {member.key: mechanism for member, mechanism in read}
    if numbers:
        by_class = dict(zip(classes, joint_numbers(shape, whole, adjacency), strict=True))
        by_key |= {key: by_class[presence] for key, presence in numbers.items()}
    together = tuple(member.ppi.id for member in members) if len(members) > 1 else ()
    plans = []
    for member in members:
        mechanism = by_key[member.key]
        part = Measurement(ROOT, inputs, mechanism, settings_of(mechanism))
        plan = _plan(member.ppi, epsilon, part, log)
        cut_with = _cut_with(member, members) if mechanism.tells_beyond else ()
        plans.append(replace(plan, together=together, cut_with=cut_with))
    return plans


def _told_by_class(members: Mapping[str, _Member]) -> dict[str, str]:
    """The numbers of cases of classes that others are in, by what they count."""
    others = {member.presence for member in members.values() if member.counts is None}
    counted = ((key, member.counts) for key, member in members.items())
    return {key: counts for key, counts in counted if counts is not None and counts in others}


def _cut_with(member: _Member, members: Sequence[_Member]) -> tuple[str, ...]:
    """The PPIs of its class whose bounds count."""
    return tuple(
        other.ppi.id
        for other in members
        if other.presence == member.presence and other.contribution.counts_beyond
    )


def _calibrated(
    classes: Sequence[PresenceClass], epsilon: Epsilon, request: Request
) -> tuple[Fraction, Adjacency]:
    """What the draw itself is made at: see `measurements`."""
    whole, adjacency = epsilon.fraction / request.stability, request.adjacency
    if adjacency is Adjacency.REPLACE and not all(
        presence_class.everyone for presence_class in classes
    ):
        return whole / 2, Adjacency.ADD_REMOVE
    return whole, adjacency


# --- conditions on one measure --------------------------------------------------------

_WHOLE_CYCLES = (None, Cycles.SUM, Cycles.MIN, Cycles.MAX)
_TURNED = {
    Operator.LESS: Operator.GREATER,
    Operator.GREATER: Operator.LESS,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.AT_MOST,
}


@dataclass(frozen=True, slots=True)
class Stretches:
    """Where values satisfy a condition: up to the first cut, from there up to the next, and on."""

    base: SingleInstance
    cuts: tuple[Fraction, ...]
    holds: tuple[bool, ...]
    of_values: bool
    """Whether only cases with a value count, or all cases have one."""
    of_others: bool
    """Whether it holds of cases without a value, too, if there are any."""

    def inside(self, bins: Bins) -> tuple[bool, ...] | None:
        """In which bins it holds; None where a bin ends on no cut, or a cut lies in a bin."""
        limits = [_last(limit, self.base) for limit in bins.limits]
        if not set(self.cuts) <= set(limits):
            return None
        starts = (None, *limits)
        return tuple(
            self.holds[0 if start is None else sum(cut <= start for cut in self.cuts)]
            for start in starts
        )


def stretches_of(condition: SingleInstance | None) -> Stretches | None:
    """Of a condition on one measure, by comparisons with constants; None of any other."""
    if not isinstance(condition, DerivedSingleInstance) or len(condition.variables) != 1:
        return None
    ((name, base),), formula = condition.variables, condition.formula
    sides = {atom: _lower_side(atom, name, base) for atom in _atoms(formula)}
    cuts = {atom: side for atom, side in sides.items() if side is not None}
    if len(cuts) < len(sides):
        return None
    rising = sorted({last for last, _ in cuts.values()})
    holds = tuple(
        _is_true(formula, {atom: (value <= last) is below for atom, (last, below) in cuts.items()})
        for value in (*rising, rising[-1] + 1)
    )
    everyone = is_total(base) or spans_case(base)
    left_out = condition.missing is Missing.LEFT_OUT
    # A comparison with nothing is false.
    of_others = condition.missing is Missing.TRUE or (
        condition.missing is None and _is_true(formula, dict.fromkeys(cuts, False))
    )
    return Stretches(base, tuple(rising), holds, everyone or left_out, of_others and not everyone)


def histogram_of(
    measure: MultiInstance, stretches: Iterable[Stretches]
) -> tuple[AggregatedMeasure, tuple[Fraction, ...]]:
    """The distribution that tells several conditions of one measure apart, and its limits.

    Of its bounds nothing depends: what lies beyond is in the outermost bins.
    """
    if not isinstance(measure, AggregatedMeasure):
        raise TypeError("only an aggregated measure has a histogram")
    conditions = list(stretches)
    cuts = tuple(sorted({cut for condition in conditions for cut in condition.cuts}))
    bounds = Bounds(min(cuts[0] - 1, Fraction(0)), 2 * max(cuts[-1], Fraction(1)))
    histogram = AggregatedMeasure(
        Aggregation.DISTRIBUTION,
        conditions[0].base,
        measure.filter,
        measure.grouping,
        bounds,
        bounding=Bounding.DECLARED,
    )
    return histogram, cuts


def _is_whole(base: SingleInstance) -> bool:
    """Whether values are whole numbers, in internal units."""
    if isinstance(base, TimeMeasure):
        return base.cycles in _WHOLE_CYCLES
    return isinstance(base, CountMeasure)


def _last(limit: Fraction, base: SingleInstance) -> Fraction:
    """The last value that is at most a limit, where values are whole; else the limit."""
    return Fraction(math.floor(limit)) if _is_whole(base) else limit


def _compared(formula: Expression, name: str) -> tuple[Operator, Fraction] | None:
    """A comparison as `name operator constant`."""
    if not isinstance(formula, Binary) or formula.operator not in _TURNED:
        return None
    operator, left, right = formula.operator, formula.left, formula.right
    if isinstance(right, Name):
        operator, left, right = _TURNED[operator], right, left
    if not isinstance(left, Name) or left.name != name:
        return None
    if isinstance(right, DurationLiteral):
        return operator, right.microseconds
    return (operator, right.value) if isinstance(right, NumberLiteral) else None


def _lower_side(
    comparison: Expression, name: str, base: SingleInstance
) -> tuple[Fraction, bool] | None:
    """The last value on the lower side of a comparison, and whether it holds there."""
    compared = _compared(comparison, name)
    if compared is None:
        return None
    operator, limit = compared
    holds = operator in (Operator.LESS, Operator.AT_MOST)
    if operator in (Operator.AT_MOST, Operator.GREATER):
        return _last(limit, base), holds
    return (Fraction(math.ceil(limit) - 1), holds) if _is_whole(base) else None


def _atoms(formula: Expression) -> Iterator[Expression]:
    """What a formula puts together by `not`, `and` and `or`."""
    match formula:
        case Not(operand=operand):
            yield from _atoms(operand)
        case Binary(operator=Operator.AND | Operator.OR, left=left, right=right):
            yield from (*_atoms(left), *_atoms(right))
        case _:
            yield formula


def _is_true(formula: Expression, truths: Mapping[Expression, bool]) -> bool:
    """By the truths of its atoms."""
    match formula:
        case Not(operand=operand):
            return not _is_true(operand, truths)
        case Binary(operator=Operator.AND, left=left, right=right):
            return _is_true(left, truths) and _is_true(right, truths)
        case Binary(operator=Operator.OR, left=left, right=right):
            return _is_true(left, truths) or _is_true(right, truths)
    return truths[formula]
