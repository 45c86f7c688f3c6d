"""What the owner declares about a log, from the options of a command and back into words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from pappi.cli.options import Command, options
from pappi.errors import UsageError
from pappi.report import describe_log, describe_vocabulary, printable
from pappi.values import (
    CASE,
    NUMBER,
    UNDER_REPLACE,
    Adjacency,
    Bounds,
    Calendar,
    CaseBorder,
    DefaultBounds,
    Epsilon,
    Grid,
    Kind,
    Per,
    PrivacyUnit,
    Terms,
    duration_unit,
)

if TYPE_CHECKING:
    from pappi.custody import NewLog
    from pappi.store import LogDeclaration


_NUMBER = r"([+-]?[0-9]{1,18}(?:\.[0-9]{1,9})?)"
_BOUNDS = re.compile(rf"(.{{1,200}})={_NUMBER}\.\.{_NUMBER}\s*([A-Za-z]*)")
_DAY = click.DateTime(["%Y-%m-%d"])
# Of a log that is there as a whole; one that grows ends where it is sealed.
LAST_DAY = click.option("--until", type=_DAY, help="Last day of the horizon.")


def _choice(name: str, choices: tuple[str, ...], text: str) -> Callable[[Command], Command]:
    """An option with a fixed list of values, the first being the default."""
    return click.option(
        name, type=click.Choice(choices), default=choices[0], show_default=True, help=text
    )


# What is public about the log: the owner's declarations.
declaring_options = options(
    click.option("--from", "first", type=_DAY, help="First day of the horizon."),
    click.option(
        "--unit",
        metavar="COLUMN",
        help="Privacy unit: the attribute that identifies a person in every case. "
        "[default: one case]",
    ),
    click.option(
        "--max-cases",
        type=int,
        metavar="K",
        help="With --unit: contribution bound, the most cases of one person that count.",
    ),
    click.option(
        "--per",
        type=click.Choice(("log", "block")),
        help="With --unit: apply --max-cases to the whole log, or to each block; the "
        "guarantee is then per person and block. [default: log]",
    ),
    _choice(
        "--adjacency",
        ("add-remove", "replace"),
        "Which logs are neighbours: one case added or removed, or one case's content "
        f"replaced. Under replace: {UNDER_REPLACE}",
    ),
    _choice("--anchor", ("case end", "case start"), "The event that decides a case's period."),
    _choice(
        "--blocks",
        ("month", "day", "week", "quarter", "year"),
        "Length of a block: each block has its own budget.",
    ),
    click.option(
        "--budget", default="1", metavar="EPS", help="ε budget of each block. [default: 1]"
    ),
    click.option(
        "--total-budget",
        metavar="EPS",
        help="ε budget of all blocks together. [default: no further limit]",
    ),
    click.option(
        "--keys",
        multiple=True,
        metavar="NAME=A,B",
        help="Public partitions: values of an attribute to group by; repeatable.",
    ),
    click.option(
        "--bounds",
        multiple=True,
        metavar="WHAT=LOW..HIGH",
        help="Default contribution bounds for PPIs that name none: for an attribute, for "
        "'durations', as in durations=0..60 days, or for 'counts'; repeatable.",
    ),
    click.option(
        "--expected-cases",
        type=click.IntRange(min=1),
        help="Expected cases per block, used to predict errors; public.",
    ),
    click.option(
        "--weights",
        multiple=True,
        metavar="NAME=A:5,B:1",
        help="How the expected cases are spread over the --keys of an attribute; repeatable. "
        "[default: evenly]",
    ),
)


def terms_of(given: Mapping[str, Any]) -> NewLog:
    from pappi.custody import NewLog

    first, last = given["first"], given.get("until")
    bounds = dict(map(_bounds, given["bounds"]))
    durations, counts = bounds.pop("durations", None), bounds.pop("counts", None)
    return NewLog(
        first=first.date() if first else None,
        # On the command line the last day is meant to be included.
        until=_day_after(last.date()) if last else None,
        keys=dict(map(_keys, given["keys"])),
        terms=Terms(
            timezone=given["timezone"] or "UTC",
            anchor=CaseBorder(given["anchor"]),
            blocks=Grid(Calendar(given["blocks"])),
            unit=_unit(given["unit"], given["max_cases"], given["per"]),
            adjacency=Adjacency(given["adjacency"]),
            block_budget=Epsilon.of(given["budget"]),
            total_budget=Epsilon.of(given["total_budget"]) if given["total_budget"] else None,
            expected_cases=given["expected_cases"],
            weights=dict(map(_weights, given["weights"])),
            bounds=DefaultBounds(durations, counts, bounds),
        ),
    )


def _keys(given: str) -> tuple[str, tuple[str, ...]]:
    name, _, values = given.partition("=")
    if not name or not values:
        raise UsageError(
            f"'{given}' is not an attribute with its values",
            hint="write e.g. --keys resource=Ann,Bob",
        )
    return name, tuple(dict.fromkeys(value.strip() for value in values.split(",")))


def _weights(given: str) -> tuple[str, dict[str, int]]:
    name, _, pairs = given.partition("=")
    weights = [pair.rpartition(":") for pair in pairs.split(",")]
    if not name or not all(
        key.strip() and weight.strip().isdecimal() for key, _, weight in weights
    ):
        raise UsageError(
            f"'{given}' is not an attribute with the weights of its values",
            hint="write e.g. --weights country=DE:5,FR:1",
        )
    return name, {key.strip(): int(weight) for key, _, weight in weights}


def _bounds(given: str) -> tuple[str, Bounds]:
    match = _BOUNDS.fullmatch(given)
    unit = NUMBER if match is None or not match[4] else duration_unit(match[4])
    low, high = (Fraction(match[2]), Fraction(match[3])) if match else (0, 0)
    if match is None or unit is None or not low < high:
        raise UsageError(
            f"'{given}' is not a pair of bounds",
            hint="write e.g. --bounds 'durations=0..60 days' or --bounds cost=0..5000",
        )
    return match[1], Bounds(unit.read(Fraction(low)), unit.read(Fraction(high)))


def _unit(column: str | None, max_cases: int | None, per: str | None) -> PrivacyUnit:
    if column is None or column == str(CASE):
        if max_cases is not None or per is not None:
            raise UsageError(
                "--max-cases and --per apply to persons: they need --unit COLUMN",
                hint="name the attribute that identifies a person, e.g. --unit patient_id",
            )
        return CASE
    if max_cases is None:
        raise UsageError(
            f"--unit {column} needs --max-cases: the most cases of one person that count",
            hint="there is no sensible default: noise grows in proportion, and cases beyond the "
            "bound are dropped; choose a number that covers most persons",
        )
    return PrivacyUnit(column, max_cases, Per(per or Per.LOG))


def _day_after(day: date) -> date:
    return day + timedelta(days=1) if day < date.max else day


def show_declaration(declared: LogDeclaration) -> None:
    rows = (
        ("log", declared.name),
        *((("read from", declared.source.where),) if declared.source else ()),
        *describe_log(declared.public),
        *describe_vocabulary(declared.public.vocabulary),
    )
    for key, value in rows:
        # An address stays in one piece, to be copied.
        lines = wrap(one_line(value), 80, break_long_words=False, break_on_hyphens=False) or [""]
        click.echo(f"  {one_line(key.lower()):<17} " + f"\n{'':<20}".join(lines))


def one_line(text: str) -> str:
    """A text of names from a file, for a terminal: nothing to obey, and no line of its own."""
    return printable(text).replace("\n", "\ufffd").replace("\t", "\ufffd")


def attribute_and_kind(given: str) -> tuple[str, Kind]:
    name, _, kind = given.rpartition(":")
    if not name or kind not in tuple(Kind):
        raise UsageError(
            f"'{given}' is not an attribute and its kind", hint="write e.g. cost:number"
        )
    return name, Kind(kind)
