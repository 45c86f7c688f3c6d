"""What a target means for a release: which holds in a group, and what aims at it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from pappi.errors import NotReleasable
from pappi.mechanisms import Limit
from pappi.planning.bounds import output_range_of
from pappi.ppinot import Ppi, Target, Wanted

Number = float | Fraction


@dataclass(frozen=True, slots=True)
class Aim:
    """The target of a group, and what is still tolerated there."""

    target: Target
    tolerated: Target | None = None


def target_in(ppi: Ppi, group: str | None) -> Aim | None:
    """The target that holds in a group, or for all cases; the group's own goes first."""
    for own in ppi.group_targets:
        if own.key == group:
            return Aim(own.target, own.tolerated)
    return None if ppi.target is None else Aim(ppi.target, ppi.tolerated)


# --- releases that aim at a target ----------------------------------------------------


def limit_of(ppi: Ppi) -> Limit:
    """The one limit of a target, for releases that aim at it."""
    _refuse_several_aims(ppi)
    target = ppi.target
    if target is None:
        raise NotReleasable(
            "it has no target to judge",
            hint="add e.g. `target: below 7 days`, or ask for its value",
        )
    if target.low is not None and target.high is not None:
        raise NotReleasable(
            "a single verdict cannot cover a target with two ends",
            hint="ask for its value, or make two PPIs with one end each",
        )
    if target.high is not None:
        return Limit(target.high, at_most=True, included=target.high_included)
    if target.low is None:
        raise NotReleasable("its target has no limit")
    return Limit(target.low, at_most=False, included=target.low_included)


def _refuse_several_aims(ppi: Ppi) -> None:
    """One release aims at one limit: not at one per group, or at the tolerated band."""
    if any(own.target != ppi.target for own in ppi.group_targets):
        raise NotReleasable(
            "its groups have their own targets, and one release can only aim at one target",
            hint="ask for its value, or make a PPI for each group, with a filter",
        )
    if ppi.release.answer is Wanted.VERDICT and any(aim.tolerated for aim in _aims(ppi)):
        raise NotReleasable(
            "a verdict only says whether the target is met, not whether a miss is tolerated",
            hint="ask for its value, or leave out `amber`",
        )


def _aims(ppi: Ppi) -> Iterator[Aim]:
    """Every target the PPI has, whatever groups there are."""
    if ppi.target is not None:
        yield Aim(ppi.target, ppi.tolerated)
    yield from (Aim(own.target, own.tolerated) for own in ppi.group_targets)


def refuse_foregone_verdict(ppi: Ppi) -> None:
    """A target that holds all the value can be, or none of it, is met or missed by definition."""
    for aim in _aims(ppi):
        _refuse_foregone(ppi, aim.target, "target")
        if aim.tolerated is not None:
            _refuse_foregone(ppi, aim.tolerated, "tolerated range")


def _refuse_foregone(ppi: Ppi, target: Target, what: str) -> None:
    low, high = output_range_of(ppi)
    least, most = _ends(target)
    if (least <= low and high <= most) or most <= low or high <= least:
        raise NotReleasable(
            f"its {what} lies at or beyond its bounds, so the verdict would not depend on any case",
            hint=f"declare wider bounds, or another {what}",
        )


def _ends(target: Target) -> tuple[Number, Number]:
    least = -math.inf if target.low is None else target.low
    return least, math.inf if target.high is None else target.high
