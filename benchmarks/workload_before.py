"""What the workload cost before there were sets and derivation: run by an older checkout's code.

    git worktree add OLD 415b209
    PYTHONPATH=OLD/src:. python -m benchmarks.workload_before

The hundred questions of `workload.yaml`, in their order, each at the ε that the preview of that
time named for its margin; only the very same question was free. That is what people paid.

That preview took a quarter to have as many cases as a month, so that it asked too much ε for longer
periods. What the same code *needed* for the margins is told beside it: the ε that it named to who
declared as many cases as a period truly has, and a third of them for each of three groups. It is
as much as `workload` finds one by one with today's code, which compares like with like.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from datetime import date
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

WORKLOAD = Path(__file__).with_name("workload.yaml")
BLOCKS, CASES, GROUPS = 24, 400, 3
BLOCKS_IN = {
    "every month": 1,
    "every 2 months": 2,
    "every quarter": 3,
    "every 4 months": 4,
    "every 6 months": 6,
    "every year": 12,
    "whole time": 24,
}


def questions() -> Iterator[tuple[str, str]]:
    """Each as a catalogue, with its margin; both times of a difference."""
    written = yaml.safe_load(WORKLOAD.read_text(encoding="utf-8"))
    for each in written["questions"]:
        times, within = [each.get("scope")], str(each["within"])
        if times == [None]:
            number, _, unit = within.partition(" ")
            within = f"{float(number) / math.sqrt(2):.6g} {unit}".strip()
            pair = (each["of"], each["minus"])
            times = [f"between {time.replace(' to ', ' and ')}" for time in pair]
        for scope in times:
            ppi = {"id": each["ask"], **written["measures"][each["ask"]], "scope": scope}
            yield json.dumps({"log": "claims", "ppis": [ppi]}), within


def blocks_of(scope: str) -> tuple[int, int]:
    """How many a period has, and how many of the log's are asked about."""
    if scope in BLOCKS_IN:
        return BLOCKS_IN[scope], BLOCKS
    first, last = map(date.fromisoformat, scope.removeprefix("between ").split(" and "))
    number = 12 * (last.year - first.year) + last.month - first.month + 1
    return number, number


class Priced:
    """The previews of that time, by the number of cases that was declared for every period."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._known = folder, dict[int, Any]()

    def session(self, cases: int) -> Any:  # noqa: ANN401 - of a package of that time
        if cases not in self._known:
            self._known[cases] = self._workspace(cases).checkpoint()
        return self._known[cases]

    def epsilon(self, catalogue: str, within: str, cases: int) -> Any:  # noqa: ANN401
        (quote,) = self.session(cases).preview(self.written(catalogue), accuracy=within)
        return quote.epsilon

    def written(self, catalogue: str) -> str:
        file = self._folder / "one.yaml"
        file.write_text(catalogue, encoding="utf-8")
        return str(file)

    def _workspace(self, cases: int) -> Any:  # noqa: ANN401
        # Modules of that time: today's package has none of these names.
        example = import_module("pappi.examples").EXAMPLES["claims"]
        budget = import_module("pappi.values.epsilon").Epsilon.of(1000)
        terms = import_module("pappi.custody.imports").Terms(
            timezone=example.zone, expected_cases=cases, block_budget=budget
        )
        folder = self._folder / str(cases)
        folder.mkdir()
        workspace = import_module("pappi.workspace").create(folder / "w")
        log = example.write_log(folder)
        workspace.import_log(log, "claims", terms=terms, timezone=example.zone)
        return workspace


def main() -> int:
    needed: dict[tuple[str, str, int], float] = {}
    with TemporaryDirectory() as folder:
        priced = Priced(Path(folder))
        session = priced.session(CASES)
        for catalogue, within in questions():
            epsilon = priced.epsilon(catalogue, within, CASES)
            session.release(priced.written(catalogue), epsilon)
            (ppi,) = json.loads(catalogue)["ppis"]
            blocks, of_log = blocks_of(ppi["scope"])
            grouped = ppi["id"].endswith(("_by_channel", "_web"))
            own = priced.epsilon(catalogue, within, blocks * CASES // (GROUPS if grouped else 1))
            needed[ppi["id"], ppi["scope"], own.nano] = own.nano * of_log / BLOCKS
        spent = sum(line.spent.nano for line in session.budget("claims"))
    print(f"ε of a block {spent / (BLOCKS * 10**9):.2f}, of which needed", end=" ")
    print(f"{sum(needed.values()) / 10**9:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
