"""Make the golden workspaces: one per shape that a version of PaPPI has written.

    python tests/golden/make.py NAME SOURCE

runs the version whose `src` folder is SOURCE (a `git worktree` of the commit in `COMMITS`) by
its command line alone, which has hardly changed, and packs what it wrote into NAME.tar.xz. Each
holds an imported log, a released catalogue with the answers it got, a catalogue whose charge is
pending, and from layout 3 on a subscription, and captured events, some of them sealed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Protocol

HERE = Path(__file__).parent

# The last commit that wrote each shape; a new layout's own is made before the number moves on.
COMMITS = {
    "layout-1": "514c3c0",
    "layout-2": "a3f908b",
    "layout-3-first": "6e6b872",
    "layout-3-without-first-pos": "8f1188d",
    "layout-3": "2bb5cb7",
    "layout-4": "fd0558f",
    "layout-5": "",
}

RELEASED = """\
log: claims
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 30 days]
    scope: every month
  - id: paid
    measure: {sum: {count: activity == "Pay"}}
    bounds: [0, 1]
    scope: every month
"""
PENDING = """\
log: claims
ppis:
  - id: damage
    measure: {mean: {data: damage}}
    bounds: [0, 1000]
    scope: every month
"""
NEW = """\
log: claims
ppis:
  - id: received
    measure: {sum: {count: activity == "Receive"}}
    bounds: [0, 1]
    scope: every month
"""
# Ends after the charge: whatever it would have drawn is pending.
BREAKS_OFF = """
try:
    from pappi.checkpoint.door import Checkpoint
except ImportError:
    from pappi.checkpoint import LocalSession as Checkpoint
from pappi.cli.program import main

def broken(*anything):
    raise SystemExit(1)

if hasattr(Checkpoint, "_draw"):
    Checkpoint._draw = broken
else:
    from pappi.checkpoint import draw

    draw.draw_cells = broken
main()
"""


def log_rows() -> list[str]:
    rows = ["case,activity,timestamp,damage"]
    for number in range(40):
        month, day = 1 + number % 2, 1 + number // 2
        outcome = "Reject" if number % 4 == 0 else "Pay"
        rows.append(f"c{number},Receive,2024-0{month}-{day:02}T08:00:00+00:00,{10 * number}")
        rows.append(f"c{number},{outcome},2024-0{month}-{day + 3:02}T08:00:00+00:00,{10 * number}")
    return rows


def captured() -> list[str]:
    events = []
    for number, month in enumerate((3, 3, 3, 4)):
        for step, activity in enumerate(("Receive", "Pay")):
            time = f"2024-0{month}-{10 + 2 * number + step:02}T08:00:00+00:00"
            event = {"id": f"e{number}-{step}", "case": f"n{number}", "activity": activity}
            events.append({**event, "time": time, "attributes": {"damage": 50}})
    return [json.dumps(event) for event in events]


class Run(Protocol):
    """A command of some version, by its words; `fails` breaks it off after its charge."""

    def __call__(self, *words: str, fails: bool = False) -> str: ...


def written(folder: Path, run: Run, *, captures: bool = True) -> Path:
    """A workspace in the folder, written by these commands alone."""
    place = folder / "workspace"
    for file, text in {
        "log.csv": "\n".join(log_rows()) + "\n",
        "released.yaml": RELEASED,
        "pending.yaml": PENDING,
        "events.jsonl": "\n".join(captured()) + "\n",
    }.items():
        (folder / file).write_text(text, encoding="utf-8")
    at = ("--workspace", str(place))
    log, events, released, pending = (
        str(folder / name) for name in ("log.csv", "events.jsonl", "released.yaml", "pending.yaml")
    )
    run("init", str(place))
    run("log", "import", log, "--name", "claims", "--until", "2024-02-29", *at)
    if captures:
        run("log", "capture", "claims", events, *at)
        run("log", "seal", "claims", "--until", "2024-04-01", *at)
        run("subscription", "add", released, "--until", "2024-12-31", *at)
    answers = run("release", released, "--json", *at)
    run("release", pending, *at, fails=True)
    (place / "answers.json").write_text(answers, encoding="utf-8")
    return place


def made(name: str, source: Path) -> None:
    """Pack what the version with this `src` folder writes."""

    def run(*words: str, fails: bool = False) -> str:
        environment = {**os.environ, "PYTHONPATH": str(source)}
        called = ("-c", BREAKS_OFF) if fails else ("-m", "pappi")
        program = (source / "pappi/cli/program.py").read_text(encoding="utf-8")
        if words[0] == "subscription" and words[0] not in program:
            words = ("standing", *words[1:])  # as it was called before
        command = [sys.executable, *called, *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if (done.returncode != 0) is not fails:
            raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout

    with tempfile.TemporaryDirectory() as folder:
        captures = not name.startswith(("layout-1", "layout-2"))
        place = written(Path(folder), run, captures=captures)
        with tarfile.open(HERE / f"{name}.tar.xz", "w:xz", preset=9) as archive:
            for each in sorted(place.iterdir()):
                if not each.name.startswith("."):
                    archive.add(each, each.name)


if __name__ == "__main__":
    made(sys.argv[1], Path(sys.argv[2]).resolve())
