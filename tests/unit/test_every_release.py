"""Every mechanism × shape × noise × adjacency is planned, or refused with a true sentence.

In short form every so many of the combinations, another part of them for each setting;
`make every-release` goes through all of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice

import numpy as np
import pytest

from pappi.errors import NotReleasable, PappiError, UsageError
from pappi.planning import SAMPLED, THRESHOLD, Plan, plan_ppi
from pappi.planning.measurements import Request
from pappi.ppinot import (
    NoiseOn,
    Ppi,
    ReleaseChoice,
    Wanted,
    aggregated_measures,
    function_name,
    is_total,
)
from pappi.values import Epsilon, PrivacyUnit
from tests.every_release import SETTINGS, Shape, facts, own_releases, plain_releases, shapes

EVERY, SPARSE = (1, 1) if "PAPPI_EVERY_RELEASE" in os.environ else (11, 23)
EPSILON = Epsilon.of("0.5")
SETS = re.compile(r"the admissible sets are(?: then)?: (.*)")
THERE_IS = re.compile(r"for (\S+) there is (.*)")
LEAVE_IT_OUT = "leave out the mechanism to get the best one"

Setting = tuple[str, PrivacyUnit]


class Untrue(AssertionError):
    """A plan that is not what was asked for, or a refusal that contradicts itself."""


def combinations() -> Iterator[tuple[Shape, str]]:
    for shape in shapes():
        yield from ((shape, release) for release in plain_releases(shape))
        yield from ((shape, release) for release in own_releases(shape))


@lru_cache(maxsize=4096)
def outcome(ppi: Ppi, setting: Setting) -> Plan | PappiError:
    """A plan or a refusal; anything else is raised."""
    try:
        return plan_ppi(ppi, EPSILON, facts(*setting))
    except (NotReleasable, UsageError) as refusal:
        return refusal


# --- what a plan must keep to ---------------------------------------------------------


def check_plan(plan: Plan, setting: Setting) -> None:
    stability = Request(plan.ppi, facts(*setting)).stability
    shares = [part.share for part in plan.measurements]
    if not 0 < sum(shares) <= 1:
        raise Untrue(f"shares of {shares}")
    for part in plan.measurements:
        due = part.share * EPSILON.fraction / stability
        halved = due / 2 if setting[0] == "replace" else due
        if part.mechanism.epsilon not in (due, halved):
            raise Untrue(f"{part.path} is released at {part.mechanism.epsilon}, not at {due}")
    check_wishes(plan)


def check_wishes(plan: Plan) -> None:
    choice, found = plan.ppi.release, {function_name(part.path): part for part in plan.measurements}
    for wish in choice.noise:
        name = "value" if wish.function == "r" and "r" not in found else wish.function
        part = found[name if name in found else name.removeprefix("r.")]
        aimed_sum = wish.mechanism == THRESHOLD and part.inputs[0].called == "sum"
        if wish.mechanism not in (None, part.mechanism.name) and not aimed_sum:
            raise Untrue(f"{name} is released by {part.mechanism.name}, not by {wish.mechanism}")
        if wish.share not in (None, part.share):
            raise Untrue(f"{name} has a share of {part.share}, not {wish.share}")
    if choice.noise and len(choice.noise) != len(found):
        raise Untrue(f"noise in {sorted(found)}")


# --- what a refusal must keep to ------------------------------------------------------


def check_refusal(shape: Shape, ppi: Ppi, refusal: PappiError, setting: Setting) -> None:
    if not refusal.message or not refusal.hint:
        raise Untrue(f"no hint: {refusal.message}")
    if "internal" in refusal.message or "None" in refusal.message + refusal.hint:
        raise Untrue(refusal.message)
    names = tuple(wish.function for wish in ppi.release.noise)
    if "not an admissible set" in refusal.message and set(names) in map(set, shape.sets):
        raise Untrue(f"{names} is an admissible set: {refusal.message}")
    if "under add-remove" in refusal.message and setting[0] != "add-remove":
        raise Untrue(refusal.message)
    if "also under replace" in refusal.message and not may_lose_a_value(ppi):
        raise Untrue(refusal.message)
    for better in advised(ppi, refusal):
        found = outcome(better, setting)
        if isinstance(found, PappiError):
            raise Untrue(f"{refusal.hint!r} leads to {found.message!r}")


def may_lose_a_value(ppi: Ppi) -> bool:
    measures = [measure for _, measure in aggregated_measures(ppi.measure)]
    return any(each.filter or each.grouping or not is_total(each.base) for each in measures)


def advised(ppi: Ppi, refusal: PappiError) -> Iterator[Ppi]:
    """The same PPI, asked for as the hint says; each must have a plan."""
    choice, hint = ppi.release, refusal.hint
    free = replace(choice, mechanism=None) if hint.startswith("leave out the mechanism") else choice
    if listed := SETS.search(hint):
        for one in listed[1].split(", "):
            yield replace(ppi, release=replace(free, noise=named(one.split(" + "))))
    elif hint == LEAVE_IT_OUT:
        yield replace(ppi, release=free)
    elif there_is := THERE_IS.fullmatch(hint):
        for mechanism in there_is[2].split(" or "):
            # What else is wrong with it is told next: only this function is asked about.
            wishes = tuple(only(wish, there_is[1], mechanism) for wish in choice.noise)
            yield replace(ppi, release=ReleaseChoice(noise=wishes))


def named(names: list[str]) -> tuple[NoiseOn, ...]:
    return tuple(map(NoiseOn, names))


def only(wish: NoiseOn, name: str, mechanism: str) -> NoiseOn:
    return NoiseOn(wish.function, mechanism if wish.function in (name, f"r.{name}") else None)


def check(shape: Shape, release: str, setting: Setting) -> bool:
    """Whether there is a plan."""
    ppi = shape.ppi(release)
    found = outcome(ppi, setting)
    if isinstance(found, Plan):
        check_plan(found, setting)
    else:
        check_refusal(shape, ppi, found, setting)
    return isinstance(found, Plan)


@pytest.mark.outside
@pytest.mark.parametrize(
    "number", range(len(SETTINGS)), ids=[f"{adjacency}, {unit}" for adjacency, unit in SETTINGS]
)
def test_every_combination_has_a_plan_or_a_true_refusal(number: int) -> None:
    planned = asked = 0
    for shape, release in islice(combinations(), number, None, SPARSE):
        asked += 1
        try:
            planned += check(shape, release, SETTINGS[number])
        except Exception as error:
            raise AssertionError(f"{shape.name}, release: {release}") from error
    assert asked > 10_000 / SPARSE
    assert asked / 20 < planned < asked / 2


@pytest.mark.outside
def test_every_mechanism_answers_something_and_every_set_is_planned_somewhere() -> None:
    used, sets = set(), set()
    for shape, release in islice(combinations(), 0, None, EVERY):
        found = outcome(shape.ppi(release), SETTINGS[1])
        if isinstance(found, Plan):
            used |= {part.mechanism.name for part in found.measurements}
            sets.add(tuple(function_name(part.path) for part in found.measurements))
    assert used >= {"laplace", "two-bin", "interval", "hexagon", SAMPLED, "private clipping bound"}
    assert sets >= {("value",), ("a", "b"), ("x", "c"), ("x.a", "x.b", "c"), ("x.y", "c")}


# --- the checks themselves ------------------------------------------------------------

DIFFERENCE = next(shape for shape in shapes() if shape.name == "difference of sums")
HERE: Setting = SETTINGS[0]
SPLIT = "{noise: {a: {mechanism: laplace, share: 0.3}, b: {share: 0.7}}}"


def planned(shape: Shape, release: str = "", setting: Setting = HERE) -> Plan:
    found = outcome(shape.ppi(release), setting)
    assert isinstance(found, Plan)
    return found


def with_parts(plan: Plan, **changes: object) -> Plan:
    return replace(plan, measurements=tuple(replace(part, **changes) for part in plan.measurements))  # type: ignore[arg-type]


def test_a_plan_that_gives_each_function_all_of_epsilon_is_caught() -> None:
    plan = planned(DIFFERENCE, SPLIT)
    check_plan(plan, HERE)
    with pytest.raises(Untrue, match="shares of"):
        check_plan(with_parts(plan, share=Fraction(1)), HERE)
    with pytest.raises(Untrue, match="is released at"):
        check_plan(with_parts(plan, share=Fraction(1, 2)), HERE)


def test_a_plan_that_passes_over_a_wish_is_caught() -> None:
    plan = planned(DIFFERENCE)
    wished = DIFFERENCE.ppi("{noise: {a: {mechanism: interval}, b: {}}}")
    with pytest.raises(Untrue, match="released by laplace, not by interval"):
        check_plan(replace(plan, ppi=wished), HERE)
    with pytest.raises(Untrue, match="has a share of"):
        check_plan(replace(plan, ppi=DIFFERENCE.ppi(SPLIT)), HERE)


def test_refusals_that_contradict_themselves_are_caught() -> None:
    ppi = DIFFERENCE.ppi("{noise: [value], mechanism: laplace}")
    for refusal, why in (
        # As it was said before.
        (
            NotReleasable(
                "'value' is not an admissible set", hint="the admissible sets are: a + b"
            ),
            "is an admissible set",
        ),
        (NotReleasable("no", hint="the admissible sets are: value, a + b"), "leads to"),
        (NotReleasable("no", hint=LEAVE_IT_OUT), "leads to"),
        (NotReleasable("no"), "no hint"),
    ):
        with pytest.raises(Untrue, match=why):
            check_refusal(DIFFERENCE, ppi, refusal, HERE)


# --- one by one -----------------------------------------------------------------------


def test_a_split_is_exact_and_what_is_left_open_is_filled_in() -> None:
    plan = planned(DIFFERENCE, "{noise: {a: {share: 0.3}, b: {}}}")
    assert [part.share for part in plan.measurements] == [Fraction(3, 10), Fraction(7, 10)]
    assert [part.mechanism.epsilon for part in plan.measurements] == [
        Fraction(3, 20),
        Fraction(7, 20),
    ]
    wasted = planned(DIFFERENCE, "{noise: {a: {share: 0.1}, b: {share: 0.2}}}")
    assert sum(part.share for part in wasted.measurements) == Fraction(3, 10)
    assert wasted.epsilon == EPSILON


def test_shares_left_open_are_the_planners_and_no_worse_than_even_ones() -> None:
    nested = next(shape for shape in shapes() if shape.name == "nested")
    plan = planned(nested, "{noise: {x.a: {share: 0.4}, x.b: {}, c: {}}}")
    first, *others = (part.share for part in plan.measurements)
    assert first == Fraction(2, 5)
    assert sum(others) == Fraction(3, 5)
    even = planned(nested, "{noise: {x.a: {share: 0.4}, x.b: {share: 0.3}, c: {share: 0.3}}}")
    assert plan.predicted_error <= even.predicted_error


def test_without_wishes_a_split_is_as_it_was() -> None:
    chosen = planned(DIFFERENCE)
    assert planned(DIFFERENCE, "{noise: {a: {}, b: {}}}").measurements == chosen.measurements
    assert planned(DIFFERENCE, "{noise: [r.a, r.b]}").measurements == chosen.measurements


def test_a_formula_with_a_sum_cannot_be_drawn_from_intervals() -> None:
    found = outcome(DIFFERENCE.ppi("{mechanism: interval}"), HERE)
    assert isinstance(found, NotReleasable)
    assert "needs a declared output range" in found.message


def test_value_is_an_admissible_set_that_no_mechanism_may_answer() -> None:
    found = outcome(DIFFERENCE.ppi("{noise: [value], mechanism: laplace}"), HERE)
    assert isinstance(found, NotReleasable)
    assert "not an admissible set" not in found.message
    assert "sensitivity of a formula is not publicly bounded" in found.message


@pytest.mark.parametrize("name", ["mean of count", "share"])
def test_a_mean_of_a_public_number_of_cases_takes_laplace_noise(name: str) -> None:
    shape = next(each for each in shapes() if each.name == name)
    plan = planned(shape, "{mechanism: laplace}", SETTINGS[1])
    (part,) = plan.measurements
    (usual,) = planned(shape, "{mechanism: two-bin}", SETTINGS[1]).measurements
    assert part.mechanism.name == "laplace"
    assert part.mechanism.epsilon == EPSILON.fraction
    values = [0.0, 1.0, 1.0, 0.0, 1.0]
    as_array = np.array(values)
    assert part.mechanism.law(as_array) == usual.mechanism.law(as_array)


@pytest.mark.parametrize(
    ("name", "setting", "why"),
    [
        ("mean of count", SETTINGS[0], "under add-remove"),
        ("mean of time", SETTINGS[1], "also under replace"),
        ("filtered mean", SETTINGS[1], "also under replace"),
        ("grouped mean", SETTINGS[1], "also under replace"),
        ("mean of count, {every: month, anchor: {first: activity == 'A'}}", SETTINGS[1], "scope"),
    ],
)
def test_elsewhere_laplace_noise_on_a_mean_would_tell_how_many_there_are(
    name: str, setting: Setting, why: str
) -> None:
    shape = next(each for each in shapes() if each.name == name)
    for release in ("{mechanism: laplace}", "{noise: {value: laplace}}"):
        found = outcome(shape.ppi(release), setting)
        assert isinstance(found, NotReleasable)
        assert why in found.message


def test_a_verdict_is_still_about_the_value_as_a_whole() -> None:
    aimed = next(shape for shape in shapes() if shape.name == "ratio of sums, with a target")
    assert planned(aimed, "{answer: verdict, noise: r}").ppi.release.answer is Wanted.VERDICT
    found = outcome(aimed.ppi("{answer: verdict, noise: {a: {}, b: {}}}"), HERE)
    assert isinstance(found, NotReleasable)
