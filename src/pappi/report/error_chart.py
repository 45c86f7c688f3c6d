"""How far off a PPI is expected to be: one bar for each confidence, around no error at all.

From public facts, before anything is spent. A wider bar is a surer one, and a paler one. If
the target has a range of its own to compare with, its size stands beside the bars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from pappi.report.elements import Element, el
from pappi.report.figures import LETTER, figure, identity, table, words
from pappi.report.keys import KEY_ROW, Entry, drawn_key
from pappi.report.numbers import finite, three_digits, with_unit
from pappi.report.palette import painted
from pappi.report.plain import plain, shortened
from pappi.report.scales import Axis, Extent, value_axis
from pappi.report.wording import percent
from pappi.values.answers import ShownTarget
from pappi.values.quotes import MARGIN_CONFIDENCE, ErrorQuantile, Quote

WIDTH = 620
_MARGIN, _TOP = 14.0, 30.0
_ROW, _BAR = 26.0, 16.0
_AXIS = 34.0
_LEFT = 62.0
_TICK_ROOM = 90.0  # pixels for each tick and its label
_MANY = 100  # times a target, beyond which a percentage tells nothing
_NOTHING = 1e-290  # smaller errors cannot be divided by anything
_PALEST, _STRONGEST = 0.14, 0.7


def error_figure(quote: Quote) -> Element:
    """The drawing, bare; `figures.standalone` makes a file of it."""
    ids, name = identity("error", quote), f"Expected error of {quote.name}"
    if not quote.quantiles:
        lines = wrap(_unknown(quote), 95)[:3]
        body = [words("label", line, _MARGIN, _TOP + 16 * n) for n, line in enumerate(lines)]
        height = _TOP + 16 * len(lines)
        return figure(name, error_caption(quote), body, WIDTH, height, ids)
    chart = _Bars(quote)
    return figure(name, error_caption(quote), chart.elements(), WIDTH, chart.height, ids)


def error_table(quote: Quote) -> Element:
    """The numbers of the drawing."""
    rows = [(percent(each.confidence), _margin(each, quote.unit)) for each in quote.quantiles]
    heading = f"How far off the noise may put it{_if_so(quote)}"
    if quote.typical_error is not None:
        typical = with_unit(three_digits(quote.typical_error), quote.unit)
        rows.append(("typical (root mean square)", f"± {typical}"))
    if not rows:
        rows = [("not known", plain(quote.margin_note))]
    return table(heading, ("Confidence", "Within"), rows, (1,))


def error_caption(quote: Quote) -> str:
    """What the bars say, and under which assumption."""
    return plain(" ".join(filter(None, (_said(quote), _against(quote), _assumed(quote)))))


def margin_text(quote: Quote) -> str:
    """
    "± 6.00 h", with what it assumes, or that it is not known.
    """
    return "not known" if quote.half_width is None else _around(quote) + _if_so(quote)


def _around(quote: Quote) -> str:
    return "± " + with_unit(three_digits(quote.half_width or 0.0), quote.unit)


def _if_so(quote: Quote) -> str:
    return plain(f", if {quote.assumes}") if quote.assumes else ""


def _said(quote: Quote) -> str:
    if quote.half_width is None:
        return _unknown(quote)
    sure = f"with {percent(MARGIN_CONFIDENCE)} confidence{_if_so(quote)}."
    if quote.assumes:
        sure = f"{sure} No margin is promised: {quote.margin_note}."
    if quote.verdict_only:
        distance = _around(quote).removeprefix("± ")
        return f"A value more than {distance} from its target is judged right {sure}"
    return f"The noise keeps the value within {_around(quote).replace('± ', '±')} {sure}"


def _unknown(quote: Quote) -> str:
    typical = quote.typical_error
    known = (
        "" if typical is None else f" (typically ± {with_unit(three_digits(typical), quote.unit)})"
    )
    return f"No margin is known{known}: {quote.margin_note or 'no law tells'}."


def _assumed(quote: Quote) -> str:
    one, many = "1 case with a value falls", f"{quote.assumed_cases:,} cases with a value fall"
    cases = one if quote.assumed_cases == 1 else many
    clipping = {"none": "No value can lie beyond its bounds.", "": ""}.get(
        quote.clipping, "What the bounds cut off comes on top."
    )
    fewer = f"; {quote.fewer}" if quote.fewer else ""
    return f"Assumed: {cases} into a period{fewer}. {clipping}".rstrip()


def _against(quote: Quote) -> str:
    """The margin beside the size of the target, where it has one."""
    size = _target_size(quote.target)
    margin = quote.half_width
    if size is None or margin is None:
        return ""
    limit, what = size
    much = f"{percent(margin / limit)} of" if margin < _MANY * limit else f"over {_MANY} times"
    return f"That is {much} {what}, {_sized(limit, quote.unit)}."


def _sized(size: float, unit: str) -> str:
    return with_unit(three_digits(size), unit)


def _target_size(target: ShownTarget | None) -> tuple[float, str] | None:
    """What an error can be compared with: the room a target leaves, or else its own size."""
    if target is None:
        return None
    low, high = finite(target.low), finite(target.high)
    if low is not None and high is not None:
        return _positive(high / 2 - low / 2, "half of the target's range")
    limit = low if high is None else high
    beyond = (
        None
        if target.tolerated is None
        else finite(target.tolerated.low if high is None else target.tolerated.high)
    )
    if limit is not None and beyond is not None:
        return _positive(abs(beyond - limit), "what is tolerated beyond the target")
    return None if limit is None else _positive(abs(limit), "the target")


def _positive(size: float, what: str) -> tuple[float, str] | None:
    return (size, what) if size > 0 else None


def _margin(each: ErrorQuantile, unit: str) -> str:
    return f"± {with_unit(three_digits(each.within), unit)}"


# --- the bars -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Bars:
    quote: Quote

    @property
    def height(self) -> float:
        return self._bottom + _AXIS + (KEY_ROW if self._compared else 0.0)

    def elements(self) -> Iterator[Element]:
        yield from self._grid()
        for number, each in enumerate(self.quote.quantiles):
            yield from self._bar(number, each)
        zero = self._axis.at(0.0)
        yield painted("line", "axis", x1=zero, x2=zero, y1=_TOP - 6, y2=self._bottom)
        yield words("label", self._heading, zero, _TOP - 12, anchor="middle")
        yield from self._room()

    @property
    def _heading(self) -> str:
        where = "at the target" if self.quote.verdict_only else "without noise"
        return where + _if_so(self.quote)

    def _grid(self) -> Iterator[Element]:
        axis = self._axis
        for tick in axis.ticks:
            x = axis.at(tick)
            yield painted("line", "grid", x1=x, x2=x, y1=_TOP, y2=self._bottom + 5)
            sign = "+" if tick > 0 else ""
            last = tick == axis.ticks[-1]
            text = with_unit(axis.label(tick), self._unit) if last else axis.label(tick)
            yield words("label", sign + text, x, self._bottom + 20, anchor="middle")

    def _bar(self, number: int, each: ErrorQuantile) -> Iterator[Element]:
        top = _TOP + _ROW * number + (_ROW - _BAR) / 2
        left, right = self._axis.at(-each.within), self._axis.at(each.within)
        yield words("heading", percent(each.confidence), _LEFT - 14, top + 12, anchor="end")
        yield el(
            "g",
            el("title", f"{percent(each.confidence)}: {_margin(each, self.quote.unit)}"),
            painted(
                "rect", "error", x=left, y=top, width=max(right - left, 1.0), height=_BAR, rx=2,
                fill_opacity=self._opacity(number), stroke_width=1.2,
            ),
        )  # fmt: skip
        yield words("heading", _margin(each, self._unit), self._right + 14, top + 12)

    def _opacity(self, number: int) -> float:
        steps = max(len(self.quote.quantiles) - 1, 1)
        return _STRONGEST - (_STRONGEST - _PALEST) * number / steps

    def _room(self) -> Iterator[Element]:
        """Where an error would be as large as what the target leaves."""
        size = self._compared
        if size is None:
            return
        for away in (-size[0], size[0]):
            x = self._axis.at(away)
            yield painted(
                "line", "target", x1=x, x2=x, y1=_TOP - 2, y2=self._bottom,
                stroke_width=1.5, stroke_dasharray="6 4",
            )  # fmt: skip
        dashes = painted(
            "line", "target", x1=-6, x2=8, y1=0, y2=0, stroke_width=1.5, stroke_dasharray="4 3"
        )
        key = Entry(dashes, f"{size[1]}, {_sized(size[0], self.quote.unit)}")
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
        widest = max(len(_margin(each, self._unit)) for each in self.quote.quantiles)
        return WIDTH - _MARGIN - 14 - LETTER * widest

    @property
    def _axis(self) -> Axis:
        furthest = max(self._shown())
        furthest = furthest if furthest > _NOTHING else 1.0
        room = 42 * (self._right - _LEFT) / _TICK_ROOM
        found = value_axis(Extent(-furthest, furthest), self.quote.unit, 0.0, room)
        return replace(found, bottom=_LEFT, top=self._right)

    def _shown(self) -> Sequence[float]:
        bars = [each.within for each in self.quote.quantiles]
        return bars if self._compared is None else [*bars, self._compared[0]]

    @property
    def _compared(self) -> tuple[float, str] | None:
        """The target's room, if it is not so far away that the bars would shrink beside it."""
        size = _target_size(self.quote.target)
        near = size is not None and size[0] <= 1.5 * self.quote.quantiles[-1].within
        return size if near else None
