"""Any notation into any other, from the command line and from Python."""

from __future__ import annotations

import doctest
import inspect
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pappi.cli.ppis import remarks_on
from pappi.errors import DefinitionError, InputError, UsageError
from pappi.examples import EXAMPLES
from pappi.ppinot import (
    WRITTEN,
    Catalogue,
    definitions_in,
    notation_of,
    parse_catalogue,
    parse_definitions,
    read_definitions,
    write_definitions,
)
from pappi.ppinot.notations import java as documents
from pappi.ppinot.notations.java import CHANGING
from tests.commands import Run

FILES = [example.catalogue_path for example in EXAMPLES.values()]
ENDINGS = {"yaml": ".yaml", "json": ".json", "java": ".json", "text": ".txt"}
BPMN = """<?xml version="1.0"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL">
 <process id="p" name="Claims"><extensionElements>
  <ppinot:ppiset xmlns:ppinot="http://www.isa.us.es/ppinot">
   <ppinot:aggregatedMeasure id="a" aggregationFunction="Sum"><ppinot:countMeasure id="c"/>
   </ppinot:aggregatedMeasure>
   <ppinot:appliesToElementConnector sourceRef="c" targetRef="t" state="End"/>
   <ppinot:ppi id="paid" measuredBy="a"/><ppinot:ppi id="single" measuredBy="c"/>
  </ppinot:ppiset></extensionElements>
  <task id="t" name="Pay claim"/>
 </process>
</definitions>"""


def written(catalogue: Catalogue, notation: str, folder: Path) -> Path:
    path = folder / f"definitions{ENDINGS[notation]}"
    path.write_text(write_definitions(catalogue, notation), encoding="utf-8")
    return path


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("to", WRITTEN)
@pytest.mark.parametrize("via", WRITTEN)
def test_examples_survive_every_conversion(file: Path, via: str, to: str, tmp_path: Path) -> None:
    catalogue = read_definitions(file)
    first = read_definitions(written(catalogue, via, tmp_path))
    assert first == catalogue
    assert read_definitions(written(first, to, tmp_path)) == catalogue


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("notation", WRITTEN)
def test_notations_are_told_without_an_ending(file: Path, notation: str) -> None:
    text = write_definitions(read_definitions(file), notation)
    assert notation_of(text) == notation


@pytest.mark.parametrize(
    ("text", "name", "notation"),
    [
        (BPMN, "m", "bpmn"),
        ("", "m.bpmn", "bpmn"),
        ("", "m.bpmn20.xml", "bpmn"),
        ("", "m.YML", "yaml"),
        ("", "m", "yaml"),
        ("", "m.json", "json"),
        ('{"log": "x", "ppis": [{"id": "kind", "measure": {}}]}', "m.json", "json"),
        ('{"definitions": []}', "m.json", "java"),
        ('[{"kind": "CountMeasure"}]', "m", "java"),
        ('{"definitions": [{"considerOnly": ${x}}]}', "m.json", "java"),
        ("# PPIs\nppis:\n - id: a\n   comments: |\n     PPI: a\n", "m", "yaml"),
    ],
)
def test_notations_are_told_by_name_and_content(text: str, name: str, notation: str) -> None:
    assert notation_of(text, name) == notation


@given(st.text(), st.sampled_from(["", "a.json", "a.yaml", "a.bpmn", "a.txt"]))
def test_any_text_is_of_some_notation_and_read_or_refused(text: str, name: str) -> None:
    notation = notation_of(text, name)
    try:
        parse_definitions(text, notation, name or "a", "log")
    except DefinitionError as refused:
        for problem in refused.problems:
            assert problem.position.file == (name or "a")


def test_a_named_log_goes_before_that_of_the_file(tmp_path: Path) -> None:
    catalogue = read_definitions(FILES[0])
    for notation in WRITTEN:
        path = written(catalogue, notation, tmp_path)
        assert read_definitions(path, notation, log="other").log == "other"


def test_a_notation_that_is_none_is_refused(tmp_path: Path) -> None:
    catalogue = read_definitions(FILES[0])
    with pytest.raises(UsageError, match="there is no notation 'toml'"):
        write_definitions(catalogue, "toml")
    with pytest.raises(UsageError, match="BPMN is only read"):
        write_definitions(catalogue, "bpmn")
    with pytest.raises(InputError, match="none"):
        read_definitions(tmp_path / "none.yaml")
    (tmp_path / "latin.json").write_bytes(b'{"log":\n "\xe9"}')
    with pytest.raises(DefinitionError, match=r"latin\.json:2:1: error: this is not UTF-8 text"):
        read_definitions(tmp_path / "latin.json")


# --- the guide ------------------------------------------------------------------------

GUIDE = (Path(__file__).parents[2] / "docs" / "notations.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w.*)\n((?:.*\n)*?)```$", GUIDE, flags=re.MULTILINE)
READ = {"json java": "java", "xml bpmn": "bpmn", "text template": "text"}


def test_no_block_of_the_guide_goes_unchecked() -> None:
    assert {info for info, _ in BLOCKS} == {*READ, "yaml", "python", "console"}
    assert GUIDE.count("```") == 2 * len(BLOCKS), "a fence that opens nothing"


@pytest.mark.parametrize("kind", READ)
def test_examples_of_the_guide_say_what_the_catalogue_below_them_says(kind: str) -> None:
    for (info, text), (below, catalogue) in pairwise(BLOCKS):
        if info == kind:
            assert below == "yaml"
            wanted = parse_catalogue(catalogue)
            found = parse_definitions(text, READ[kind], "x", wanted.log)
            assert found.catalogue == wanted
            assert found.remarks == ()


def test_the_session_of_the_guide_runs() -> None:
    (session,) = (text for info, text in BLOCKS if info == "python")
    example = doctest.DocTestParser().get_doctest(session, {}, "guide", "notations.md", 0)
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", GUIDE))
def test_links_of_the_guide_lead_somewhere(link: str) -> None:
    path, _, anchor = link.partition("#")
    page = Path(__file__).parents[2] / "docs" / path
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert not anchor or anchor in [each.lower().replace(" ", "-") for each in headings]


def test_every_field_of_our_own_is_in_the_guide() -> None:
    source = inspect.getsource(documents)
    written_keys = set(re.findall(r'"([a-z]\w+)":(?! PPI_)', source))
    known = {"id", "name", "goals", "responsible", "informed", "comments", "target", "scope"}
    missing = {key for key in written_keys - known if f"`{key}`" not in GUIDE}
    assert missing <= {"ppis", "measuredBy", "kind", "period", "frequency", "relative", "value",
                       "numberOfInstances", "processId"}  # fmt: skip
    changing = {field.removeprefix("catalogue.") for field in CHANGING}
    assert {field for field in changing if f"`{field}`" not in GUIDE} == set()


# --- the command ----------------------------------------------------------------------


def test_convert_writes_to_the_terminal(run: Run) -> None:
    code, out, err = run("ppi", "convert", FILES[0], "--to", "json")
    assert code == 0
    assert err == ""
    catalogue = parse_definitions(out, "json", "x").catalogue
    assert catalogue == read_definitions(FILES[0])


def test_convert_says_what_java_would_not_see(run: Run) -> None:
    code, out, err = run("ppi", "convert", FILES[0], "--to", "java")
    assert code == 0
    assert json.loads(out)["ppis"]
    assert err.startswith("note: Java PPINOT does not know the fields catalogue.target, element")


def test_convert_keeps_what_is_there_unless_forced(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.yaml"
    assert run("ppi", "convert", FILES[0], "--to", "yaml", "-o", target)[0] == 0
    first = target.read_bytes()
    code, _, err = run("ppi", "convert", FILES[1], "--to", "yaml", "-o", target)
    assert (code, target.read_bytes()) == (2, first)
    assert "already exists" in err
    assert "--force" in err
    assert run("ppi", "convert", FILES[1], "--to", "yaml", "-o", target, "--force")[0] == 0
    assert read_definitions(target) == read_definitions(FILES[1])


def test_convert_explains_a_file_it_cannot_write(run: Run, tmp_path: Path) -> None:
    code, _, err = run("ppi", "convert", FILES[0], "--to", "yaml", "-o", tmp_path / "no" / "x")
    assert code == 2
    assert "No such file or directory" in err


def test_convert_reads_bpmn_and_tells_what_was_left_out(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "model.bpmn"
    model.write_text(BPMN, encoding="utf-8")
    code, _, err = run("ppi", "convert", model, "--to", "yaml")
    assert code == 6
    assert "does not say which log" in err
    code, out, err = run("ppi", "convert", model, "--to", "yaml", "--log", "claims")
    assert code == 0
    assert "'single' measures one case only" in err
    assert "transition: complete" in out
    _, out, _ = run(
        "ppi", "convert", model, "--to", "yaml", "--log", "claims", "--no-lifecycle"
    )  # fmt: skip
    assert "transition" not in out
    assert (
        parse_definitions(out, "yaml", "x").catalogue
        == definitions_in(model, log="claims", lifecycle=False).catalogue
    )


def test_other_commands_read_any_notation(run: Run, tmp_path: Path) -> None:
    catalogue = read_definitions(FILES[0])
    shown = run("ppi", "show", FILES[0])
    for notation in WRITTEN:
        path = written(catalogue, notation, tmp_path)
        assert run("ppi", "show", path) == shown
        code, out, _ = run("ppi", "check", path)
        assert code == 0
        assert f"{len(catalogue.ppis)} PPIs, no problems" in out


def test_a_loss_would_be_told() -> None:
    catalogue = read_definitions(FILES[0])
    text = write_definitions(catalogue, "yaml")
    assert list(remarks_on(catalogue, text, "yaml")) == []
    first = catalogue.ppis[0].id
    damaged = text.replace("id: " + first, "id: other")
    assert list(remarks_on(catalogue, damaged, "yaml")) == [
        f"warning: '{first}' would change when read back"
    ]
    (all_of_them,) = remarks_on(catalogue, "", "yaml")
    assert all(ppi.id in all_of_them for ppi in catalogue.ppis)
