"""Where the authors' code departs from the paper's text, each departure under a name.

The published numbers come from the code. A reproduction switches on what it needs; without
any, mechanisms do what the text says.
"""

from __future__ import annotations

from enum import StrEnum


class Deviation(StrEnum):
    """One departure of the code from the text."""

    CLAMPED = "results are clamped to the smallest and largest value of the data"
    WHOLE_NOISE = "noise on minima and maxima is cut to whole numbers"
    WHOLE_RESULTS = "the interval mechanism gives whole numbers only"
    DISTINCT_VALUES = "equal values make one interval together"
    NEARER_BOUND = "intervals of a mean end where the nearer bound is reached"
    SHIFTED_SCORES = "the interval right of a mean scores as well as the one that holds it"
    MISSING_COUNTED = "cases without a value count as cases of a mean"
    WHOLE_RANGE = "buckets are averaged with noise for results from 0 to 100, not for their own"
    CASES_DROPPED = "cases that do not fill the buckets evenly are left out"
    STARTS_COUNTED_TWICE = "every case counts twice below the line, which halves percentages"


TEXT: frozenset[Deviation] = frozenset()
AUTHORS: frozenset[Deviation] = frozenset(Deviation)
