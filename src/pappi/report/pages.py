"""Documents of figures: the report of a release, and the preview of one.

No script, no request to anywhere; they can be mailed, printed and archived. What
a reader needs to trust a figure stands beside it: its interval, its ε, and the
guarantee in plain words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pappi.ppinot import Ppi, sentence
from pappi.report.elements import Cell, Element, Node, bdi, el, prose, table
from pappi.report.error_chart import error_caption, error_figure, error_table
from pappi.report.gauge import budget_gauge, budget_text, gauge_table
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
from pappi.report.style import document_html
from pappi.report.tree_chart import composition_figure, composition_table
from pappi.report.wording import (
    COLOURS,
    EXPLAINED,
    NOTHING,
    SMOOTHED,
    SYMBOLS,
    Foreseen,
    alternative_cells,
    at_most_text,
    beyond_text,
    chance_text,
    clipping_line,
    compared,
    cuts_many,
    derived_text,
    expected_text,
    forecast_lines,
    guarantee_line,
    judged_text,
    legend,
    mark_of,
    nothing_text,
    paid_alike,
    payments_text,
    promise,
    promise_together,
    tally,
    tally_text,
    target_lines,
    target_text,
)
from pappi.values import Answer, BudgetLine, Quote, Series


def report_html(
    title: str,
    series: Sequence[Series],
    budget: Sequence[BudgetLine],
    facts: Sequence[tuple[str, str]],
    generated: str,
) -> str:
    """The whole page. `facts` are public statements about log and workspace, label and text."""
    closing = "Every figure above has been released; showing it again costs no privacy."
    if any(ppi.rehearsed for ppi in series):
        closing = "These figures are about nobody; a real release would look like this."
    return document_html(
        title,
        el("a", "Skip to the figures", class_="skip", href="#figures"),
        el(
            "header",
            el("h1", bdi(title)),
            el("p", f"Generated {generated}", class_="muted"),
            _warning(series),
            _promise([answer for ppi in series for answer in ppi.answers], budget),
            _facts(facts) if facts else None,
        ),
        el(
            "main",
            _overview(series),
            _how_to_read(series),
            *(series_card(ppi, f"ppi-{number}") for number, ppi in enumerate(series, start=1)),
            _budget(budget, _BLOCKS),
            id="figures",
        ),
        el("footer", el("p", "Made by PaPPI. ", closing)),
    )


def series_html(series: Series) -> str:
    """One PPI for a page of somebody else's, such as a notebook: its chart, its figures."""
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
    # Whatever the neighbours, a case keeps its block, whose account bounds it all.
    spent = max((line.spent for line in budget), default=None)
    return el(
        "section",
        el("h2", "What is guaranteed"),
        el("p", promise(most, unit), class_="first"),
        el("p", promise_together(spent, unit)) if spent else None,
        el("p", compared(neighbours, unit), class_="muted"),
        class_="card promise",
    )


def _warning(series: Sequence[Series]) -> Element | None:
    """That figures are rehearsed, before any of them."""
    texts = dict.fromkeys(ppi.warning for ppi in series if ppi.warning)
    return el("p", *(el("strong", text) for text in texts), role="note") if texts else None


def _facts(facts: Sequence[tuple[str, str]]) -> Element:
    pairs = [(el("dt", bdi(label)), el("dd", bdi(text))) for label, text in facts]
    return el("dl", *(node for pair in pairs for node in pair))


# --- all PPIs at a glance -------------------------------------------------------------


def _overview(series: Sequence[Series]) -> Element | None:
    if len(series) < 2:
        return None
    overview = table(
        "Latest figure of each PPI, and verdicts over all periods",
        ("PPI", "Verdicts", "Target", "Latest", "Period"),
        [_overview_row(ppi, f"#ppi-{number}") for number, ppi in enumerate(series, start=1)],
        {0: "name", 1: "tally", 2: "name", 3: "number"},
    )
    answers = [answer for one in series for answer in one.answers]
    return el(
        "section",
        el("h2", "At a glance"),
        el("p", tally_text(answers)) if tally(answers) else None,
        scrolled(overview, "All PPIs at a glance", "scroll whole"),
        class_="card overview",
    )


def _overview_row(series: Series, link: str) -> Sequence[Cell]:
    latest = max(series.answers, key=lambda answer: answer.period, default=None)
    by = SMOOTHED if any(answer.smoothed for answer in series.answers) else ""
    counts = [
        el("span", f"{by}{SYMBOLS[mark]} {count} {mark}", class_=f"verdict {COLOURS[mark]}")
        for mark, count in tally(series.answers).items()
    ]
    return (
        el("a", bdi(series.name), href=link),
        counts or MISSING,
        bdi(_target(series)),
        _latest(series, latest),
        latest.period.label if latest else MISSING,
    )


def _target(series: Series) -> str:
    if not series.group_targets:
        return target_text(series.target) if series.target else MISSING
    common = f"{target_text(series.target)}; " if series.target else ""
    own = len(series.group_targets)
    return f"{common}{own} {'group has its' if own == 1 else 'groups have their'} own"


def _latest(series: Series, latest: Answer | None) -> str:
    groups = {answer.group for answer in series.answers}
    if len(groups) > 1:
        return f"{len(groups)} groups"
    return value_text(latest).splitlines()[0] if latest else MISSING


_VALUE = (
    "Each value carries random noise, by design. The interval contains the value without noise, "
    "with the stated confidence; below each chart it is named for what it covers: where bounds cut "
    "cases off, that is the value of the clipped cases. Ends are rounded outwards, and digits that "
    "would only be noise are not shown. At least or at most: nothing is known of the other side."
)
_CLIPPED = (
    "How many cases lie beyond the bounds and count as the bound: of each period noisy, and below "
    "each chart for all periods together. A verdict is firm only if it would stay the same were "
    "those cases much further out: two to five widths of the bounds."
)
_UNKNOWN = (
    "The noise leaves open everything that was possible before: nothing is known of this period."
)
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
        shown = el("span", f"{SYMBOLS[mark]} {mark}", class_=f"verdict {COLOURS[mark]}")
        items.append(el("li", el("h3", shown), f"{EXPLAINED[mark].capitalize()}."))
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
    """Which targets hold where; and what the bounds cut off is not in the figures."""
    several = target_lines(series) if series.group_targets else ()
    derived = derived_text(series.answers)
    notes = (series.warning, *several, series.caution, series.smoothing, derived)
    said = [node for note in notes if note for node in (el("br"), bdi(note))]
    if not series.clipping:
        return said
    line = bdi(clipping_line(series))
    return [el("br"), el("strong", line, class_="amber") if cuts_many(series) else line, *said]


def _answers_table(series: Series) -> Element:
    grouped = any(answer.group is not None for answer in series.answers)
    ordered = sorted(series.answers, key=lambda answer: (answer.group or "", answer.period))
    headers = ["Period", "Value", "Interval", "Cases", "Verdict"]
    rows = [_answer_row(answer) for answer in ordered]
    if series.beyond is not None:
        headers.insert(4, "Beyond the bounds")
        for answer, row in zip(ordered, rows, strict=True):
            row.insert(4, beyond_text(answer.beyond))
    if not paid_alike(series):
        headers.append("ε")
        for answer, row in zip(ordered, rows, strict=True):
            row.append(_paid(answer))
    styles = {1: "number", 3: "number"}
    if series.beyond is not None:
        styles[4] = "number"
    if is_distribution(series):
        beside = spread_headers(series)
        headers[1:5] = ["Median", "Interval", *beside, "Cases"]
        for answer, row in zip(ordered, rows, strict=True):
            row[3:5] = [*spread_cells(answer), row[3]]
        styles = {1: "number"} | {3 + place: "number" for place in range(len(beside) + 1)}
    if grouped:
        headers.insert(1, "Group")
        for answer, row in zip(ordered, rows, strict=True):
            row.insert(1, bdi(answer.group or MISSING))
        styles = {1: "name"} | {place + 1: style for place, style in styles.items()}
    return table(f"The figures of the chart ({len(rows)})", headers, rows, styles)


def _answer_row(answer: Answer) -> list[Cell]:
    mark = mark_of(answer)
    return [
        answer.period.label,
        [*_lines(value_text(answer))],
        [*_lines(interval_text(answer))],
        format_cases(answer),
        el("span", judged_text(answer), class_=f"verdict {COLOURS[mark]}" if mark else "verdict"),
    ]


def _paid(answer: Answer) -> Cell:
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
    """The first line as it is; what stands beneath it is of less weight."""
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
    return document_html(
        title,
        el("a", "Skip to the PPIs", class_="skip", href="#ppis"),
        el(
            "header",
            el("h1", bdi(title)),
            el("p", f"Generated {generated}", class_="muted"),
            el("p", "Nothing has been asked yet: no data was read and nothing was spent."),
        ),
        el(
            "main",
            _prices(previewed, forecast),
            *(_preview_card(*ppi, f"ppi-{n}") for n, ppi in enumerate(previewed, start=1)),
            _budget(budget),
            id="ppis",
        ),
        el("footer", el("p", "Made by PaPPI, from public facts alone.")),
    )


def _preview_card(ppi: Ppi, quote: Quote, identity: str) -> Element:
    """One PPI: where its noise goes, how far off it will be, and both as numbers."""
    caption = prose(error_caption(quote))
    return el(
        "article",
        el("h2", bdi(quote.name), id=f"{identity}-name"),
        el("p", bdi(sentence(ppi))),
        _advice(quote),
        el("figure", error_figure(quote), el("figcaption", caption), tabindex=0),
        scrolled(error_table(quote), f"Expected error of {quote.name}"),
        el("figure", composition_figure(ppi, quote), tabindex=0),
        scrolled(composition_table(quote), f"Ways to release {quote.name}"),
        id=identity,
        class_="card",
        aria_labelledby=f"{identity}-name",
    )


def _advice(quote: Quote) -> Element | None:
    """What speaks against it, and what to ask instead."""
    if not quote.advice:
        return None
    said = el("p", prose(nothing_text(quote) if quote.tells_nothing else quote.advice))
    rows = [tuple(bdi(cell) for cell in alternative_cells(each)) for each in quote.alternatives]
    headers = ("Ask instead", "In each block", "Expected", "Decides")
    numbers = dict.fromkeys((1, 2, 3), "number")
    asked = table("What to ask instead, the cheapest first", headers, rows, numbers)
    shown = scrolled(asked, f"Instead of {quote.name}") if rows else None
    return el("div", said, shown, class_="note nothing" if quote.tells_nothing else "note")


def _prices(previewed: Sequence[Previewed], forecast: Foreseen | None) -> Element:
    rows = [
        (
            el("a", bdi(quote.name), href=f"#ppi-{n}"),
            quote.mechanism,
            str(quote.epsilon),
            *(expected_text(quote), at_most_text(quote)),
            f"{NOTHING} nothing" if quote.tells_nothing else chance_text(quote.chance_to_decide),
            payments_text(quote),
        )
        for n, (_, quote) in enumerate(previewed, start=1)
    ]
    headers = ("PPI", "Mechanism", "ε", "Expected", "At most, 95 %", "Decides", "New charges")
    numbers = dict.fromkeys((2, 3, 4, 5, 6), "number")
    supposed = sorted({quote.assumes for _, quote in previewed if quote.assumes})
    stars = (f"* Not guaranteed: only if {assumption}." for assumption in supposed)
    prices = table("Price and expected error", headers, rows, numbers)
    lines = () if forecast is None else forecast_lines(forecast)
    return el(
        "section",
        el("h2", "At a glance"),
        scrolled(prices, "Prices", "scroll whole"),
        *(el("p", star, class_="muted") for star in stars),
        el("ul", *(el("li", line) for line in lines), class_="forecast") if lines else None,
        class_="card overview",
    )
