"""The reference leaves nothing out: no command, option, route, setting, code, keyword or name.

What there is comes from the code itself; what is written, from the pages as they are. So the
check does not rest on the generator. Each kind of omission is planted, and has to be found.
"""

from __future__ import annotations

import doctest
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import click
import pytest
from starlette.routing import Mount, Route

import pappi
from pappi import client
from pappi.cli.audit import AuditFailed
from pappi.cli.program import pappi as command_line
from pappi.errors import PappiError
from pappi.service import Settings
from pappi.service.analyst import analyst_app
from pappi.service.middleware import Service
from pappi.service.owner import owner_app
from pappi.service.problems import CODES
from pappi.session import LocalSession, Workspace
from tests.docs.pages import DOCS, ROOT
from tools import docs as generator
from tools import site
from tools.docs import markdown, shapes

FOLDER = DOCS / "reference"
KINDS = ("commands", "http", "settings", "errors", "notation", "python")
_ROUTE = "^\\| `{}`"
_VARIABLE = re.compile(r"\bPAPPI_[A-Z][A-Z_]*[A-Z]\b")


# --- what there is ------------------------------------------------------------------------


def subcommands(group: click.Group) -> dict[str, click.Command]:
    context = click.Context(group)
    found = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def commands_and_options() -> Iterator[str]:
    """A pattern for each command's heading, and for each option below it."""
    waiting: list[tuple[str, click.Command]] = [("pappi", command_line)]
    while waiting:
        path, command = waiting.pop()
        yield rf"^## {path}$"
        if isinstance(command, click.Group):
            waiting += [(f"{path} {name}", one) for name, one in subcommands(command).items()]
        for option in command.params:
            for name in option.opts if isinstance(option, click.Option) else ():
                yield rf"^## {path}$(?:(?!^## )[\s\S])*^\| `[^`]*{re.escape(name)}(?=[ ,`])"


def routes(app: Service) -> Iterator[str]:
    for route in app.routes:
        if isinstance(route, Mount):
            yield rf"^\| `GET {re.escape(route.path)}/"
        elif isinstance(route, Route):
            for method in (route.methods or set()) - {"HEAD"}:
                yield rf"^\| `{method} {re.escape(route.path)}`"


def settings() -> Iterator[str]:
    for one in fields(Settings):
        yield rf"^\| `{one.name}` \|"
    for path in (ROOT / "src").rglob("*.py"):
        for name in _VARIABLE.findall(path.read_text(encoding="utf-8")):
            yield rf"^\| `{name}` \|"


def codes() -> Iterator[str]:
    kinds: list[type[PappiError]] = [AuditFailed, client.ServiceError]
    waiting = [PappiError]
    while waiting:
        below = waiting.pop().__subclasses__()
        kinds += [kind for kind in below if kind.__module__.startswith("pappi.")]
        waiting += below
    for kind in kinds:
        yield rf"^\| `{kind.code}` \| {kind.exit_code} \|"
    for code in CODES:
        yield rf"^\| `{code}` \|"


def keywords() -> Iterator[str]:
    schema = json.loads((ROOT / "schemas" / "catalogue.schema.json").read_text(encoding="utf-8"))
    waiting: list[object] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            for key in part.get("properties", ()):
                yield rf"^\| `(?:[^`]*: )?{re.escape(key)}` \|"
            for value in part.get("enum", ()):
                yield rf"`{re.escape(value if isinstance(value, str) else json.dumps(value))}`"
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def names() -> Iterator[str]:
    for name in pappi.__all__:
        if not name.startswith("_"):
            yield rf"^### pappi\.{name}$"
    for kind in (Workspace, LocalSession, client.Client):
        yield rf"^###? {kind.__name__}$"
        for name, method in vars(kind).items():
            if callable(method) and not name.startswith("_"):
                yield rf"^{name}\("
    for name in client.__all__:
        yield rf"^### {name}$"


@pytest.fixture(scope="module")
def existing(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, frozenset[str]]:
    """By page: a pattern for each thing that exists, which its text has to match."""
    workspace = pappi.create(tmp_path_factory.mktemp("reference") / "w")
    found = {
        "commands": commands_and_options(),
        "http": (*routes(analyst_app(workspace)), *routes(owner_app(workspace))),
        "settings": settings(),
        "errors": codes(),
        "notation": keywords(),
        "python": names(),
    }
    return {kind: frozenset(patterns) for kind, patterns in found.items()}


# --- what is written ----------------------------------------------------------------------


def page(kind: str) -> str:
    return (FOLDER / f"{kind}.md").read_text(encoding="utf-8")


def missing(text: str, patterns: frozenset[str]) -> list[str]:
    return sorted(p for p in patterns if not re.search(p, text, re.MULTILINE))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_exists_is_left_out(kind: str, existing: Mapping[str, frozenset[str]]) -> None:
    assert missing(page(kind), existing[kind]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_omission_would_be_found(kind: str, existing: Mapping[str, frozenset[str]]) -> None:
    """Whatever line is taken out that is the only one to name something, is missed."""
    text = page(kind)
    at_least = {"commands": 100, "http": 30, "settings": 20, "errors": 25, "notation": 60}
    assert len(existing[kind]) >= at_least.get(kind, 40)
    for pattern in sorted(existing[kind])[:: max(1, len(existing[kind]) // 12)]:
        without = re.sub(pattern, "", text, flags=re.MULTILINE)
        assert pattern in missing(without, existing[kind])


def test_something_new_would_be_missed() -> None:
    @command_line.command("planted")
    @click.option("--unheard-of")
    def planted(unheard_of: str) -> None:
        """A command that no page has."""

    try:
        found = missing(page("commands"), frozenset(commands_and_options()))
    finally:
        del command_line.commands["planted"]
    assert any("planted" in pattern for pattern in found)
    assert any("unheard" in pattern for pattern in found)


# --- the generator ------------------------------------------------------------------------


@pytest.mark.parametrize("module", [markdown, shapes, site], ids=lambda module: module.__name__)
def test_the_examples_of_the_tools_hold(module: ModuleType) -> None:
    tried = doctest.testmod(module)
    assert tried.attempted > 0
    assert tried.failed == 0


def test_generated_pages_are_fresh() -> None:
    stale = [path.name for path in generator.stale()]
    assert stale == [], "run: make generated"


def test_a_stale_page_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "FOLDER", tmp_path)
    monkeypatch.setattr(generator, "PAGES", {"settings.md": generator.PAGES["settings.md"]})
    assert [path.name for path in generator.stale()] == ["settings.md"]
    generator.write()
    assert generator.stale() == []
    file = tmp_path / "settings.md"
    file.write_text(file.read_text(encoding="utf-8").replace("600", "601"), encoding="utf-8")
    assert [path.name for path in generator.stale()] == ["settings.md"]
