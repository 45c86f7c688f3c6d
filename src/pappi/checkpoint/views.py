"""What a session gives: quotes, budgets and answers that a notebook shows; past releases.

Tuples show themselves in a notebook, and become frames. Everything in them has been released, or
follows from public facts: showing and storing it costs no privacy. As text they are what the
command line prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pappi.errors import Problem, UsageError
from pappi.ledger import ChargeRecord
from pappi.values import BudgetLine, Epsilon, Quote, Series

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl
    import pyarrow as pa

Item = TypeVar("Item")
_DAYS = ("period_start", "period_end")


class Records(tuple[Item, ...]):
    """A tuple that can also be had as a frame: with real dates and one row for each record."""

    __slots__ = ()

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record for each row."""
        raise NotImplementedError

    def to_arrow(self) -> pa.Table:
        import pyarrow as pa

        return pa.Table.from_pylist(self._dated())

    def to_pandas(self) -> pd.DataFrame:
        """With days as timestamps, which pandas can group and plot by."""
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise _not_installed("pandas") from None
        frame = pd.DataFrame(self.to_records())
        days = [name for name in _DAYS if name in frame]
        return frame.assign(**{name: pd.to_datetime(frame[name]) for name in days})

    def to_polars(self) -> pl.DataFrame:
        try:
            import polars as pl
        except ModuleNotFoundError:
            raise _not_installed("polars") from None
        return pl.DataFrame(self._dated(), infer_schema_length=None)

    def _dated(self) -> list[dict[str, Any]]:
        return [
            {key: date.fromisoformat(it) if key in _DAYS else it for key, it in record.items()}
            for record in self.to_records()
        ]


class Chart:
    """One PPI, drawn: shows itself in a notebook, and can be saved as SVG."""

    def __init__(self, series: Series) -> None:
        from pappi.report import series_svg

        self.name = series.name
        self.svg = series_svg(series)

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.svg, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Chart of {self.name!r}: a notebook shows it; save(path) writes it as SVG>"

    def _repr_svg_(self) -> str:
        return self.svg


class Released(Records[Series]):
    """The series of a release, in the order they were asked.

    In a notebook it shows charts and figures. Everything in it has been released, or is
    rehearsed: showing and storing it costs no privacy.
    """

    __slots__ = ()

    def plot(self, ppi: str | None = None) -> Chart:
        """The chart of one PPI; without its id, of the only one."""
        chosen = [series for series in self if ppi is None or series.ppi == ppi]
        if len(chosen) != 1:
            known = ", ".join(series.ppi for series in self)
            raise UsageError("name the PPI to plot", hint=f"one of: {known}")
        return Chart(chosen[0])

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per figure: as in the CSV of the command line. Rehearsed ones say so."""
        from pappi.report import flat_records

        smoothed = any(series.smoothing for series in self)
        answers = [answer for series in self for answer in series.answers]
        rehearsed = {series.ppi for series in self if series.rehearsed}
        return [
            {**record, "rehearsal": True} if record["ppi"] in rehearsed else record
            for record in flat_records(answers, smoothed=smoothed)
        ]

    def __repr__(self) -> str:
        from pappi.report import answers_table, table_text, tally_text

        if len(self) == 1:
            return table_text(answers_table(self[0]))
        told = (f"{one.ppi}: {one.title}. {tally_text(one.answers)}".rstrip() for one in self)
        return "\n".join(told) or "Released()"

    def _repr_html_(self) -> str:
        from pappi.report import series_html

        return "".join(map(series_html, self))


class Quotes(Records[Quote]):
    """What each PPI would cost and how far off it would be; nothing has been spent."""

    __slots__ = ()

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record for each PPI."""
        return [
            {
                "ppi": quote.ppi,
                "name": quote.name,
                "unit": quote.unit,
                "epsilon": float(quote.epsilon.fraction),
                "margin": quote.margin,
                "chance_to_decide": quote.chance_to_decide,
                "tells_nothing": quote.tells_nothing,
                "new_charges": quote.new_charges,
                "advice": quote.advice,
            }
            for quote in self
        ]

    def __repr__(self) -> str:
        from pappi.report import advice_lines, table_text

        shown = [*map(table_text, self._tables()), *advice_lines(self)]
        return "\n".join(shown) if self else "Quotes()"

    def _repr_html_(self) -> str:
        from pappi.report import advice_lines, el, table_html

        said = [el("p", line) for line in advice_lines(self)]
        return "".join(map(str, [*map(table_html, self._tables()), *said]))

    def _tables(self) -> Sequence[Any]:
        from pappi.report import alternatives_table, quotes_table

        return (quotes_table(self), *(alternatives_table(it) for it in self if it.alternatives))


class Budget(Records[BudgetLine]):
    """What each block of a log may spend, and has spent."""

    __slots__ = ()

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record for each block."""
        return [
            {
                "block": line.block,
                "limit": float(line.limit.fraction),
                "spent": float(line.spent.fraction),
                "held": float(line.held.fraction),
                "left": float(line.left.fraction),
                "frozen": line.frozen,
            }
            for line in self
        ]

    def __repr__(self) -> str:
        from pappi.report import budget_table, table_text

        return table_text(budget_table(self)) if self else "Budget()"

    def _repr_html_(self) -> str:
        from pappi.report import budget_gauge, budget_table, budget_text, el, standalone, table_html

        if not self:
            return "<p>Nothing is sealed yet: there is no block to spend.</p>"
        figures = el("details", el("summary", "Figures"), table_html(budget_table(self)))
        return f"{standalone(budget_gauge(self))}{el('p', budget_text(self))}{figures}"


def _not_installed(library: str) -> UsageError:
    return UsageError(
        f"{library} is not installed here",
        hint=f"install it with: pip install {library}; or use to_arrow() or to_records()",
    )


# --- what else it tells; the same here and over HTTP ------------------------------------------


@dataclass(frozen=True, slots=True)
class PastRelease:
    """One charge: what was asked of which blocks, when, and whether it was released.

    How long that took depends on data, so when it was released is not told; nor is who else
    asked, only whether it was `mine`.
    """

    number: int
    time: str
    released: bool
    ppi: str
    mechanisms: tuple[str, ...]
    blocks: tuple[str, ...]
    epsilon: Epsilon
    mine: bool

    @classmethod
    def of(cls, record: ChargeRecord, analyst: str) -> PastRelease:
        charge = record.charge
        return cls(
            number=record.seq,
            time=datetime.fromisoformat(record.at).isoformat(timespec="seconds"),
            released=record.released_at is not None,
            ppi=charge.ppi,
            mechanisms=charge.mechanisms,
            blocks=charge.blocks,
            epsilon=charge.amount,
            mine=charge.analyst == analyst,
        )


@dataclass(frozen=True, slots=True)
class Checked:
    """Valid definitions: the PPIs by id, and why some of them cannot be released."""

    log: str
    ppis: tuple[str, ...]
    warnings: tuple[Problem, ...]
