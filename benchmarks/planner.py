"""How often the planner picks the option that is truly best, and how much worse it is if not.

    python -m benchmarks.planner [DATA_SETS]

A fixed grid of PPIs: functions and formulas × ε × expected cases × adjacency. Of each, all
that could be released is tried: every admissible set, every mechanism of its functions, and
for several functions also other splits of ε than the planner's. The true error of an option
is its root mean square error over data that is plausible for the declared bounds and over
the noise, which is drawn from the mechanisms' own laws. Options within 2 % of each other
count as equal: that is what the drawing may be off by.

The planner must pick the best option in 90 % of the PPIs that have more than one, and its
pick must never be more than 10 % worse than the best. Fails otherwise, and writes every
pick to build/bench/planner.csv.
"""

from __future__ import annotations

import csv
import math
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.utility_errors import shares, value_of_share
from benchmarks.utility_values import Floats
from pappi.mechanisms.clip import PrivateCeiling
from pappi.mechanisms.exponential import CellLaw, StepLaw
from pappi.mechanisms.grid import GeometricGrid
from pappi.mechanisms.hexagon import HexagonRatio
from pappi.mechanisms.interval import Points, PointDrawn
from pappi.mechanisms.laplace import LaplaceExtreme, LaplaceSum
from pappi.mechanisms.laws import DiscreteLaplaceLaw, HexagonLaw, JointLaw, PointLaw, StagedLaw
from pappi.mechanisms.mechanism import Mechanism
from pappi.mechanisms.ratio import TwoBinRatio
from pappi.mechanisms.two_bin import TwoBin
from pappi.planning.bounds import is_integral
from pappi.planning.functions import Request, parts_of
from pappi.planning.parts import Part, PublicFacts
from pappi.planning.plan import Plan, plan_options, plan_ppi
from pappi.ppinot.catalogue import parse_catalogue
from pappi.ppinot.expressions.nodes import Binary, Expression, Name, Number, Operator
from pappi.ppinot.model import AggregatedMeasure, Aggregation, Bounding, MultiInstance, Ppi
from pappi.tree.above import value_above
from pappi.tree.aggregates import aggregate
from pappi.tree.composition import ROOT, Inner, aggregated_measures, composition_tree
from pappi.values.bounds import UNIT_INTERVAL
from pappi.values.epsilon import Epsilon
from pappi.values.privacy import CASE, Adjacency
from pappi.values.vocabulary import Kind, Vocabulary

LEAST_BEST = 0.9
MOST_WORSE = 1.1
ALIKE = 1.02
"""What drawing may be off by: options closer than this are equally good."""

DATA_SETS = 6
DRAWS = 4_096
TABLE = Path("build/bench/planner.csv")

# --- the grid -------------------------------------------------------------------------

VOCABULARY = Vocabulary(
    ("A", "B", "C", "D"), {"amount": Kind.NUMBER, "cost": Kind.NUMBER, "delay": Kind.NUMBER}
)
EPSILONS = ("0.05", "0.1", "0.5", "1", "2")
SIZES = (20, 100, 500, 2_000)
_BOTH = (Adjacency.ADD_REMOVE, Adjacency.REPLACE)

_A, _B, _C, _D = (f"{{sum: {{count: activity == '{name}'}}}}" for name in "ABCD")
_TIME = "{time: {from: activity == 'A', to: activity == 'B'}}"
_HAPPENS = "{condition: {activity: A}}"


@dataclass(frozen=True, slots=True)
class Family:
    """A definition that is asked at every ε and size; `sized` bounds grow with the cases."""

    name: str
    measure: str
    bounds: str = ""
    adjacencies: tuple[Adjacency, ...] = _BOTH[:1]

    def ppi(self, cases: int) -> Ppi:
        bounds = self.bounds.replace("CASES", str(cases))
        text = f"log: l\nppis:\n  - id: p\n    measure: {self.measure}\n"
        if bounds:
            text += f"    bounds: {bounds}\n"
        (found,) = parse_catalogue(text, f"{self.name}.yaml").ppis
        return found


FAMILIES = (
    Family("max", "{max: {data: amount}}", "[0, 1000]", _BOTH),
    Family("max of counts", "{max: {count: activity == 'A'}}", "[0, 10]"),
    Family("min", f"{{min: {_TIME}}}", "[1 h, 60 h]", _BOTH),
    Family("mean", f"{{mean: {_TIME}}}", "[0 h, 60 h]", _BOTH),
    Family("mean of counts", "{mean: {count: activity == 'A'}}", "[0, 5]", _BOTH),
    Family("share", f"{{share: {_HAPPENS}}}"),
    Family("median", "{median: {data: amount}}", "[0, 1000]"),
    Family("p90", "{p90: {data: amount}}", "[0, 1000]"),
    Family("sum", "{sum: {data: amount}}", "[0, 1000]"),
    Family("sum in a range", "{sum: {data: amount}, bounds: [0, 10]}", "{value: [0, CASES0]}", _BOTH),
    Family("sum in a narrow range", "{sum: {data: amount}, bounds: [0, 10]}", "{value: [0, 200]}"),
    Family("mean, loose", "{mean: {data: amount}}", "[0, 1000, loose]"),
    Family("sum, loose", "{sum: {data: amount}}", "[0, 1000, loose]"),
    Family("max, loose", "{max: {data: amount}}", "[0, 1000, loose]"),
    Family("ratio", f"{{derive: a / b, a: {_A}, b: {_B}}}", "{a: [0, 1], b: [0, 2], value: [0, 2]}", _BOTH),
)
