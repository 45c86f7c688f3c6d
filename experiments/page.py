"""All experiments of a run on one self-contained page: no script, no request to anywhere."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from experiments.sections import Section, Table
from pappi.report import PAGE_CSS, Element, document_html, el, three_digits

TITLE = "The paper, re-run"
_WIDER = "header,main,footer{max-width:72rem}"


def page(sections: Sequence[Section], about: str) -> str:
    return document_html(
        TITLE,
        (el("p", about, class_="muted"),),
        [_section(section) for section in sections],
        skip="experiments",
        closing="Simulated with fixed seeds: nothing here is a release.",
        style=PAGE_CSS + _WIDER,
    )


def _section(section: Section) -> Element:
    if section.skipped:
        reason = el("p", f"Skipped: {section.skipped}.", class_="muted")
        return el("section", el("h2", section.title), reason, class_="card", id=section.name)
    return el(
        "section",
        el("h2", section.title),
        *(el("p", text) for text in section.paragraphs),
        *(_figure(caption, drawing) for _, caption, drawing in section.figures),
        *(_table(table) for table in section.tables if table.shown != ()),
        class_="card",
        id=section.name,
    )


def _figure(caption: str, drawing: Element) -> Element:
    return el("figure", drawing, el("figcaption", caption))


def _table(table: Table) -> Element:
    shown = table.columns if table.shown is None else table.shown
    places = [table.columns.index(column) for column in shown]
    heads = (el("th", column.replace("_", " "), scope="col") for column in shown)
    rows = (el("tr", *_cells([row[place] for place in places])) for row in table.rows)
    found = el(
        "table",
        el("caption", f"{table.caption} ({table.stem}.csv)"),
        el("thead", el("tr", *heads)),
        el("tbody", *rows),
    )
    return el("div", found, class_="scroll", role="region", aria_label=table.caption, tabindex=0)


def _cells(row: Sequence[object]) -> Iterator[Element]:
    for cell in row:
        number = isinstance(cell, float | int) and not isinstance(cell, bool)
        yield el("td", written(cell), class_="number" if number else None)


def written(cell: object) -> str:
    """
    >>> written(None), written(0.62518), written(True), written(math.inf)
    ('', '0.625', 'yes', '∞')
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, float):
        return str(cell)
    if math.isnan(cell):
        return "–"
    return "∞" if math.isinf(cell) else three_digits(cell)
