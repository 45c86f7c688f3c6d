"""The guide to one's own words: what it shows is what is read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import pappi
from pappi.checkpoint import LocalSession
from pappi.cli.program import pappi as program
from pappi.errors import NotUnderstood
from pappi.examples import EXAMPLES

GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "own-words.md").read_text(encoding="utf-8")
(SHOWN,) = re.findall(r"^```text readings\n(.*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)
PAIRS = [pair.split("\n= ") for pair in re.findall(r"^[^=\n].*\n= .*$", SHOWN, flags=re.MULTILINE)]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> LocalSession:
    folder, claims = tmp_path_factory.mktemp("words"), EXAMPLES["claims"]
    workspace = pappi.create(folder / "w")
    workspace.import_log(claims.write_log(folder), timezone=claims.zone)
    return workspace.checkpoint("alice")


@pytest.mark.outside
def test_each_sentence_has_the_reading_that_is_shown(session: LocalSession) -> None:
    assert len(PAIRS) == 14
    for said, shown in PAIRS:
        assert session.understand(said).readings[0].sentence == shown, said


@pytest.mark.outside
def test_the_first_example_is_what_the_command_prints(session: LocalSession) -> None:
    (said,) = re.findall(r'ppi say "(How[^"]*)"', GUIDE)
    best = session.understand(said, "claims").readings[0]
    (printed,) = re.findall(r"^```text\n1\. (.*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)
    assert printed.startswith(f"{best.sentence}  (fits {best.score:.0%})")
    assert re.findall(r"assumed: (.*)", printed) == list(best.assumed)
    assert all(line in printed for line in best.yaml.splitlines())


@pytest.mark.outside
def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "own-words.md", "exec"), {})  # noqa: S102 - the guide is ours


@pytest.mark.outside
def test_the_command_prints_its_readings_as_json(tmp_path: Path) -> None:
    claims = EXAMPLES["claims"]
    workspace = pappi.create(tmp_path / "w")
    workspace.import_log(claims.write_log(tmp_path), timezone=claims.zone)
    say = ["-w", str(tmp_path / "w"), "ppi", "say"]
    told = CliRunner().invoke(program, [*say, "rejection rate", "--json"])
    best, *_ = json.loads(told.stdout)["readings"]
    assert list(best)[:3] == ["sentence", "yaml", "score"]
    assert best["yaml"].endswith(
        "{share: {condition: {activity: Reject claim}}}\n    scope: every month\n"
    )
    refused = CliRunner().invoke(program, [*say, "the colour of the sky", "--json"])
    assert isinstance(refused.exception, NotUnderstood)
    assert json.loads(refused.stdout) == {"readings": []}
