"""What a release gives in Python: every series, and ways to look at them and take them along."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pappi.errors import UsageError
from pappi.report.charts import series_svg
from pappi.report.html import series_html
from pappi.report.records import flat_record, flat_smoothed_record
from pappi.values.answers import Series

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl
    import pyarrow as pa


class Chart:
    """One PPI, drawn: shows itself in a notebook, and can be saved as SVG."""

    def __init__(self, series: Series) -> None:
        self.svg = series_svg(series)

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg


class Released(tuple[Series, ...]):
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
        smoothed = any(series.smoothing for series in self)
        record = flat_smoothed_record if smoothed else flat_record
        return [
            {**record(answer), "rehearsal": True} if series.rehearsed else record(answer)
            for series in self
            for answer in series.answers
        ]

    def to_arrow(self) -> pa.Table:
        import pyarrow as pa

        return pa.Table.from_pylist(self.to_records())

    def to_pandas(self) -> pd.DataFrame:
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise _not_installed("pandas") from None
        return pd.DataFrame(self.to_records())

    def to_polars(self) -> pl.DataFrame:
        try:
            import polars as pl
        except ModuleNotFoundError:
            raise _not_installed("polars") from None
        return pl.DataFrame(self.to_records(), infer_schema_length=None)

    def _repr_html_(self) -> str:
        return "".join(map(series_html, self))


def _not_installed(library: str) -> UsageError:
    return UsageError(
        f"{library} is not installed here",
        hint=f"install it with: pip install {library}; or take to_arrow() or to_records()",
    )
