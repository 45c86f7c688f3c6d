"""PPINOT JSON: the objects of PPINOT's meta-model as its Java reference implementation writes them.

BPMN diagrams draw the same objects. What Java has is read and written in its own words: `kind`,
states as wrapper objects, `SimpleTimeFilter`, `refMin`. What it lacks stands in fields of our own,
as far as possible in the words and shapes of the catalogue notation, so that every catalogue can be
written and read back. Java ignores fields it does not know; so do we. But a feature that would
change a value and that we do not have is a problem, never ignored.

A document is a set of PPIs ({"processId", "ppis", "measures"}), a collection of measures
({"definitions"}), one PPI, one measure, or a list of these. Measures that no PPI is about become
PPIs themselves, over all of the log. What measures one case only is no PPI: it is left out with a
remark, or, if nothing else is there, refused.

Fields of ours in a document: `log`, `total`. In a PPI: `process`, and `catalogue`, an object with
what Java has no words for, in those of the catalogue notation: unit, value, target, scope, show,
epsilon, release, expected. Its target and scope go before Java's, which say as much of them as Java
can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import cast

from pappi.errors import DefinitionError, Position, Problem, UsageError
from pappi.ppinot.grammar import located, refusal
from pappi.ppinot.model import (
    ID,
    MAX_CASES,
    MAX_COUNT,
    AggregatedMeasure,
    Anchor,
    Catalogue,
    DerivedMultiInstance,
    DerivedSingleInstance,
    Measure,
    MultiInstance,
    Ppi,
    Recent,
    Scope,
    Target,
    day_of_scope,
    scope_problem,
)
from pappi.ppinot.notations.document import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_PROBLEMS,
    MAX_SIZE,
    BrokenNode,
    ListNode,
    MapNode,
    Node,
    Problems,
    ReadCatalogue,
    catalogue_of,
    read_document,
)
from pappi.ppinot.notations.java_fields import (
    Context,
    Fields,
    exact,
    json_number,
    json_value,
    present,
    unread,
)
from pappi.ppinot.notations.java_measures import (
    ReadMeasure,
    anchor_json,
    labelled,
    measure_json,
    read_anchor,
    read_measure,
    require_readable,
    timed_by,
    unit_of_time,
)
from pappi.ppinot.notations.quantities import (
    BOUNDS,
    EPSILON,
    Shown,
    Targets,
    named_unit,
    shown_attributes,
    targets_in,
)
from pappi.ppinot.notations.shapes import (
    Field,
    Json,
    Record,
    Unwritable,
    Values,
    attributes_read,
    attributes_said,
)
from pappi.ppinot.notations.yaml import (
    PPI_EPSILON,
    PPI_EXPECTED,
    PPI_RELEASE,
    PPI_SCOPE,
    PPI_SHOW,
    PPI_TARGET,
    PPI_UNIT,
)
from pappi.values import Calendar, Grid, quoted

Unread = Iterable[tuple[str, Position]]

_PARAMETER = re.compile(r"\$\{[^}\n]{0,80}\}?")


def read_java(
    text: str, file: str = "<json>", log: str | None = None, *, lifecycle: bool = True
) -> ReadCatalogue:
    """The catalogue a PPINOT JSON text describes; DefinitionError with every problem in it.

    `log` names the log the PPIs are about, where the text does not. Without `lifecycle` every
    event of the log is a completion, and no attribute says so.
    """
    at = located(text, Position(file, 1, 1))
    parameters = [
        Problem(
            at(match.start()),
            f"the parameter {quoted(match[0])} has no value here",
            "write its value in its place",
        )
        for match, _ in zip(_PARAMETER.finditer(text), range(MAX_PROBLEMS), strict=False)
    ]
    if parameters:
        raise DefinitionError(parameters)
    problems = Problems()
    root = read_document(text, file, problems.found)
    return reading_of(root, log, problems, lifecycle=lifecycle)


def reading_of(
    root: Node, log: str | None, problems: Problems, *, lifecycle: bool, lost_before: Unread = ()
) -> ReadCatalogue:
    """The catalogue a document's nodes describe, `lost_before` being what never became a node."""
    context = Context(problems, lifecycle=lifecycle)
    fields = Fields(root, context) if isinstance(root, MapNode) else None
    process = fields.text("processId") if fields else ""
    remarks: list[Problem] = []
    read = [
        _ppi(node, number, process, context.within(process), remarks)
        for number, node in enumerate(_nodes(root, fields, problems), start=1)
    ]
    ppis = tuple(ppi for ppi in read if ppi is not None)
    name = log or (fields.text("log") if fields else "")
    total = fields.shaped("total", EPSILON) if fields else None
    if not name:
        message = "this does not say which log it is about"
        problems.add(root.position, message, 'give its name, or write "log": "…" into the file')
    catalogue = catalogue_of(name, ppis, total, root.position.file, problems)
    # What is used in several places is read, and complained about, in each of them.
    problems.require_none()
    if not ppis and remarks:
        raise DefinitionError([replace(remark, level="error") for remark in remarks])
    lost = _losses((*lost_before, *unread(root, context)))
    return ReadCatalogue(cast("Catalogue", catalogue), tuple(remarks), lost)


def _nodes(root: Node, fields: Fields | None, problems: Problems) -> Iterator[Node]:
    """The PPIs and measures of a document."""
    if isinstance(root, ListNode):
        yield from root.items
    elif fields is None:
        if not isinstance(root, BrokenNode):
            problems.add(root.position, "this is not a PPINOT document")
    elif "ppis" in fields and fields.filled("ppis"):
        yield from fields.items("ppis")
    elif any(key in fields for key in ("measures", "definitions", "ppis")):
        yield from fields.items("measures")
        yield from fields.items("definitions")
    else:
        yield root


def _losses(lost: Unread) -> tuple[Problem, ...]:
    """What was not read, by name: each name once, with all of its lines."""
    places: dict[str, list[Position]] = {}
    for name, position in lost:
        places.setdefault(name, []).append(position)
    losses = []
    for name, at in sorted(places.items()):
        at.sort(key=_by_line)
        message = f"{quoted(name)} is not kept"
        if len(at) > 1:
            lines = dict.fromkeys(str(place.line) for place in at)
            message += f"; it is in {len(at):,} places: line {', '.join(lines)}"
        losses.append(Problem(at[0], message, "a catalogue cannot hold it", level="warning"))
    return tuple(losses)


def _by_line(position: Position) -> tuple[int, int]:
    return position.line, position.column


# --- PPIs -----------------------------------------------------------------------------

_VALUE = Field("value", BOUNDS, "the range of the value itself")
_WISHES = {
    "show": PPI_SHOW,
    "epsilon": PPI_EPSILON,
    "release": PPI_RELEASE,
    "expected": PPI_EXPECTED,
}
"""The attributes of a PPI that are written as they are."""
_ONCE_OWN = ("unit", "valueRange", "tolerated", "groupTargets", "show", "privacy")
_ONCE_OWN_IN = {
    "scope": ("calendar", "recent", "cases"),
    "target": ("refMinExcluded", "refMaxExcluded", "refMinExact", "refMaxExact"),
}
"""Fields of ours before there was `catalogue`: to pass over them would ask something else."""

_OWN: Record[Values] = Record(
    "what a catalogue says",
    (PPI_UNIT, _VALUE, PPI_TARGET, PPI_SCOPE, *_WISHES.values()),
    lambda values, _: values,
    parts=lambda parts: parts,
)


def _ppi(
    node: Node, number: int, process: str, context: Context, remarks: list[Problem]
) -> Ppi | None:
    """A PPI; None with a problem, or with a remark if it measures one case only."""
    fields = Fields.of(node, context, "a PPI or a measure")
    if fields is None:
        return None
    is_measure = "kind" in fields and "measuredBy" not in fields
    process = fields.text("process") or process
    if not is_measure:
        _refuse_once_own(fields)
        fields.context = fields.context.within(process)
        fields.require("measuredBy", "a PPI")
    measured = node if is_measure else fields.get("measuredBy")
    read = None if measured is None else read_measure(measured, fields.context)
    if is_measure and read is None:
        return None
    identifier = _identifier(fields, number, remarks)
    anchor = read.anchor if read else None
    scope = Scope(None, anchor=anchor) if is_measure else _scope(fields, anchor)
    if read is None or scope is None:
        return None
    measure = _of_many(read, fields, identifier, remarks)
    if measure is None:
        return None
    ppi = Ppi(
        id=identifier,
        name=fields.text("name") or identifier,
        measure=measure,
        unit=read.unit or labelled(measure, read.label),
        scope=scope,
        process=process,
        comments=fields.text("description" if is_measure else "comments"),
        position=fields.place("id"),
    )
    return ppi if is_measure else _with_wishes(ppi, fields)


def _with_wishes(ppi: Ppi, fields: Fields) -> Ppi:
    """The PPI with what only a PPI says, and no measure: in Java's words, and in ours."""
    own, problems = fields.shaped("catalogue", _OWN), fields.context.problems
    own = own or Values(MapNode((), fields.position))
    label, scope, view = own.get(PPI_UNIT), own.get(PPI_SCOPE), own.get(PPI_SHOW)
    in_java = ppi.unit
    if label is not None:
        ppi = replace(ppi, unit=named_unit(ppi.measure, label, problems) or in_java)
    shown = replace(Shown.of(ppi), is_said=label is not None)
    said = shown_attributes(shown, view, own.get(PPI_TARGET), own.get(_VALUE), problems)
    # Java's limits are in the unit of its measure, whatever is shown here.
    counted = replace(shown, unit=in_java).of_view(view)
    target = _target(fields.object("target", "a target"), counted)
    if target and said["target"]:
        own_in_java, of_java = (_target_json(it, counted) for it in (said["target"], target))
        if own_in_java != of_java:
            fields.refuse("target", "the object 'catalogue' has another target", "keep one of them")
    if scope and "scope" in fields and _scope_json(scope, ppi.process)[1] != ppi.scope:
        fields.refuse("scope", "the object 'catalogue' has another scope", "keep one of them")
    return replace(
        ppi,
        scope=(scope and replace(scope, anchor=scope.anchor or ppi.scope.anchor)) or ppi.scope,
        goals=fields.texts("goals"),
        responsible=fields.text("responsible"),
        informed=fields.texts("informed"),
        **{**said, "target": said["target"] or target},
        **attributes_read(own, **_WISHES),
    )


def _refuse_once_own(fields: Fields) -> None:
    inner = ((fields.object(key, f"a {key}"), keys) for key, keys in _ONCE_OWN_IN.items())
    for place, keys in ((fields, _ONCE_OWN), *inner):
        if place is None:
            continue
        for key in filter(place.__contains__, keys):
            message = f"{quoted(key)} belongs in the object 'catalogue', as in a catalogue"
            place.refuse(key, message, 'write e.g. "catalogue": {"scope": "every quarter"}')


def _of_many(
    read: ReadMeasure, fields: Fields, identifier: str, remarks: list[Problem]
) -> MultiInstance | None:
    """The measure; what measures one case only cannot be released, and is no PPI here."""
    if isinstance(read.measure, MultiInstance):
        return read.measure
    name = quoted(fields.text("name") or identifier)
    message = f"{name} measures one case only, so it is not a PPI and is left out"
    hint = "aggregate it: an AggregatedMeasure with it as 'baseMeasure'"
    remarks.append(Problem(fields.position, message, hint, level="warning"))
    return None


def _identifier(fields: Fields, number: int, remarks: list[Problem]) -> str:
    """The id as written, or the closest that an id can be here."""
    written = fields.text("id")
    if ID.fullmatch(written):
        return written
    made = re.sub(r"[^A-Za-z0-9_\-]+", "-", written or fields.text("name")).strip("-")
    identifier = made if re.match("[A-Za-z]", made) else f"ppi-{made or number}"
    if written:
        message = f"the id {quoted(written)} becomes {quoted(identifier[:64])}"
        hint = "an id has letters, digits, - and _, starting with a letter"
        remarks.append(Problem(fields.place("id"), message, hint, level="warning"))
    return identifier[:64]


# --- scopes ---------------------------------------------------------------------------

_TIME, _INSTANCES = "SimpleTimeFilter", "LastInstancesFilter"
_PERIODS = {
    "DAILY": Calendar.DAY,
    "WEEKLY": Calendar.WEEK,
    "MONTHLY": Calendar.MONTH,
    "YEARLY": Calendar.YEAR,
}
_KINDS = {kind: kind for kind in (_TIME, _INSTANCES)}
# A joda DateTime at midnight is a day; any other time of day is not.
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T00:00(?::00(?:\.0{1,9})?)?(?:Z|\+00:00)?)?")


def _scope(fields: Fields, anchor: Anchor | None) -> Scope | None:
    """The scope of a PPI: without one, all of the log as one period.

    `anchor` is what the measure says about the periods of cases.
    """
    scope = fields.object("scope", "a scope")
    if scope is None:
        return Scope(None, anchor=anchor)
    scope.require("kind", "a scope")
    kind = scope.word("kind", _KINDS, "the kind of a scope")
    _refuse_unknown(scope)
    grid = recent = last = None
    if kind == _TIME:
        scope.require("period", "a time filter")
        if (periods := _period(scope)) and scope.flag("relative"):
            recent = periods
        elif periods:
            grid = Grid(periods.unit, periods.count)
    elif kind == _INSTANCES:
        scope.require("numberOfInstances", "a filter of instances")
        last = scope.whole("numberOfInstances", 1, MAX_CASES)
    start, until = _day(scope, "from"), _day(scope, "until")
    if problem := scope_problem(grid, start, until, recent):
        scope.refuse("until" if "until" in scope else "from", problem)
        return None
    own = read_anchor(scope, "referencePoint")
    return Scope(grid, start, until, recent, last, anchor=own or anchor)


def _refuse_unknown(scope: Fields) -> None:
    """What Java knows and would change a value, and we do not have."""
    if scope.flag("includeUnfinished"):
        message = "unfinished cases belong to the period of their last event"
        scope.refuse("includeUnfinished", message, "remove it: all cases of the log count")
    usual = ("0", "1") if scope.text("period").upper() == "DAILY" else ("1",)
    if scope.filled("absoluteStart") and scope.text("absoluteStart") not in usual:
        scope.refuse("absoluteStart", "periods start where calendar periods do")
    if scope.filled("timeZone"):
        message = "periods follow the time zone of the log, and no other"
        scope.refuse("timeZone", message, "remove it")


def _period(fields: Fields) -> Recent | None:
    """So many calendar units."""
    unit = fields.word("period", _PERIODS, "a period")
    count = fields.whole("frequency", 1, MAX_COUNT) if "frequency" in fields else 1
    return None if unit is None or count is None else Recent(count, unit)


def _day(scope: Fields, key: str) -> date | None:
    text = scope.text(key)
    if not text:
        return None
    match = _DAY.fullmatch(text)
    try:
        if match:
            return day_of_scope(match[1])
        scope.refuse(key, f"{quoted(text)} is not a day such as 2014-01-31")
    except ValueError as error:
        scope.refuse(key, str(error))
    return None


def _target(fields: Fields | None, shown: Shown) -> Target | None:
    """A target in numbers of the unit that is shown; None also if it has no limit."""
    if fields is None:
        return None
    ends: list[Fraction | None] = []
    for key in ("refMin", "refMax"):
        number = exact(fields.text(key))
        if key in fields and number is None:
            fields.refuse(key, f"expected a number, found {quoted(fields.text(key))}")
        ends.append(None if number is None else shown.unit.read(number))
    low, high = ends
    if low is None and high is None:
        return None
    if low is not None and high is not None and not low <= high:
        fields.refuse("refMax", "the lower limit of the target must not be above the upper one")
        return None
    return Target(low, high)


# --- writing --------------------------------------------------------------------------


# What YAML, as which documents are read, does not take as it is; and what Java would replace.
_ESCAPED = re.compile(r"[^ -~\n]|\$(?=\{)")


def write_java(catalogue: Catalogue) -> str:
    """The catalogue as PPINOT JSON; UsageError if that would be too large to be read again."""
    document = document_json(catalogue)
    values = list(_values(document))
    nodes = sum(1 + (len(value) if isinstance(value, dict) else 0) for _, value, _ in values)
    depth = max(depth for _, _, depth in values)
    text = json.dumps(document, indent=2, ensure_ascii=False)
    text = _ESCAPED.sub(_escaped, text) + "\n"
    if depth > MAX_DEPTH or nodes > MAX_NODES or len(text) > MAX_SIZE:
        raise too_large()
    return text


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    printable = character.isprintable() and character != "$"
    return character if printable or ord(character) > 0xFFFF else f"\\u{ord(character):04x}"


CHANGING = frozenset(
    {
        *("occurrence", "among", "lifecycle", "element", "of", "startPick", "endPick"),
        *("openCycle", "percent", "typed", "missing", "holidays"),
        *("catalogue.scope", "catalogue.show", "catalogue.target"),
    }
)
"""Fields of ours that change what is computed."""


def ignored_by_java(catalogue: Catalogue) -> tuple[str, ...]:
    """The fields in what is written that would change a value, and that Java ignores."""
    return tuple(sorted({name for name, _, _ in _values(document_json(catalogue))} & CHANGING))


def _values(document: Json) -> Iterator[tuple[str, object, int]]:
    """All values, with the name of their field, and how many lists and objects deep they are.

    Those in a list have no names, nor those in a map of measures, which are the writer's own.
    What a `catalogue` says is named after it.
    """
    waiting: list[tuple[str, object, int]] = [("", document, 0)]
    while waiting:
        name, value, depth = waiting.pop()
        depth += isinstance(value, dict | list)
        yield name, value, depth
        if isinstance(value, list):
            waiting += [("", inner, depth) for inner in value]
        elif isinstance(value, dict):
            whose = "catalogue." if name == "catalogue" else ""
            are_fields = name != "usedMeasureMap" and "." not in name
            named = ((f"{whose}{key}" if are_fields else "", it) for key, it in value.items())
            waiting += [(key, inner, depth) for key, inner in named]


def document_json(catalogue: Catalogue) -> Json:
    """The catalogue as one object; UsageError if it is too large."""
    processes = {ppi.process for ppi in catalogue.ppis}
    shared = processes.pop() if len(processes) == 1 else ""
    document: Json = {"log": catalogue.log, **({"processId": shared} if shared else {})}
    if catalogue.total is not None:
        document["total"] = str(catalogue.total)
    return document | {"ppis": [_ppi_json(ppi, shared) for ppi in catalogue.ppis]}


def _ppi_json(ppi: Ppi, shared: str) -> Json:
    _check_extent(ppi.measure)
    if ppi.scope.cases is not None:
        _check_extent(ppi.scope.cases)
    is_time = timed_by(ppi.measure) is not None
    time = unit_of_time(ppi.unit.factor)
    label = "" if is_time or labelled(ppi.measure, ppi.unit.name) != ppi.unit else ppi.unit.name
    usual = time if is_time else labelled(ppi.measure, label)
    measure = measure_json(ppi.measure, ppi.process, time.factor)
    measure |= {"unitOfMeasure": label} if label else {}
    shown = Shown.of(ppi)
    target, of_java = _target_json(ppi.target, replace(shown, unit=usual).of_view(ppi.show))
    scope, covered = _scope_json(ppi.scope, ppi.process)
    targets = Targets.of(ppi)
    own = {
        PPI_UNIT: None if ppi.unit == usual else ppi.unit.name,
        _VALUE: ppi.value_range and shown.written_range(ppi.value_range),
        PPI_SCOPE: None if covered == ppi.scope else ppi.scope,
        **attributes_said(ppi, **_WISHES),
    }
    try:
        if ppi.unit != usual:
            shown.require_known(ppi.measure)
        if targets != Targets(of_java):
            own[PPI_TARGET] = targets_in(shown.of_view(ppi.show)).write(targets)
        in_catalogue = json_value(_OWN.write(own) or {})
    except Unwritable as error:
        message = f"PPINOT JSON cannot express this: {error}"
        raise refusal(ppi.position, message) from None
    written: Json = {
        "id": ppi.id,
        "name": ppi.name if ppi.name != ppi.id else "",
        "process": ppi.process if ppi.process != shared else "",
        "goals": list(ppi.goals),
        "responsible": ppi.responsible,
        "informed": list(ppi.informed),
        "comments": ppi.comments,
        "target": target,
        "scope": scope,
        "measuredBy": measure,
        "catalogue": in_catalogue,
    }
    return {key: value for key, value in written.items() if value not in ("", [], {})}


_WORDS_OF = {unit: word for word, unit in _PERIODS.items()}


def _scope_json(scope: Scope, process: str) -> tuple[Json, Scope]:
    """What Java's words say of a scope, and the scope that this is."""
    grid, recent, last = scope.grid, scope.recent, scope.last_cases
    if last is not None:
        cut: Json = {"kind": _INSTANCES, "numberOfInstances": last}
        covered = Scope(None, scope.start, scope.until, last_cases=last, anchor=scope.anchor)
    elif grid is not None and (periods := _in_java(grid.count, grid.unit)):
        cut = {"kind": _TIME, **_period_json(periods), "relative": False}
        in_months = Grid(periods.unit, periods.count)
        covered = Scope(in_months, scope.start, scope.until, anchor=scope.anchor)
    elif grid is None and recent is not None and (periods := _in_java(recent.count, recent.unit)):
        cut = {"kind": _TIME, **_period_json(periods), "relative": True}
        covered = Scope(None, recent=periods, anchor=scope.anchor)
    else:
        return {}, Scope(None)
    written = {
        "from": covered.start and covered.start.isoformat(),
        "until": covered.until and covered.until.isoformat(),
        "referencePoint": scope.anchor and anchor_json(scope.anchor, process),
    }
    return cut | present(written), covered


def _in_java(count: int, unit: Calendar) -> Recent | None:
    """So many periods of a unit that Java has, if they are not too many."""
    months = unit is Calendar.QUARTER
    periods = Recent(3 * count, Calendar.MONTH) if months else Recent(count, unit)
    return periods if periods.count <= MAX_COUNT else None


def _period_json(periods: Recent) -> Json:
    return {"period": _WORDS_OF[periods.unit], "frequency": periods.count}


def _target_json(target: Target | None, shown: Shown) -> tuple[Json, Target | None]:
    """What Java's numbers say of a target, and the target that this is."""
    if target is None:
        return {}, None
    ends = {"refMin": target.low, "refMax": target.high}
    numbers = {
        key: json_number(end / shown.unit.factor) for key, end in ends.items() if end is not None
    }
    written = present(numbers)
    low, high = (
        None if number is None else shown.unit.read(Fraction(repr(number)))
        for number in map(written.get, ends)
    )
    return written, None if low is None and high is None else Target(low, high)


# --- limits ---------------------------------------------------------------------------


def too_large() -> UsageError:
    return UsageError(
        "this catalogue is too large for one PPINOT JSON document",
        hint=f"it may have {MAX_SIZE:,} characters, {MAX_NODES:,} values, {MAX_DEPTH} levels",
    )


def _check_extent(measure: Measure) -> None:
    """What a program made can nest without bound, or share parts that multiply when written."""
    waiting: list[tuple[Measure, int]] = [(measure, 1)]
    count = 0
    while waiting:
        inner, level = waiting.pop()
        count += 1
        if level > MAX_DEPTH or count > MAX_NODES:
            raise too_large()
        parts: list[Measure] = []
        if isinstance(inner, AggregatedMeasure):
            parts = [inner.base, *([inner.filter] if inner.filter else [])]
        elif isinstance(inner, DerivedSingleInstance | DerivedMultiInstance):
            require_readable(inner.formula)
            parts = [variable for _, variable in inner.variables]
        waiting += [(part, level + 1) for part in parts]
