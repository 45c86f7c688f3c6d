"""The report: one self-contained page, for the screen and for paper.

No script, no request to anywhere; it can be mailed, printed and archived. What
a reader needs to trust a figure stands beside it: its interval, its ε, and the
guarantee in plain words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pappi.report.budgets import BudgetLine
from pappi.report.charts import series_drawing, series_figure
from pappi.report.elements import Element, Node, el
from pappi.report.gauge import budget_gauge, budget_table, budget_text
from pappi.report.numbers import MISSING, format_cases, interval_text, value_text
from pappi.report.page_style import PAGE_CSS
from pappi.report.verdicts import (
    COLOURS,
    EXPLAINED,
    SMOOTHED,
    SYMBOLS,
    Mark,
    judged_text,
    legend,
    mark_of,
    tally,
    target_lines,
    target_text,
)
from pappi.report.wording import compared, guarantee_line, promise, promise_together
from pappi.values.answers import Answer, Series

# The page forbids itself everything but its own style, wherever it is opened.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def report_html(
    title: str,
    series: Sequence[Series],
    budget: Sequence[BudgetLine],
    facts: Sequence[tuple[str, str]],
    generated: str,
) -> str:
    """The whole page. `facts` are public statements about log and workspace, label and text."""
    page = el(
        "html",
        page_head(title),
        el(
            "body",
            el("a", "Skip to the figures", class_="skip", href="#figures"),
            _header(title, series, budget, facts, generated),
            el(
                "main",
                _overview(series),
                _reading(series),
                *(series_card(one, f"ppi-{number}") for number, one in enumerate(series, start=1)),
                _budget(budget),
                id="figures",
            ),
            el("footer", el("p", "Made by PaPPI. ", _closing(series))),
        ),
        lang="en",
    )  # fmt: skip
    return f"<!DOCTYPE html>\n{page}\n"


def series_html(series: Series) -> str:
    """One PPI for a page of somebody else's, such as a notebook: its chart, its figures."""
    return str(
        el(
            "section",
            _warning([series]),
            el("p", _name(series.sentence)),
            series_drawing(series),
            el("p", guarantee_line(series.answers), *_notes(series)),
            el("details", el("summary", "Figures"), _answers_table(series)),
        )
    )


def page_head(title: str) -> Element:
    return el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", PAGE_CSS),
    )


def _header(
    title: str,
    series: Sequence[Series],
    budget: Sequence[BudgetLine],
    facts: Sequence[tuple[str, str]],
    generated: str,
) -> Element:
    return el(
        "header",
        el("h1", _name(title)),
        el("p", f"Generated {generated}", class_="muted"),
        _warning(series),
        _promise([answer for one in series for answer in one.answers], budget),
        _facts(facts) if facts else None,
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
    texts = dict.fromkeys(one.warning for one in series if one.warning)
    return el("p", *(el("strong", text) for text in texts), role="note") if texts else None


def _closing(series: Sequence[Series]) -> str:
    if any(one.rehearsed for one in series):
        return "No figure above is about anybody; a release of the same looks like this."
    return "Every figure above has been released; showing it again costs no privacy."


def _facts(facts: Sequence[tuple[str, str]]) -> Element:
    pairs = [(el("dt", _name(label)), el("dd", _name(text))) for label, text in facts]
    return el("dl", *(node for pair in pairs for node in pair))


# --- all PPIs at a glance -------------------------------------------------------------


def _overview(series: Sequence[Series]) -> Element | None:
    if len(series) < 2:
        return None
    rows = [_overview_row(one, f"#ppi-{number}") for number, one in enumerate(series, start=1)]
    table = _table(
        "Latest figure of each PPI, and verdicts over all periods",
        ("PPI", "Target", "Latest", "Period", "Verdicts"),
        rows,
    )
    return el(
        "section",
        el("h2", "At a glance"),
        scrolled(table, "All PPIs at a glance", "scroll whole"),
        class_="card overview",
    )


def _overview_row(series: Series, link: str) -> Element:
    latest = max(series.answers, key=lambda answer: answer.period, default=None)
    by = SMOOTHED if any(answer.smoothed for answer in series.answers) else ""
    counts: list[Node] = [
        el("span", f"{by}{SYMBOLS[mark]} {count} {mark}", class_=f"verdict {COLOURS[mark]}")
        for mark, count in tally(series.answers).items()
    ]
    return el(
        "tr",
        el("th", el("a", _name(series.name), href=link), scope="row", class_="name"),
        el("td", _name(_target(series)), class_="name"),
        el("td", _latest(series, latest), class_="number"),
        el("td", latest.period.label if latest else MISSING),
        el("td", *(counts or [MISSING]), class_="tally"),
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


def _reading(series: Sequence[Series]) -> Element:
    items = [_mark_item(mark) for mark in legend(a for one in series for a in one.answers)]
    items.append(
        el("li", el("h3", "Value and interval"), "The value carries random noise, by design. The "
           "shaded interval says where the value without noise lies, with the stated confidence. "
           "Digits that would only be noise are not shown.")
    )  # fmt: skip
    if any(answer.smoothed for one in series for answer in one.answers):
        items.append(_smoothed_item())
    return el(
        "section",
        el("h2", "How to read it"),
        el("ul", *items, class_="read"),
        class_="card keep",
    )


def _smoothed_item() -> Element:
    return el(
        "li", el("h3", "≈ smoothed"), "Not the released value, but what all periods together "
        "make of it: drawn towards the others, the more the noisier it is. It rests on the "
        "assumption that most periods are alike, and a period that is not may be hidden by it. "
        "Its intervals hold for all periods of a series at once. The released value is the grey "
        "dot, and stands beneath as raw."
    )  # fmt: skip


def _mark_item(mark: Mark) -> Element:
    shown = el("span", f"{SYMBOLS[mark]} {mark}", class_=f"verdict {COLOURS[mark]}")
    return el("li", el("h3", shown), f"{EXPLAINED[mark].capitalize()}.")


# --- one PPI --------------------------------------------------------------------------


def series_card(series: Series, identity: str) -> Element:
    """One PPI for a page with our style: its chart, its guarantee, its figures."""
    return el(
        "article",
        el("h2", _name(series.title), id=f"{identity}-name"),
        el("p", _name(series.sentence)),
        el(
            "figure",
            series_figure(series, width=840),
            el("figcaption", guarantee_line(series.answers), *_notes(series)),
        ),
        scrolled(_answers_table(series), f"Figures of {series.name}"),
        id=identity,
        class_="card",
        aria_labelledby=f"{identity}-name",
    )


def _notes(series: Series) -> Sequence[Node]:
    """Which targets hold where; and what the bounds cut off is not in the figures."""
    several = target_lines(series) if series.group_targets else ()
    notes = (series.warning, *several, series.clipping, series.caution, series.smoothing)
    return [node for note in notes if note for node in (el("br"), _name(note))]


def _answers_table(series: Series) -> Element:
    grouped = any(answer.group is not None for answer in series.answers)
    ordered = sorted(series.answers, key=lambda answer: (answer.group or "", answer.period))
    headers = ("Period", *(("Group",) if grouped else ()), "Value", "Interval", "Cases",
               "Verdict", "ε")  # fmt: skip
    rows = [_answer_row(answer, grouped=grouped) for answer in ordered]
    return _table(f"The figures of the chart ({len(rows)})", headers, rows)


def _answer_row(answer: Answer, *, grouped: bool) -> Element:
    again = el("span", " from the record", class_="muted") if answer.replayed else None
    return el(
        "tr",
        el("th", answer.period.label, scope="row"),
        el("td", _name(answer.group or MISSING), class_="name") if grouped else None,
        el("td", *_lines(value_text(answer)), class_="number"),
        el("td", *_lines(interval_text(answer))),
        el("td", format_cases(answer), class_="number"),
        el("td", judged_text(answer), class_=_verdict_class(answer)),
        el("td", str(answer.guarantee.epsilon), again),
    )


def _verdict_class(answer: Answer) -> str:
    mark = mark_of(answer)
    return "verdict" if mark is None else f"verdict {COLOURS[mark]}"


# --- the budget -----------------------------------------------------------------------


def _budget(lines: Sequence[BudgetLine]) -> Element | None:
    if not lines:
        return None
    return el(
        "section",
        el("h2", "Privacy budget"),
        el("p", "Each block of cases has a budget of its own. What is spent stays spent; when "
           "nothing is left, no further question about these cases is answered."),
        el("figure", budget_gauge(lines), el("figcaption", budget_text(lines))),
        scrolled(budget_table(lines), "Privacy budget"),
        class_="card",
    )  # fmt: skip


# --- pieces ---------------------------------------------------------------------------

_NUMERIC = frozenset({"Value", "Cases", "Spent", "Left", "Limit", "Latest"})


def _table(caption: str, headers: Sequence[str], rows: Sequence[Element]) -> Element:
    cells = [
        el("th", header, scope="col", class_="number" if header in _NUMERIC else None)
        if header
        else el("td")
        for header in headers
    ]
    return el(
        "table",
        el("caption", caption),
        el("thead", el("tr", *cells)),
        el("tbody", *rows),
    )


def scrolled(table: Element, label: str, style: str = "scroll") -> Element:
    """Large tables scroll on the screen, by keyboard as well; on paper they are whole."""
    return el("div", table, class_=style, role="region", aria_label=label, tabindex=0)


def _lines(text: str) -> Iterator[Node]:
    """The first line as it is; what stands beneath it is of less weight."""
    first, *others = text.splitlines()
    yield first
    for line in others:
        yield from (el("br"), el("span", line, class_="muted"))


def _name(text: str) -> Node:
    """Text from outside keeps its reading direction to itself."""
    return el("bdi", text)
