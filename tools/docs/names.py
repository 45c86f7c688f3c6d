"""Every public Python name: its signature and what its docstring says."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass

import pappi
from pappi import client
from pappi.checkpoint import Budget, Quotes, Released
from pappi.checkpoint.views import Chart, Records
from pappi.custody import Custody, NewLog
from pappi.eventlog import ReadOptions
from pappi.ppinot import CaseMeasure, Event, Indicator
from pappi.session import LocalSession, Workspace
from pappi.values import (
    Answer,
    Band,
    BudgetLine,
    ExactAnswer,
    Guarantee,
    Interval,
    Quote,
    QuotedSet,
    Series,
    Smoothed,
    Terms,
    Verdict,
)
from tools.docs.markdown import code, joined, table

INTRODUCTION = """\
# Python

`import pappi` gives the names below; objects come from them and are seldom made by hand. Everything
is typed. Errors are those of `pappi.errors`, by [their codes](errors.md).
"""
LINE = 72

CLASSES: tuple[type, ...] = (
    *(Workspace, LocalSession, Custody, NewLog, Terms, ReadOptions),
    *(Indicator, CaseMeasure, Event),
    *(
        Released,
        Quotes,
        Budget,
        Records,
        Chart,
        Series,
        Answer,
        Interval,
        Guarantee,
        Verdict,
        Band,
        Smoothed,
    ),
    *(Quote, QuotedSet, BudgetLine, ExactAnswer),
)


def page() -> str:
    functions = [name for name in pappi.__all__ if not name.startswith("_")]
    shown = [_function(f"pappi.{name}", getattr(pappi, name)) for name in functions]
    remote = [getattr(client, name) for name in client.__all__]
    return joined(
        [
            INTRODUCTION,
            "## pappi",
            *shown,
            *map(_class, CLASSES),
            "## pappi.client",
            "The checkpoint over HTTP: `pip install 'pappi[client]'`.",
            *(_class(one, level="###") for one in remote),
        ]
    )


def public_methods(kind: type) -> Iterator[tuple[str, Callable[..., object]]]:
    """The methods people call, in the order they are written."""
    for name, value in vars(kind).items():
        if not name.startswith("_") and inspect.isfunction(value):
            yield name, value


def _function(name: str, function: Callable[..., object]) -> str:
    return joined([f"### {name}", _signature(name, function), _told(function)])


def _signature(name: str, function: Callable[..., object]) -> str:
    return f"```python\n{name}{_arguments(function)}\n```"


def _arguments(function: Callable[..., object]) -> str:
    """Without `self`, and with annotations as they are written."""
    found = inspect.signature(function)
    kept = [one for name, one in found.parameters.items() if name != "self"]
    parts = [_argument(one) for one in kept]
    first = next((i for i, one in enumerate(kept) if one.kind is one.KEYWORD_ONLY), None)
    several = any(one.kind is one.VAR_POSITIONAL for one in kept)
    if first is not None and not several:
        parts.insert(first, "*")
    gives = found.return_annotation
    tail = f" -> {gives}" if isinstance(gives, str) else ""
    line = f"({', '.join(parts)}){tail}"
    if len(line) <= LINE:
        return line
    return "(\n    " + ",\n    ".join(parts) + f",\n){tail}"


def _argument(one: inspect.Parameter) -> str:
    kind = f": {one.annotation}" if isinstance(one.annotation, str) else ""
    stars = "*" * ((one.kind is one.VAR_POSITIONAL) + 2 * (one.kind is one.VAR_KEYWORD))
    if one.default is one.empty:
        return stars + one.name + kind
    shown = one.default.__name__ if inspect.isfunction(one.default) else repr(one.default)
    return f"{one.name}{kind} = {shown}"


def _told(thing: object) -> str:
    parts = (inspect.getdoc(thing) or "").split("\n\n")
    return joined(f"```python\n{part}\n```" if part.startswith(">>>") else part for part in parts)


def _class(kind: type, level: str = "##") -> str:
    found = public_methods(kind)
    methods = [joined([_signature(name, value), _told(value)]) for name, value in found]
    name = f"`{kind.__module__}.{kind.__name__}`"
    return joined([f"{level} {kind.__name__}", name, _paragraphs(kind), _fields(kind), *methods])


def _paragraphs(kind: type) -> str:
    """The docstring; lists that are aligned by hand stay so."""
    told = _told(kind)
    generated = is_dataclass(kind) and told.startswith(f"{kind.__name__}(")
    parts = [] if generated else told.split("\n\n")
    return joined(
        f"```text\n{part}\n```" if "  " in part.split("\n")[0] else part for part in parts
    )


def _fields(kind: type) -> str:
    if issubclass(kind, enum.Enum):
        return table(("value",), [(code(str(one.value)),) for one in kind])
    if not is_dataclass(kind):
        return ""
    rows = []
    for one in fields(kind):
        default = "" if one.default is MISSING else code(str(one.default))
        rows.append((code(one.name), code(str(one.type)), default))
    return table(("field", "type", "default"), rows)
