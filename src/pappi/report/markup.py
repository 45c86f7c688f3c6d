"""HTML and SVG as a tiny element tree, in which everything is escaped; the look of documents.

The output is both HTML and well-formed XML, so that a chart can stand in a page or alone, and a
test can parse either.

Colours come in light and in dark. Verdict colours are bluish green and vermilion after Okabe and
Ito, darkened or lightened until they are readable as text; amber is bright where it fills a shape,
and the only light fill, in grey as well. No meaning depends on colour alone. A shape carries its
light colour as an attribute and also a class: viewers without CSS variables, and pages whose policy
forbids inline styles, still show it correctly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from pappi.report.numbers import MISSING, printable

Attribute = str | int | float | None

_VOID = frozenset({"meta", "br", "hr"})


@dataclass(frozen=True, slots=True)
class Element:
    """A tag with attributes and children; `str()` gives its markup."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Node, ...]

    def __str__(self) -> str:
        return "".join(_pieces(self))

    def __html__(self) -> str:
        """For templates: the markup is already escaped."""
        return str(self)


Node = Element | str
TableCell = Node | Sequence[Node]


def el(tag: str, /, *children: Node | None, **attributes: Attribute) -> Element:
    """An element; children and attributes that are None are left out.

    Attribute names are written with `_` for `-`; a `_` at the end is dropped. CSS is not escaped
    in HTML but is in XML, so a style may only hold what is the same in both.

    >>> print(el("text", "a < b", class_="pp-label", text_anchor="end", x=1.50))
    <text class="pp-label" text-anchor="end" x="1.5">a &lt; b</text>
    """
    if tag == "style" and any(mark in str(child) for child in children for mark in "<&"):
        raise ValueError("style sheets must not contain < or &")
    return Element(
        tag,
        tuple(
            (name.rstrip("_").replace("_", "-"), _written(value))
            for name, value in attributes.items()
            if value is not None
        ),
        tuple(child for child in children if child is not None),
    )


def bdi(text: str) -> Element:
    """Text from outside, isolated so that it cannot change the reading direction around it."""
    return el("bdi", text or MISSING)


def prose(text: str) -> Element:
    """The same for our own sentences, in which code is between backticks.

    >>> print(prose("add `--anyway`"))
    <bdi>add <code>--anyway</code></bdi>
    """
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # a backtick is unpaired
        return bdi(text)
    nodes = (el("code", piece) if n % 2 else piece for n, piece in enumerate(pieces) if piece)
    return el("bdi", *nodes)


def table(
    caption: str,
    headers: Sequence[str],
    rows: Iterable[Sequence[TableCell]],
    styles: Mapping[int, str] | None = None,
) -> Element:
    """The first column names the row; `styles` are classes of columns, such as `number`."""
    classes = styles or {}
    head = [
        el("th", text, scope="col", class_="number" if classes.get(n) == "number" else None)
        for n, text in enumerate(headers)
    ]
    return el(
        "table",
        el("caption", caption),
        el("thead", el("tr", *head)),
        el("tbody", *(_row(row, classes) for row in rows)),
    )


def _row(cells: Sequence[TableCell], classes: Mapping[int, str]) -> Element:
    nodes = [(cell,) if isinstance(cell, Element | str) else cell for cell in cells]
    first = el("th", *nodes[0], scope="row", class_=classes.get(0))
    rest = [el("td", *cell, class_=classes.get(n)) for n, cell in enumerate(nodes[1:], start=1)]
    return el("tr", first, *rest)


def _pieces(element: Element) -> Iterator[str]:
    attributes = "".join(f' {name}="{_escaped(value)}"' for name, value in element.attributes)
    if element.tag in _VOID:
        yield f"<{element.tag}{attributes}/>"
        return
    yield f"<{element.tag}{attributes}>"
    for child in element.children:
        if isinstance(child, Element):
            yield from _pieces(child)
        else:
            yield child if element.tag == "style" else _escaped(child)
    yield f"</{element.tag}>"


def _written(value: str | float) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)


def _escaped(text: str) -> str:
    return escape(printable(text), quote=True)


# --- colours, style sheets, and the head of a document --------------------------------------

Theme = dict[str, str]
LIGHT: Theme = {
    "surface": "#ffffff",
    "ground": "#f6f7f9",
    "ink": "#18202b",
    "muted": "#545f6e",
    "grid": "#e4e8ed",
    "accent": "#2a5db0",
    "target": "#6b4a8f",
    "met": "#00705a",
    "missed": "#b23c06",
    "amber": "#7d5c00",
    "amber-fill": "#f0ab00",
    "undecided": "#545f6e",
}
DARK: Theme = {
    "surface": "#191f28",
    "ground": "#10141a",
    "ink": "#e8ecf2",
    "muted": "#a3aebd",
    "grid": "#2f3844",
    "accent": "#8ab4f8",
    "target": "#c9a8ec",
    "met": "#4fd1ac",
    "missed": "#ff9b6a",
    "amber": "#ffd75e",
    "amber-fill": "#ffd75e",
    "undecided": "#a3aebd",
}
# What each class of shape is painted with: CSS property → name of a colour.
_PAINT: dict[str, dict[str, str]] = {
    "surface": {"fill": "surface"},
    "heading": {"fill": "ink"},
    "label": {"fill": "muted"},
    "grid": {"stroke": "grid"},
    "axis": {"stroke": "muted"},
    "band": {"fill": "accent"},
    "whisker": {"stroke": "accent"},
    "arrow": {"fill": "accent"},
    "line": {"stroke": "accent"},
    "plain": {"fill": "accent", "stroke": "surface"},
    "raw": {"fill": "muted"},
    "target": {"stroke": "target"},
    "target-text": {"fill": "target", "stroke": "surface"},
    "met": {"fill": "met", "stroke": "surface"},
    "missed": {"fill": "missed", "stroke": "surface"},
    "undecided": {"fill": "surface", "stroke": "undecided"},
    "amber": {"fill": "amber-fill", "stroke": "amber"},
    "amber-or-red": {"fill": "surface", "stroke": "missed"},
    "tolerated": {"stroke": "amber"},
    "dots": {"fill": "amber"},
    "function": {"fill": "surface", "stroke": "accent"},
    "noisy": {"fill": "accent", "stroke": "accent"},
    "measure": {"fill": "ground", "stroke": "grid"},
    "edge": {"stroke": "muted"},
    "edge-text": {"fill": "ink", "stroke": "surface"},
    "spent": {"fill": "accent"},
    "held": {"fill": "surface", "stroke": "accent"},
    "stripe": {"stroke": "accent"},
    "unspent": {"fill": "grid"},
    "limit": {"stroke": "muted"},
    "own": {"fill": "target", "stroke": "surface"},
    "error": {"fill": "accent", "stroke": "accent"},
}


def painted(tag: str, paint: str, *children: Node | None, **attributes: Attribute) -> Element:
    """An SVG element of that class, with the light colours as attributes."""
    colours = {prop: LIGHT[name] for prop, name in _PAINT[paint].items()}
    return el(tag, *children, class_=f"pp-{paint}", **colours, **attributes)


def theme_css(selector: str) -> str:
    """The colours as variables, following the reader's light or dark preference on screens."""
    light, dark = _variables(LIGHT), _variables(DARK)
    return (
        f"{selector}{{{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{{selector}{{{dark}}}}}"
    )


def _variables(theme: Theme) -> str:
    return ";".join(f"--{name}:{colour}" for name, colour in theme.items())


_LAYOUT = """
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);
 font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif}
header,main,footer{max-width:58rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:3rem}
h1{font-size:2.1rem;line-height:1.2;letter-spacing:-.02em;margin:0 0 .3rem;font-weight:680}
h2{font-size:1.25rem;line-height:1.3;letter-spacing:-.01em;margin:0 0 .4rem;font-weight:650}
h3{font-size:.95rem;margin:0 0 .3rem}
p{margin:0 0 .7rem;max-width:46rem}
a{color:var(--accent);text-underline-offset:.2em}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-100rem}
.skip:focus{left:1rem;top:1rem;background:var(--surface);padding:.5rem 1rem}
.muted,figcaption,caption,footer{color:var(--muted);font-size:.875rem}
.card{background:var(--surface);border:1px solid var(--grid);border-radius:12px;
 padding:1.4rem 1.5rem;margin:1.25rem 0}
.promise{border-left:5px solid var(--accent)}
.promise p{margin-bottom:.4rem}
.promise .first{font-size:1.15rem;line-height:1.45}
.promise p:last-child{margin-bottom:0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.5rem;margin:1rem 0 0;
 font-size:.9rem}
dt{color:var(--muted)}
dd{margin:0;overflow-wrap:anywhere}
figure{margin:1rem 0 .75rem;overflow-x:auto}
figure svg{display:block;max-width:100%;min-width:34rem;height:auto}
figcaption{margin-top:.25rem}
.scroll{overflow:auto;max-height:20.2rem;border-top:1px solid var(--grid);background:
 linear-gradient(transparent,var(--surface) 60%) center bottom/100% 3rem no-repeat local,
 linear-gradient(90deg,transparent,var(--surface) 60%) right/3rem 100% no-repeat local,
 linear-gradient(transparent,var(--grid)) center bottom/100% 1rem no-repeat scroll,
 linear-gradient(90deg,transparent,color-mix(in srgb,var(--muted) 28%,transparent))
  right/.8rem 100% no-repeat scroll}
table{border-collapse:collapse;width:100%;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.4rem 0}
th,td{text-align:left;padding:.34rem .8rem .34rem 0;border-bottom:1px solid var(--grid);
 vertical-align:baseline;white-space:nowrap}
thead th{color:var(--muted);font-weight:600;position:sticky;top:0;background:var(--surface)}
tbody th{font-weight:500}
tbody tr:last-child th,tbody tr:last-child td{border-bottom:0}
.number{text-align:right;padding-right:1.6rem}
.name{white-space:normal;overflow-wrap:break-word;min-width:7rem}
.verdict{font-weight:600}
.met{color:var(--met)}
.missed{color:var(--missed)}
.amber{color:var(--amber)}
.undecided{color:var(--undecided)}
.scroll.whole{max-height:none;border:0;background:
 linear-gradient(90deg,transparent,var(--surface) 60%) right/3rem 100% no-repeat local,
 linear-gradient(90deg,transparent,color-mix(in srgb,var(--muted) 28%,transparent))
  right/.8rem 100% no-repeat scroll}
.overview th:first-child{min-width:min(13rem,30vw)}
.overview td.tally{min-width:8rem}
.tally{white-space:normal}
.tally span{margin-right:.8rem;white-space:nowrap;display:inline-block}
.read{display:grid;grid-template-columns:repeat(auto-fit,minmax(19rem,1fr));gap:.9rem 1.75rem;
 margin:.75rem 0 0;padding:0;list-style:none;font-size:.9rem}
footer{padding-top:.5rem;padding-bottom:3rem}
@media (max-width:40rem){.card{padding:1.1rem 1rem;border-radius:10px}h1{font-size:1.65rem}
 .number{padding-right:.8rem}caption{max-width:80vw;white-space:normal}}
@media print{
 @page{margin:16mm 14mm}
 body{background:none;font-size:10.5pt}
 header,main,footer{max-width:none;padding-left:0;padding-right:0}
 header{padding-top:0}
 .card{border:0;border-top:1px solid var(--grid);border-radius:0;padding:1rem 0;margin:0}
 .promise{border-top:0;border-left:4px solid var(--accent);padding:.4rem 0 .4rem 1rem}
 .scroll,.scroll.whole{overflow:visible;max-height:none;background:none}
 .skip{display:none}
 figure,tr,h2,.keep{break-inside:avoid}
 h2,article p{break-after:avoid}
 thead{display:table-header-group}
 thead th{position:static}
}
"""
CHART_CSS = "".join(
    f".pp-{paint}{{{';'.join(f'{prop}:var(--{name})' for prop, name in colours.items())}}}"
    for paint, colours in _PAINT.items()
)
"""The style of `painted` shapes, for pages that have the theme."""

PAGE_CSS = theme_css(":root") + CHART_CSS + _LAYOUT
DPO_CSS = """
.dpo h2{font-size:1.5rem;margin:2.2rem 0 .2rem}
.dpo h3{font-size:1.1rem;margin:0 0 .5rem}
.dpo h4{font-size:.95rem;margin:1.2rem 0 .3rem}
.dpo .card>:last-child,.dpo li>:last-child{margin-bottom:0}
.dpo .wide{overflow-x:auto}
.dpo table{font-size:.84rem}
.dpo th,.dpo td{white-space:normal;overflow-wrap:anywhere;padding:.34rem .9rem .34rem 0;
 vertical-align:top}
.dpo thead th{overflow-wrap:normal;vertical-align:bottom}
.dpo tbody th{min-width:6rem}
.dpo td.number,.dpo th.number{text-align:right;white-space:nowrap;min-width:0}
.dpo thead th.number{white-space:normal}
.dpo td.words{overflow-wrap:normal}
.dpo .words span{white-space:nowrap}
.dpo td:last-child,.dpo th:last-child{padding-right:0}
.dpo ul{margin:.3rem 0;padding-left:1.2rem;max-width:46rem}
.dpo li{margin:.25rem 0}
.dpo code{font-family:ui-monospace,'Cascadia Mono',Menlo,Consolas,monospace;font-size:.86em;
 overflow-wrap:anywhere}
.dpo .notice{border-left:5px solid var(--amber)}
.dpo .alarm{border:3px solid var(--missed)}
.dpo .alarm h2,.dpo .alarm h3,.dpo .alarm strong{color:var(--missed);margin-top:0}
.dpo .ok{color:var(--met);font-weight:600}
.dpo .blank{display:block;border-bottom:1px dotted var(--ink);padding-top:1.5rem;
 color:var(--muted);font-size:.8rem;max-width:46rem}
.dpo dl{display:block}
.dpo dl>div{display:grid;grid-template-columns:9rem 1fr;gap:.1rem 1.5rem;margin:.25rem 0}
.dpo .record>div{margin:.8rem 0}
.dpo .record dt{color:var(--ink);font-weight:600}
.dpo .card>div+.wide{margin-top:1rem}
.dpo .record p{margin-bottom:.25rem}
@media (max-width:40rem){.dpo dl>div{grid-template-columns:1fr;margin:.6rem 0}}
@media print{
 @page{size:A4;margin:16mm 14mm 18mm;@bottom-right{content:counter(page) " / " counter(pages);
  font:8pt system-ui,sans-serif;color:#545f6e}}
 .dpo{font-size:9.5pt}
 .dpo h2{font-size:15pt;margin-top:1rem}
 .dpo .log+.log,.dpo .log+.whole{break-before:page}
 .dpo dl,.dpo .muted,.dpo .blank{font-size:9pt}
 .dpo table,.dpo caption{font-size:8pt}
 .dpo th,.dpo td{padding-right:.55rem}
 .dpo .wide{overflow:visible}
 .dpo tr,.dpo dl>div,.dpo .promise,.dpo .alarm,.dpo li,.dpo p{break-inside:avoid}
 .dpo h2,.dpo h3,.dpo h4,.dpo .lead,.dpo caption{break-after:avoid}
 .dpo a{color:inherit;text-decoration:none}
 .dpo .alarm,.dpo .promise,.dpo .notice{padding:.6rem 1rem;margin:.6rem 0}
}
"""

# A document allows itself nothing but its own style, wherever it is opened.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def document_html(
    title: str,
    header: Sequence[Node | None],
    main: Sequence[Node | None],
    *,
    skip: str,
    closing: str = "Made by PaPPI.",
    style: str = PAGE_CSS,
) -> str:
    """A self-contained document: no script, no request; it can be mailed, printed, archived.

    `skip` is what a reader who goes by keyboard can skip to.
    """
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", style),
    )
    place = skip.lower()
    body = el(
        "body",
        el("a", f"Skip to the {skip}", class_="skip", href=f"#{place}"),
        el("header", el("h1", bdi(title)), *header),
        el("main", *main, id=place),
        el("footer", el("p", closing)),
    )
    return f"<!DOCTYPE html>\n{el('html', head, body, lang='en')}\n"
