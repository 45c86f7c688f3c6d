"""docs/service.md names every route, right, code and setting as it is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from fastapi.routing import APIRoute

import pappi
from pappi.service import Settings
from pappi.service.analyst import analyst_app
from pappi.service.keys import rights_of
from pappi.service.middleware import Service
from pappi.service.owner import owner_app
from pappi.service.problems import CODES, Fault
from pappi.session import Workspace

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(GET|POST|PUT|DELETE) ([^`]+)` \| `(\w+)` \|", re.MULTILINE)


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def routes_of(app: Service) -> set[tuple[str, ...]]:
    return {
        (*sorted(route.methods or ()), route.path, *map(str, rights_of(route)))
        for route in app.routes
        if isinstance(route, APIRoute) and route.include_in_schema and rights_of(route)
    }


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return pappi.create(tmp_path_factory.mktemp("documented") / "w")


def test_the_analysts_routes_are_documented_with_their_rights(
    workspace: Workspace,
) -> None:
    assert set(ROW.findall(section("What analysts can ask"))) == routes_of(analyst_app(workspace))


def test_the_owners_routes_are_documented_with_their_rights(
    workspace: Workspace,
) -> None:
    assert set(ROW.findall(section("What the owner can do"))) == routes_of(owner_app(workspace))


def test_every_code_is_documented_with_its_status() -> None:
    rows = re.findall(r"^\| (\d{3}) \| (`[^|]+`) \|", section("Failures"), re.MULTILINE)
    found = {
        (code, int(status)) for status, codes in rows for code in re.findall(r"`(.+?)`", codes)
    }
    assert found == {(code, Fault(code, "").status) for code in CODES}


def test_every_setting_is_documented_with_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section("Settings"), re.MULTILINE)
    written = {name: text.replace(",", "") for name, text in rows}
    defaults = {one.name: one.default for one in fields(Settings)}
    assert written.keys() == defaults.keys()
    for name, default in defaults.items():
        same = written[name] if isinstance(default, str) else float(written[name])
        assert same == (default or "none"), name


def test_every_setting_is_explained_where_it_is_defined() -> None:
    explained = re.findall(r"^ {4}(\w+) {2,}", Settings.__doc__ or "", re.MULTILINE)
    assert explained == [one.name for one in fields(Settings)]


def test_the_composition_publishes_ports_to_its_own_machine_alone() -> None:
    composed = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    published = [port for one in composed["services"].values() for port in one.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)
