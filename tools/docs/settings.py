"""Every setting of the service, and every variable of the environment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from pappi.service import Settings
from tools.docs.markdown import code, joined, sentence, table

ROOT = Path(__file__).parents[2]
_WHERE = ("src", "tests", "benchmarks", "experiments", "Makefile", "Dockerfile", "compose.yaml")
_ENDINGS = frozenset({".py", ".yaml", ".html", ".js", ""})
_VARIABLE = re.compile(r"\bPAPPI_[A-Z][A-Z_]*[A-Z]\b")
_FAMILY = re.compile(r'"(PAPPI_[A-Z_]+_)\{')

INTRODUCTION = """\
# Settings

What is public about a log (time zone, blocks, unit, budgets, bounds) is declared, not set: see
[`pappi log import`](commands.md#pappi-log-import). What follows is about programs.
"""

SERVICE = """\
Fields of `pappi.service.settings.Settings`, for those who run the applications themselves;
`pappi serve` sets some by [its options](commands.md#pappi-serve). Limits hold per process.
"""

# For whom each variable is, and what it says.
VARIABLES = {
    "PAPPI_WORKSPACE": ("everybody", "the workspace, where `-w` does not name one"),
    "PAPPI_LEDGER_URL": (
        "owner",
        "where in PostgreSQL the ledger is; comes before the workspace's file `ledger.url`",
    ),
    "PAPPI_LEDGER_PASSWORD_FILE": (
        "owner",
        "a file that holds the password for that database and nothing else; any characters",
    ),
    "PAPPI_TRUSTED_PROXIES": (
        "owner",
        "addresses or networks of proxies before `pappi serve`, as `--trusted-proxies`",
    ),
    "PAPPI_PUBLIC_URL": ("owner", "where analysts reach `pappi serve`, as `--public-url`"),
    "PAPPI_OWNER_URL": ("owner", "public address for the owner, as `--owner-url`"),
    "PAPPI_PYTHON_IMAGE": (
        "owner",
        "the image that the container of `compose.yaml` is built on; name it by digest",
    ),
    "PAPPI_POSTGRES_IMAGE": ("owner", "the image of its database, likewise"),
    "PAPPI_DEBUG": (
        "owner",
        "failures show their private detail, which may quote events: for the owner's eyes only",
    ),
    "PAPPI_SOURCE_PASSWORD_<LOG>": (
        "owner",
        "the password or token for a log's source; its name in capitals, other signs as `_`",
    ),
    "PAPPI_LONG": ("developer", "set by `make long`: the tests in full"),
    "PAPPI_SHARED_DATA": (
        "researcher",
        "a folder with public logs, for experiments and tests, which are skipped without",
    ),
    "PAPPI_PRIPEL_LOGS": ("researcher", "a folder with logs anonymised by PRIPEL, to compare with"),
    "PAPPI_ENGINES": ("developer", "`1` also compares the engines over real and large logs"),
    "PAPPI_TEST_PYSPARK": ("developer", "a Spark Connect server of PySpark to test with, `sc://…`"),
    "PAPPI_AUDIT_PAIRS": ("developer", "neighbouring pairs each audit test tries"),
    "PAPPI_AUDIT_SAMPLES": (
        "developer",
        "samples each audit test compares with the exact distribution",
    ),
    "PAPPI_AUDIT_LOGS": ("developer", "logs that the audit of the whole path takes in, per engine"),
    "PAPPI_EVERY_RELEASE": ("developer", "`1` plans every combination of shapes and releases"),
    "PAPPI_OPENAPI_EXAMPLES": ("developer", "requests each route's test generates"),
}


def variables() -> set[str]:
    """Every variable that the code, its tests or its containers read."""
    texts = [path.read_text("utf-8") for path in _sources()]
    families = {f"{name}<LOG>" for text in texts for name in _FAMILY.findall(text)}
    return families | {name for text in texts for name in _VARIABLE.findall(text)}


def _sources() -> Iterator[Path]:
    for name in _WHERE:
        place = ROOT / name
        files = place.rglob("*") if place.is_dir() else (place,)
        yield from (path for path in files if path.is_file() and path.suffix in _ENDINGS)


def page() -> str:
    return joined(
        [
            INTRODUCTION,
            "## The environment",
            table(("variable", "for", "meaning"), [_variable(name) for name in _order()]),
            "## The service",
            SERVICE,
            table(("setting", "default", "meaning"), _settings()),
        ]
    )


def _order() -> list[str]:
    """As in the table above; one that is not explained there has no place, and fails."""
    found = variables()
    unknown = found - VARIABLES.keys()
    if unknown:
        raise LookupError(f"tools/docs/settings.py does not explain {sorted(unknown)}")
    return [name for name in VARIABLES if name in found]


def _variable(name: str) -> tuple[str, str, str]:
    reader, meaning = VARIABLES[name]
    return code(name), reader, sentence(meaning)


def _settings() -> Iterator[tuple[str, str, str]]:
    explained = dict(re.findall(r"^ {4}(\w+) {2,}(.+)$", Settings.__doc__ or "", re.MULTILINE))
    for one in fields(Settings):
        shown = one.default or "none" if isinstance(one.default, str) else f"{one.default:,}"
        yield code(one.name), shown, sentence(explained[one.name])
