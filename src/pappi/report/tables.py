"""Answers, budgets and previews in a terminal, readable at 80 columns.

Returns renderables for `rich`, which is imported only when a table is wanted;
without a terminal it prints plain text. Text from outside is never markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pappi.report.numbers import (
    MISSING,
    best_texts,
    count_text,
    error_text,
    exact_text,
    format_cases,
    interval_text,
    is_distribution,
    margin_text,
    printable,
    spread_cells,
    spread_headers,
    value_text,
)
from pappi.report.wording import (
    alternative_cells,
    at_most_text,
    beyond_text,
    cheapest_text,
    clipping_line,
    compares,
    cuts_many,
    decides_text,
    derived_text,
    epsilon_text,
    expected_text,
    functions_text,
    guarantee_line,
    judged_text,
    mark_of,
    noise_text,
    nothing_text,
    option_cells,
    paid_alike,
    payments_text,
    percent,
    share_text,
    star,
    star_lines,
    target_lines,
    target_text,
    telling_text,
    value_header,
    view_line,
)
from pappi.values import (
    CONFIDENCES,
    MARGIN_CONFIDENCE,
    ZERO,
    Answer,
    BudgetLine,
    Epsilon,
    ExactAnswer,
    Quote,
    Series,
)

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from pappi.report.markup import Element


# Amber is bold yellow, as a terminal has no amber; shapes differ as well.
_COLOURS = {"met": "green", "missed": "bold red", "undecided": "", "amber": "bold yellow"}
_MANY = 30
_REPLAYED = "↺"
_DERIVED = "∑"
_BINS = "histogram"
_BAR = 20
_CONFIDENCE = percent(MARGIN_CONFIDENCE)
_WHOLE = "value"
_AT_MOST = f"at most, {_CONFIDENCE}"
_EXPECTED = (
    "Expected: half of the interval of the answer. At most: what the noise keeps to with "
    f"{_CONFIDENCE} confidence, wherever the values lie."
)
_DECIDES = (
    "Decides: how likely the verdict is to be firm, averaged over values around the target, from "
    "the nearer end of the range to as far on the other side, if the bounds cut nothing."
)

Options = dict[str, Any]
_PLAIN: Options = {}
_NUMBER: Options = {"justify": "right", "no_wrap": True}
_RIGHT: Options = {"justify": "right"}


def _table(
    columns: Mapping[str, Options],
    rows: Sequence[Sequence[str | Text]],
    title: str = "",
    caption: str = "",
) -> Table:
    """`columns` are headers with options of rich; compact where there are many rows."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    compact = len(rows) > _MANY
    table = Table(
        title=Text(printable(title), style="bold") if title else None,
        title_justify="left",
        caption=Text(printable(caption), style="dim") if caption else None,
        caption_justify="left",
        box=box.SIMPLE_HEAD if compact else box.ROUNDED,
        pad_edge=not compact,
        header_style="bold",
    )
    for header, options in columns.items():
        table.add_column(header, **options)
    for row in rows:
        table.add_row(*(Text(printable(cell)) if isinstance(cell, str) else cell for cell in row))
    return table


def table_text(table: Table, width: int = 100) -> str:
    """A table as a terminal of this width would show it, without colours."""
    from io import StringIO

    from rich.console import Console

    paper = StringIO()
    Console(file=paper, width=width, color_system=None, highlight=False).print(table)
    return "\n".join(line.rstrip() for line in paper.getvalue().rstrip().splitlines())


def table_html(rich_table: Table) -> Element:
    """The same table for a page without our style, such as a notebook."""
    from pappi.report.markup import bdi, el, table

    columns = rich_table.columns
    headers = {str(c.header): "number" if c.justify == "right" else "" for c in columns}
    rows = zip(*([bdi(str(cell)) for cell in column.cells] for column in columns), strict=True)
    notes = str(rich_table.caption or "").splitlines()
    return el(
        "section",
        table(str(rich_table.title or ""), headers, list(rows)),
        el("p", el("small", *(node for line in notes for node in (line, el("br")))))
        if notes
        else None,
    )


def answers_table(series: Series) -> Table:
    """One row per answer."""
    from rich.text import Text

    grouped, alike = any(a.group is not None for a in series.answers), paid_alike(series)
    spread, labels = is_distribution(series), [a.period.label for a in series.answers]
    unjudged = spread or (compares(series) and not series.targets)
    width = 24 if compares(series) else 16  # percentage points take more room
    columns: dict[str, Options] = {
        # Dates from and to take two lines where there is little room.
        "Period": {"min_width": len(max(" ".join(labels).split(), key=len, default=""))},
        **({"Group": {"overflow": "ellipsis", "max_width": 16}} if grouped else {}),
        "Median" if spread else value_header(series): {**_NUMBER, "max_width": width},
        "Interval": {"max_width": 28},
        **dict.fromkeys(spread_headers(series), _RIGHT),
        **({"Noise": {"no_wrap": True}} if compares(series) else {"Cases": _NUMBER}),
        # A column only where it matters: the caption has it for all periods together.
        **({"Beyond": _RIGHT} if cuts_many(series) else {}),
        **({} if unjudged else {"Verdict": {"min_width": 15}}),
        **({} if alike else {"ε": _NUMBER}),
    }
    rows: list[Sequence[str | Text]] = []
    for answer in sorted(series.answers, key=lambda answer: (answer.group or "", answer.period)):
        epsilon = str(answer.guarantee.epsilon)
        origin = _DERIVED if answer.derived_from else _REPLAYED if answer.replayed else ""
        rows.append(
            (
                answer.period.label,
                *([answer.group or MISSING] if grouped else []),
                value_text(answer),
                # Only the first line: the page and the CSV also have the released interval.
                interval_text(answer).splitlines()[0],
                *spread_cells(answer),
                noise_text(answer) if compares(series) else format_cases(answer),
                *([beyond_text(answer.beyond)] if cuts_many(series) else []),
                *([] if unjudged else [Text(judged_text(answer), _style(answer))]),
                *([] if alike else [f"{epsilon} {origin}".rstrip()]),
            )
        )
    table = _table(columns, rows, series.title, _caption(series))
    if cuts_many(series) and isinstance(table.caption, Text):
        table.caption.highlight_words([printable(clipping_line(series))], "bold yellow")
    return table


def overview_table(dashboard: Sequence[Series], periods: int) -> Table:
    """A row for each PPI with its last answers; PPIs without groups, over the same periods."""
    latest = [(series, series.answers[-periods:]) for series in dashboard]
    columns: dict[str, Options] = {"PPI and target": {"ratio": 1}}
    columns |= {answer.period.label: _NUMBER for _, answers in latest[:1] for answer in answers}
    rows: list[Sequence[str | Text]] = [
        (
            f"{series.title}, {target_text(series.target)}" if series.target else series.title,
            *map(_at_a_glance, answers),
        )
        for series, answers in latest
    ]
    caption = "● met  ▼ missed  ○ unclear; ± half the 95 % interval, which decides the verdict"
    table = _table(columns, rows, caption=caption)
    table.expand, table.pad_edge, table.padding = True, False, (0, 0, 0, 1)
    return table


def _at_a_glance(answer: Answer) -> Text:
    """Verdict and value, and beneath them the margin; the unit is the target's."""
    from rich.text import Text

    mark, value = mark_of(answer), best_texts(answer)[0].split(" ")[0]
    first = printable(f"{mark.symbol} {value}" if mark else value)
    return Text.assemble((first, _style(answer)), f"\n{margin_text(answer)}")


def _style(answer: Answer) -> str:
    mark = mark_of(answer)
    return "" if mark is None else _COLOURS[mark.colour]


def _caption(series: Series) -> str:
    lines = [series.warning, view_line(series), *target_lines(series)]
    lines += [clipping_line(series), series.caution]
    lines += [series.smoothing, guarantee_line(series)]
    if any(answer.replayed for answer in series.answers):
        which = "all are" if paid_alike(series) else "is"
        lines.append(f"{_REPLAYED} {which} from the record: nothing charged")
    if derived := derived_text(series.answers):
        lines.append(f"{_DERIVED} {derived}")
    return "\n".join(line for line in lines if line)


def exact_table(answers: Sequence[ExactAnswer]) -> Table:
    """The exact values of one PPI, for the owner: of cases as they are, and as bounds clip them."""
    grouped = any(answer.group is not None for answer in answers)
    columns: dict[str, Options] = {
        "Period": {"no_wrap": True},
        **({"Group": {"overflow": "ellipsis", "max_width": 16}} if grouped else {}),
        **dict.fromkeys(("Value", "Clipped", "Beyond the bounds"), _NUMBER),
    }
    rows = [
        (
            answer.period.label,
            *([answer.group or MISSING] if grouped else []),
            exact_text(answer.value, answer.unit),
            exact_text(answer.clipped, answer.unit),
            _beyond(answer),
        )
        for answer in answers
    ]
    bounded = any(answer.beyond is not None for answer in answers)
    note = "A release is about the clipped value." if bounded else "No public bounds."
    return _table(columns, rows, answers[0].ppi, note)


def _beyond(answer: ExactAnswer) -> str:
    if answer.beyond is None:
        return MISSING
    share = f" ({percent(answer.beyond / answer.cases)})" if answer.beyond else ""
    return f"{answer.beyond:,} of {answer.cases:,} cases{share}"


def budget_table(lines: Sequence[BudgetLine]) -> Table:
    """What is spent, held for subscriptions and left in each block."""
    held = any(line.held > ZERO for line in lines)
    remarks = ["▒ held for subscriptions"] if held else []
    if any(line.frozen for line in lines):
        remarks.append("✻ frozen: part of the ledger was lost")
    headers = ("Spent ε", *(("Held ε",) if held else ()), "Left ε", "Limit ε")
    columns: dict[str, Options] = {
        "Block": {"overflow": "ellipsis", "no_wrap": True, "max_width": 24},
        "": {"no_wrap": True, "min_width": _BAR},
        **dict.fromkeys(headers, _NUMBER),
    }
    rows: list[Sequence[str | Text]] = []
    for line in lines:
        amounts = (line.spent, *((line.held,) if held else ()), line.left, line.limit)
        name = f"{line.block} ✻" if line.frozen else line.block
        rows.append((name, _bar(line), *map(str, amounts)))
    return _table(columns, rows, "Privacy budget", "; ".join(remarks))


def _bar(line: BudgetLine) -> Text:
    from rich.text import Text

    limit = max(line.limit.nano, 1)
    spent = round(_BAR * line.share)
    held = min(round(_BAR * line.held.nano / limit), _BAR - spent)
    bar = Text("█" * spent, style="cyan").append("▒" * held, style="cyan")
    return bar.append("░" * (_BAR - spent - held), style="dim")


# --- previews -----------------------------------------------------------------------------


def quotes_table(quotes: Sequence[Quote]) -> Table:
    """One row per PPI; only formulas say where the noise goes, `options_table` says it for all."""
    inside = {_noise_in(quote) for quote in quotes} != {_WHOLE}
    columns = dict.fromkeys(("PPI", *(("noise in", "mechanism") if inside else ())), _PLAIN)
    columns |= dict.fromkeys(("ε", "expected", _AT_MOST, "decides", "new charges"), _RIGHT)
    rows: list[list[str | Text]] = [
        [
            *(q.ppi, *((_noise_in(q), q.mechanism) if inside else ()), epsilon_text(q)),
            *(
                _red_if_nothing(q, text)
                for text in (expected_text(q), at_most_text(q), decides_text(q))
            ),
            payments_text(q),
        ]
        for q in quotes
    ]
    if any(quote.each is not None for quote in quotes):
        columns["one by one"] = _RIGHT
        for row, quote in zip(rows, quotes, strict=True):
            row.append(error_text(quote.apart, quote.unit))
    return _table(columns, rows, caption=_note(quotes))


def _red_if_nothing(quote: Quote, text: str) -> Text:
    """In red if the query tells nothing."""
    from rich.text import Text

    return Text(printable(text), _COLOURS["missed"] if quote.tells_nothing else "")


def nothing_said(quote: Quote) -> Text:
    """The first line about a query that tells nothing."""
    return _red_if_nothing(quote, nothing_text(quote))


def alternatives_table(quote: Quote, left: Epsilon | None = None) -> Table:
    """What to ask instead of one PPI, the cheapest first; marked where a block has less `left`."""
    headers = ("in each block", "expected", "decides")
    columns = {f"Instead of {quote.ppi}": _PLAIN, **dict.fromkeys(headers, _NUMBER)}
    return _table(columns, [alternative_cells(other, left) for other in quote.alternatives])


def advice_table(quotes: Sequence[Quote], left: Epsilon | None) -> Table:
    """Every query with its margin, its chance to decide and the cheapest way to decide."""
    columns: dict[str, Options] = {"PPI": _PLAIN, "ε": _NUMBER}
    columns |= {"expected": _NUMBER, "decides": _RIGHT}
    columns["cheapest way to decide"] = _PLAIN
    rows = [
        (
            *(quote.ppi, epsilon_text(quote), _red_if_nothing(quote, expected_text(quote))),
            *(_red_if_nothing(quote, decides_text(quote)), cheapest_text(quote, left)),
        )
        for quote in quotes
    ]
    return _table(columns, rows, caption="\n".join([_DECIDES, *star_lines(quotes)]))


def set_lines(quotes: Sequence[Quote]) -> list[str]:
    """Which PPIs share a draw and what that saves; what PPIs under one total cost together."""
    sets: dict[tuple[str, ...], list[Quote]] = {}
    for quote in quotes:
        if quote.together:
            sets.setdefault(quote.together, []).append(quote)
    lines = list(map(_set_line, sets.values()))
    totals = {quote.total for quote in quotes if quote.total is not None}
    if totals:
        lines += [
            f"{quote.ppi} has ε {quote.epsilon} to itself."
            for quote in quotes
            if sets and not quote.together and quote.new_charges
        ]
    notes = _shared((quote.epsilon_note, quote.ppi) for quote in quotes if quote.epsilon_note)
    lines += [f"{ppis}: {note}." for note, ppis in notes.items()]
    lines += _derivable_lines(quotes)
    on_record = (q for q in quotes if not q.new_charges and not q.derivable)
    if free := [q.ppi for q in on_record if q.each is not None]:
        lines.append(
            f"On record, and free: {', '.join(free)}. For a more accurate answer, give the PPI "
            f"{'an epsilon of its own' if totals else 'a larger epsilon'}."
        )
    if totals:
        all_of_them = f"All {len(quotes)} PPIs together" if len(quotes) > 1 else quotes[0].ppi
        lines.append(f"{all_of_them}: at most ε {max(totals)} in each block.")
    return [printable(line) for line in lines]


def _derivable_lines(quotes: Sequence[Quote]) -> Iterator[str]:
    """What follows from the record, and how exact that is compared with a release."""
    for quote in quotes:
        if quote.derivable is None:
            continue
        free = f"free, {error_text(quote.derivable.margin, quote.unit)}"
        releases = count_text(len(quote.derivable.releases), "release")
        source = f"derived from {releases} on record"
        chosen = "instead of" if quote.derivable.taken else "or"
        paid = "" if quote.is_derived else f", {chosen} ε {quote.epsilon}, {expected_text(quote)}"
        yield f"{quote.ppi}: {free} ({source}){paid}."


def with_record_lines(quotes: Sequence[Quote]) -> list[str]:
    """How exact a draw of its own would be, read together with what is on record."""
    return [
        printable(
            f"{quote.ppi}: ε {quote.epsilon} is {error_text(quote.with_record, quote.unit)} "
            "together with what is on record."
        )
        for quote in quotes
        if quote.with_record is not None
    ]


def _set_line(members: Sequence[Quote]) -> str:
    """A draw for several PPIs: what it costs, and what the first of them gains by it."""
    together, epsilon = members[0].together, members[0].epsilon
    drawn = "histogram, with a bin up to each limit," if members[0].mechanism == _BINS else "draw"
    line = f"One {drawn} answers {', '.join(together[:-1])} and {together[-1]}"
    cost = f"ε {epsilon} for all of them in each block"
    for quote in members:
        if quote.margin is not None and quote.apart is not None and quote.margin < quote.apart:
            margins = (error_text(margin, quote.unit) for margin in (quote.margin, quote.apart))
            return f"{line}: {quote.ppi} {' instead of '.join(margins)} one by one, {cost}."
    return f"{line}: {cost}."


def _shared(notes: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Each note, and the PPIs that share it."""
    about: dict[str, list[str]] = {}
    for note, ppi in notes:
        about.setdefault(note, []).append(ppi)
    return {note: ", ".join(ppis) for note, ppis in about.items()}


def quantiles_table(quotes: Sequence[Quote]) -> Table:
    """How far off each PPI may be, at several confidences."""
    columns = {"PPI": _PLAIN, **dict.fromkeys(map(percent, CONFIDENCES), _RIGHT)}
    rows = [
        (quote.ppi, *(error_text(quote.within(c), quote.unit) + star(quote) for c in CONFIDENCES))
        for quote in quotes
    ]
    return _table(columns, rows, "Margin of error by confidence", "\n".join(star_lines(quotes)))


def _note(quotes: Sequence[Quote]) -> str:
    fewer = sorted({f"{quote.fewer.capitalize()}." for quote in quotes if quote.fewer})
    summary = " ".join([_EXPECTED, *fewer, _cut_off(quotes)])
    judged = [_DECIDES] if any(quote.chance_to_decide is not None for quote in quotes) else []
    about = _shared((quote.cases_note, quote.ppi) for quote in quotes)
    assumed = [
        f"Assuming {note}." if len(about) == 1 else f"{ppis}: assuming {note}."
        for note, ppis in about.items()
    ]
    telling = [f"{quote.ppi}: {text}." for quote in quotes if (text := telling_text(quote))]
    return "\n".join([summary, *judged, *star_lines(quotes), *assumed, *telling])


def _cut_off(quotes: Sequence[Quote]) -> str:
    """Public facts say about the clipping error only where there is none."""
    unclipped = [quote.ppi for quote in quotes if quote.clipping == "none"]
    if len(unclipped) == len(quotes):
        return "Nothing is clipped."
    but = f"; nothing is clipped in {', '.join(unclipped)}" if unclipped else ""
    return f"Clipping error is not included{but}."


def options_table(quote: Quote) -> Table:
    """Every way to release one PPI, best first, and why others are not possible."""
    headers = ("noise in", "mechanism", "share of ε", f"within, {_CONFIDENCE}", "")
    rows = [option_cells(option, quote.unit) for option in quote.options]
    return _table(dict.fromkeys(headers, _PLAIN), rows, quote.ppi)


def advice_lines(quotes: Sequence[Quote]) -> list[str]:
    """Advice against single PPIs, and why a margin is not known."""
    advice = [f"{q.ppi}: {q.advice}" for q in quotes if q.advice and not q.tells_nothing]
    reasons = _shared(
        (f"no margin is {'promised' if q.assumes else 'known'}, as {q.margin_note}", q.ppi)
        for q in quotes
        if q.margin_note
    )
    return [printable(line) for line in (*advice, *(f"{p}: {why}" for why, p in reasons.items()))]


def _noise_in(quote: Quote) -> str:
    """The functions that carry the noise, with their shares where there are several."""
    if len(quote.functions) == 1 and sum(quote.shares) in (0, 1):
        return functions_text(quote.functions)
    pairs = zip(quote.functions, quote.shares, strict=True)
    return " + ".join(f"{functions_text((path,))} ({share_text(share)})" for path, share in pairs)
