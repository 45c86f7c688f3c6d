"""A hundred questions of one log: what they cost asked one by one, and with derivation.

    python -m benchmarks.workload

The questions of `workload.yaml` are asked in their order, each within the margin it is written
with, of the example log `claims`:

- *one by one*, each at the ε that its margin costs: charged, unless the very same question was
  asked before;
- *derived*: the same, but what follows from the record within the margin is taken, and only the
  rest is paid;
- *sets, and derived*: those next to each other with the same scope are asked as one catalogue, as
  people ask dashboards, at the smallest ε that keeps all of their margins (what only histograms
  would derive is still asked one by one).

A difference needs both of its times, each within the part of the margin that leaves it for both.
Told are the mean ε of a block, for all questions and without those that only histograms would
derive (other limits, percentiles), and how often a derived value lies further from the exact one
than its margin promises. Fails if what is derivable saves less than 5 times against one by one, or
over 5 % of the derived values are further off than promised.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from pappi.checkpoint import LocalSession
from pappi.custody import NewLog
from pappi.examples import EXAMPLES
from pappi.ppinot import Catalogue, parse_catalogue
from pappi.session import Workspace, create
from pappi.values import Answer, Epsilon, ExactAnswer

WORKLOAD = Path(__file__).with_name("workload.yaml")
LEAST_SAVED = 5.0
MOST_FURTHER = 0.05
LEAST = Epsilon.of("0.001")
_BY_HISTOGRAM = ("within_", "median", "p75", "p90")
_CASES = 400


@dataclass(frozen=True, slots=True)
class Question:
    """One PPI within a margin; of a difference, one of its two times."""

    name: str
    measure: Mapping[str, Any]
    scope: str
    within: str

    @property
    def catalogue(self) -> Catalogue:
        ppi = {"id": self.name, **self.measure, "scope": self.scope}
        return parse_catalogue(json.dumps({"log": "claims", "ppis": [ppi]}))

    @property
    def needs_histogram(self) -> bool:
        return self.name.startswith(_BY_HISTOGRAM)


def questions() -> Iterator[tuple[Question, ...]]:
    written = yaml.safe_load(WORKLOAD.read_text(encoding="utf-8"))
    for each in written["questions"]:
        measure, within = written["measures"][each["ask"]], str(each["within"])
        if "scope" in each:
            yield (Question(each["ask"], measure, each["scope"], within),)
            continue
        number, _, unit = within.partition(" ")
        part = f"{float(number) / math.sqrt(2):.3g} {unit}".strip()
        times = (f"between {time.replace(' to ', ' and ')}" for time in (each["of"], each["minus"]))
        yield tuple(Question(each["ask"], measure, time, part) for time in times)


def asked_at_once(*, sets: bool) -> Iterator[tuple[Question, ...]]:
    """The questions by how they are asked: in sets, or each by itself."""
    gathered: list[Question] = []
    for several in questions():
        alone = len(several) > 1 or several[0].needs_histogram or not sets
        if gathered and (alone or several[0].scope != gathered[0].scope):
            yield tuple(gathered)
            gathered = []
        if alone:
            yield from ((each,) for each in several)
        else:
            gathered += several
    if gathered:
        yield tuple(gathered)


@dataclass(slots=True)
class Asked:
    """What a workload cost, with and without what histograms would derive; how far it was off."""

    paid: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})
    free: int = 0
    values: int = 0
    further: int = 0


def workspace_in(folder: Path) -> Workspace:
    workspace = create(folder / "w")
    example = EXAMPLES["claims"]
    terms = replace(example.terms, expected_cases=_CASES, block_budget=Epsilon.of(1000))
    workspace.import_log(
        example.write_log(folder), "claims", new=NewLog(terms=terms), timezone=example.zone
    )
    return workspace


def ask_all(workspace: Workspace, *, derived: bool, sets: bool) -> Asked:
    session, told = workspace.checkpoint(), Asked()
    take = None if derived else False
    for several in asked_at_once(sets=sets):
        before = spent(workspace)
        catalogue, margins = priced(session, several, derived=derived)
        series = session.release(catalogue, anyway=True, derived=take)
        for one, margin in zip(series, margins, strict=True):
            if any(answer.derived_from for answer in one.answers):
                alone = replace(
                    catalogue, ppis=tuple(ppi for ppi in catalogue.ppis if ppi.id == one.ppi)
                )
                count(told, one.answers, workspace.exact(alone), margin)
        now = spent(workspace)
        told.free += len(several) * (now == before)
        told.paid[several[0].needs_histogram] += now - before
    return told


def priced(
    session: LocalSession, several: Sequence[Question], *, derived: bool
) -> tuple[Catalogue, list[float]]:
    """The catalogue at an ε that keeps all margins, and the margins."""
    together = replace(several[0].catalogue, ppis=tuple(each.catalogue.ppis[0] for each in several))
    quotes = [session.preview(each.catalogue, accuracy=each.within)[0] for each in several]
    margins = [float(each.within.split()[0]) for each in several]
    most = max(quote.own_epsilon for quote in quotes)
    if len(several) > 1:
        most = cheapest(session, together, margins, most, derived=derived)
    ppis = tuple(replace(ppi, epsilon=most) for ppi in together.ppis)
    return replace(together, ppis=ppis), margins


def cheapest(
    session: LocalSession,
    catalogue: Catalogue,
    margins: Sequence[float],
    most: Epsilon,
    *,
    derived: bool,
) -> Epsilon:
    """The smallest ε of each, within 5 %, at which all keep to their margins."""
    too_little, enough = LEAST.nano, most.nano
    if derived and keeps(session, catalogue, margins, LEAST):
        return LEAST
    while enough > 1.05 * too_little:
        middle = int(math.sqrt(too_little * enough)) // 10**5 * 10**5
        if keeps(session, catalogue, margins, Epsilon(middle)):
            enough = middle
        else:
            too_little = middle
    return Epsilon(enough)


def keeps(
    session: LocalSession, catalogue: Catalogue, margins: Sequence[float], epsilon: Epsilon
) -> bool:
    quotes = session.preview(catalogue, epsilon)
    for quote, wanted in zip(quotes, margins, strict=True):
        follows = quote.derivable
        margin = follows.margin if follows is not None and follows.taken else quote.margin
        if margin is None or margin > wanted:
            return False
    return True


def count(
    told: Asked, answers: Sequence[Answer], exact: Sequence[ExactAnswer], margin: float
) -> None:
    """How many derived values are further off than was promised for as many cases as expected."""
    true = {(one.period, one.group): one.clipped for one in exact}
    for answer in answers:
        value = true[answer.period, answer.group]
        if not answer.derived_from or answer.value is None or value is None:
            continue
        told.values += 1
        told.further += abs(answer.value - value) > margin


def spent(workspace: Workspace) -> int:
    """By all blocks together."""
    return sum(line.spent.nano for line in workspace.checkpoint().budget("claims"))


def main() -> int:
    found = {}
    for name, derived, sets in (
        ("one by one", False, False),
        ("derived", True, False),
        ("sets, and derived", True, True),
    ):
        with TemporaryDirectory() as folder:
            asked = ask_all(workspace_in(Path(folder)), derived=derived, sets=sets)
        found[name] = asked
        first, each = found["one by one"].paid, {k: v / 24e9 for k, v in asked.paid.items()}
        times = sum(first.values()) / max(sum(asked.paid.values()), 1)
        own = first[False] / max(asked.paid[False], 1)
        print(
            f"{name:18} ε of a block {sum(each.values()):6.3f}, {times:4.1f} times less; without "
            f"limits and percentiles {each[False]:6.3f}, {own:4.1f} times less; "
            f"{asked.free} questions free; {asked.further} of {asked.values} derived values "
            "further off than promised",
            flush=True,
        )
    last = found["sets, and derived"]
    saved = found["one by one"].paid[False] / max(last.paid[False], 1)
    return int(saved < LEAST_SAVED or last.further > MOST_FURTHER * last.values)


if __name__ == "__main__":
    sys.exit(main())
