"""Composition trees as pictures: every PPI can be drawn, and nothing in one hides another thing."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings

from pappi.ppinot import DerivedMultiInstance, Ppi, composition_tree, parse_catalogue
from pappi.report import ppi_svg
from pappi.report.tree_chart import items_of
from tests.property.models import ppis
from tests.unit.report_samples import HOSTILE
from tests.unit.test_charts import SVG, parsed, shapes, texts


def rejected_share(levels: int = 0) -> Ppi:
    """A formula of two sums, nested so many times more, each with variables of its own."""
    text = """
log: claims
ppis:
  - id: rejected
    measure:
      derive: 100 * no / all_of_them
      no: {sum: {count: activity == "Reject"}, by: {data: channel, values: [web, phone]}}
      all_of_them: {sum: {count: activity == "Receive"}, by: {data: channel, values: [web, phone]}}
    bounds: {no: [0, 1], all_of_them: [0, 1]}
"""
    (ppi,) = parse_catalogue(text, "t.yaml").ppis
    measure = ppi.measure
    assert isinstance(measure, DerivedMultiInstance)
    for _ in range(levels):
        variables = (("no", measure), ("all_of_them", measure.variables[1][1]))
        measure = DerivedMultiInstance(measure.formula, variables)
    return replace(ppi, measure=measure)


def boxes_of(svg: str) -> list[tuple[float, float, float, float]]:
    rects = [r for name in ("function", "measure", "noisy") for r in shapes(svg, name)]
    return [
        tuple(float(rect.get(name, "0")) for name in ("x", "y", "width", "height"))  # type: ignore[misc]
        for rect in rects
    ]


@pytest.mark.outside
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(ppis())
def test_every_ppi_can_be_drawn_as_a_tree(ppi: Ppi) -> None:
    svg = ppi_svg(ppi)
    root = parsed(svg)
    assert len(boxes_of(svg)) == len(items_of(composition_tree(ppi.measure)))
    for node in root.iter():
        assert node.tag.removeprefix(SVG) in (
            "svg", "title", "desc", "style", "rect", "g", "text", "path",
        )  # fmt: skip
        assert "://" not in "".join(node.attrib.values())


@pytest.mark.parametrize("levels", [0, 1, 9, 14])
def test_boxes_of_a_tree_never_overlap_and_stay_inside(levels: int) -> None:
    svg = ppi_svg(rejected_share(levels))
    boxes = boxes_of(svg)
    assert len(boxes) == 7 + 4 * levels
    for one, other in combinations(boxes, 2):
        apart = (
            one[0] + one[2] <= other[0] or other[0] + other[2] <= one[0]
            or one[1] + one[3] <= other[1] or other[1] + other[3] <= one[1]
        )  # fmt: skip
        assert apart
    width, height = (float(parsed(svg).get(name, "0")) for name in ("width", "height"))
    assert all(x >= 0 and x + w <= width and y >= 0 and y + h <= height for x, y, w, h in boxes)


def test_a_tree_names_its_variables_and_its_admissible_sets() -> None:
    said = texts(ppi_svg(rejected_share()))
    assert {"no", "all_of_them", "of", "grouped by", "sum", "100 * no / all_of_them"} <= set(said)
    assert "· {value}" in said
    assert "· {no, all_of_them}" in said


def test_the_recommended_set_is_marked_in_the_list_and_in_the_tree() -> None:
    svg = ppi_svg(rejected_share(), ("ppi.no", "ppi.all_of_them"))
    assert "▶ {no, all_of_them} (recommended)" in texts(svg)
    assert len(shapes(svg, "noisy")) == 2
    assert not shapes(ppi_svg(rejected_share()), "noisy")


def test_names_in_a_tree_are_shown_and_never_run() -> None:
    ppi = replace(rejected_share(), id=HOSTILE, name=HOSTILE)
    measure = ppi.measure
    assert isinstance(measure, DerivedMultiInstance)
    hostile = tuple((HOSTILE + name, variable) for name, variable in measure.variables)
    svg = ppi_svg(replace(ppi, measure=replace(measure, variables=hostile)))
    assert "<script" not in svg
    assert "\x1b" not in svg
    assert any(text.startswith("<script>alert") for text in texts(svg))
