"""How far off a PPI is expected to be: one bar for each confidence level, around zero error.

From public facts, before anything is spent. Bars of higher confidence are wider and paler. If
the target has a range to compare with, its size is shown as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from textwrap import wrap

from pappi.report.drawing import (
    KEY_ROW,
    LETTER,
    Axis,
    Extent,
    KeyEntry,
    drawn_key,
    figure,
    identity,
    value_axis,
    words,
)
from pappi.report.markup import Element, el, painted, table
from pappi.report.numbers import error_text, finite, printable, shortened, size_text, with_unit
from pappi.report.wording import (
    assumption_text,
    between_text,
    differing,
    percent,
    telling_text,
)
from pappi.values import MARGIN_CONFIDENCE, ErrorQuantile, Quote, ShownTarget

WIDTH = 620
_MARGIN, _TOP = 14.0, 30.0
_ROW, _BAR = 26.0, 16.0
_AXIS = 34.0
_LEFT = 62.0
_TICK_ROOM = 90.0  # pixels for each tick and its label
_MANY = 100  # times a target, above which a percentage tells nothing
_NOTHING = 1e-290  # smaller errors cannot be divided by anything
_PALEST, _STRONGEST = 0.14, 0.7


def error_figure(quote: Quote) -> Element:
    """The drawing, bare; `drawing.standalone` makes a file of it."""
    ids, name = identity("error", quote), f"Expected error of {quote.name}"
    caption = error_caption(quote).replace("`", "")
    if not quote.quantiles:
        lines = wrap(_unknown(quote), 95)[:3]
        body = [words("label", line, _MARGIN, _TOP + 16 * n) for n, line in enumerate(lines)]
        height = _TOP + 16 * len(lines)
        return figure(name, caption, body, WIDTH, height, ids)
    chart = _Bars(quote)
    return figure(name, caption, chart.elements(), WIDTH, chart.height, ids)


def error_table(quote: Quote) -> Element:
    """The numbers of the drawing."""
    rows = [(percent(q.confidence), error_text(q.within, quote.unit)) for q in quote.quantiles]
    if quote.typical_error is not None:
        rows.append(("typical (root mean square)", error_text(quote.typical_error, quote.unit)))
    if not rows:
        rows = [("not known", printable(quote.margin_note))]
    heading = f"How far off the noise may be{_if_so(quote)}"
    return table(heading, {"Confidence": "", "Within": "number"}, rows)


def error_caption(quote: Quote) -> str:
    """What the bars show, and under which assumption."""
    return printable(" ".join(filter(None, (_said(quote), _against(quote), _assumed(quote)))))


def _if_so(quote: Quote) -> str:
    return printable(f", if {quote.assumes}") if quote.assumes else ""


def _said(quote: Quote) -> str:
    if quote.half_width is None:
        return _unknown(quote)
    sure = f"with {percent(MARGIN_CONFIDENCE)} confidence{_if_so(quote)}."
    if quote.assumes:
        sure = f"{sure} No margin is promised: {quote.margin_note}."
    distance = size_text(quote.half_width, quote.unit)
    if quote.verdict_only:
        return f"A value more than {distance} from its target is judged correctly {sure}"
    width, most = quote.interval_half_width, error_text(quote.half_width, quote.unit)
    if width is None:
        return f"The noise keeps the value within {most} {sure}"
    between, limit = differing(quote), "within" if quote.assumes else "at most"
    if between is not None:
        usual = f"{between_text(between, quote.unit)} in nine of ten releases"
        return f"{error_text(width, quote.unit)} expected, {usual}; {limit} {most} {sure}"
    expected = error_text(width, quote.unit)
    if expected == most:
        return f"{expected} expected, {sure}"
    return f"{expected} expected; {limit} {most} {sure}"


def _unknown(quote: Quote) -> str:
    typical = quote.typical_error
    typically = "" if typical is None else f" (typically {error_text(typical, quote.unit)})"
    return f"No margin is known{typically}: {quote.margin_note or 'no bound is known'}."


def _assumed(quote: Quote) -> str:
    clipping = {"none": "Nothing is clipped.", "": ""}.get(
        quote.clipping, "Clipping error is not included."
    )
    fewer = f"{quote.fewer.capitalize()}." if quote.fewer else ""
    telling = telling_text(quote)
    telling = f"{telling[0].upper()}{telling[1:]}." if telling else ""
    return " ".join(filter(None, (assumption_text(quote), fewer, clipping, telling)))


def _against(quote: Quote) -> str:
    """The margin compared with the size of the target, if it has one."""
    size, margin = _target_size(quote.target), quote.half_width
    if size is None or margin is None:
        return ""
    limit, compared_with = size
    much = f"{percent(margin / limit)} of" if margin < _MANY * limit else f"over {_MANY} times"
    return f"That is {much} {compared_with}, {size_text(limit, quote.unit)}."


def _target_size(target: ShownTarget | None) -> tuple[float, str] | None:
    """What an error can be compared with: the room a target leaves, otherwise its size."""
    if target is None:
        return None
    low, high = finite(target.low), finite(target.high)
    limit = low if high is None else high
    if limit is None:
        return None
    beyond = None
    if target.tolerated is not None:
        beyond = finite(target.tolerated.low if high is None else target.tolerated.high)
    if low is not None and high is not None:
        size, compared_with = high / 2 - low / 2, "half of the target's range"
    elif beyond is not None:
        size, compared_with = abs(beyond - limit), "what is tolerated beyond the target"
    else:
        size, compared_with = abs(limit), "the target"
    return (size, compared_with) if size > 0 else None


# --- the bars -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Bars:
    quote: Quote

    @property
    def height(self) -> float:
        return self._bottom + _AXIS + (KEY_ROW if self._compared else 0.0)

    def elements(self) -> Iterator[Element]:
        yield from self._grid()
        for number, quantile in enumerate(self.quote.quantiles):
            yield from self._bar(number, quantile)
        zero = self._axis.at(0.0)
        yield painted("line", "axis", x1=zero, x2=zero, y1=_TOP - 6, y2=self._bottom)
        where = "at the target" if self.quote.verdict_only else "without noise"
        yield words("label", where + _if_so(self.quote), zero, _TOP - 12, anchor="middle")
        yield from self._room()

    def _grid(self) -> Iterator[Element]:
        axis = self._axis
        for tick in axis.ticks:
            x = axis.at(tick)
            yield painted("line", "grid", x1=x, x2=x, y1=_TOP, y2=self._bottom + 5)
            sign = "+" if tick > 0 else ""
            last = tick == axis.ticks[-1]
            text = with_unit(axis.label(tick), self._unit) if last else axis.label(tick)
            yield words("label", sign + text, x, self._bottom + 20, anchor="middle")

    def _bar(self, number: int, quantile: ErrorQuantile) -> Iterator[Element]:
        top = _TOP + _ROW * number + (_ROW - _BAR) / 2
        left, right = self._axis.at(-quantile.within), self._axis.at(quantile.within)
        sure = percent(quantile.confidence)
        steps = max(len(self.quote.quantiles) - 1, 1)
        yield words("heading", sure, _LEFT - 14, top + 12, anchor="end")
        yield el(
            "g",
            el("title", f"{sure}: {error_text(quantile.within, self.quote.unit)}"),
            painted(
                "rect", "error", x=left, y=top, width=max(right - left, 1.0), height=_BAR, rx=2,
                fill_opacity=_STRONGEST - (_STRONGEST - _PALEST) * number / steps, stroke_width=1.2,
            ),
        )  # fmt: skip
        margin = error_text(quantile.within, self._unit)
        yield words("heading", margin, self._right + 14, top + 12)

    def _room(self) -> Iterator[Element]:
        """Lines at errors as large as the room that the target leaves."""
        if self._compared is None:
            return
        size, compared_with = self._compared
        for away in (-size, size):
            x = self._axis.at(away)
            yield painted(
                "line", "target", x1=x, x2=x, y1=_TOP - 2, y2=self._bottom,
                stroke_width=1.5, stroke_dasharray="6 4",
            )  # fmt: skip
        dashes = painted(
            "line", "target", x1=-6, x2=8, y1=0, y2=0, stroke_width=1.5, stroke_dasharray="4 3"
        )
        key = KeyEntry(dashes, f"{compared_with}, {size_text(size, self.quote.unit)}")
        yield from drawn_key([[key]], _LEFT + 6, self._bottom + _AXIS + 2)

    # --- geometry ---

    @property
    def _bottom(self) -> float:
        return _TOP + _ROW * len(self.quote.quantiles) + 4

    @property
    def _unit(self) -> str:
        return shortened(self.quote.unit, 12)

    @property
    def _right(self) -> float:
        """Room for the widest margin beside the bars."""
        widest = max(len(error_text(q.within, self._unit)) for q in self.quote.quantiles)
        return WIDTH - _MARGIN - 14 - LETTER * widest

    @property
    def _axis(self) -> Axis:
        furthest = max(quantile.within for quantile in self.quote.quantiles)
        if self._compared is not None:
            furthest = max(furthest, self._compared[0])
        furthest = furthest if furthest > _NOTHING else 1.0
        room = 42 * (self._right - _LEFT) / _TICK_ROOM
        axis = value_axis(Extent(-furthest, furthest), self.quote.unit, 0.0, room)
        return replace(axis, bottom=_LEFT, top=self._right)

    @property
    def _compared(self) -> tuple[float, str] | None:
        """The target's room, unless it is so large that the bars would shrink to nothing."""
        size = _target_size(self.quote.target)
        near = size is not None and size[0] <= 1.5 * self.quote.quantiles[-1].within
        return size if near else None
