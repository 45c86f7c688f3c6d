"""How a PPI is released, as its catalogue says: every mechanism, every setting, every mistake."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from pappi.custody import NewLog
from pappi.errors import DefinitionError, NotReleasable
from pappi.ppinot import Catalogue, NoiseOn, Ppi, ReleaseChoice, Wanted, parse_catalogue
from pappi.report import ppi_text
from pappi.session import Workspace, to_wire
from pappi.values import ZERO, Adjacency, Answer, Epsilon, Series, Terms
from tests.small_logs import claims, workspace_with

pytestmark = pytest.mark.outside

TIME = "{time: {from: case start, to: case end}, unit: days}"
MEAN = f"measure: {{mean: {TIME}}}"
MAX = f"measure: {{max: {TIME}}}"
MEDIAN = f"measure: {{median: {TIME}}}"
SHARE = 'measure: {share: {condition: activity == "Reject"}}'
SUM = 'measure: {sum: {count: activity == "Receive"}}'
BOUNDED_SUM = 'measure: {sum: {count: activity == "Receive"}, bounds: [0, 1]}'
RATIO = (
    "measure: {derive: rejected / received, "
    'rejected: {sum: {count: activity == "Reject"}}, '
    'received: {sum: {count: activity == "Receive"}}}'
)
PART = RATIO.replace('"Reject"}', '"Reject"}, within: received')
MEDIANS = f"measure: {{derive: a / b, a: {{median: {TIME}}}, b: {{mean: {TIME}}}}}"
DAYS = "bounds: [0 days, 10 days]"
LOOSE_DAYS = "bounds: [0 days, 1000 days, loose]"
PRIVATE = "bounds: private"
RATIO_BOUNDS = "bounds: {rejected: [0, 1], received: [0, 2], value: [0, 1]}"
MEDIANS_BOUNDS = "bounds: {a: [0 days, 10 days], b: [0 days, 10 days], value: [0, 3]}"
BELOW_4 = "target: below 4 days"
UNTOLD = "release: {clipping: off}"

SPLIT = "release: {noise: {rejected: {mechanism: laplace, share: 0.3}, received: {share: .7}}}"

WAYS: dict[str, tuple[tuple[str, ...], str]] = {
    "mean, told": ((MEAN, DAYS), "joint"),
    "sum, told": ((SUM, "bounds: [0, 1]"), "joint"),
    "sum, laplace": ((SUM, "bounds: [0, 1]", UNTOLD), "laplace"),
    "max, laplace": ((MAX, DAYS, "release: {mechanism: laplace}"), "laplace"),
    "mean, two-bin": ((MEAN, DAYS, UNTOLD), "two-bin"),
    "share, two-bin": ((SHARE,), "two-bin"),
    "part of a whole, two-bin": ((PART, RATIO_BOUNDS), "two-bin"),
    "max, interval": ((MAX, DAYS, "release: {mechanism: interval}"), "interval"),
    "median, histogram": ((MEDIAN, DAYS), "histogram"),
    "median, interval": ((MEDIAN, DAYS, "release: {mechanism: interval}"), "interval"),
    "mean, interval": ((MEAN, DAYS, "release: {mechanism: interval}"), "interval"),
    "sum, interval": (
        (BOUNDED_SUM, "bounds: {value: [0, 100]}", "release: {mechanism: interval}"),
        "interval",
    ),
    "mean, verdict": ((MEAN, DAYS, BELOW_4, "release: {answer: verdict}"), "threshold"),
    "ratio, verdict": (
        (RATIO, RATIO_BOUNDS, "target: below 0.5", "release: {answer: verdict}"),
        "threshold",
    ),
    "mean, threshold": ((MEAN, DAYS, BELOW_4, "release: {mechanism: threshold}"), "threshold"),
    "median, threshold": (
        (MEDIAN, DAYS, BELOW_4, "release: {mechanism: threshold, falloff: 1.5}"),
        "threshold",
    ),
    "formula, sample-and-aggregate": (
        (MEDIANS, MEDIANS_BOUNDS, "release: {mechanism: sample-and-aggregate, buckets: 5}"),
        "sample-and-aggregate",
    ),
    "ratio, hexagon": ((RATIO, RATIO_BOUNDS, "release: {mechanism: hexagon}"), "hexagon"),
    "ratio, split": ((RATIO, RATIO_BOUNDS, "release: {noise: [rejected, received]}"), "laplace"),
    "ratio, each its own": ((RATIO, RATIO_BOUNDS, SPLIT), "laplace"),
    "formula, each its own": (
        (
            MEDIANS,
            MEDIANS_BOUNDS,
            "release: {noise: {a: {share: 0.2}, b: {mechanism: sample-and-aggregate}}, buckets: 5}",
        ),
        "interval + sample-and-aggregate",
    ),
    "max, ranked": ((MAX, LOOSE_DAYS, "release: {mechanism: ranked}"), "ranked"),
    "mean, private clipping bound": (
        (MEAN, LOOSE_DAYS, "release: {mechanism: private clipping bound}"),
        "private clipping bound",
    ),
    "sum, private bounds": ((SUM, PRIVATE), "private clipping bound"),
    "median, private bounds": ((MEDIAN, PRIVATE), "interval"),
}


def a_catalogue(*lines: str) -> Catalogue:
    text = "log: small\nppis:\n  - id: asked\n" + "".join(f"    {line}\n" for line in lines)
    return parse_catalogue(text, "t.yaml")


def the_ppi(*lines: str) -> Ppi:
    (ppi,) = a_catalogue(*lines).ppis
    return ppi


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(
        tmp_path / "w", claims(60), NewLog(terms=Terms(block_budget=Epsilon.of(9)))
    )


@pytest.fixture(scope="module")
def without_events(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace whose cases nobody can read: what is refused must not need them."""
    workspace = workspace_with(tmp_path_factory.mktemp("refused") / "w", claims(9))
    shutil.rmtree(workspace.root / "events")
    return workspace


def records(series: tuple[Series, ...]) -> list[str]:
    """All that was answered, to the byte; who paid is another matter."""
    return [_record(answer) for one in series for answer in one.answers]


def _record(answer: Answer) -> str:
    record = to_wire(answer)
    del record["charged"], record["replayed"]
    return json.dumps(record)


def value_in_interval(answer: Answer) -> bool:
    low, high = answer.interval.low, answer.interval.high
    if answer.value is None:
        return True
    return (low is None or low <= answer.value) and (high is None or answer.value <= high)


# --- what is written ------------------------------------------------------------------


def test_without_a_word_on_it_the_planner_chooses() -> None:
    assert the_ppi(MEAN).release == the_ppi(MEAN, "release: {}").release == ReleaseChoice()


def test_everything_said_about_a_release_is_kept() -> None:
    written = "release: {answer: value, mechanism: threshold, falloff: 2.5}"
    assert the_ppi(MEAN, written).release == ReleaseChoice(
        Wanted.VALUE, "threshold", falloff=Fraction(5, 2)
    )
    written = "release: {mechanism: sample-and-aggregate, buckets: 20}"
    assert the_ppi(MEAN, written).release.buckets == 20
    assert the_ppi(MEAN, "release: {answer: verdict}").release.answer is Wanted.VERDICT


@pytest.mark.parametrize("written", ["rejected", "[rejected]"])
def test_one_variable_may_stand_without_a_list(written: str) -> None:
    assert the_ppi(RATIO, f"release: {{noise: {written}}}").release.noise == (NoiseOn("rejected"),)


def test_each_function_may_have_a_mechanism_and_a_share() -> None:
    assert the_ppi(RATIO, SPLIT).release.noise == (
        NoiseOn("rejected", "laplace", Fraction(3, 10)),
        NoiseOn("received", None, Fraction(7, 10)),
    )
    short = "release: {noise: {rejected: laplace, received: {}}}"
    assert the_ppi(RATIO, short).release.noise == (
        NoiseOn("rejected", "laplace"),
        NoiseOn("received"),
    )


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("{a: {share: 0}}", "above 0 and at most 1"),
        ("{a: {share: 1.01}}", "above 0 and at most 1"),
        ("{a: {share: -1}}", "expected a share of epsilon"),
        ("{a: {share: 1e-3}}", "expected a share of epsilon"),
        ("{a: {mechanism: Gauß}}", "expected a mechanism, found 'Gauß'"),
        ("{a: 2-bin}", "expected a mechanism, found '2-bin'"),
        ("{a: [laplace]}", "expected a mechanism, or a mapping"),
        ("{a: {epsilon: 1}}", "unknown key 'epsilon'"),
        ("{1a: laplace}", "'1a' cannot be a function"),
    ],
)
def test_a_wish_that_makes_no_sense_is_told_where_it_stands(written: str, problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        the_ppi(RATIO, f"release: {{noise: {written}}}")


@pytest.mark.parametrize(
    ("noise", "problem"),
    [
        (
            "{rejected: {share: 0.6}, received: {share: 0.5}}",
            "add up to 1.1, but may add up to 1 at",
        ),
        ("{rejected: {share: 1}, received: {}}", "leave nothing for the functions without one"),
    ],
)
def test_shares_that_are_too_much_are_refused(
    without_events: Workspace, noise: str, problem: str
) -> None:
    asked = a_catalogue(RATIO, RATIO_BOUNDS, f"release: {{noise: {noise}}}")
    with pytest.raises(DefinitionError, match=problem):
        without_events.checkpoint().preview(asked)


# --- every mechanism ------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_every_mechanism_is_reached_from_a_catalogue_and_replays_to_the_byte(
    workspace: Workspace, way: str
) -> None:
    lines, mechanism = WAYS[way]
    asked, analyst = a_catalogue(*lines), workspace.checkpoint("alice")
    (quote,) = analyst.preview(asked, "1")
    first = analyst.release(asked, "1", anyway=True)
    again = workspace.checkpoint("bob").release(asked, "1", anyway=True)
    answers = [answer for one in first for answer in one.answers]
    assert {quote.mechanism, *(a.guarantee.mechanism for a in answers)} == {mechanism}
    assert len(answers) == 3
    assert all(map(value_in_interval, answers))
    assert records(again) == records(first)
    assert all(a.replayed and a.charged == ZERO for one in again for a in one.answers)
    assert {line.spent for line in analyst.budget("small")} == {Epsilon.of(1)}


def test_what_was_asked_is_the_plan_that_is_marked_as_chosen(workspace: Workspace) -> None:
    (quote,) = workspace.checkpoint().preview(a_catalogue(MEAN, DAYS, BELOW_4), "1")
    ways = {option.mechanism: option for option in quote.options}
    assert set(ways) == {"joint", "two-bin", "interval", "threshold", "sample-and-aggregate"}
    assert [name for name, option in ways.items() if option.chosen] == ["joint"]
    on_request = [ways[name].reason for name in ("threshold", "sample-and-aggregate")]
    assert all(reason.startswith("on request only: ") for reason in on_request)


def test_a_ceiling_that_was_chosen_privately_is_told_with_the_value(workspace: Workspace) -> None:
    (series,) = workspace.checkpoint().release(
        a_catalogue(*WAYS["mean, private clipping bound"][0]), "5"
    )
    assert all(a.ceiling is not None and 0 < a.ceiling <= 1000 for a in series.answers)
    assert "private clipping bound" in series.caution
    (plain,) = workspace.checkpoint().release(a_catalogue(MEAN, DAYS), "1")
    assert {a.ceiling for a in plain.answers} == {None}
    assert plain.caution == ""


# --- same question, or another --------------------------------------------------------


def is_free(workspace: Workspace, asked: Catalogue, then: Catalogue) -> bool:
    """Whether the second question costs nothing once the first is answered: all or nothing."""
    analyst = workspace.checkpoint()
    analyst.release(asked, "1", anyway=True)
    (quote,) = analyst.preview(then, "1")
    assert quote.new_charges in (0, quote.charges)
    return quote.new_charges == 0


def test_a_mechanism_may_have_the_name_it_had_and_is_told_by_the_one_it_has(
    workspace: Workspace,
) -> None:
    analyst = workspace.checkpoint()
    earlier, now = (
        a_catalogue(MEAN, LOOSE_DAYS, f"release: {{mechanism: {name}}}")
        for name in ("private ceiling", "private clipping bound")
    )
    released = analyst.release(earlier, "1", anyway=True)
    mechanisms = {answer.guarantee.mechanism for one in released for answer in one.answers}
    assert mechanisms == {"private clipping bound"}
    again = analyst.release(now, "1", anyway=True)
    assert records(again) == records(released)
    assert all(answer.replayed for one in again for answer in one.answers)


TARGETED = {
    "two-bin": ("", True),
    "interval": ("release: {mechanism: interval}", True),
    "sample-and-aggregate": ("release: {mechanism: sample-and-aggregate}", True),
    "threshold": ("release: {mechanism: threshold}", False),
    "verdict": ("release: {answer: verdict}", False),
}


@pytest.mark.parametrize("way", TARGETED)
def test_another_target_is_free_unless_the_release_aims_at_it(
    workspace: Workspace, way: str
) -> None:
    release, free = TARGETED[way]
    lines = (MEAN, DAYS, *filter(None, [release]))
    asked, then = a_catalogue(*lines, BELOW_4), a_catalogue(*lines, "target: below 5 days")
    assert is_free(workspace, asked, then) is free


@pytest.mark.parametrize("release", ["{answer: verdict}", "{mechanism: threshold}"])
@pytest.mark.parametrize("target", ["at most 4 days", "above 4 days"])
def test_the_side_of_a_limit_and_the_limit_itself_matter_to_a_release_that_aims_at_it(
    workspace: Workspace, release: str, target: str
) -> None:
    lines = (MEAN, DAYS, f"release: {release}")
    asked, then = a_catalogue(*lines, BELOW_4), a_catalogue(*lines, f"target: {target}")
    assert not is_free(workspace, asked, then)


def test_a_limit_in_another_unit_is_the_same_limit(workspace: Workspace) -> None:
    lines = (MEAN, DAYS, "release: {answer: verdict}")
    then = a_catalogue(*lines, "target: below 96 hours")
    assert is_free(workspace, a_catalogue(*lines, BELOW_4), then)


SAMPLED = "release: {mechanism: sample-and-aggregate, buckets: 5}"
AIMED = "release: {mechanism: threshold, falloff: 3}"
BY_INTERVAL = "release: {mechanism: interval}"
OTHERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "falloff": ((MEAN, DAYS, BELOW_4, AIMED), (MEAN, DAYS, BELOW_4, AIMED.replace("3", "4"))),
    "verdict or value": (
        (MEAN, DAYS, BELOW_4, AIMED),
        (MEAN, DAYS, BELOW_4, "release: {answer: verdict}"),
    ),
    "buckets": ((MEAN, DAYS, SAMPLED), (MEAN, DAYS, SAMPLED.replace("5", "6"))),
    "range, sampled": (
        (MEDIANS, MEDIANS_BOUNDS, SAMPLED),
        (MEDIANS, MEDIANS_BOUNDS.replace("[0, 3]", "[0, 4]"), SAMPLED),
    ),
    "range, of a sum by intervals": (
        (BOUNDED_SUM, "bounds: {value: [0, 100]}", BY_INTERVAL),
        (BOUNDED_SUM, "bounds: {value: [0, 90]}", BY_INTERVAL),
    ),
    "formula, sampled": (
        (MEDIANS, MEDIANS_BOUNDS, SAMPLED),
        (MEDIANS.replace("a / b", "b / a"), MEDIANS_BOUNDS, SAMPLED),
    ),
    "noise": (
        (RATIO, RATIO_BOUNDS, "release: {noise: value}"),
        (RATIO, RATIO_BOUNDS, "release: {noise: [rejected, received]}"),
    ),
    "mechanism": ((MEAN, DAYS), (MEAN, DAYS, BY_INTERVAL)),
    "bounds": ((MEAN, DAYS), (MEAN, DAYS.replace("10", "11"))),
    "looseness": (
        (MEDIAN, "bounds: [0 days, 1000 days]"),
        (MEDIAN, "bounds: [0 days, 1000 days, loose]"),
    ),
    "privacy of bounds": ((MEAN, LOOSE_DAYS), (MEAN, PRIVATE)),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_changes_the_release_makes_another_question(workspace: Workspace, what: str) -> None:
    asked, then = OTHERS[what]
    assert not is_free(workspace, a_catalogue(*asked), a_catalogue(*then))


SAME: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "the default falloff": (
        (MEAN, DAYS, BELOW_4, "release: {mechanism: threshold}"),
        (MEAN, DAYS, BELOW_4, AIMED),
    ),
    "the mechanism taken anyway": (
        (MEAN, DAYS, UNTOLD),
        (MEAN, DAYS, "release: {mechanism: two-bin}"),
    ),
    "a verdict by its mechanism": (
        (MEAN, DAYS, BELOW_4, "release: {answer: verdict}"),
        (MEAN, DAYS, BELOW_4, "release: {answer: verdict, mechanism: threshold}"),
    ),
    "a sum, whose release is its decision": (
        (SUM, "bounds: [0, 1]", UNTOLD),
        (SUM, "bounds: [0, 1]", "target: below 9", "release: {mechanism: threshold}"),
    ),
    "the order of variables": (
        (RATIO, RATIO_BOUNDS, "release: {noise: [rejected, received]}"),
        (RATIO, RATIO_BOUNDS, "release: {noise: [received, rejected]}"),
    ),
    "the range of a formula above noisy sums": (
        (RATIO, RATIO_BOUNDS, "release: {mechanism: hexagon}"),
        (RATIO, RATIO_BOUNDS.replace("value: [0, 1]", "value: [0, 2]"), "release: {noise: value}"),
    ),
}


@pytest.mark.parametrize("what", SAME)
def test_what_does_not_change_the_release_is_free(workspace: Workspace, what: str) -> None:
    asked, then = SAME[what]
    assert is_free(workspace, a_catalogue(*asked), a_catalogue(*then))


# --- what cannot be released ----------------------------------------------------------

SAMPLE = "release: {mechanism: sample-and-aggregate, buckets: %s}"
AIM = "release: {mechanism: threshold, falloff: %s}"
BETWEEN = "target: between 1 and 4 days"

REFUSED: dict[str, tuple[tuple[str, ...], str, str]] = {
    "negative falloff": (
        (MEAN, DAYS, BELOW_4, AIM % "-1"),
        "a falloff must be above 0",
        "3 spends",
    ),
    "no falloff": ((MEAN, DAYS, BELOW_4, AIM % "0"), "a falloff must be above 0", "3 spends"),
    "huge falloff": ((MEAN, DAYS, BELOW_4, AIM % "1001"), "at most 1000, not 1001", ""),
    "no bucket": ((MEAN, DAYS, SAMPLE % "0"), "0 buckets: use from", "20 buckets"),
    "one bucket": ((MEAN, DAYS, SAMPLE % "1"), "from 2 to 10,000", "20 buckets"),
    "too many buckets": ((MEAN, DAYS, SAMPLE % "999999999"), "from 2 to 10,000", "20 buckets"),
    "falloff without threshold": (
        (MEAN, DAYS, BELOW_4, "release: {falloff: 3}"),
        "falloff only works with the mechanism threshold",
        "write mechanism: threshold, or remove falloff",
    ),
    "buckets without sampling": (
        (MEAN, DAYS, "release: {buckets: 20}"),
        "buckets only works with the mechanism sample-and-aggregate",
        "remove buckets",
    ),
    "unknown variable": (
        (RATIO, RATIO_BOUNDS, "release: {noise: [rejectd, received]}"),
        "'rejectd and received' is not an admissible set",
        "value, rejected + received",
    ),
    "a set that does not cover": (
        (RATIO, RATIO_BOUNDS, "release: {noise: rejected}"),
        "'rejected' is not an admissible set",
        "value, rejected + received",
    ),
    "verdict without target": (
        (MEAN, DAYS, "release: {answer: verdict}"),
        "no target to judge",
        "target: below 7 days",
    ),
    "verdict on two ends": (
        (MEAN, DAYS, BETWEEN, "release: {answer: verdict}"),
        "a single verdict cannot cover a target with two ends",
        "two PPIs",
    ),
    "threshold without target": (
        (MEAN, DAYS, "release: {mechanism: threshold}"),
        "no target to judge",
        "target: below 7 days",
    ),
    "threshold on two ends": (
        (MEAN, DAYS, BETWEEN, "release: {mechanism: threshold}"),
        "a single verdict cannot cover a target with two ends",
        "two PPIs",
    ),
    "threshold with loose bounds": (
        (MEAN, LOOSE_DAYS, BELOW_4, "release: {mechanism: threshold}"),
        "the threshold mechanism needs public bounds",
        "[low, high]",
    ),
    "threshold with private bounds": (
        (MEAN, PRIVATE, BELOW_4, "release: {mechanism: threshold}"),
        "the threshold mechanism needs public bounds",
        "[low, high]",
    ),
    "verdict by another mechanism": (
        (MEAN, DAYS, BELOW_4, "release: {answer: verdict, mechanism: laplace}"),
        "only the mechanism threshold releases a verdict",
        "leave out the mechanism",
    ),
    "verdict on a formula": (
        (MEDIANS, MEDIANS_BOUNDS, "target: below 1", "release: {answer: verdict}"),
        "a verdict can only be released for an aggregated measure or a ratio",
        "ask for the value",
    ),
    "hexagon for a mean": (
        (MEAN, DAYS, "release: {mechanism: hexagon}"),
        "'hexagon' cannot release its mean",
        "leave out the mechanism",
    ),
    "laplace for a mean": (
        (MEAN, DAYS, "release: {mechanism: laplace}"),
        "depends on the number of values, which is private under add-remove",
        "leave out the mechanism",
    ),
    "ranked with bounds that fit": (
        (MAX, DAYS, "release: {mechanism: ranked}"),
        "'ranked' cannot release its max",
        "leave out the mechanism",
    ),
    "intervals of a sum without a range": (
        (SUM, "bounds: [0, 1]", BY_INTERVAL),
        "needs a declared output range for a sum",
        "`value` among the bounds",
    ),
    "sampling without a range": (
        (RATIO, "bounds: {rejected: [0, 1], received: [0, 2]}", SAMPLE % "5"),
        "needs the output range of the value",
        "`value` in the bounds",
    ),
    "a range is no bounds of a case": (
        (SUM, "bounds: {value: [0, 100]}"),
        "no public contribution bounds",
        "bounds:",
    ),
    "private bounds of an extreme that may be negative": (
        ("measure: {max: {data: damage}}", PRIVATE),
        "a max of values that may be negative needs declared bounds",
        "bounds: [-100, 100]",
    ),
    "no bounds at all": ((MEAN,), "no public contribution bounds", "add e.g. `bounds:"),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_mistake_is_one_clear_refusal_before_anything_is_charged(
    without_events: Workspace, mistake: str
) -> None:
    lines, message, hint = REFUSED[mistake]
    analyst, asked = without_events.checkpoint(), a_catalogue(*lines)
    for ask in (analyst.preview, analyst.release):
        with pytest.raises(NotReleasable) as refusal:
            ask(asked, "1")
        assert refusal.value.message.startswith("t.yaml:3:9: PPI 'asked' cannot be released: ")
        assert message in refusal.value.message
        assert hint in refusal.value.hint
    assert {line.spent for line in analyst.budget("small")} == {ZERO}


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_check_warns_of_the_same_with_its_place(without_events: Workspace, mistake: str) -> None:
    lines, message, _ = REFUSED[mistake]
    (problem,) = without_events.checkpoint().unreleasable(a_catalogue(*lines))
    assert message in problem.message
    assert (problem.level, problem.position.line) == ("warning", 3)


# --- a choice of one's own ------------------------------------------------------------


def test_a_choice_is_charged_as_before_and_compared_with_the_planners(workspace: Workspace) -> None:
    analyst = workspace.checkpoint()
    asked = a_catalogue(RATIO, RATIO_BOUNDS, SPLIT)
    (quote,) = analyst.preview(asked)
    (usual,) = analyst.preview(a_catalogue(RATIO, RATIO_BOUNDS))
    assert (quote.epsilon, quote.charges) == (usual.epsilon, usual.charges)
    assert quote.shares == (0.3, 0.7)
    assert quote.mechanisms == ("laplace", "laplace")
    first, *others = quote.options
    assert first.chosen
    assert first.shares == (0.3, 0.7)
    assert {option.mechanism for option in others} >= {"hexagon", "laplace"}
    assert all(option.reason.startswith("not as asked") for option in others)
    assert is_free(workspace, asked, a_catalogue(RATIO, RATIO_BOUNDS, SPLIT.replace("0.3", ".30")))


def test_another_share_or_mechanism_is_another_question(workspace: Workspace) -> None:
    asked = a_catalogue(RATIO, RATIO_BOUNDS, SPLIT)
    for other in (SPLIT.replace("0.3", "0.2"), SPLIT.replace("share: .7", "share: .6")):
        assert not is_free(workspace, asked, a_catalogue(RATIO, RATIO_BOUNDS, other))


def test_what_is_shown_can_be_asked_for_with_the_id_before_it_or_without(
    workspace: Workspace,
) -> None:
    asked = a_catalogue(RATIO, RATIO_BOUNDS, "release: {noise: [rejected, received]}")
    ppi = asked.ppis[0].id
    named = f"release: {{noise: [{ppi}.rejected, {ppi}.received]}}"
    assert is_free(workspace, asked, a_catalogue(RATIO, RATIO_BOUNDS, named))
    assert "{rejected, received}" in ppi_text(asked.ppis[0])
    assert "{value}" in ppi_text(asked.ppis[0])


def test_laplace_noise_on_a_mean_replays_the_two_bin_mean_where_they_are_the_same(
    tmp_path: Path,
) -> None:
    new = NewLog(terms=Terms(block_budget=Epsilon.of(9), adjacency=Adjacency.REPLACE))
    workspace = workspace_with(tmp_path / "w", claims(60), new)
    lines = ('measure: {mean: {count: activity == "Receive"}}', "bounds: [0, 3]")
    two_bin = a_catalogue(*lines, UNTOLD)
    laplace = a_catalogue(*lines, "release: {mechanism: laplace}")
    (quote,) = workspace.checkpoint().preview(laplace)
    assert quote.mechanism == "laplace"
    assert is_free(workspace, two_bin, laplace)
    (series,) = workspace.checkpoint().release(laplace, anyway=True)
    assert all(value_in_interval(answer) for answer in series.answers)
