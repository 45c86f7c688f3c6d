"""What a session gives shows itself: as text, as a notebook's table, as a frame with real dates."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest

import pappi
from pappi.checkpoint import Budget, LocalSession, Quotes, Released
from pappi.custody import Imported
from pappi.session import Workspace
from tests.small_logs import claims, workspace_with

pytestmark = pytest.mark.outside

HOSTILE = "<script>alert(1)</script>"
PAID = pappi.share("Pay").every("month").target("above 10 %").about("small")
LONGEST = pappi.max(pappi.time()).within("0 days", "30 days").target("below 5 days").about("small")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    opened = workspace_with(tmp_path_factory.mktemp("views") / "w", claims(60))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def analyst(workspace: Workspace) -> LocalSession:
    return workspace.checkpoint("alice")


@pytest.fixture(scope="module")
def answers(analyst: LocalSession) -> Released:
    return analyst.release(PAID, "0.2", anyway=True)


def text_of(html: str) -> str:
    """All that is written in a piece of HTML, which must be well formed."""
    return " ".join(ET.fromstring(f"<div>{html}</div>").itertext())  # noqa: S314 - ours


def test_a_preview_is_a_table_and_not_a_wall(analyst: LocalSession) -> None:
    quotes = analyst.preview(PAID.called(HOSTILE, id="paid"), "0.2")
    assert isinstance(quotes, Quotes)
    assert "│ paid" in repr(quotes)
    assert "Quote(" not in repr(quotes)
    html = quotes._repr_html_()
    assert "new charges" in text_of(html)
    assert "<script>" not in html


def test_advice_shows_what_to_ask_instead(analyst: LocalSession) -> None:
    advice = analyst.advise(LONGEST, "0.05")
    assert "Instead of max" in repr(advice)
    assert "Instead of max" in text_of(advice._repr_html_())


def test_a_budget_is_a_gauge_with_its_figures(analyst: LocalSession, answers: Released) -> None:
    assert answers
    budget = analyst.budget("small")
    assert isinstance(budget, Budget)
    assert "Spent ε" in repr(budget)
    assert "<svg" in budget._repr_html_()
    assert "Left ε" in text_of(budget._repr_html_())
    assert list(budget.to_pandas()["left"]) == [0.8] * len(budget)


def test_a_workspace_shows_its_logs_and_where_it_is(workspace: Workspace, tmp_path: Path) -> None:
    shown = text_of(workspace._repr_html_())
    assert str(workspace.root) in shown
    assert "small" in shown
    assert "import_log" in text_of(pappi.create(tmp_path / "empty")._repr_html_())


def test_an_import_says_what_came_in_and_what_is_public(
    workspace: Workspace, tmp_path: Path
) -> None:
    file = tmp_path / "orders.csv"
    file.write_text("case,activity,timestamp\n1,<b>,2024-01-02\n1,Pay,2024-01-03\n", "utf-8")
    imported = workspace.inspect_log(file)
    assert isinstance(imported, Imported)
    assert repr(imported) == ("<Imported 'orders': 2 events in 1 case, 2024-01-01 to 2024-01-31>")
    shown = text_of(imported._repr_html_())
    assert "only the owner sees this" in shown
    assert "Activities <b>, Pay" in shown
    assert "<b>" not in imported._repr_html_()


def test_one_series_is_a_table_and_several_are_a_line_each(
    analyst: LocalSession, answers: Released
) -> None:
    assert "Verdict" in repr(answers)
    several = analyst.rehearse(pappi.catalogue("small", paid=PAID, cases=pappi.number()), "0.2")
    assert [line.partition(":")[0] for line in repr(several).splitlines()] == ["paid", "cases"]
    assert repr(Released()) == "Released()"
    assert "svg" in answers.plot()._repr_svg_()
    assert "save(path)" in repr(answers.plot())


def test_frames_have_real_dates(answers: Released) -> None:
    pandas, polars, arrow = answers.to_pandas(), answers.to_polars(), answers.to_arrow()
    assert pd.api.types.is_datetime64_any_dtype(pandas["period_start"])
    assert pandas["period_start"].dt.month.tolist()[:2] == [1, 2]
    assert polars.schema["period_end"] == pl.Date
    assert arrow.schema.field("period_start").type == pa.date32()
    assert polars["period_start"][0] == date(2024, 1, 1)
    # The records stay as in the CSV of the command line.
    assert answers.to_records()[0]["period_start"] == "2024-01-01"


def test_a_session_says_whose_it_is_and_never_a_key(analyst: LocalSession) -> None:
    from pappi.client import Client

    assert "'alice'" in repr(analyst)
    with Client("http://pappi.example", "pappi_secret") as client:
        assert repr(client) == "<Client of 'http://pappi.example'>"


def test_one_ppi_of_a_catalogue_can_be_asked_alone(analyst: LocalSession) -> None:
    both = pappi.catalogue("small", paid=PAID, cases=pappi.number())
    assert [quote.ppi for quote in analyst.preview(both, "0.2", ppi="cases")] == ["cases"]
    assert [quote.ppi for quote in analyst.preview(both, "0.2", ppi=["cases", "paid"])] == [
        *("paid", "cases"),
    ]
    for unknown in ("pay", ["paid", "pay"], []):
        with pytest.raises(pappi.PappiError, match="no PPI") as caught:
            analyst.preview(both, "0.2", ppi=unknown)
        assert "paid, cases" in caught.value.hint
