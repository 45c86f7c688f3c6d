"""Boxes: what many runs of one mechanism gave, in the figures of a box plot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.intervals import Floats

COLUMNS = (
    "experiment", "panel", "group", "mechanism", "by", "truth", "runs", "mean", "sd", "low",
    "q25", "median", "q75", "high", "outliers", "rmse", "mae", "right_side",
)  # fmt: skip

PAPER, CODE, OURS = "paper's text", "authors' code", "ours"


@dataclass(frozen=True, slots=True)
class Box:
    """One box: where it stands, whose it is, and what was drawn."""

    experiment: str
    panel: str
    group: str
    mechanism: str
    by: str
    truth: float
    drawn: Floats
    target: float | None = None

    @property
    def function(self) -> str:
        return "share" if self.experiment == "derived" else self.panel.partition(",")[0]

    @property
    def quartiles(self) -> tuple[float, float, float]:
        q25, median, q75 = np.percentile(self.drawn, (25, 50, 75))
        return float(q25), float(median), float(q75)

    @property
    def whiskers(self) -> tuple[float, float]:
        """The last values within one and a half boxes of the box, as is usual."""
        q25, _, q75 = self.quartiles
        reach = 1.5 * (q75 - q25)
        inside = self.drawn[(self.drawn >= q25 - reach) & (self.drawn <= q75 + reach)]
        return float(inside.min()), float(inside.max())

    @property
    def rmse(self) -> float:
        return float(np.sqrt(np.mean((self.drawn - self.truth) ** 2)))

    @property
    def mae(self) -> float:
        return float(np.mean(np.abs(self.drawn - self.truth)))

    @property
    def spread(self) -> float:
        """From quartile to quartile."""
        q25, _, q75 = self.quartiles
        return q75 - q25

    @property
    def right_side(self) -> float | None:
        """How often the value lies on the truth's side of the target."""
        if self.target is None:
            return None
        return float(np.mean((self.drawn < self.target) == (self.truth < self.target)))

    def row(self) -> tuple[object, ...]:
        """For `COLUMNS`."""
        q25, median, q75 = self.quartiles
        low, high = self.whiskers
        outliers = int(np.count_nonzero((self.drawn < low) | (self.drawn > high)))
        mean, sd = float(self.drawn.mean()), float(self.drawn.std())
        return (
            self.experiment, self.panel, self.group, self.mechanism, self.by, self.truth,
            len(self.drawn), mean, sd, low, q25, median, q75, high, outliers, self.rmse, self.mae,
            self.right_side,
        )  # fmt: skip
