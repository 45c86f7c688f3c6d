"""What the workload cost before there were sets and derivation: run by an older checkout's code.

    git worktree add OLD 415b209
    PYTHONPATH=OLD/src:. python -m benchmarks.workload_before

The hundred questions of `workload.yaml`, in their order, each at the ε that the preview of that
time named for its margin; only the very same question was free. That preview took a quarter to
have as many cases as a month, so that it asked too much ε for longer periods. `workload` compares
like with like instead: today's mechanisms and forecasts, one by one.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

WORKLOAD = Path(__file__).with_name("workload.yaml")
BLOCKS, CASES = 24, 400


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


def main() -> int:
    # Modules of that time: today's package has none of these names.
    example = import_module("pappi.examples").EXAMPLES["claims"]
    budget = import_module("pappi.values.epsilon").Epsilon.of(1000)
    terms = import_module("pappi.custody.imports").Terms(
        timezone=example.zone, expected_cases=CASES, block_budget=budget
    )
    with TemporaryDirectory() as folder:
        file = Path(folder) / "one.yaml"
        workspace = import_module("pappi.workspace").create(Path(folder) / "w")
        log = example.write_log(folder)
        workspace.import_log(log, "claims", terms=terms, timezone=example.zone)
        session: Any = workspace.checkpoint()
        for catalogue, within in questions():
            file.write_text(catalogue, encoding="utf-8")
            (quote,) = session.preview(str(file), accuracy=within)
            session.release(str(file), quote.epsilon)
        spent = sum(line.spent.nano for line in session.budget("claims"))
    print(f"ε of a block {spent / (BLOCKS * 10**9):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
