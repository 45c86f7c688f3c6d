"""`pappi preview`, `rehearse`, `release`, `compare`, `budget`, `subscription`; and `exact`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pappi import report
from pappi.cli.options import (
    AS_JSON,
    CATALOGUE,
    EPSILON,
    TOTAL,
    Command,
    catalogue_in,
    chosen_catalogue,
    console,
    make_folder,
    now,
    open_workspace,
    options,
    print_json,
    verified_in_full,
    workspace_option,
    write_private,
)
from pappi.ppinot import Catalogue, Ppi
from pappi.values import ZERO, Answer, BudgetLine, By, PublicLog, Quote, Series

if TYPE_CHECKING:
    from pappi.checkpoint import LocalSession
    from pappi.ledger import Forecast


_ONLY = click.option(
    "--ppi", "only", multiple=True, metavar="ID", help="Only this PPI; repeatable."
)
_ANALYST = click.option(
    "--analyst",
    default="analyst",
    show_default=True,
    help="Analyst who subscribes and whose share pays.",
)
_ANYWAY = click.option(
    "--anyway", is_flag=True, help="Release even PPIs that would tell nothing (see pappi advise)."
)
_CHARTS = click.option(
    "--svg", type=click.Path(file_okay=False, path_type=Path), help="Write charts to DIR."
)
_of_a_release = (
    click.option(
        "--smooth",
        is_flag=True,
        help="Also smooth: pull periods towards each other; see docs/smoothing.md.",
    ),
    click.option("--csv", "as_csv", is_flag=True, help="Print CSV."),
    _CHARTS,
    click.option(
        "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a report to FILE."
    ),
)


@dataclass(frozen=True, slots=True)
class _Query:
    """What a command asks: the PPIs chosen from a catalogue, at which ε, and in which session."""

    catalogue: Catalogue
    epsilon: str | None
    total: str | None
    session: LocalSession

    @classmethod
    def of(
        cls,
        catalogue: Path,
        only: Sequence[str],
        epsilon: str | None,
        total: str | None,
        workspace: str | None,
    ) -> _Query:
        """By what its options say."""
        if epsilon is not None and total is not None:
            raise click.UsageError("use either --epsilon or --total, not both")
        chosen = chosen_catalogue(catalogue, only, total)
        return cls(chosen, epsilon, total, open_workspace(workspace).checkpoint())


def _query_options(*more: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Those of a `_Query`, and more."""
    return options(CATALOGUE, _ONLY, EPSILON, TOTAL, *more)


@click.command()
@CATALOGUE
@_ONLY
@workspace_option
@AS_JSON
def exact(catalogue: Path, only: Sequence[str], workspace: str | None, *, as_json: bool) -> None:
    """Owner only: show exact, non-private values. Every look is recorded: see `pappi trail`."""
    chosen = chosen_catalogue(catalogue, only)
    answers = open_workspace(workspace).exact(chosen)
    if as_json:
        print_json({"log": chosen.log, "answers": answers})
        return
    click.echo("Exact values, not private: for the owner only.")
    for ppi in dict.fromkeys(answer.ppi for answer in answers):
        console().print(report.exact_table([answer for answer in answers if answer.ppi == ppi]))


@click.command()
@_query_options(
    click.option(
        "--accuracy",
        metavar="MARGIN",
        help='Find the ε for this margin of error: "6 h" (95 % confidence) or "6 h, 90 %".',
    ),
    click.option(
        "--options",
        is_flag=True,
        help="Also show other ways to release each PPI, and their margins.",
    ),
    _CHARTS,
    click.option(
        "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page to FILE."
    ),
    workspace_option,
    AS_JSON,
)
def preview(
    accuracy: str | None,
    svg: Path | None,
    html: Path | None,
    *,
    options: bool,
    as_json: bool,
    **given: Any,  # noqa: ANN401 - options of a query
) -> None:
    """Show the cost and expected error of every PPI. Reads no data and spends nothing."""
    query = _Query.of(**given)
    chosen, epsilon, session = query.catalogue, query.epsilon, query.session
    if accuracy is not None and (epsilon is not None or query.total is not None):
        raise click.UsageError("use --epsilon, --total or --accuracy, one of them")
    quotes = session.preview(chosen, epsilon, accuracy=accuracy)
    lines = session.budget(chosen.log)
    previewed = list(zip(chosen.ppis, quotes, strict=True))
    priced = chosen
    if epsilon is not None or accuracy is not None:
        ppis = (replace(ppi, epsilon=quote.own_epsilon) for ppi, quote in previewed)
        priced = replace(chosen, ppis=tuple(ppis), total=None)
    foreseen = session.outlook(priced)
    if svg is not None:
        write_preview_charts(previewed, lines, svg)
    if html is not None:
        make_folder(html.parent)
        page = report.preview_html(f"Preview: {chosen.log}", previewed, lines, foreseen, now())
        _write_file("Page", html, page)
    if as_json:
        print_json({"log": chosen.log, "quotes": quotes})
    else:
        # A confidence was named: show what holds with others than the usual one.
        margins = options or "," in (accuracy or "")
        show_preview(quotes, lines, foreseen, margins=margins, options=options)


@click.command()
@_query_options(workspace_option, AS_JSON)
def advise(*, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - options of a query
    """Show which PPIs are likely to decide, and what to ask instead.

    Reads no data and spends nothing.
    """
    query = _Query.of(**given)
    quotes = query.session.advise(query.catalogue, query.epsilon)
    if as_json:
        print_json({"log": query.catalogue.log, "quotes": quotes})
        return
    out, left = console(), report.least_left(query.session.budget(query.catalogue.log))
    out.print(report.advice_table(quotes, left))
    for quote in quotes:
        if quote.alternatives:
            out.print(report.alternatives_table(quote, left))


@click.command()
@_query_options(*_of_a_release, workspace_option, AS_JSON)
def rehearse(
    svg: Path | None,
    html: Path | None,
    *,
    smooth: bool,
    as_csv: bool,
    as_json: bool,
    **given: Any,  # noqa: ANN401 - options of a query
) -> None:
    """Show what a release would look like, on made-up cases. Reads no data and spends nothing."""
    query = _Query.of(**given)
    chosen, session = query.catalogue, query.session
    for folder in (svg, html.parent if html else None):
        make_folder(folder)
    series = session.rehearse(chosen, query.epsilon, smooth=smooth)
    _write_files(session.log(chosen.log), series, (), svg, html)
    if as_json:
        from pappi.session import to_wire

        marked = [{**to_wire(answer), "rehearsal": True} for answer in _answers_in(series)]
        print_json({"log": chosen.log, "rehearsal": True, "answers": marked})
    elif as_csv:
        click.echo(report.csv_text(series.to_records()), nl=False)
    else:
        _print_tables(series)
        click.echo("A rehearsal on made-up cases. No data was read, nothing was charged.")


@click.command()
@_query_options(
    *_of_a_release,
    click.option(
        "--whole",
        metavar="SHARE",
        help="With --smooth: spend this share of ε on the whole time, e.g. 0.5, and the rest on "
        "the periods.",
    ),
    _ANYWAY,
    click.option(
        "--derived/--no-derived",
        default=None,
        help="Always (or never) derive answers from earlier releases. [default: if as accurate]",
    ),
    workspace_option,
    AS_JSON,
)
def release(
    whole: str | None,
    svg: Path | None,
    html: Path | None,
    *,
    smooth: bool,
    as_csv: bool,
    as_json: bool,
    anyway: bool,
    derived: bool | None,
    **given: Any,  # noqa: ANN401 - options of a query
) -> None:
    """Charge the budget and release every PPI; earlier releases are repeated for free."""
    if whole is not None and not smooth:
        raise click.UsageError("--whole needs --smooth")
    query = _Query.of(**given)
    chosen, session = query.catalogue, query.session
    for folder in (svg, html.parent if html else None):
        make_folder(folder)
    before = session.budget(chosen.log)
    series = session.release(
        chosen, query.epsilon, smooth=smooth, whole=whole, anyway=anyway, derived=derived
    )
    budget_lines = session.budget(chosen.log)
    _write_files(session.log(chosen.log), series, budget_lines, svg, html)
    if as_json:
        print_json({"log": chosen.log, "answers": _answers_in(series)})
    elif as_csv:
        click.echo(report.csv_text(series.to_records()), nl=False)
    else:
        _print_tables(series)
        show_cost(series, before, budget_lines)


@click.command()
@CATALOGUE
@_ONLY
@click.option("--periods", nargs=2, metavar="A B", help='Two periods, such as "2024-02 2024-01".')
@click.option("--groups", nargs=2, metavar="A B", help='Two groups, such as "web phone".')
@click.option(
    "--by",
    type=click.Choice([str(by) for by in By]),
    default=str(By.DIFFERENCE),
    show_default=True,
    help="How: A − B, that in percent of B, or A / B.",
)
@TOTAL
@workspace_option
@AS_JSON
def compare(
    catalogue: Path,
    only: Sequence[str],
    periods: tuple[str, str] | None,
    groups: tuple[str, str] | None,
    by: str,
    total: str | None,
    workspace: str | None,
    *,
    as_json: bool,
) -> None:
    """Compare two periods, or two groups, of what was released: free, by the record alone."""
    if (periods is None) is (groups is None):
        raise click.UsageError("use either --periods or --groups")
    chosen = chosen_catalogue(catalogue, only, total)
    analyst = open_workspace(workspace).checkpoint()
    series = analyst.compare(chosen, periods=periods, groups=groups, by=by)
    if as_json:
        print_json({"log": chosen.log, "answers": _answers_in(series)})
        return
    for ppi in series:
        console().print(report.answers_table(ppi))
        for answer in ppi.answers if len(ppi.answers) == 1 else ():
            click.echo(report.printable(" ".join(report.comparison_lines(answer))))


@click.group(invoke_without_command=True)
@click.option("--log", "log_name", metavar="NAME", help="Only this log.")
@workspace_option
@AS_JSON
@click.pass_context
def budget(
    context: click.Context, log_name: str | None, workspace: str | None, *, as_json: bool
) -> None:
    """Show what each block may spend and has spent, and whether the ledger verifies."""
    context.obj = workspace or context.obj
    if context.invoked_subcommand is not None:
        return
    opened = open_workspace(workspace)
    verified = verified_in_full(opened)
    names = [log_name] if log_name else [log.name for log in opened.logs()]
    lines = {name: opened.checkpoint().budget(name) for name in names}
    if as_json:
        from pappi.session import to_wire

        ledger = {"entries": verified.entries, "head": verified.head}
        accounts = [{"log": log, **to_wire(line)} for log, own in lines.items() for line in own]
        print_json({"accounts": accounts, "ledger": ledger})
        return
    for name, blocks in lines.items():
        click.echo(f"Log '{name}'")
        console().print(report.budget_table(blocks))
    head = f"{verified.entries}:{verified.head[:16]}"
    click.echo(f"The ledger verifies: {verified.entries} entries, head {head}")


@budget.command()
@click.argument("log_name", metavar="LOG")
@click.argument("epsilon")
@click.option("--total-budget", metavar="EPS", help="Limit for all blocks together.")
@workspace_option
def grant(log_name: str, epsilon: str, total_budget: str | None, workspace: str | None) -> None:
    """Owner only: set the total epsilon that each block of LOG may spend."""
    terms = open_workspace(workspace).grant(log_name, epsilon, total_budget).terms
    in_all = f", and all blocks together ε {terms.total_budget}" if terms.total_budget else ""
    per_block = f"Each {terms.blocks.unit} of '{log_name}' may now spend ε {terms.block_budget}"
    click.echo(f"{per_block}{in_all}.")


@click.group()
def subscription() -> None:
    """Subscriptions: budget is reserved in advance, answers are released block by block."""


@subscription.command()
@CATALOGUE
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    required=True,
    help="Reserve budget in every whole block that ends by this day.",
)
@EPSILON
@TOTAL
@_ANYWAY
@_ANALYST
@workspace_option
def add(
    catalogue: Path,
    until: datetime,
    epsilon: str | None,
    total: str | None,
    analyst: str,
    workspace: str | None,
    *,
    anyway: bool,
) -> None:
    """Subscribe to a catalogue: reserve its cost in every future block."""
    session = open_workspace(workspace).checkpoint(analyst)
    added = session.subscribe(
        catalogue_in(catalogue), until.date(), epsilon, total=total, anyway=anyway
    )
    click.echo(f"Subscription {added.id}: {added.first} up to {added.until}.")
    click.echo("Each block is released once it is sealed: pappi subscription run")


@subscription.command("list")
@_ANALYST
@workspace_option
def list_(analyst: str, workspace: str | None) -> None:
    """List the subscriptions."""
    for listed in open_workspace(workspace).checkpoint(analyst).subscriptions():
        click.echo(f"{listed.id}  '{listed.log}', {listed.first} up to {listed.until}")


@subscription.command()
@click.argument("identity", metavar="ID")
@_ANALYST
@workspace_option
def end(identity: str, analyst: str, workspace: str | None) -> None:
    """End a subscription and free its remaining reservations."""
    cells = open_workspace(workspace).checkpoint(analyst).unsubscribe(identity)
    click.echo(f"Ended; {cells} reservations released.")


@subscription.command()
@workspace_option
def run(workspace: str | None) -> None:
    """Release what is due for every subscription."""
    opened = open_workspace(workspace)
    runs = opened.run_subscriptions()
    for due in runs:
        analyst, log = due.subscription.analyst, due.subscription.log
        click.echo(f"Subscription {due.subscription.id} of {analyst}:")
        _print_tables(due.series)
        if due.series:
            click.echo(_RESERVED)
            click.echo(report.left_text(opened.checkpoint(analyst).budget(log)))
        if due.problem is not None:
            click.echo(f"  not released: {due.problem.message}")
    if not runs:
        click.echo("Nothing to do: every sealed block has been released.")


_NOTHING = "Charged: nothing new."
_RESERVED = "Charged: what was reserved in advance."


def _answers_in(series: Iterable[Series]) -> list[Answer]:
    return [answer for ppi in series for answer in ppi.answers]


def _print_tables(series: Iterable[Series]) -> None:
    out = console()
    for ppi in series:
        out.print(report.answers_table(ppi))


def show_cost(
    series: Sequence[Series], before: Sequence[BudgetLine], after: Sequence[BudgetLine]
) -> None:
    """What a release cost, and what is left."""
    answers = _answers_in(series)
    replayed = sum(answer.replayed for answer in answers)
    if replayed:
        click.echo(
            f"{replayed} of {len(answers)} answers were released before and cost nothing new."
        )
    derived = sum(bool(answer.derived_from) for answer in answers)
    if derived:
        click.echo(
            f"{derived} of {len(answers)} answers follow from earlier releases and are free."
        )
    # What an analyst reserved counts as used: turning it into a charge takes nothing more.
    reserved = any(answer.charged > ZERO for answer in answers)
    click.echo(report.charged_text(before, after) or (_RESERVED if reserved else _NOTHING))
    click.echo(report.left_text(after))


def show_preview(
    quotes: Sequence[Quote],
    lines: Sequence[BudgetLine],
    foreseen: Forecast | None,
    *,
    margins: bool,
    options: bool,
) -> None:
    """What tells nothing, prices and margins, and how long the budget lasts."""
    out, left = console(), report.least_left(lines)
    for quote in quotes:
        if quote.tells_nothing and quote.new_charges:
            out.print(report.nothing_said(quote))
            if quote.alternatives:
                out.print(report.alternatives_table(quote, left))
    out.print(report.quotes_table(quotes))
    if margins:
        out.print(report.quantiles_table(quotes))
    for quote in quotes if options else ():
        out.print(report.options_table(quote))
    for line in (*report.set_lines(quotes), *report.advice_lines(quotes)):
        click.echo(line)
    for line in _record_lines(quotes):
        click.echo(line)
    click.echo(report.left_text(lines))
    for line in report.forecast_lines(foreseen) if foreseen else ():
        click.echo(line)


def _record_lines(quotes: Sequence[Quote]) -> Iterator[str]:
    """How to take what follows from the record, or to pay for more."""
    if any(quote.derivable and not quote.derivable.taken for quote in quotes):
        yield "To take what is free: pappi release --derived"
    if both := report.with_record_lines(quotes):
        yield from both
        yield "To pay for that draw: pappi release --no-derived; then, to read both: --derived"


def _write_files(
    log: PublicLog,
    series: Sequence[Series],
    lines: Sequence[BudgetLine],
    charts: Path | None,
    page: Path | None,
) -> None:
    if charts is not None:
        for ppi in series:
            _write_file("Chart", charts / f"{ppi.ppi}.svg", report.series_svg(ppi))
    if page is not None:
        write_report(log, series, lines, page)


def write_report(
    log: PublicLog, series: Sequence[Series], lines: Sequence[BudgetLine], path: Path
) -> None:

    facts = (
        ("Log", log.name),
        ("Horizon", f"{report.horizon_text(log)}, {log.terms.timezone}"),
        ("Privacy unit", f"one {log.terms.unit}, {log.terms.adjacency}"),
        ("Budget", f"ε {log.terms.block_budget} per {log.terms.blocks.unit}"),
    )
    page = report.report_html(f"Process performance: {log.name}", series, lines, facts, now())
    _write_file("Report", path, page)


def write_preview_charts(
    previewed: Iterable[tuple[Ppi, Quote]], lines: Sequence[BudgetLine], directory: Path
) -> None:
    """The expected error and the tree of each PPI, and the budget of the log."""

    make_folder(directory)
    for ppi, quote in previewed:
        figures = report.error_figure(quote), report.composition_figure(ppi, quote)
        for name, figure in zip(("error", "tree"), figures, strict=True):
            _write_file("Chart", directory / f"{ppi.id}-{name}.svg", report.standalone(figure))
    _write_file("Chart", directory / "budget.svg", report.standalone(report.budget_gauge(lines)))


def _write_file(what: str, path: Path, text: str) -> None:
    write_private(path, text)
    click.echo(f"{what}: {path}", err=True)
