"""Writes Sepsis logs anonymised by PRIPEL, for the experiment `pripel`. No test: a tool.

    python tests/experiments/pripel_logs.py FOLDER [--seeds 3] [--query sacofa] [--length 10]

Needs pm4py, diffprivlib and scikit-learn below 1.7, in an environment of their own: pm4py is
under the AGPL, and nothing of PaPPI imports it or this file. `--query laplace --length 30` is
about what the paper's authors used, and takes minutes for a log; `sacofa` with 10 is pm4py's
default and takes seconds. TQDM_DISABLE=1 silences pm4py's progress bars.

The number of cases of every log is printed. The same seed gives the same log: for that, the
generator of the operating system, which diffprivlib draws from, is replaced by a seeded one, and
Python's hashing is fixed, by starting the script anew.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import random
import secrets
import sys
from pathlib import Path
from typing import Any

EPSILON, PRUNED = 0.1, 20
LOG = Path(__file__).parents[3] / "shared" / "data" / "sepsis.csv.gz"
NEEDED = ("pm4py", "diffprivlib", "sklearn")
ANONYMIZATION = "pm4py.algo.anonymization"

Frame = Any
"""Of pandas, or a log of pm4py: neither is installed where types are checked."""


def main() -> int:
    asked = _arguments()
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        sys.stderr.write(f"skipped: {', '.join(absent)} cannot be imported here\n")
        return 1
    asked.folder.mkdir(parents=True, exist_ok=True)
    for seed in range(1, asked.seeds + 1):
        path = asked.folder / f"{asked.query}-{asked.length}-seed{seed}.csv"
        cases = _write(asked.log, path, seed, asked.query, asked.length)
        sys.stderr.write(f"{path}: {cases} cases\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--query", choices=("sacofa", "laplace"), default="sacofa")
    parser.add_argument("--length", type=int, default=10)
    return parser.parse_args()


def _write(log: Path, path: Path, seed: int, query: str, length: int) -> int:
    pripel = importlib.import_module(f"{ANONYMIZATION}.pripel.algorithm")
    converter = importlib.import_module("pm4py.objects.conversion.log.converter")
    _fix_chances(seed)
    events = _events(log)
    variants = _variants(converter.apply(events.copy()), query, length)
    found = pripel.apply(converter.apply(events), variants, EPSILON)
    found = found.rename(columns={"case:concept:name": "case_id", "concept:name": "activity"})
    times = found["time:timestamp"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    found = found.assign(timestamp=times).dropna(subset=["timestamp", "activity"])
    found[["case_id", "activity", "timestamp"]].to_csv(path, sep=";", index=False)
    return int(found["case_id"].nunique())


def _fix_chances(seed: int) -> None:
    """pm4py draws from both of the global generators, diffprivlib from the operating system."""
    random.seed(seed)
    importlib.import_module("numpy.random").seed(seed)
    chances = random.Random(seed)  # noqa: S311 - a simulation that can be repeated

    class Seeded(random.SystemRandom):
        def random(self) -> float:
            return chances.random()

        def getrandbits(self, k: int) -> int:
            return chances.getrandbits(k)

    vars(secrets)["SystemRandom"] = Seeded


def _events(log: Path) -> Frame:
    """Cases, activities and wall-clock times; one case is really called NA."""
    pandas = importlib.import_module("pandas")
    table = pandas.read_csv(log, sep=";", keep_default_na=False, dtype=str)
    return pandas.DataFrame(
        {
            "case:concept:name": table["case_id"],
            "concept:name": table["activity"],
            "time:timestamp": pandas.to_datetime(table["timestamp"]),
        }
    )


def _variants(log: Frame, query: str, length: int) -> Frame:
    variants = importlib.import_module(f"{ANONYMIZATION}.trace_variant_query.algorithm")
    # pm4py asks importlib for a function that Python no longer has.
    if not hasattr(importlib.util, "find_loader"):
        vars(importlib.util)["find_loader"] = importlib.util.find_spec
    chosen = variants.Variants.SACOFA if query == "sacofa" else variants.Variants.LAPLACE
    parameters = {"epsilon": EPSILON, "k": length, "p": PRUNED, "show_progress_bar": False}
    return variants.apply(log, variant=chosen, parameters=parameters)


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        fixed = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, *sys.argv], fixed)  # noqa: S606 - itself
    sys.exit(main())
