"""PPINOT JSON documents into catalogues.

A document is a set of PPIs ({"processId", "ppis", "measures"}), a collection of measures
({"definitions"}), one PPI, one measure, or a list of these. Measures that no PPI is about become
PPIs themselves, over all of the log. What measures one case only is no PPI: it is left out with a
remark, or, if nothing else is there, refused.

Fields of ours in a document: `log`. In a PPI: `process`, `unit`, `valueRange`, `tolerated`,
`groupTargets`, and `privacy` {epsilon, answer, mechanism, noise, falloff, buckets}.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.catalogue.document import BrokenNode, ListNode, MapNode, Node, read_document
from pappi.ppinot.catalogue.origins import Lines
from pappi.ppinot.catalogue.shapes import MAX_PROBLEMS, Problems
from pappi.ppinot.java.fields import Context, Fields, unread
from pappi.ppinot.java.indicators import NotAPpi, ppi_of_measure, read_ppi
from pappi.ppinot.model import Catalogue, Ppi
from pappi.ppinot.wording import quoted

_PARAMETER = re.compile(r"\$\{[^}\n]{0,80}\}?")
# JSON writes a character beyond the first 65,536 as two escapes, YAML as one.
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A catalogue, and what should be said about how it was read.

    `lost` names what the text says and the catalogue has no place for, such as the name of a
    measure: whatever is written from the catalogue does not have it.
    """

    catalogue: Catalogue
    remarks: tuple[Problem, ...] = field(default=())
    lost: tuple[Problem, ...] = field(default=())


def read_java(
    text: str, file: str = "<json>", log: str | None = None, *, lifecycle: bool = True
) -> Catalogue:
    """The catalogue a PPINOT JSON text describes; DefinitionError with every problem in it.

    `log` names the log the PPIs are about, where the text does not. Without `lifecycle` every
    event of the log is a completion, and no attribute says so.
    """
    return java_reading(text, file, log, lifecycle=lifecycle).catalogue


def java_reading(text: str, file: str, log: str | None, *, lifecycle: bool = True) -> Reading:
    _refuse_parameters(text, file)
    problems = Problems()
    root = read_document(_ESCAPE.sub(_joined, text), file, problems.found)
    return reading_of(root, log, problems, lifecycle=lifecycle)


def _joined(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return escape[0]
    high, low = int(escape[1], 16) - 0xD800, int(escape[2], 16) - 0xDC00
    return f"\\U{0x10000 + (high << 10) + low:08x}"


def _refuse_parameters(text: str, file: str) -> None:
    """Java replaces `${name}` before it reads a document, from values that are not in it."""
    lines = Lines.of(text, file)
    found = [
        Problem(
            lines.at(match.start()),
            f"the parameter {quoted(match[0])} is not replaced by anything here",
            "write its value in its place",
        )
        for match, _ in zip(_PARAMETER.finditer(text), range(MAX_PROBLEMS), strict=False)
    ]
    if found:
        raise DefinitionError(found)


Unread = Iterable[tuple[str, Position]]


def reading_of(
    root: Node, log: str | None, problems: Problems, *, lifecycle: bool, besides: Unread = ()
) -> Reading:
    """The catalogue a document's nodes describe; `besides` is what is lost already."""
    context = Context(problems, lifecycle=lifecycle)
    document = _Document(root, context)
    ppis = document.ppis()
    name = log or document.log()
    if not name:
        message = "this does not say which log it is about"
        problems.add(root.position, message, 'give its name, or write "log": "…" into the file')
    _refuse_twins(ppis, problems)
    if problems.found:
        # What is used in several places is read, and complained about, in each of them.
        raise DefinitionError(sorted(dict.fromkeys(problems.found), key=_in_order))
    remarks = document.remarks
    if not ppis and remarks:
        raise DefinitionError([Problem(each.position, each.message, each.hint) for each in remarks])
    lost = _losses((*besides, *unread(root, context)))
    return Reading(Catalogue(name, tuple(ppis), file=root.position.file), tuple(remarks), lost)


def _losses(found: Unread) -> tuple[Problem, ...]:
    """What was not read, by name: each name once, with all of its lines."""
    places: dict[str, list[Position]] = {}
    for name, position in found:
        places.setdefault(name, []).append(position)
    return tuple(_loss(name, sorted(at, key=_by_line)) for name, at in sorted(places.items()))


def _loss(name: str, places: list[Position]) -> Problem:
    lines = list(dict.fromkeys(str(place.line) for place in places))
    where = f"; it is in {len(places):,} places: line {', '.join(lines)}" if len(places) > 1 else ""
    message = f"{quoted(name)} is not kept{where}"
    return Problem(places[0], message, "a catalogue has no place for it", level="warning")


def _by_line(position: Position) -> tuple[int, int]:
    return position.line, position.column


def _in_order(problem: Problem) -> tuple[int, int]:
    return _by_line(problem.position)


def _refuse_twins(ppis: list[Ppi], problems: Problems) -> None:
    first: dict[str, Position] = {}
    for ppi in ppis:
        if ppi.id in first:
            taken = f"the id {quoted(ppi.id)} is taken by the PPI in line {first[ppi.id].line}"
            problems.add(ppi.position, taken)
        first.setdefault(ppi.id, ppi.position)


class _Document:
    def __init__(self, root: Node, context: Context) -> None:
        self.remarks: list[Problem] = []
        self._root = root
        self._fields = Fields(root, context) if isinstance(root, MapNode) else None
        self._process = self._fields.text("processId") if self._fields else ""
        self._context = context.within(self._process)

    def log(self) -> str:
        return self._fields.text("log") if self._fields else ""

    def ppis(self) -> list[Ppi]:
        found = []
        for number, node in enumerate(self._nodes(), start=1):
            try:
                ppi = self._ppi(node, number)
            except NotAPpi as case_only:
                self.remarks.append(case_only.remark)
            else:
                found += [ppi] if ppi is not None else []
        return found

    def _nodes(self) -> Iterator[Node]:
        """The PPIs and measures of the document."""
        if isinstance(self._root, ListNode):
            yield from self._root.items
        elif self._fields is None:
            if not isinstance(self._root, BrokenNode):
                self._context.problems.add(self._root.position, "this is no PPINOT document")
        elif "ppis" in self._fields and self._fields.filled("ppis"):
            yield from self._fields.items("ppis")
        elif any(key in self._fields for key in ("measures", "definitions", "ppis")):
            yield from self._fields.items("measures")
            yield from self._fields.items("definitions")
        else:
            yield self._root

    def _ppi(self, node: Node, number: int) -> Ppi | None:
        fields = Fields.of(node, self._context, "a PPI or a measure")
        if fields is None:
            return None
        if "kind" in fields and "measuredBy" not in fields:
            return ppi_of_measure(fields, node, number, self._process, self.remarks)
        return read_ppi(fields, number, self._process, self.remarks)
