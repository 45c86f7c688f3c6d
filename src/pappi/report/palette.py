"""Colours, once: for charts and pages, in light and in dark.

Verdict colours are bluish green and vermilion after Okabe and Ito, darkened or
lightened until they read as text; amber is bright where it fills a shape, and is the only
light one there, in grey as well. No meaning hangs on colour alone. A shape
carries its light colour as an attribute and its class besides: viewers without
CSS variables, and pages whose policy forbids inline styles, still show it right.
"""

from __future__ import annotations

from pappi.report.elements import Attribute, Element, Node, el

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


def paint_css() -> str:
    """The classes of `painted`, in terms of the variables of `theme_css`."""
    return "".join(
        f".pp-{paint}{{{';'.join(f'{prop}:var(--{name})' for prop, name in colours.items())}}}"
        for paint, colours in _PAINT.items()
    )


def _variables(theme: Theme) -> str:
    return ";".join(f"--{name}:{colour}" for name, colour in theme.items())
