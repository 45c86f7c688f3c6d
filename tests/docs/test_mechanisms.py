"""The page on mechanisms: complete, and every number in it is what the code says."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from pappi.mechanisms import RANK_TARGET, PrivateClippingBound, mechanism_names
from pappi.mechanisms.clip import CHOICE_SHARE
from pappi.mechanisms.grids import OCTAVES_OF_LOOSE_BOUNDS
from pappi.mechanisms.interval import STEPS
from pappi.planning import extreme_caution, plan_options, plan_ppi
from pappi.ppinot import Ppi, parse_catalogue
from pappi.values import Adjacency, Bounds, Epsilon, Kind, PublicLog, Vocabulary
from tests.public_logs import public_log

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = (DOCS / "mechanisms.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())
GUIDE = " ".join((DOCS / "notation.md").read_text(encoding="utf-8").split())
UTILITY = " ".join((DOCS / "utility.md").read_text(encoding="utf-8").split())

VOCABULARY = Vocabulary(activities=("A", "B"), attributes={"damage": Kind.NUMBER})


def ppi(*lines: str) -> Ppi:
    text = "log: l\nppis:\n  - id: x\n" + "".join(f"    {line}\n" for line in lines)
    (found,) = parse_catalogue(text).ppis
    return found


def facts(cases: int, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> PublicLog:
    return public_log(VOCABULARY, cases, adjacency)


def errors(asked: Ppi, epsilon: str, cases: int) -> dict[str, float]:
    """The predicted error of every plan, by its mechanism."""
    options = plan_options(asked, Epsilon.of(epsilon), facts(cases))
    plans = [option.plan for option in options if option.plan is not None]
    return {plan.mechanism: plan.predicted_error for plan in plans}


MEAN = ("measure: {mean: {data: damage}}", "bounds: [0, 100]")


@pytest.mark.parametrize("name", mechanism_names())
def test_every_mechanism_has_its_row_and_its_reason(name: str) -> None:
    assert re.search(rf"^\| `{name}`", PAGE, flags=re.MULTILINE)
    assert re.search(rf"^- \*\*{name}", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize("name", mechanism_names())
def test_the_guide_names_every_mechanism(name: str) -> None:
    assert f"`{name}`" in GUIDE


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)]+)\)", PAGE))))
def test_links_lead_somewhere(link: str) -> None:
    path, _, anchor = link.partition("#")
    assert (DOCS / path).exists()
    if anchor:
        headings = re.findall(r"^#+ (.*)$", (DOCS / path).read_text("utf-8"), re.MULTILINE)
        assert anchor in [heading.lower().replace(" ", "-") for heading in headings]


def test_the_faults_are_planted_where_it_says() -> None:
    assert (ROOT / "tests" / "audit" / "test_planted_faults.py").is_file()


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_how_often_a_maximum_is_judged_right(epsilon: str) -> None:
    right = f"{100 * (1 - math.exp(-float(epsilon) / 2) / 2):.0f} %"
    assert f"{right} at ε = {epsilon}" in PROSE
    assert f"{right} at epsilon {epsilon}" in GUIDE or f"{right} at {epsilon}" in GUIDE
    longest = ppi(MEAN[0].replace("mean", "max"), MEAN[1], "target: below 50")
    assert right in extreme_caution(longest, Fraction(epsilon))


def test_the_shares_and_ranks_of_loose_bounds() -> None:
    assert CHOICE_SHARE.denominator == 4 * CHOICE_SHARE.numerator
    assert RANK_TARGET == 20
    assert PROSE.count("quarter of ε") >= 2
    assert "about 20/ε cases exceed" in PROSE
    assert "about 20/ε cases exceed" in GUIDE
    assert f"{100 * (2 ** (1 / STEPS) - 1):.0f} % of the grid" in PROSE


def needed(octaves: int) -> int:
    """From how many cases on, times ε, a ceiling is taken to be found."""
    mechanism = PrivateClippingBound(
        bounds=Bounds(Fraction(0), Fraction(1024)),
        epsilon=Fraction(1),
        adjacency=Adjacency.ADD_REMOVE,
        integral=False,
        function="mean",
        octaves=octaves,
        either_sign=False,
    )
    spread = 2 * math.log(mechanism.grid.highest + 1) / float(mechanism.choice_epsilon)
    return math.ceil(math.ceil(1 / mechanism.answer_epsilon) + spread)


def test_how_many_cases_a_ceiling_needs() -> None:
    assert f"{needed(OCTAVES_OF_LOOSE_BOUNDS) - 1}/ε cases for loose bounds" in PROSE
    assert "31/ε to 38/ε for private ones" in PROSE
    assert 31 <= needed(20) <= needed(32) <= needed(50) <= 40
    assert "30/ε to 40/ε cases a period" in GUIDE
    assert "about 26/ε cases a period: 260 at epsilon 0.1" in GUIDE


ALL_CASES = (
    ('measure: {share: {condition: activity == "A"}}',),
    ('measure: {mean: {count: activity == "A"}}', "bounds: [0, 10]"),
)
SOME_CASES = (
    MEAN,  # an attribute may be missing
    (
        'measure: {mean: {count: activity == "A"}, where: {condition: activity == "B"}}',
        "bounds: [0, 10]",
    ),
)


@pytest.mark.parametrize("asked", [*ALL_CASES, *SOME_CASES])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_when_a_mean_is_answered_by_the_interval_mechanism(
    asked: tuple[str, ...], adjacency: Adjacency
) -> None:
    """The page says where; on both sides of that place, and far from it."""
    assert "for a mean or share never under add-remove" in PROSE
    assert "under replace, if it is of all cases, below about n·ε = 4.8" in PROSE
    found = {
        (epsilon, cases): plan_ppi(
            ppi(*asked), Epsilon.of(epsilon), facts(cases, adjacency)
        ).mechanism
        for epsilon in ("0.01", "0.1")
        for cases in (1, int(4.5 / float(epsilon)), int(5.1 / float(epsilon)), 10_000)
    }
    switches = adjacency is Adjacency.REPLACE and asked in ALL_CASES
    for (epsilon, cases), mechanism in found.items():
        taken = switches and cases * float(epsilon) < 4.8
        assert mechanism == ("interval" if taken else "two-bin"), (epsilon, cases)


def test_loose_bounds_of_a_mean_are_replaced_by_a_ceiling() -> None:
    loose = ppi(MEAN[0], "bounds: [0, 1000000, loose]")
    assert plan_ppi(loose, Epsilon.of("0.1"), facts(300)).mechanism == "private clipping bound"


@pytest.mark.parametrize(("target", "better"), [(50, True), (20, False), (80, False)])
def test_the_anchored_mean_is_better_near_the_middle_only(target: int, *, better: bool) -> None:
    found = errors(ppi(*MEAN, f"target: below {target}"), "1", 1000)
    assert (found["threshold"] < found["two-bin"]) is better
    furthest = max(target, 100 - target)
    assert found["threshold"] == pytest.approx(math.sqrt(2) * furthest * 4 / 3 / 1000, rel=0.01)


def test_the_errors_of_the_table_are_those_that_are_predicted() -> None:
    found = errors(ppi(*MEAN), "1", 1000)
    assert found["two-bin"] == pytest.approx(math.sqrt(2) * 100 * math.sqrt(0.5) / 1000, rel=0.02)
    assert found["interval"] == pytest.approx(2 * math.sqrt(2) * 100 / 1000, rel=0.02)
    summed = ppi("measure: {sum: {data: damage}}", "bounds: [-100, 10]")
    assert errors(summed, "1", 1000)["laplace"] == pytest.approx(math.sqrt(2) * 100, rel=0.01)
    sampled = ppi(*MEAN, "release: {mechanism: sample-and-aggregate, buckets: 50}")
    found = errors(sampled, "1", 1000)
    assert found["sample-and-aggregate"] == pytest.approx(math.sqrt(2) * 100 / 50, rel=0.02)


def test_the_hexagon_is_better_where_both_sums_are_well_above_the_noise() -> None:
    ratio = ppi(
        'measure: {derive: a / b, a: {sum: {count: activity == "A"}}, '
        'b: {sum: {count: activity == "B"}}}',
        "bounds: {a: [0, 3], b: [0, 1], value: [0, 3]}",
    )
    found = errors(ratio, "1", 1000)
    assert found["hexagon"] < found["laplace"]


@pytest.mark.parametrize(
    "figure",
    ["26 ε at 100 cases", "85.8 %", "99.6 %", "95.8 %", "90.8 %", "98.7 %", "93.2 %"],
)
def test_measured_figures_are_those_of_the_benchmark(figure: str) -> None:
    rounded = {"85.8 %": "86 %"}.get(figure, figure)
    assert figure in UTILITY
    assert rounded in PROSE
