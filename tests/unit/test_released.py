"""What a release gives in Python: frames, charts and a notebook's page, of what was released."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pappi.checkpoint import Released
from pappi.custody import NewLog
from pappi.errors import UsageError
from pappi.values import Epsilon, Terms
from tests.small_logs import claims, workspace_with
from tests.unit.test_checkpoint import THREE, catalogue

pytestmark = pytest.mark.outside


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Released:
    root = tmp_path_factory.mktemp("released") / "w"
    workspace = workspace_with(root, claims(60), NewLog(terms=Terms(block_budget=Epsilon.of(3))))
    return workspace.checkpoint().release(catalogue(THREE), "0.1", anyway=True)


def test_every_frame_has_a_row_per_figure_and_the_same_values(released: Released) -> None:
    values = [answer.value for series in released for answer in series.answers]
    assert released.to_arrow()["value"].to_pylist() == values
    assert released.to_polars()["value"].to_list() == values
    assert released.to_pandas()["value"].tolist() == values
    columns = set(released.to_pandas().columns)
    assert columns >= {"ppi", "period_start", "value", "interval_low", "guarantee_epsilon"}


def test_a_chart_shows_itself_and_is_saved(released: Released, tmp_path: Path) -> None:
    chart = released.plot("sojourn")
    ET.fromstring(chart._repr_svg_())  # noqa: S314 - our own output
    chart.save(tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_text(encoding="utf-8") == chart.svg
    with pytest.raises(UsageError, match="name the PPI") as refusal:
        released.plot()
    assert "sojourn, rejected, by-channel" in refusal.value.hint


def test_a_notebook_shows_every_series_with_its_guarantee(released: Released) -> None:
    page = ET.fromstring(f"<div>{released._repr_html_()}</div>")  # noqa: S314
    assert len(page.findall("section")) == len(released)
    for section in page.findall("section"):
        assert "ε = 0.1 per figure" in "".join(section.itertext())


def test_smoothing_keeps_the_released_values(tmp_path: Path) -> None:
    monthly = THREE.split("  - id: rejected")[0].rstrip() + "\n    scope: every month\n"
    workspace = workspace_with(
        tmp_path / "w", claims(60), NewLog(terms=Terms(block_budget=Epsilon.of(3)))
    )
    analyst = workspace.checkpoint()
    (plain,) = analyst.release(catalogue(monthly), "0.5")
    (smooth,) = analyst.release(catalogue(monthly), "0.5", smooth=True)
    assert [a.value for a in smooth.answers] == [a.value for a in plain.answers]
    assert any(answer.smoothed for answer in smooth.answers)
    spent = analyst.budget("small")[0].spent
    analyst.release(catalogue(monthly), "0.4", smooth=True, whole="0.5")
    assert analyst.budget("small")[0].spent - spent == Epsilon.of("0.4")
    with pytest.raises(UsageError, match="`whole` needs `smooth`"):
        analyst.release(catalogue(monthly), "0.5", whole="0.5")
