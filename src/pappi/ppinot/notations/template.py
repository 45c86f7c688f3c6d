r"""Catalogues as text: PPINOT's template, one block of lines per PPI, written and read.

    Log: claims

    PPI: sojourn
    Name: Mean sojourn time
    Definition: The PPI is defined as the average of the duration between …
    Target: The PPI value must be below 7 days
    Scope: The process instances considered for this PPI are those of every month

What a line says goes on in lines that begin with a space; of several texts each is in a line of
its own, behind a dash. `Target in "group": …` is about one group. A text that would not come back
as it is stands in double quotes, with \n for a new line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Generic, TypeVar, cast

from pappi.errors import DefinitionError, Position, Problem, UsageError
from pappi.ppinot.grammar import (
    Origin,
    WordKind,
    Words,
    located,
    parse_expression,
    quote_text,
    refusal,
)
from pappi.ppinot.model import (
    EVERY_MONTH,
    ID,
    Catalogue,
    GroupTarget,
    MultiInstance,
    Ppi,
    usual_unit,
)
from pappi.ppinot.notations.document import (
    ListNode,
    MapNode,
    Node,
    Problems,
    ScalarNode,
    catalogue_of,
    inner_document,
    line_text,
    map_node,
    text_node,
)
from pappi.ppinot.notations.quantities import (
    BOUNDS,
    EPSILON,
    SHARE_OF_CASES,
    VIEW,
    Shown,
    named_unit,
    shown_attributes,
    target_in,
)
from pappi.ppinot.notations.sentence_phrases import MAX_SIZE, Cursor, Dialect, Form
from pappi.ppinot.notations.sentences import MULTI, SCOPE, definition, whole
from pappi.ppinot.notations.shapes import (
    Entries,
    Field,
    Json,
    ListOf,
    Parts,
    Record,
    SchemaDefs,
    Shape,
    Unwritable,
    Values,
    Written,
    attributes_read,
    attributes_said,
)
from pappi.ppinot.notations.yaml import RELEASE
from pappi.ppinot.views import View
from pappi.values import CONTROL, did_you_mean, quoted

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Key(StrEnum):
    """The keys of a template, as they are written; PPINOT's own first."""

    LOG = "Log"
    TOTAL = "Total"
    PPI = "PPI"
    NAME = "Name"
    PROCESS = "Process"
    GOALS = "Goals"
    DEFINITION = "Definition"
    TARGET = "Target"
    SCOPE = "Scope"
    SHOW = "Show"
    RESPONSIBLE = "Responsible"
    INFORMED = "Informed"
    COMMENTS = "Comments"
    TOLERATED = "Tolerated"
    RANGE = "Range"
    UNIT = "Unit"
    EPSILON = "Epsilon"
    RELEASE = "Release"
    EXPECTED = "Expected"


MAX_PPIS = 5_000
_WIDTH = 98
_KEYS = {key.value.lower(): key for key in Key}
_KEY = re.compile(r'([^\W\d]\w*)[ \t]*(?:in[ \t]+("(?:[^"\\]++|\\.)*+")[ \t]*)?:')
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_USUAL = Dialect()

# --- lines into nodes, and back -------------------------------------------------------


def _document(text: str, file: str, problems: Problems) -> MapNode:
    """A template as a mapping: of what stands before the first PPI, and of the PPIs."""
    start = Position(file, 1, 1)
    at = located(text, start)
    blocks: list[dict[str, tuple[ScalarNode, ScalarNode]]] = [{}]
    for first, end in _paragraphs(text):
        line = _line(text[first:end], first, at, problems)
        if line is None:
            continue
        key, of_all = line[0], line[0].text in (Key.LOG, Key.TOTAL)
        if key.text == Key.PPI:
            if len(blocks) > MAX_PPIS:
                raise refusal(key.position, f"a template holds at most {MAX_PPIS:,} PPIs")
            blocks.append({})
        if of_all and len(blocks) > 1:
            problems.add(key.position, f"'{key.text}' must come once, before all PPIs")
        elif not of_all and len(blocks) == 1:
            message = f"{quoted(key.text)} must come after the 'PPI' it is about"
            problems.add(key.position, message)
        elif key.text in blocks[-1]:
            line_before = blocks[-1][key.text][0].position.line
            message = f"the line {quoted(key.text)} appears twice; first in line {line_before}"
            problems.add(key.position, message)
        else:
            blocks[-1][key.text] = line
    ppis = [MapNode(tuple(block.values()), block[Key.PPI][0].position) for block in blocks[1:]]
    all_of_them = text_node(_PPIS.key, start), ListNode(tuple(ppis), start)
    return MapNode((*blocks[0].values(), all_of_them), start)


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Where each line begins that is not indented, and where those behind it that are end."""
    start, offset = None, 0
    while offset < len(text):
        end = text.find("\n", offset) + 1 or len(text) + 1
        line = text[offset : end - 1]
        if line.strip() and (start is None or not line[0].isspace()):
            if start is not None:
                yield start, offset
            start = offset
        offset = end
    if start is not None:
        yield start, len(text)


def _line(
    text: str, start: int, at: Origin, problems: Problems
) -> tuple[ScalarNode, ScalarNode] | None:
    """A key, and what stands behind it."""
    place = at(start)
    match = _KEY.match(text)
    key = _KEYS.get(match[1].lower()) if match else None
    hint = ""
    if match is None or key is None:
        word = match[1] if match else text.split("\n", maxsplit=1)[0].split(":", maxsplit=1)[0]
        message = f"no line of a template begins with {quoted(word)}"
        example = "as in Definition: the average of …"
        hint = did_you_mean(word, [known.value for known in Key], example)
    elif match[2] and key not in (Key.TARGET, Key.TOLERATED):
        message = f"{quoted(key.value)} is the same for every group"
    elif CONTROL.search(text):
        message = "this text contains a control character"
    else:
        # Problems point at what is said, not at the spaces before it.
        content = text[match.end() :].lstrip()
        behind, content = start + len(text) - len(content), content.rstrip()
        name = f"{key} in {match[2]}" if match[2] else key.value
        origin: Origin = lambda offset: at(behind + offset)  # noqa: E731 - it has an annotation
        at_content = origin(0) if content else place
        return text_node(name, place), text_node(content, at_content, origin, plain=True)
    problems.add(place, message, hint)
    return None


def _text(text: str) -> str:
    """A text as it can stand behind a colon: as it is, or in quotes."""
    is_plain = text == text.strip() and not text.startswith('"') and "\n" not in text and text
    return text if is_plain else quote_text(text)


def _folded(line: str) -> str:
    """A sentence over several lines, which break between words and never inside quotes."""
    words, rows, row, index = Words(line, in_sentence=True), list[str](), "", 0
    while words[index].kind is not WordKind.END:
        glued = words[index].start == words[index - 1].end if index else False
        piece = words[index].written
        if row and not glued and len(row) + 1 + len(piece) > _WIDTH:
            rows.append(row)
            row = f"  {piece}"
        else:
            row += piece if glued or not row else f" {piece}"
        index += 1
    return "\n".join([*rows, row])


# --- what stands behind the keys, read and written ------------------------------------


def _entry(
    what: str, read: Callable[[ScalarNode], T], text: Callable[[Any], str | None]
) -> Written[T]:
    def parse(node: ScalarNode, problems: Problems) -> T | None:
        try:
            return read(node)
        except DefinitionError as error:
            problems.extend(error.problems)
        except UsageError as error:
            problems.add(node.position, error.message, error.hint)
        return None

    return Written(what, parse, text=text)


def _sentence(form: Form[T], lead: str = "") -> Written[T]:
    """A sentence, before which PPINOT's own words may stand."""

    def read(node: ScalarNode) -> T:
        def said(cursor: Cursor) -> T:
            cursor.accept(lead.lower())
            return form.read(cursor)

        return whole(node.text, _USUAL, node.origin, said)

    return _entry("a sentence", read, lambda value: f"{lead} {form.write(value)}".strip())


def _unquoted(text: str, place: Position) -> str:
    quotes = cast("Any", parse_expression(text, place)) if _QUOTED.fullmatch(text) else None
    return text if quotes is None else str(quotes.value)


def _read_text(node: ScalarNode, separator: str = " ") -> str:
    """A text, which may go on in several lines, and may be in quotes."""
    lines = filter(None, map(str.strip, node.text.split("\n")))
    return _unquoted(separator.join(lines), node.position)


def _read_texts(node: ScalarNode) -> tuple[str, ...]:
    """Several texts with a dash before each, or one without."""
    parts = [part for part in map(str.strip, node.text.split("\n")) if part]
    if not all(part == "-" or part.startswith("- ") for part in parts):
        return tuple(filter(None, [_read_text(node)]))
    return tuple(_unquoted(part[1:].strip(), node.position) for part in parts)


def _read_id(node: ScalarNode) -> str:
    key = _read_text(node)
    if not ID.fullmatch(key):
        message = (
            "expected an id of letters, digits, - and _, starting with a letter, "
            f"found {quoted(key)}"
        )
        raise refusal(node.position, message, "put the display name into Name: …")
    return key


@dataclass(frozen=True, slots=True)
class _AsInCatalogue(Generic[T_co]):
    """What PPINOT's template has no words for is written as in a catalogue, in braces."""

    shape: Shape[T_co]

    def read(self, node: Node, problems: Problems) -> T_co | None:
        written = cast("ScalarNode", node)
        broken: list[Problem] = []
        try:
            inner = inner_document(written.text, written.origin, broken)
        except DefinitionError as error:
            problems.extend(error.problems)
            return None
        problems.extend(broken)
        return self.shape.read(inner or node, problems)

    def write(self, value: object) -> str | None:
        written = self.shape.write(value)
        return None if written is None else line_text(written)

    def schema(self, definitions: SchemaDefs) -> Json:
        return self.shape.schema(definitions)


# --- PPIs -----------------------------------------------------------------------------

_DEFINED = "The PPI is defined as"
_CONSIDERED = "The process instances considered for this PPI are those of"
_BANDS = {Key.TARGET: "The PPI value must be", Key.TOLERATED: "The PPI value may be"}

_TEXT = _entry("a text", _read_text, _text)
_TEXTS = _entry(
    "texts", _read_texts, lambda texts: "".join(f"\n  - {_text(text)}" for text in texts)
)
# What only the measure, or the unit, tells how to read.
_LATER: Written[ScalarNode] = Written("a text", lambda node, _: node)
_TEXT_NODE: Written[ScalarNode] = Written(
    "a text", lambda node, _: replace(node, text=_read_text(node)), text=_text
)


def _field(key: Key, shape: Shape[T], *, required: bool = False) -> Field[T]:
    return Field(key.value, shape, "", required=required)


_ID = _field(Key.PPI, _entry("an id", _read_id, str), required=True)
_NAME = _field(Key.NAME, _TEXT)
_DEFINITION: Field[MultiInstance] = _field(
    Key.DEFINITION,
    replace(_sentence(MULTI, _DEFINED), text=lambda words: f"{_DEFINED} {words}"),
    required=True,
)
_UNIT = _field(Key.UNIT, _TEXT_NODE)
_TARGET, _TOLERATED = (_field(key, _LATER) for key in _BANDS)
_SCOPE = _field(Key.SCOPE, _sentence(SCOPE, _CONSIDERED))
_BEFORE = {"process": _field(Key.PROCESS, _TEXT), "goals": _field(Key.GOALS, _TEXTS)}
_SHOW: Field[View] = _field(Key.SHOW, VIEW)
_BEHIND: dict[str, Field[Any]] = {
    "show": _SHOW,
    "responsible": _field(Key.RESPONSIBLE, _TEXT),
    "informed": _field(Key.INFORMED, _TEXTS),
    "comments": _field(Key.COMMENTS, _entry("a text", lambda node: _read_text(node, "\n"), _text)),
    "epsilon": _field(Key.EPSILON, EPSILON),
    "release": _field(Key.RELEASE, _AsInCatalogue(RELEASE)),
    "expected": _field(Key.EXPECTED, SHARE_OF_CASES),
}


def _ppi(values: Values, problems: Problems) -> Ppi | None:
    measure, label, name = values[_DEFINITION], values.get(_UNIT), values.get(_NAME)
    unit = named_unit(measure, label, problems) if label else usual_unit(measure)
    if unit is None:
        return None
    shown = Shown.in_unit(measure, unit, is_said=label is not None)
    view, target, limits = values.get(_SHOW), _target_node(values, problems), values.get(_RANGE)
    return Ppi(
        id=values[_ID],
        name=values[_ID] if name is None else name,
        measure=measure,
        unit=unit,
        scope=values.get(_SCOPE) or EVERY_MONTH,
        position=values.position,
        **shown_attributes(shown, view, target, limits, problems),
        **attributes_read(values, **_BEFORE, **_BEHIND),
    )


def _target_node(values: Values, problems: Problems) -> MapNode | None:
    """The lines about targets as the mapping that a catalogue has: bands, of all or by group."""
    place = values.position
    lines: dict[str, dict[str, ScalarNode]] = {}
    of_all = [(_TARGET.key, values.get(_TARGET)), (_TOLERATED.key, values.get(_TOLERATED))]
    for key, node in (*of_all, *((key.text, node) for key, node in values.named)):
        band, _, group = key.partition(" in ")
        if node is not None:
            lines.setdefault(group, {})[band] = _without_lead(node, _BANDS[Key(band)])
    nodes: dict[str, Node] = {}
    for group, bands in lines.items():
        if _TARGET.key not in bands:
            message = "there is a tolerated range, but no target"
            problems.add(bands[_TOLERATED.key].position, message)
            continue
        bands_of_group = {"green": bands[_TARGET.key], "amber": bands.get(_TOLERATED.key)}
        nodes[group] = map_node(bands_of_group, bands[_TARGET.key].position)
    otherwise = nodes.pop("", None)
    if not nodes:
        return cast("MapNode | None", otherwise)
    by_name = {_unquoted(group, place): node for group, node in nodes.items()}
    return map_node({"groups": map_node(by_name, place), "otherwise": otherwise}, place)


def _without_lead(node: ScalarNode, lead: str) -> ScalarNode:
    text = " ".join(node.text.split())
    start = len(lead) if text.lower().startswith(lead.lower()) else 0
    return replace(node, text=text[start:].removesuffix("."))


_RANGE = _field(Key.RANGE, _AsInCatalogue(BOUNDS))


def _parts(ppi: Ppi) -> Parts:
    unit, shown = ppi.unit, Shown.of(ppi)
    aimed = shown.of_view(ppi.show)
    is_usual = unit == usual_unit(ppi.measure)
    if not is_usual:
        shown.require_known(ppi.measure)
    parts: dict[Field[Any] | str, Any] = {
        _ID: ppi.id,
        _NAME: ppi.name,
        **attributes_said(ppi, **_BEFORE),
        _DEFINITION: definition(ppi),
        _UNIT: None if is_usual else unit.name,
    }
    targets: tuple[Ppi | GroupTarget, ...] = (ppi, *ppi.group_targets)
    for of in targets:
        where = f" in {quote_text(of.key)}" if isinstance(of, GroupTarget) else ""
        for (key, lead), target in zip(_BANDS.items(), (of.target, of.tolerated), strict=True):
            if target is not None:
                parts[f"{key}{where}"] = f"{lead} {target_in(aimed).write(target)}"
    limits = None if ppi.value_range is None else shown.written_range(ppi.value_range)
    return parts | {_RANGE: limits, _SCOPE: ppi.scope, **attributes_said(ppi, **_BEHIND)}


_PPI = Record(
    "a PPI",
    (
        *(_ID, _NAME, _DEFINITION, _UNIT, _TARGET, _TOLERATED, _RANGE, _SCOPE),
        *_BEFORE.values(),
        *_BEHIND.values(),
    ),
    _ppi,
    entries=Entries("the target of a group", "", _LATER, r"^(?:Target|Tolerated) in "),
    parts=_parts,
)

# --- catalogues -----------------------------------------------------------------------

_LOG = _field(Key.LOG, _TEXT, required=True)
_TOTAL = _field(Key.TOTAL, EPSILON)
_PPIS = Field("PPIs", ListOf("PPIs", _PPI, least=0), "", required=True)


_CATALOGUE = Record(
    "a template",
    (_LOG, _TOTAL, _PPIS),
    lambda values, problems: catalogue_of(
        values[_LOG], values[_PPIS], values.get(_TOTAL), values.position.file, problems
    ),
)


def read_template(text: str, file: str = "<template>") -> Catalogue:
    """The catalogue that a template says; DefinitionError with every problem in it."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if len(text) > MAX_SIZE:
        message = f"the file has more than {MAX_SIZE:,} characters"
        raise refusal(Position(file, 1, 1), message)
    problems = Problems()
    catalogue = _CATALOGUE.read(_document(text, file, problems), problems)
    problems.require_none()
    return cast("Catalogue", catalogue)


def write_template(catalogue: Catalogue) -> str:
    """The catalogue as text, from which `read_template` makes it again.

    DefinitionError if it has no words for it: a limit that is no decimal, a unit of our own.
    """
    head: dict[str, object] = {Key.LOG: _text(catalogue.log)}
    if catalogue.total is not None:
        head[Key.TOTAL] = str(catalogue.total)
    blocks: list[Mapping[str, object]] = [head]
    for ppi in catalogue.ppis:
        try:
            blocks.append(cast("Mapping[str, object]", _PPI.write(ppi)))
        except Unwritable as error:
            raise refusal(ppi.position, f"a template cannot express this: {error}") from None
    return "\n\n".join("\n".join(map(_written, it, it.values())) for it in blocks) + "\n"


def _written(key: str, text: object) -> str:
    line = f"{key}: {text}"
    return _folded(line) if key in (Key.DEFINITION, Key.SCOPE) else line.replace(": \n", ":\n", 1)
