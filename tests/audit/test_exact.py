"""Every mechanism passes the exact audit, for every function, adjacency and kind of data."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest

from pappi.audit import (
    AuditReport,
    Column,
    Draw,
    Family,
    Subject,
    audit_joint,
    audit_kinds,
    families,
    handmade,
    neighbours,
    promises_of,
    subjects_named,
)
from pappi.errors import UsageError
from pappi.mechanisms import FUNCTIONS, Mechanism, mechanism_for, mechanisms_of
from pappi.values import UNIT_INTERVAL, Adjacency, Bounds
from tests.audit.starts import FEWEST, FULL, PAIRS, in_turn, starts_of, starts_over

EPSILON = Fraction(3, 10)
HUNDRED = Bounds(Fraction(0), Fraction(100))
SIGNED = Bounds(Fraction(-100), Fraction(10))
FAR = Bounds(Fraction(10**13), Fraction(10**13 + 86_400))
KINDS = sorted(handmade([Column(UNIT_INTERVAL)]))
# In full each kind by itself; in `make test` all go together into one audit.
AUDITED_KINDS = [[kind] for kind in KINDS] if FULL else [KINDS]
FAMILIES = tuple(families())
PROMISES = [(f, name) for f in sorted((*FUNCTIONS, "p90")) for name in mechanisms_of(f)]
# Steps of a mean or a sum leave some of epsilon unused, whatever the data.
TIGHT = [(f, n) for f, n in PROMISES if n != "interval" or f not in ("mean", "share", "sum")]


# In short each of these two audits has one adjacency of a family, and the other one has the other.
promised = pytest.mark.parametrize(("family", "adjacency"), in_turn(FAMILIES, full=FULL))
promised_otherwise = pytest.mark.parametrize(
    ("family", "adjacency"), in_turn(FAMILIES, full=FULL, first=1)
)


def seeded(seed: int) -> Draw:
    rng = np.random.default_rng(seed)
    return lambda n: int(rng.integers(n))


def subjects_under(family: Family, adjacency: Adjacency) -> list[Subject]:
    """Over real values and over whole numbers; in short form over real values alone."""
    found = [s for s in promises_of(family, EPSILON) if s.adjacency is adjacency]
    return found if FULL else found[:1]


@pytest.mark.parametrize("kinds", AUDITED_KINDS, ids=" ".join)
@promised
def test_no_neighbour_is_further_away_than_epsilon(
    family: Family, adjacency: Adjacency, kinds: list[str]
) -> None:
    subjects = subjects_under(family, adjacency)
    for subject in subjects:
        report = audit_joint(
            subject.mechanisms,
            subject.columns,
            adjacency=adjacency,
            epsilon=subject.epsilon,
            draw=seeded(len(kinds[0])),
            pairs=max(PAIRS // len(subjects), FEWEST),
            starts=[data for kind in kinds for data in starts_of(kind, subject.columns)],
        )
        assert report.passed, report.failure


@promised_otherwise
def test_nor_is_it_where_the_bounds_leave_out_zero(family: Family, adjacency: Adjacency) -> None:
    """A case without a value is then further from every other than they are from each other."""
    away = family.bounds if family.bounds == UNIT_INTERVAL else Bounds(Fraction(15), Fraction(20))
    epsilon = max(EPSILON, family.least_epsilon)
    report = audit_joint(
        (family.make(away, epsilon, adjacency, integral=False),),
        (Column(away),) * family.width,
        adjacency=adjacency,
        epsilon=epsilon,
        draw=seeded(5),
        pairs=max(PAIRS // 2, FEWEST),
        starts=handmade((Column(away),) * family.width)["single"],
    )
    assert report.passed, report.failure


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize(("function", "name"), [("sum", "laplace"), ("mean", "two-bin")])
def test_nor_is_it_where_floats_are_far_from_zero(
    function: str, name: str, adjacency: Adjacency
) -> None:
    report = audit_joint(
        (mechanism_for(function, FAR, EPSILON, adjacency, integral=False, name=name),),
        (Column(FAR),),
        adjacency=adjacency,
        epsilon=EPSILON,
        draw=seeded(2),
        starts=handmade([Column(FAR)])["adversarial"],
    )
    assert report.passed, report.failure


def names_below(mechanism: type[object]) -> set[str]:
    """The names of PaPPI's own mechanisms that are a kind of this one and can be made."""
    names = {name for kind in mechanism.__subclasses__() for name in names_below(kind)}
    own = mechanism.__module__.startswith("pappi.") and not inspect.isabstract(mechanism)
    return names | {mechanism.__name__} if own else names


def names_in(some: Iterable[Family]) -> set[str]:
    return {
        type(family.make(family.bounds, Fraction(4), adjacency, integral=False)).__name__
        for family in some
        for adjacency in family.adjacencies
    }


OF_SETS = {"BinnedShare", "JointMember", "JointNumber"}
"""They answer no task of a single PPI: `test_sets` audits them."""
NOT_DRAWN = {"CombinedBinsMean", "CombinedHistogram", "CombinedMean", "CombinedSum"}
"""They read what others have released: `test_combined` and `test_binned` have their laws."""


def test_every_mechanism_there_is_belongs_to_a_family() -> None:
    assert names_below(Mechanism) == names_in(FAMILIES) | OF_SETS | NOT_DRAWN
    forgotten = names_in(family for family in FAMILIES if family.mechanism != "hexagon")
    assert names_below(Mechanism) - forgotten == {"HexagonRatio"} | OF_SETS | NOT_DRAWN


def test_all_that_can_be_released_can_be_audited_by_name() -> None:
    assert set(PROMISES) <= {(family.function, family.mechanism) for family in FAMILIES}
    assert len(subjects_named("all")) == sum(2 * len(family.adjacencies) for family in FAMILIES)
    with pytest.raises(UsageError, match="neither a file nor a mechanism") as refusal:
        subjects_named("exponential")
    assert "two-bin" in refusal.value.hint


def test_every_kind_of_data_is_reported_by_itself() -> None:
    (subject, *_) = subjects_named("mean", EPSILON)
    report = audit_kinds(
        subject.mechanisms,
        subject.columns,
        adjacency=subject.adjacency,
        epsilon=EPSILON,
        draw=seeded(1),
        pairs=1000,
    )
    assert sorted(kind.kind for kind in report.kinds) == KINDS
    assert all(kind.pairs >= 1000 for kind in report.kinds)
    assert report.pairs == sum(kind.pairs for kind in report.kinds)
    assert report.worst == max(kind.worst for kind in report.kinds) == EPSILON


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize(("function", "name"), TIGHT)
def test_some_neighbour_is_as_far_away_as_epsilon(
    function: str, name: str, adjacency: Adjacency
) -> None:
    """Not a bit of noise is wasted, and the audit finds the worst case exactly.

    The interval mechanism has no worst case, only pairs that come as close as one likes.
    """
    column = Column(UNIT_INTERVAL)
    interval = name == "interval"
    report = audit_joint(
        (mechanism_for(function, UNIT_INTERVAL, EPSILON, adjacency, integral=False, name=name),),
        (column,),
        adjacency=adjacency,
        epsilon=EPSILON,
        draw=seeded(3),
        pairs=4000 if interval else 2000,
        starts=handmade([column])["single"],
    )
    assert report.passed
    assert report.worst > EPSILON * 19 / 20 if interval else report.worst == EPSILON


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_functions_released_together_pass_with_a_split_epsilon(adjacency: Adjacency) -> None:
    report = _audit_together(adjacency, [EPSILON / 3, EPSILON / 2, EPSILON / 6])
    assert report.passed, report.failure
    assert report.worst == EPSILON
    assert report.mechanism == "laplace + two-bin + laplace"


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_functions_released_together_fail_when_each_takes_the_whole_epsilon(
    adjacency: Adjacency,
) -> None:
    report = _audit_together(adjacency, [EPSILON] * 3)
    assert not report.passed
    assert report.worst == 3 * EPSILON


TOGETHER = [("sum", "laplace"), ("mean", "two-bin"), ("max", "laplace")]


def _audit_together(adjacency: Adjacency, split: list[Fraction]) -> AuditReport:
    bounds = [SIGNED, HUNDRED, HUNDRED]
    mechanisms = [
        mechanism_for(function, bound, epsilon, adjacency, integral=False, name=name)
        for (function, name), bound, epsilon in zip(TOGETHER, bounds, split, strict=True)
    ]
    columns = [Column(bound) for bound in bounds]
    return audit_joint(
        mechanisms,
        columns,
        adjacency=adjacency,
        epsilon=EPSILON,
        draw=seeded(1),
        starts=starts_over(columns),
    )


def test_neighbours_are_all_the_ways_in_which_one_case_differs() -> None:
    data, rows = ((1.0,), (2.0,)), ((9.0,),)
    assert list(neighbours(data, Adjacency.ADD_REMOVE, rows)) == [
        ((2.0,),),
        ((1.0,),),
        ((1.0,), (2.0,), (9.0,)),
    ]
    replaced = list(neighbours(data, Adjacency.REPLACE, rows))
    assert all(len(other) == 2 for other in replaced)
    assert ((9.0,), (2.0,)) in replaced
    assert ((1.0,), (9.0,)) in replaced
    assert ((2.0,), (2.0,)) in replaced


def test_the_corners_hold_bounds_target_outliers_and_missing_values() -> None:
    corners = Column(HUNDRED, target=30).corners
    step = 100 / 2**20
    for value in (0, 100, 50, 30, 30 - step, 30 + step, -100, 200, 1e300, -1e300, math.inf):
        assert value in corners
    assert any(math.isnan(value) for value in corners)
