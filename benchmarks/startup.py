"""What a command costs that reads no event: CPU of `pappi preview` and of a replay of five PPIs.

A preview of what nobody has asked yet, which advises, and of what is on record.

    python -m benchmarks.startup [TIMES]

Beside them, in the same run: Python that does nothing, Python that imports numpy, and
`pappi --version`. The least of several runs, each in its own process, with byte code cached. The
goal is seconds of an idle machine; the exit code is 1 if it is missed.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pappi
from benchmarks.service import DEFINITIONS, prepared

EVENTS, TIMES = 100_000, 8
MOST_SECONDS = 0.35
SET_HERE = ("PYTHON", "OPENBLAS")  # and not where somebody runs a command


def cpu_of(command: Sequence[str], env: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = [sys.executable, *command]
    subprocess.run(run, stdout=subprocess.DEVNULL, env=env, check=True)  # noqa: S603 - our own
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(times: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        root, new, catalogue = (Path(folder) / name for name in ("known", "new", "five.yaml"))
        catalogue.write_text(DEFINITIONS % {"hours": 100}, encoding="utf-8")
        prepared(new, EVENTS).close()
        workspace = prepared(root, EVENTS)
        workspace.checkpoint().release(catalogue, "0.1", anyway=True)
        workspace.close()
        asked = (str(catalogue), "--epsilon", "0.1", "-w")
        commands = {
            "python": ("-c", "pass"),
            "import numpy": ("-c", "import numpy"),
            "pappi --version": ("-m", "pappi", "--version"),
            "pappi preview": ("-m", "pappi", "preview", *asked, str(new)),
            "pappi preview, on record": ("-m", "pappi", "preview", *asked, str(root)),
            "pappi release, on record": ("-m", "pappi", "release", *asked, str(root)),
        }
        ours = {name: text for name, text in os.environ.items() if not name.startswith(SET_HERE)}
        source = str(Path(pappi.__file__).parents[1])  # what is measured is what is imported here
        env = {**ours, "PYTHONPATH": source, "PYTHONPYCACHEPREFIX": folder}
        for command in commands.values():  # writes the byte code
            cpu_of(command, env)
        least = dict.fromkeys(commands, float("inf"))
        for _ in range(times):
            for name, command in commands.items():
                least[name] = min(least[name], cpu_of(command, env))
    for name, seconds in least.items():
        print(f"{name:<26}{seconds:>7.3f} s{seconds / least['import numpy']:>8.1f} × numpy")
    missed = [name for name, seconds in least.items() if seconds > MOST_SECONDS]
    print(f"goal: at most {MOST_SECONDS:g} s each; missed by: {', '.join(missed) or 'none'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else TIMES))
