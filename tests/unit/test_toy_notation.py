"""A new notation is one module and one line: nothing else has to know it."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from pappi.client import Client, ServiceError
from pappi.errors import DefinitionError, UsageError
from pappi.ppinot import (
    WRITTEN,
    check_catalogue,
    definitions_in,
    notation_of,
    parse_definitions,
    read_definitions,
    sentence,
    write_definitions,
)
from pappi.ppinot.notations import FORMATS, Format, whole_catalogue
from pappi.values import Vocabulary
from tests.commands import Run
from tests.unit.toy_notation import read_toy, write_toy

TEXT = "about claims\npaid: Pay claim\nrejected: Reject claim\n"


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "toy", Format(whole_catalogue(read_toy), write_toy, (".toy",)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "claims.toy"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_file_is_told_by_its_ending_or_read_by_name(file: Path) -> None:
    assert notation_of(TEXT, file.name) == "toy"
    catalogue = read_definitions(file)
    assert [ppi.id for ppi in catalogue.ppis] == ["paid", "rejected"]
    assert catalogue == parse_definitions(TEXT, "toy", "definitions").catalogue
    assert definitions_in(file, log="other").catalogue.log == "other"


def test_without_the_line_nobody_knows_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert notation_of(TEXT, file.name) == "yaml"
    with pytest.raises(UsageError, match="there is no notation 'toy'") as refused:
        read_definitions(file, "toy")
    assert refused.value.hint == "the notations are 'yaml', 'json', 'java', 'text' and 'bpmn'"


@pytest.mark.parametrize("other", WRITTEN)
def test_it_is_converted_into_every_other_and_back(file: Path, other: str) -> None:
    catalogue = read_definitions(file)
    again = parse_definitions(write_definitions(catalogue, other), other, "file").catalogue
    assert again == catalogue
    assert write_definitions(again, "toy") == TEXT


def test_its_problems_have_their_places(file: Path) -> None:
    with pytest.raises(DefinitionError) as refused:
        parse_definitions("claims\npaid\n", "toy", "c.toy")
    assert [str(problem.position) for problem in refused.value.problems] == [
        "c.toy:1:1",
        "c.toy:2:1",
    ]
    vocabulary = Vocabulary(("Pay claim", "Receive claim"), {})
    (problem,) = check_catalogue(read_definitions(file), vocabulary)
    assert problem.position.line == 3
    assert problem.message == "unknown activity 'Reject claim'"


def test_what_it_cannot_say_is_not_written() -> None:
    text = "log: l\nppis: [{id: x, measure: {number: cases}}]"
    catalogue = parse_definitions(text, "yaml", "file")
    with pytest.raises(DefinitionError, match="the toy notation cannot express 'x'"):
        write_definitions(catalogue.catalogue, "toy")


# --- by command ---------------------------------------------------------------------------


def test_its_files_are_checked_and_shown(file: Path, run: Run) -> None:
    code, out, _ = run("ppi", "check", file)
    assert code == 0
    assert "2 PPIs, no problems" in out
    code, out, _ = run("ppi", "show", file, "paid")
    assert code == 0
    assert sentence(read_definitions(file).ppis[0]) in out


@pytest.mark.parametrize("other", WRITTEN)
def test_its_files_are_converted(file: Path, other: str, run: Run) -> None:
    code, out, err = run("ppi", "convert", file, "--to", other)
    assert (code, "warning" in err) == (0, False)
    assert parse_definitions(out, other, "file").catalogue == read_definitions(file)


def test_a_client_names_the_notation_of_a_file(file: Path) -> None:
    bodies = []

    def refuse(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(404, json={})

    transport = httpx.MockTransport(refuse)
    with Client("http://pappi", "key", transport=transport) as client, pytest.raises(ServiceError):
        client.check(file)
    assert bodies == [{"definitions": TEXT, "notation": "toy"}]
