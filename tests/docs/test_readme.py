"""What the README tells a newcomer to type works as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pappi.examples import write_csv
from pappi.examples.hospital import simulate_hospital

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
PROMPT = "$ "


def console_session() -> str:
    """What is typed in 60 seconds, and then to serve it: one after the other."""
    return "".join(re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL))


def shown_file(session: str, name: str) -> str:
    """What the session shows a file to hold."""
    _, _, rest = session.partition(f"{PROMPT}cat {name}\n")
    return rest.partition(f"\n{PROMPT}")[0] + "\n"


def commands(session: str) -> list[str]:
    lines = session.splitlines()
    return [line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT)]


@pytest.fixture
def newcomer(tmp_path: Path) -> Path:
    """A folder with a log, in which a workspace is about to be made."""
    write_csv(simulate_hospital(cases=200), tmp_path / "sepsis.csv.gz")
    return tmp_path


def test_the_60_second_example_runs(newcomer: Path) -> None:
    session = console_session()
    *typed, last = commands(session)
    assert last.startswith("pappi serve")  # goes on until it is stopped: tests/service
    # The file must be there before it is shown, as soon as its folder is.
    typed.insert(1, f"printf %s '{shown_file(session, 'waiting.yaml')}' > waiting.yaml")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment.pop("PAPPI_WORKSPACE", None)
    done = subprocess.run(
        ["/bin/bash", "-e"],
        input="\n".join(typed),
        cwd=newcomer,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "were released before: no new cost" in done.stdout
    assert "The ledger verifies" in done.stdout
    assert "alice may now spend ε 0.5" in done.stdout


def test_the_python_example_runs(newcomer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(newcomer)
    Path("waiting.yaml").write_text(shown_file(console_session(), "waiting.yaml"), "utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    subprocess.run([sys.executable, "-c", example], check=True)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", README))
def test_links_lead_somewhere(link: str) -> None:
    assert (Path(__file__).parents[2] / link).exists()
