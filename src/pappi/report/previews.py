"""What PPIs would cost and how far off they would be, as one page: before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence

from pappi.ppinot.model import Ppi
from pappi.ppinot.sentences import sentence
from pappi.report.budgets import BudgetLine
from pappi.report.elements import Element, Node, el
from pappi.report.error_chart import error_caption, error_figure, error_table, margin_text
from pappi.report.figures import table
from pappi.report.forecasts import Foreseen, forecast_list
from pappi.report.gauge import budget_gauge, budget_table, budget_text
from pappi.report.html import page_head, scrolled
from pappi.report.plain import plain
from pappi.report.quotes import payments_text
from pappi.report.tree_chart import composition_figure, composition_table
from pappi.values.quotes import Quote

Previewed = tuple[Ppi, Quote]


def preview_html(
    title: str,
    previewed: Sequence[Previewed],
    budget: Sequence[BudgetLine],
    forecast: Foreseen | None,
    generated: str,
) -> str:
    """The whole page: prices, each PPI with its tree and its expected error, and the budget."""
    page = el(
        "html",
        page_head(title),
        el(
            "body",
            el("a", "Skip to the PPIs", class_="skip", href="#ppis"),
            el(
                "header",
                el("h1", el("bdi", title)),
                el("p", f"Generated {generated}", class_="muted"),
                el("p", "Nothing has been asked yet: no data was read and nothing was spent."),
            ),
            el(
                "main",
                _prices(previewed, forecast),
                *(preview_card(*one, f"ppi-{n}") for n, one in enumerate(previewed, start=1)),
                _budget(budget),
                id="ppis",
            ),
            el("footer", el("p", "Made by PaPPI, from public facts alone.")),
        ),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{page}\n"


def preview_card(ppi: Ppi, quote: Quote, identity: str) -> Element:
    """One PPI: where its noise goes, how far off it will be, and both as numbers."""
    return el(
        "article",
        el("h2", el("bdi", quote.name), id=f"{identity}-name"),
        el("p", el("bdi", sentence(ppi))),
        el("p", el("bdi", quote.advice)) if quote.advice else None,
        el(
            "figure",
            error_figure(quote),
            el("figcaption", el("bdi", error_caption(quote))),
        ),
        scrolled(error_table(quote), f"Expected error of {quote.name}"),
        el("figure", composition_figure(ppi, quote)),
        scrolled(composition_table(quote), f"Ways to release {quote.name}"),
        id=identity,
        class_="card",
        aria_labelledby=f"{identity}-name",
    )


def _prices(previewed: Sequence[Previewed], forecast: Foreseen | None) -> Element:
    rows = [_price(quote, f"#ppi-{n}") for n, (_, quote) in enumerate(previewed, start=1)]
    headers = ("PPI", "Mechanism", "ε", "Within, 95 %", "New charges")
    prices = table("Price and expected error", headers, rows, (2, 3, 4))
    return el(
        "section",
        el("h2", "At a glance"),
        scrolled(prices, "Prices", "scroll whole"),
        None if forecast is None else forecast_list(forecast),
        class_="card overview",
    )


def _price(quote: Quote, link: str) -> Sequence[Node]:
    return (
        el("a", el("bdi", quote.name), href=link),
        plain(quote.mechanism),
        str(quote.epsilon),
        margin_text(quote),
        payments_text(quote),
    )


def _budget(lines: Sequence[BudgetLine]) -> Element | None:
    if not lines:
        return None
    return el(
        "section",
        el("h2", "Privacy budget"),
        el("figure", budget_gauge(lines), el("figcaption", el("bdi", budget_text(lines)))),
        scrolled(budget_table(lines), "Privacy budget"),
        class_="card",
    )
