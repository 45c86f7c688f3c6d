"""Documents of figures: the report of a release, and the preview of one.

No script, no request to anywhere; they can be mailed, printed and archived. What
a reader needs to trust a figure is next to it: its interval, its ε, and the
guarantee in plain words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from pappi.ppinot import Ppi, sentence
from pappi.report.error_chart import error_caption, error_figure, error_table
from pappi.report.gauge import budget_gauge, budget_text, gauge_table
from pappi.report.markup import Element, Node, TableCell, bdi, document_html, el, prose, table
from pappi.report.numbers import (
    MISSING,
    format_cases,
    interval_text,
    is_distribution,
    shown_value,
    spread_cells,
    spread_headers,
    value_text,
)
from pappi.report.series_chart import series_drawing, series_figure
from pappi.report.tree_chart import composition_figure, composition_table
from pappi.report.wording import (
    SMOOTHED,
    Foreseen,
    alternative_cells,
    at_most_text,
    beyond_text,
    clipping_line,
    compared_text,
    compares,
    cuts_many,
    decides_text,
    derived_text,
    epsilon_text,
    expected_text,
    forecast_lines,
    guarantee_line,
    judged_text,
    least_left,
    legend,
    mark_of,
    neighbours_text,
    noise_text,
    nothing_text,
    paid_alike,
    payments_text,
    promise,
    promise_together,
    star_lines,
    tally,
    tally_text,
    target_lines,
    target_text,
    value_header,
    view_line,
)
from pappi.values import Answer, BudgetLine, Epsilon, Quote, Series


def report_html(
    title: str,
    series: Sequence[Series],
    budget: Sequence[BudgetLine],
    facts: Sequence[tuple[str, str]],
    generated: str,
) -> str:
    """The whole page. `facts` are public statements about log and workspace, label and text."""
    closing = (
        "Made by PaPPI. Every figure above has been released; showing it again costs no privacy."
    )
    if any(ppi.rehearsed for ppi in series):
        closing = "Made by PaPPI. These figures are made up; a real release would look like this."
    described = [(el("dt", bdi(label)), el("dd", bdi(text))) for label, text in facts]
    header = (
        el("p", f"Generated {generated}", class_="muted"),
        _warning(series),
        _promise([answer for ppi in series for answer in ppi.answers], budget),
        el("dl", *(node for pair in described for node in pair)) if facts else None,
    )
    main = (
        _overview(series),
        _how_to_read(series),
        *(series_card(ppi, f"ppi-{number}") for number, ppi in enumerate(series, start=1)),
        _budget(budget, _BLOCKS),
    )
    return document_html(title, header, main, skip="figures", closing=closing)


def series_html(series: Series) -> str:
    """One PPI for a page without our style, such as a notebook: its chart, its figures."""
    return str(
        el(
            "section",
            _warning([series]),
            el("p", bdi(series.sentence)),
            series_drawing(series),
            el("p", guarantee_line(series), *_notes(series)),
            el("details", el("summary", "Figures"), _answers_table(series)),
        )
    )


def _promise(answers: Sequence[Answer], budget: Sequence[BudgetLine]) -> Element:
    if not answers:
        return el("p", "This report contains no figures.", class_="card promise")
    most, unit = max(answer.guarantee.epsilon for answer in answers), answers[0].guarantee.unit
    neighbours = {answer.guarantee.adjacency for answer in answers}
    # Under either adjacency a case keeps its block, whose account bounds the loss.
    spent = max((line.spent for line in budget), default=None)
    return el(
        "section",
        el("h2", "What is guaranteed"),
        el("p", promise(most, unit), class_="first"),
        el("p", promise_together(spent, unit)) if spent else None,
        el("p", neighbours_text(neighbours, unit), class_="muted"),
        class_="card promise",
    )


def _warning(series: Sequence[Series]) -> Element | None:
    """Says first that figures are rehearsed, if they are."""
    texts = dict.fromkeys(ppi.warning for ppi in series if ppi.warning)
    return el("p", *(el("strong", text) for text in texts), role="note") if texts else None


# --- all PPIs at a glance -------------------------------------------------------------


def _overview(series: Sequence[Series]) -> Element | None:
    if len(series) < 2:
        return None
    overview = table(
        "Latest figure of each PPI, and verdicts over all periods",
        {"PPI": "name", "Verdicts": "tally", "Target": "name", "Latest": "number", "Period": ""},
        [_overview_row(ppi, f"#ppi-{number}") for number, ppi in enumerate(series, start=1)],
    )
    answers = [answer for ppi in series for answer in ppi.answers]
    return el(
        "section",
        el("h2", "At a glance"),
        el("p", tally_text(answers)) if tally(answers) else None,
        scrolled(overview, "All PPIs at a glance", "scroll whole"),
        class_="card overview",
    )


def _overview_row(series: Series, link: str) -> Sequence[TableCell]:
    latest = max(series.answers, key=lambda answer: answer.period, default=None)
    shown = value_text(latest).splitlines()[0] if latest else MISSING
    if (groups := len({answer.group for answer in series.answers})) > 1:
        shown = f"{groups} groups"
    by = SMOOTHED if any(answer.smoothed for answer in series.answers) else ""
    counts = [
        el("span", f"{by}{mark.symbol} {count} {mark}", class_=f"verdict {mark.colour}")
        for mark, count in tally(series.answers).items()
    ]
    return (
        el("a", bdi(series.name), href=link),
        counts or MISSING,
        bdi(_target(series)),
        shown,
        latest.period.label if latest else MISSING,
    )


def _target(series: Series) -> str:
    if not series.group_targets:
        return target_text(series.target) if series.target else MISSING
    common = f"{target_text(series.target)}; " if series.target else ""
    groups = len(series.group_targets)
    return f"{common}{groups} {'group has its' if groups == 1 else 'groups have their'} own"


_VALUE = (
    "Each value carries random noise, by design. The interval contains the value without noise, "
    "with the stated confidence; the text below each chart says what it covers: where bounds clip "
    "cases, the value of the clipped cases. Ends are rounded outwards, and digits that "
    "would only be noise are not shown. At least or at most: nothing is known about the other side."
)
_CLIPPED = (
    "How many cases lie beyond the bounds and count as the bound: noisy, for each period, and "
    "below each chart for all periods together. A verdict is firm only if it would stay the same "
    "if those cases lay much further out: two widths of the bounds, or twenty where some certainly "
    "lie beyond."
)
_UNKNOWN = "The noise rules nothing out: this period's value is unknown."
_CASES = (
    "The number of cases is noisy too: ≈ 100 ± 40 is 60 to 140 with 95 % confidence. Where there "
    "may be no cases at all, no verdict is firm."
)
_ESTIMATE = (
    "Not the released value, but an estimate from all periods: each is pulled towards the others, "
    "and the noisier it is, the more. This assumes that most periods are alike, so it may hide one "
    "that is not. The intervals hold for all periods of a series at once. The grey dot is the "
    "released value, listed below as raw."
)


def _how_to_read(series: Sequence[Series]) -> Element:
    answers = [answer for ppi in series for answer in ppi.answers]
    items = []
    for mark in legend(answers):
        symbol = el("span", f"{mark.symbol} {mark}", class_=f"verdict {mark.colour}")
        items.append(el("li", el("h3", symbol), f"{mark.meaning.capitalize()}."))
    items.append(el("li", el("h3", "Value and interval"), _VALUE))
    if any(shown_value(answer) is None for answer in answers):
        items.append(el("li", el("h3", f"{MISSING} unknown"), _UNKNOWN))
    if any(answer.cases_margin for answer in answers):
        items.append(el("li", el("h3", "Cases"), _CASES))
    if any(answer.beyond for answer in answers):
        items.append(el("li", el("h3", "Beyond the bounds"), _CLIPPED))
    if any(answer.smoothed for answer in answers):
        items.append(el("li", el("h3", "≈ smoothed"), _ESTIMATE))
    return el(
        "section",
        el("h2", "How to read this"),
        el("ul", *items, class_="read"),
        class_="card keep",
    )


# --- one PPI --------------------------------------------------------------------------


def series_card(series: Series, identity: str) -> Element:
    """One PPI for a page with our style: its chart, its guarantee, its figures."""
    return el(
        "article",
        el("h2", bdi(series.title), id=f"{identity}-name"),
        el("p", bdi(series.sentence)),
        el(
            "figure",
            series_figure(series, width=840),
            el("figcaption", guarantee_line(series), *_notes(series)),
            tabindex=0,
        ),
        scrolled(_answers_table(series), f"Figures of {series.name}"),
        id=identity,
        class_="card",
        aria_labelledby=f"{identity}-name",
    )


def _notes(series: Series) -> Sequence[Node]:
    """Which targets hold where, what clipping and smoothing did, and other remarks."""
    several = target_lines(series) if series.group_targets else ()
    derived = derived_text(series.answers)
    notes = (series.warning, view_line(series), *several, series.caution, series.smoothing, derived)
    lines = [node for note in notes if note for node in (el("br"), bdi(note))]
    if not series.clipping:
        return lines
    line = bdi(clipping_line(series))
    return [el("br"), el("strong", line, class_="amber") if cuts_many(series) else line, *lines]


_Column = tuple[str, str, Callable[[Answer], TableCell]]
"""A header, the style of its cells, and what stands there for an answer."""


def _answers_table(series: Series) -> Element:
    ordered = sorted(series.answers, key=lambda answer: (answer.group or "", answer.period))
    columns = list(_columns(series))
    rows = [[cell(answer) for _, _, cell in columns] for answer in ordered]
    styles = {header: style for header, style, _ in columns}
    return table(f"The figures of the chart ({len(rows)})", styles, rows)


def _columns(series: Series) -> Iterator[_Column]:
    yield "Period", "", lambda answer: answer.period.label
    if any(answer.group is not None for answer in series.answers):
        yield "Group", "name", lambda answer: bdi(answer.group or MISSING)
    spread = is_distribution(series)
    name = "Median" if spread else value_header(series)
    yield name, "number", lambda answer: [*_lines(value_text(answer))]
    yield "Interval", "", lambda answer: [*_lines(interval_text(answer))]
    for place, header in enumerate(spread_headers(series)):
        yield header, "number", partial(_spread_cell, place)
    if compares(series):
        yield "Compared", "", lambda answer: bdi(compared_text(answer))
        yield "Noise", "", noise_text
    else:
        yield "Cases", "number", format_cases
    if series.beyond is not None and not spread and not compares(series):
        yield "Beyond the bounds", "number", lambda answer: beyond_text(answer.beyond)
    if not spread and (series.targets or not compares(series)):
        yield "Verdict", "", _verdict
    if not paid_alike(series):
        yield "ε", "", _paid


def _spread_cell(place: int, answer: Answer) -> TableCell:
    return dict(enumerate(spread_cells(answer))).get(place, MISSING)


def _verdict(answer: Answer) -> TableCell:
    mark = mark_of(answer)
    return el("span", judged_text(answer), class_=f"verdict {mark.colour}" if mark else "verdict")


def _paid(answer: Answer) -> TableCell:
    epsilon = str(answer.guarantee.epsilon)
    if answer.derived_from:
        return [epsilon, el("span", " derived", class_="muted")]
    return [epsilon, el("span", " from the record", class_="muted")] if answer.replayed else epsilon


# --- the budget -----------------------------------------------------------------------


_BLOCKS = (
    "Each block of cases has its own budget. Spent budget is never refunded; once it is used up, "
    "no further query about these cases is answered."
)


def _budget(lines: Sequence[BudgetLine], about: str = "") -> Element | None:
    if not lines:
        return None
    return el(
        "section",
        el("h2", "Privacy budget"),
        el("p", about) if about else None,
        el("figure", budget_gauge(lines), el("figcaption", bdi(budget_text(lines))), tabindex=0),
        scrolled(gauge_table(lines), "Privacy budget"),
        class_="card",
    )


# --- pieces ---------------------------------------------------------------------------


def scrolled(table: Element, label: str, style: str = "scroll") -> Element:
    """Large tables scroll on the screen, by keyboard as well; on paper they are whole."""
    return el("div", table, class_=style, role="region", aria_label=label, tabindex=0)


def _lines(text: str) -> Iterator[Node]:
    """The first line as it is, and the others muted."""
    first, *others = text.splitlines()
    yield first
    for line in others:
        yield from (el("br"), el("span", line, class_="muted"))


# --- before a release -----------------------------------------------------------------

Previewed = tuple[Ppi, Quote]


def preview_html(
    title: str,
    previewed: Sequence[Previewed],
    budget: Sequence[BudgetLine],
    forecast: Foreseen | None,
    generated: str,
) -> str:
    """The whole page: prices, each PPI with its tree and its expected error, and the budget."""
    left = least_left(budget)
    header = (
        el("p", f"Generated {generated}", class_="muted"),
        el("p", "Nothing has been released: no data was read and nothing was spent."),
    )
    main = (
        _prices(previewed, forecast),
        *(_preview_card(*ppi, left, f"ppi-{n}") for n, ppi in enumerate(previewed, start=1)),
        _budget(budget),
    )
    closing = "Made by PaPPI, from public facts alone."
    return document_html(title, header, main, skip="PPIs", closing=closing)


def _preview_card(ppi: Ppi, quote: Quote, left: Epsilon | None, identity: str) -> Element:
    """One PPI: where its noise goes, how far off it will be, and both as numbers."""
    caption = prose(error_caption(quote))
    return el(
        "article",
        el("h2", bdi(quote.name), id=f"{identity}-name"),
        el("p", bdi(sentence(ppi))),
        _advice(quote, left),
        el("figure", error_figure(quote), el("figcaption", caption), tabindex=0),
        scrolled(error_table(quote), f"Expected error of {quote.name}"),
        el("figure", composition_figure(ppi, quote), tabindex=0),
        scrolled(composition_table(quote), f"Ways to release {quote.name}"),
        id=identity,
        class_="card",
        aria_labelledby=f"{identity}-name",
    )


def _advice(quote: Quote, left: Epsilon | None) -> Element | None:
    """Why not to release it, and what to ask instead."""
    if not quote.advice:
        return None
    text = el("p", prose(nothing_text(quote) if quote.tells_nothing else quote.advice))
    rows = [tuple(map(bdi, alternative_cells(instead, left))) for instead in quote.alternatives]
    numbers = dict.fromkeys(("In each block", "Expected", "Decides"), "number")
    caption = "What to ask instead, the cheapest first"
    alternatives = table(caption, {"Ask instead": "", **numbers}, rows)
    scrolling = scrolled(alternatives, f"Instead of {quote.name}") if rows else None
    return el("div", text, scrolling, class_="note nothing" if quote.tells_nothing else "note")


def _prices(previewed: Sequence[Previewed], forecast: Foreseen | None) -> Element:
    rows = [
        (
            el("a", bdi(quote.name), href=f"#ppi-{n}"),
            quote.mechanism,
            epsilon_text(quote),
            *(expected_text(quote), at_most_text(quote)),
            decides_text(quote),
            payments_text(quote),
        )
        for n, (_, quote) in enumerate(previewed, start=1)
    ]
    numbers = ("ε", "Expected", "At most, 95 %", "Decides", "New charges")
    columns = {"PPI": "", "Mechanism": "", **dict.fromkeys(numbers, "number")}
    stars = star_lines(quote for _, quote in previewed)
    prices = table("Price and expected error", columns, rows)
    lines = () if forecast is None else forecast_lines(forecast)
    return el(
        "section",
        el("h2", "At a glance"),
        scrolled(prices, "Prices", "scroll whole"),
        *(el("p", star, class_="muted") for star in stars),
        el("ul", *(el("li", line) for line in lines), class_="forecast") if lines else None,
        class_="card overview",
    )
