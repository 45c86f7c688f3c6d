"""What the owner declares about a log, from the options of a command and back into words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from pappi.cli.options import Command
from pappi.errors import UsageError
from pappi.report.plain import plain
from pappi.values.privacy import UNDER_REPLACE, Adjacency

if TYPE_CHECKING:
    from pappi.custody.imports import Terms
    from pappi.store.declarations import LogDeclaration
    from pappi.values.bounds import Bounds, DefaultBounds
    from pappi.values.privacy import PrivacyUnit
    from pappi.values.vocabulary import Kind

_NUMBER = r"([+-]?[0-9]{1,18}(?:\.[0-9]{1,9})?)"
_BOUNDS = re.compile(rf"(.{{1,200}})={_NUMBER}\.\.{_NUMBER}\s*([A-Za-z]*)")


_DAY = click.DateTime(["%Y-%m-%d"])
# Of a log that is there as a whole; one that grows ends where it is sealed.
LAST_DAY = click.option("--until", type=_DAY, help="Last day of the horizon.")


def declaring_options(command: Command) -> Command:
    """What is public about the log: the owner's declarations."""
    for option in reversed(
        (
            click.option("--from", "first", type=_DAY, help="First day of the horizon."),
            click.option(
                "--unit",
                metavar="COLUMN",
                help="Whose influence the guarantee bounds: a person, by the attribute that names "
                "one in every case. [default: one case]",
            ),
            click.option(
                "--max-cases",
                type=int,
                metavar="K",
                help="With --unit: how many cases of one person count.",
            ),
            click.option(
                "--per",
                type=click.Choice(("log", "block")),
                help="With --unit: count them in the whole log, or in each block anew; the "
                "guarantee is then per person and block. [default: log]",
            ),
            _choice(
                "--adjacency",
                ("add-remove", "replace"),
                "Which logs are neighbours: one case more or less, or one with another content. "
                f"Under replace: {UNDER_REPLACE}",
            ),
            _choice("--anchor", ("case end", "case start"), "What puts a case into a period."),
            _choice("--blocks", ("month", "day", "week", "quarter", "year"), "What has a budget."),
            click.option(
                "--budget", default="1", metavar="EPS", help="Of each block. [default: 1]"
            ),
            click.option(
                "--total-budget",
                metavar="EPS",
                help="Of all blocks together. [default: no more than the blocks have]",
            ),
            click.option(
                "--keys",
                multiple=True,
                metavar="NAME=A,B",
                help="Values of an attribute that may be known, to group by; repeatable.",
            ),
            click.option(
                "--bounds",
                multiple=True,
                metavar="WHAT=LOW..HIGH",
                help="What a case contributes at most where a PPI does not say: of an attribute, "
                "of 'durations', as in durations=0..60 days, or of 'counts'; repeatable.",
            ),
            click.option(
                "--expected-cases",
                type=click.IntRange(min=1),
                help="Cases per period, to predict errors with; public.",
            ),
        )
    ):
        command = option(command)
    return command


def _choice(name: str, choices: tuple[str, ...], text: str) -> Callable[[Command], Command]:
    """An option with a fixed list of values, the first being the default."""
    return click.option(
        name, type=click.Choice(choices), default=choices[0], show_default=True, help=text
    )


def terms_of(given: Mapping[str, Any]) -> Terms:
    from pappi.custody.imports import Terms
    from pappi.ppinot.model import CaseBorder
    from pappi.values.epsilon import Epsilon
    from pappi.values.periods import Calendar, Grid

    first, last = given["first"], given.get("until")
    return Terms(
        timezone=given["timezone"] or "UTC",
        anchor=CaseBorder(given["anchor"]),
        blocks=Grid(Calendar(given["blocks"])),
        first=first.date() if first else None,
        # On the command line the last day is meant to be included.
        until=_day_after(last.date()) if last else None,
        unit=_unit(given["unit"], given["max_cases"], given["per"]),
        adjacency=Adjacency(given["adjacency"]),
        block_budget=Epsilon.of(given["budget"]),
        total_budget=Epsilon.of(given["total_budget"]) if given["total_budget"] else None,
        expected_cases=given["expected_cases"],
        keys=dict(map(_keys, given["keys"])),
        bounds=_default_bounds(given["bounds"]),
    )


def _keys(given: str) -> tuple[str, tuple[str, ...]]:
    name, _, values = given.partition("=")
    if not name or not values:
        raise UsageError(f"'{given}' names no keys", hint="write e.g. --keys resource=Ann,Bob")
    return name, tuple(dict.fromkeys(value.strip() for value in values.split(",")))


def _default_bounds(given: Sequence[str]) -> DefaultBounds:
    from pappi.values.bounds import DefaultBounds

    found = dict(map(_bounds, given))
    durations, counts = found.pop("durations", None), found.pop("counts", None)
    return DefaultBounds(durations, counts, found)


def _bounds(given: str) -> tuple[str, Bounds]:
    from pappi.values.bounds import Bounds
    from pappi.values.units import NUMBER, duration_unit

    found = _BOUNDS.fullmatch(given)
    unit = NUMBER if found is None or not found[4] else duration_unit(found[4])
    low, high = (Fraction(found[2]), Fraction(found[3])) if found else (0, 0)
    if found is None or unit is None or not low < high:
        raise UsageError(
            f"'{given}' is not a pair of bounds",
            hint="write e.g. --bounds 'durations=0..60 days' or --bounds cost=0..5000",
        )
    return found[1], Bounds(unit.read(Fraction(low)), unit.read(Fraction(high)))


def _unit(column: str | None, max_cases: int | None, per: str | None) -> PrivacyUnit:
    from pappi.values.privacy import CASE, Per, PrivacyUnit

    if column is None or column == str(CASE):
        if max_cases is not None or per is not None:
            raise UsageError(
                "--max-cases and --per are about persons: they need --unit COLUMN",
                hint="name the attribute that tells persons apart, e.g. --unit patient_id",
            )
        return CASE
    if max_cases is None:
        raise UsageError(
            f"--unit {column} needs --max-cases: how many cases of one person count",
            hint="no default is sensible: noise grows in proportion to it, and what a person has "
            "beyond it is left out; take what most persons have at most",
        )
    return PrivacyUnit(column, max_cases, Per(per or Per.LOG))


def _day_after(day: date) -> date:
    return day + timedelta(days=1) if day < date.max else day


def show_declaration(declared: LogDeclaration) -> None:
    attributes = declared.vocabulary.attributes
    rows = (
        ("log", declared.name),
        *((("read from", declared.source.where),) if declared.source else ()),
        ("horizon", f"{horizon_text(declared)}, {declared.timezone}"),
        ("anchor", f"a case counts in the period of its {_anchor_event(declared)} event"),
        ("privacy unit", _unit_text(declared)),
        ("budget", _budget_text(declared)),
        ("expected cases", _expected(declared)),
        ("activities", ", ".join(declared.vocabulary.activities)),
        ("attributes", ", ".join(f"{name} ({kind})" for name, kind in attributes.items())),
        *((f"keys of {name}", ", ".join(keys)) for name, keys in declared.vocabulary.keys.items()),
        *(("bounds", text) for text in _bounds_texts(declared)),
    )
    for key, value in rows:
        # An address stays in one piece, to be copied.
        lines = wrap(one_line(value), 80, break_long_words=False, break_on_hyphens=False) or [""]
        click.echo(f"  {one_line(key):<15} " + f"\n{'':<18}".join(lines))


def one_line(text: str) -> str:
    """A text of names from a file, for a terminal: nothing to obey, and no line of its own."""
    return plain(text).replace("\n", "\ufffd").replace("\t", "\ufffd")


def attribute_and_kind(given: str) -> tuple[str, Kind]:
    from pappi.values.vocabulary import Kind

    name, _, kind = given.rpartition(":")
    if not name or kind not in tuple(Kind):
        raise UsageError(
            f"'{given}' is not an attribute and its kind", hint="write e.g. cost:number"
        )
    return name, Kind(kind)


def _bounds_texts(declared: LogDeclaration) -> Iterator[str]:
    """What holds where a PPI names no bounds."""
    from pappi.values.units import HOURS

    defaults = declared.bounds
    if defaults.durations is not None:
        low, high = (HOURS.show(end) for end in (defaults.durations.low, defaults.durations.high))
        yield f"durations {low:g} to {high:g} hours"
    named = {"counts": defaults.counts, **defaults.attributes}
    for name, bounds in named.items():
        if bounds is not None:
            yield f"{name} {float(bounds.low):g} to {float(bounds.high):g}"


def _unit_text(declared: LogDeclaration) -> str:
    unit = declared.unit
    if declared.adjacency is Adjacency.REPLACE:
        return f"{unit}, {declared.adjacency}. {UNDER_REPLACE}"
    if unit.column is None:
        return f"{unit}, {declared.adjacency}"
    return (
        f"{unit}, {declared.adjacency}; further cases of one {unit.column}, and cases without "
        "one, count in no release"
    )


def _anchor_event(declared: LogDeclaration) -> str:
    return {"case end": "last", "case start": "first"}[declared.anchor]


def _expected(declared: LogDeclaration) -> str:
    return f"{declared.expected_cases} per period" if declared.expected_cases else "not declared"


def horizon_text(declared: LogDeclaration) -> str:
    """The days it covers; the last one is included."""
    if declared.first == declared.until:
        return f"from {declared.first} on; nothing is sealed yet"
    return f"{declared.first} to {last_day(declared)}"


def _budget_text(declared: LogDeclaration) -> str:
    each = f"ε {declared.block_budget} per {declared.blocks.unit}"
    return f"{each}, ε {declared.total_budget} in all" if declared.total_budget else each


def last_day(declared: LogDeclaration) -> date:
    return declared.until - timedelta(days=1)
