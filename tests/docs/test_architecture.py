"""The page on the architecture, the folder tree and the import contracts say the same."""

from __future__ import annotations

import ast
import configparser
import re
from itertools import count
from pathlib import Path

import grimp
import pytest
from importlinter import ContractCheck

from tools.surfaces import SurfaceContract

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pappi"
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
TWO_PAGES = 1_300
_ENTRY = "__main__"


def layers_of_the_page(page: str) -> list[set[str]]:
    """The packages in the first column of the table, a row for each layer."""
    rows = re.findall(r"^\| ((?:`\w+`(?: \\\| )?)+) \|", page, flags=re.MULTILINE)
    return [set(re.findall(r"`(\w+)`", row)) for row in rows]


def layers_of_the_contract() -> list[set[str]]:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    lines = contracts["importlinter:contract:layers"]["layers"].split("\n")
    return [set(line.split(" | ")) for line in lines if line not in ("", _ENTRY)]


def packages_of_the_tree() -> set[str]:
    found = (ROOT / "src" / "pappi").iterdir()
    names = {path.stem for path in found if path.suffix == ".py" or (path / "__init__.py").exists()}
    return {name for name in names if not name.startswith("__")}


def test_page_and_contract_have_the_same_layers() -> None:
    assert layers_of_the_page(PAGE) == layers_of_the_contract()


def test_page_and_folder_tree_have_the_same_packages() -> None:
    assert set().union(*layers_of_the_page(PAGE)) == packages_of_the_tree()


@pytest.mark.parametrize("fault", ["| `series` ", "`ledger` \\| ", "| `values` | "])
def test_a_package_missing_from_the_page_is_noticed(fault: str) -> None:
    assert fault in PAGE
    assert layers_of_the_page(PAGE.replace(fault, "| `other` ")) != layers_of_the_contract()


@pytest.mark.parametrize(
    "page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/explanation/inside.md"]
)
def test_every_file_that_is_named_is_there(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    named = set(re.findall(r"`((?:\w+/)+\w*\.?\w+)`", text))
    assert named
    places = (ROOT, ROOT / "src" / "pappi")
    missing = {name for name in named if not any((place / name).exists() for place in places)}
    assert not missing


@pytest.mark.parametrize("package", sorted(p.parent.name for p in SOURCE.glob("*/__init__.py")))
def test_a_package_lists_its_modules(package: str) -> None:
    """Its docstring is the map that the page refers to."""
    folder = SOURCE / package
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    inside = [p for p in folder.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
    modules = {path.stem for path in inside} - {"__init__", "remote"}
    assert {name for name in modules if not re.search(rf"\b{name}\b", text)} == set()


def test_the_page_stays_two_pages() -> None:
    assert len(PAGE.split()) <= TWO_PAGES


# --- surfaces -------------------------------------------------------------------------

_numbers = count()


def surfaces_of(folder: Path, patches: pytest.MonkeyPatch, above: str) -> ContractCheck:
    """What the contract says of two packages; `above` is the upper one's source."""
    house = f"house{next(_numbers)}"
    for module, text in {
        "__init__": "",
        "above": above.replace("house", house),
        "below/__init__": f"from {house}.below.inner import thing",
        "below/inner": "thing = 1",
    }.items():
        path = folder / house / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    patches.syspath_prepend(folder)
    graph = grimp.build_graph(house, include_external_packages=True, cache_dir=None)
    return SurfaceContract("", {"root_packages": [house]}, {}).check(graph, verbose=False)


@pytest.mark.parametrize(
    "past",
    [
        "import house.below.inner",
        "from house.below import inner",
        "from house.below.inner import x",
    ],
)
def test_an_import_past_a_surface_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], past: str
) -> None:
    check = surfaces_of(tmp_path, monkeypatch, f"import json.decoder\ndef f():\n    {past}\n")
    assert not check.kept
    SurfaceContract("", {}, {}).render_broken_contract(check)
    told = capsys.readouterr().out
    assert re.search(r"house\d+\.above imports house\d+\.below\.inner", told)
    assert "json" not in told


def test_an_import_of_a_surface_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = "import json.decoder\nimport house.below\nfrom house.below import thing\n"
    assert surfaces_of(tmp_path, monkeypatch, sound).kept


def test_the_contract_on_surfaces_is_in_force() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    types = contracts["importlinter"]["contract_types"].split()
    assert types == ["surface:", f"{SurfaceContract.__module__}.{SurfaceContract.__name__}"]
    kept = [each for name, each in contracts.items() if "contract:" in name]
    assert [list(each) for each in kept if each["type"] == "surface"] == [["name", "type"]]
