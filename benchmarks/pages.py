"""What each page costs the server: CPU time and weight, in-process and without the time grid.

    python -m benchmarks.pages [--rounds 20]

The example log, with a few hundred charges on record. Beside the pages stands `/health`, which
does nothing but pass through the same layers: what is above it is the page's own.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx

import pappi
from pappi.examples import EXAMPLES
from pappi.ppinot import read_definitions
from pappi.session import Workspace
from pappi.values import Epsilon, Role
from tests.service.serving import Serving, serving
from tests.service.visiting import Visitor

CLAIMS = EXAMPLES["claims"]
SENTENCE = {"shape": "time", "do": "compose", "period": "month", "name": "Mean sojourn time"}
Look = Callable[[], httpx.Response]


@dataclass(frozen=True, slots=True)
class Cost:
    page: str
    cpu: float
    html: int
    sent: int


def prepared(folder: Path) -> Workspace:
    """A workspace with something to show on every page."""
    workspace = pappi.create(folder / "insurance")
    workspace.import_log(CLAIMS.write_log(folder), "claims", timezone=CLAIMS.zone)
    workspace.grant("claims", "10")
    workspace.custody.grant_analyst("claims", "alice", Epsilon.of(5))
    alice = workspace.checkpoint("alice")
    catalogue = read_definitions(CLAIMS.catalogue_path)
    alice.release(catalogue)
    alice.save(catalogue)
    return workspace


def looks(served: Serving, analyst: Visitor, owner: Visitor) -> Iterator[tuple[str, Visitor, Look]]:
    (kept,) = served.workspace.checkpoint("alice").saved()
    yield "/health", analyst, lambda: analyst.get("/health")
    for path in (
        "/workbench",
        "/workbench/logs/claims",
        "/workbench/logs/claims/ask",
        "/workbench/queries",
        f"/workbench/queries/{kept.id}",
        f"/workbench/queries/{kept.id}?smooth=1",
    ):
        yield path, analyst, lambda path=path: analyst.get(path)  # type: ignore[misc]
    ask = "/workbench/logs/claims/ask"
    yield f"{ask} (preview)", analyst, lambda: analyst.post(ask, **SENTENCE)
    for path in (
        "/console",
        "/console/logs/claims",
        "/console/keys",
        "/console/trail",
        "/console/protection/claims",
    ):
        yield path, owner, lambda path=path: owner.get(path)  # type: ignore[misc]


def cost_of(name: str, visitor: Visitor, look: Look, rounds: int) -> Cost:
    page = look()
    if page.status_code != 200:
        raise SystemExit(f"{name} answers {page.status_code}")
    links = dict.fromkeys(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text))
    assets = sum(visitor.get(link).num_bytes_downloaded for link in links)
    taken = []
    for _ in range(rounds):
        began = time.process_time()
        look()
        taken.append(time.process_time() - began)
    sent = page.num_bytes_downloaded
    return Cost(name, median(taken), len(page.content), sent + assets)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        workspace = prepared(Path(folder))
        served = serving(workspace)
        keys = [workspace.custody.issue_key(r, "alice").secret for r in (Role.ANALYST, Role.OWNER)]
        with Visitor(served.analyst, keys[0]) as analyst, Visitor(served.owner, keys[1]) as owner:
            found = [cost_of(*each, rounds) for each in looks(served, analyst, owner)]
    print(f"{'page':54}{'CPU ms':>8}{'HTML kB':>9}{'with style and script kB':>34}")
    for cost in found:
        name = re.sub(r"/[0-9a-f]{16}", "/…", cost.page)
        print(f"{name:54}{1000 * cost.cpu:8.1f}{cost.html / 1000:9.1f}{cost.sent / 1000:34.1f}")


if __name__ == "__main__":
    main()
