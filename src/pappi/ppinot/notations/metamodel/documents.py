"""PPIs and whole documents, read and written.

A document is a set of PPIs ({"processId", "ppis", "measures"}), a collection of measures
({"definitions"}), one PPI, one measure, or a list of these. Measures that no PPI is about become
PPIs themselves, over all of the log. What measures one case only is no PPI: it is left out with a
remark, or, if nothing else is there, refused.

Fields of ours in a document: `log`, `total`. In a PPI: `process`, `unit`, `valueRange`,
`tolerated`, `groupTargets`, `show` (a change, a rolling window, …: see `views`), `privacy`
{epsilon, answer, mechanism, noise, falloff, buckets, alone, expected}. In a scope: `calendar`
(quarter, for periods of three months), `recent` {period, frequency}, `cases` (a measure: which
cases count at all), the kind TimeFilter (one period). In a target: `refMinExcluded`,
`refMaxExcluded`; `refMinExact`, `refMaxExact` for a limit that is no decimal number.
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
from pappi.ppinot.model import (
    FIRST_DAY,
    LAST_DAY,
    MAX_CASES,
    MAX_COUNT,
    AggregatedMeasure,
    Anchor,
    Catalogue,
    DerivedMultiInstance,
    DerivedSingleInstance,
    GroupTarget,
    Measure,
    MultiInstance,
    NoiseOn,
    Ppi,
    Recent,
    ReleaseChoice,
    Scope,
    SingleInstance,
    Target,
    Wanted,
    measure_kind,
)
from pappi.ppinot.notations.building import ID, twins
from pappi.ppinot.notations.document import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_SIZE,
    BrokenNode,
    ListNode,
    MapNode,
    Node,
    Problems,
    Reading,
)
from pappi.ppinot.notations.metamodel.conditions import require_readable
from pappi.ppinot.notations.metamodel.durations import (
    labelled,
    read_unit,
    timed_by,
    unit_of_time,
    written_unit,
)
from pappi.ppinot.notations.metamodel.fields import (
    Context,
    Entries,
    Entry,
    Fields,
    Json,
    as_json,
    attributes_read,
    attributes_written,
    choice_entry,
    nearest,
    present,
    read_number,
    read_range,
    read_share,
    unread,
)
from pappi.ppinot.notations.metamodel.measures import (
    Read,
    anchor_json,
    measure_json,
    range_json,
    read_anchor,
    read_measure,
    read_single,
)
from pappi.ppinot.views import VIEW_EXAMPLES, Comparing, View, parse_view
from pappi.ppinot.wording import quoted
from pappi.values import PERCENT, ZERO, By, Calendar, Epsilon, Grid, Unit

Unread = Iterable[tuple[str, Position]]


def reading_of(
    root: Node, log: str | None, problems: Problems, *, lifecycle: bool, besides: Unread = ()
) -> Reading:
    """The catalogue a document's nodes describe; `besides` is what was lost before."""
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
    total = _epsilon(fields, "total") if fields else None
    if not name:
        message = "this does not say which log it is about"
        problems.add(root.position, message, 'give its name, or write "log": "…" into the file')
    for position, message in twins(ppis):
        problems.add(position, message)
    if problems.found:
        # What is used in several places is read, and complained about, in each of them.
        distinct = dict.fromkeys(problems.found)
        raise DefinitionError(sorted(distinct, key=lambda problem: _by_line(problem.position)))
    if not ppis and remarks:
        raise DefinitionError([replace(remark, level="error") for remark in remarks])
    lost = _losses((*besides, *unread(root, context)))
    catalogue = Catalogue(name, ppis, total, file=root.position.file)
    return Reading(catalogue, tuple(remarks), lost)


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

_MOST_BUCKETS = 10**9


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
    unit = read.unit or labelled(measure, read.label)
    ppi = Ppi(
        id=identifier,
        name=fields.text("name") or identifier,
        measure=measure,
        unit=unit,
        scope=scope,
        process=process,
        comments=fields.text("description" if is_measure else "comments"),
        position=fields.place("id"),
    )
    return ppi if is_measure else _with_own_fields(ppi, fields, read.unit)


def _with_own_fields(ppi: Ppi, fields: Fields, time_unit: Unit | None) -> Ppi:
    """The PPI with what only a PPI says, and no measure."""
    unit = read_unit(fields, ppi.measure, ppi.unit)
    scale = time_unit.factor if time_unit else unit.factor
    limits = fields.object("valueRange", "a range such as {'low': 0, 'high': 100}")
    said = attributes_read(fields, _WORDS)
    if (privacy := fields.object("privacy")) is not None:
        place = privacy.place("mechanism")
        said |= attributes_read(privacy, _PRIVACY)
        said["release"] = ReleaseChoice(**attributes_read(privacy, _RELEASE), position=place)
    scale = _scale_shown(said.get("show"), scale)
    return replace(
        ppi,
        unit=unit,
        target=_target(fields.object("target", "a target"), scale),
        value_range=None if limits is None else read_range(limits, unit.factor),
        tolerated=_target(fields.object("tolerated", "a target"), scale),
        group_targets=_group_targets(fields, scale),
        **said,
    )


def _of_many(
    read: Read, fields: Fields, identifier: str, remarks: list[Problem]
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

_TIME, _INSTANCES, _ONE_PERIOD = "SimpleTimeFilter", "LastInstancesFilter", "TimeFilter"
_PERIODS = {
    "DAILY": Calendar.DAY,
    "WEEKLY": Calendar.WEEK,
    "MONTHLY": Calendar.MONTH,
    "YEARLY": Calendar.YEAR,
}
_MONTHS_OF_QUARTER = 3

_KINDS = {kind: kind for kind in (_TIME, _INSTANCES, _ONE_PERIOD)}
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
    own_recent = scope.object("recent", "a period such as {'period': 'YEARLY', 'frequency': 1}")
    if own_recent is not None:
        own_recent.require("period", "recent time")
        recent = _period(own_recent) or recent
    if recent is not None and (start or until):
        scope.refuse("from", "a scope is either recent or between two days, not both")
        return None
    if start is not None and until is not None and until <= start:
        scope.refuse("until", "'until' must be a day after 'from'")
        return None
    chosen = read_single(scope, "cases", "what chooses cases")
    cases = None if chosen is None else cast("SingleInstance", chosen.measure)
    own = read_anchor(scope, "referencePoint")
    return Scope(grid, start, until, recent, last, cases, own or anchor)


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
    is_quarter = fields.word("calendar", {Calendar.QUARTER.value: True}, "'quarter'")
    size = _MONTHS_OF_QUARTER if is_quarter else 1
    count = fields.whole("frequency", 1, MAX_COUNT * size) if "frequency" in fields else size
    if is_quarter and (unit is not Calendar.MONTH or (count or 0) % size):
        fields.refuse("calendar", "quarters are periods of three months, MONTHLY")
        return None
    if unit is None or count is None:
        return None
    return Recent(count // size, Calendar.QUARTER if is_quarter else unit)


def _day(scope: Fields, key: str) -> date | None:
    text = scope.text(key)
    if not text:
        return None
    match = _DAY.fullmatch(text)
    try:
        day = date.fromisoformat(match[1]) if match else None
    except ValueError:
        day = None
    if day is None or not FIRST_DAY <= day <= LAST_DAY:
        message = f"{quoted(text)} is not a day such as 2014-01-31, from {FIRST_DAY.year} on"
        scope.refuse(key, message)
        return None
    return day


# --- targets --------------------------------------------------------------------------


def _view(fields: Fields, key: str) -> View | None:
    text = fields.text(key)
    view = parse_view(text) if text else None
    if text and view is None:
        fields.refuse(key, f"{quoted(text)} is nothing that can be shown", VIEW_EXAMPLES[0])
    return view


def _scale_shown(view: View | None, scale: Fraction) -> Fraction:
    """Of the target of a view: a change in percent is one in every unit."""
    if not isinstance(view, Comparing) or view.by is By.DIFFERENCE:
        return scale
    return PERCENT.factor if view.by is By.PERCENT else Fraction(1)


def _target(fields: Fields | None, scale: Fraction) -> Target | None:
    """A target in numbers of which each is so much; None also if it has no limit."""
    if fields is None:
        return None
    low, high = (_limit(fields, key, scale) for key in ("refMin", "refMax"))
    if low is None and high is None:
        return None
    if low is not None and high is not None and not low <= high:
        fields.refuse("refMax", "the lower limit of the target must not be above the upper one")
        return None
    return Target(low, high, not fields.flag("refMinExcluded"), not fields.flag("refMaxExcluded"))


def _limit(fields: Fields, key: str, scale: Fraction) -> Fraction | None:
    exact_key = f"{key}Exact" if f"{key}Exact" in fields else key
    number = read_number(fields, exact_key)
    if number is not None and exact_key != key:
        # Beside an exact limit stands the nearest number, for Java.
        fields.pass_over(key, json.dumps(nearest(number)))
    return None if number is None else number * scale


def _group_targets(fields: Fields, scale: Fraction) -> tuple[GroupTarget, ...]:
    targets: list[GroupTarget] = []
    for node in fields.items("groupTargets"):
        group = fields.opened(node, "the target of a group")
        if group is None:
            continue
        group.require("value", "the target of a group")
        target = _target(group, scale)
        if target is None:
            group.refuse("value", "the target of a group needs a limit")
            continue
        tolerated = _target(group.object("tolerated", "a target"), scale)
        targets.append(GroupTarget(group.text("value"), target, tolerated))
    if len({group.key for group in targets}) < len(targets):
        fields.refuse("groupTargets", "a group has two targets")
    return tuple(targets)


# --- privacy --------------------------------------------------------------------------


def _epsilon(fields: Fields, key: str) -> Epsilon | None:
    if key not in fields:
        return None
    try:
        epsilon = Epsilon.of(fields.text(key)[:100])
    except UsageError as error:
        fields.refuse(key, error.message, error.hint)
        return None
    if epsilon == ZERO:
        fields.refuse(key, f"{key} must be above 0")
    return epsilon


def _read_noise(privacy: Fields, key: str) -> tuple[NoiseOn, ...] | None:
    """Functions by name, or each with a mechanism and a share of its own."""
    if not isinstance(privacy.get(key), MapNode):
        return tuple(map(NoiseOn, privacy.texts(key))) or None
    noise = []
    for name, node in privacy.entries(key):
        own = privacy.opened(node, "an object with 'mechanism' and 'share'")
        said = {} if own is None else attributes_read(own, _NOISE)
        place = node.position if own is None else own.place("mechanism")
        noise.append(NoiseOn(name.text, **said, position=place))
    return tuple(noise)


def _noise_json(noise: tuple[NoiseOn, ...]) -> object:
    if all(wish == NoiseOn(wish.function) for wish in noise):
        return [wish.function for wish in noise]
    return {wish.function: attributes_written(wish, _NOISE) for wish in noise}


# Capitals of a mechanism do not count.
_MECHANISM = Entry("mechanism", lambda fields, key: fields.text(key).lower() or None)
_NOISE: Entries = {
    "mechanism": _MECHANISM,
    "share": Entry("share", lambda fields, key: read_share(fields, key, "epsilon"), as_json),
}
_RELEASE: Entries = {
    "answer": choice_entry("answer", Wanted, "'value' or 'verdict'"),
    "mechanism": _MECHANISM,
    "noise": Entry("noise", _read_noise, _noise_json),
    "falloff": Entry("falloff", read_number, as_json),
    "buckets": Entry("buckets", lambda fields, key: fields.whole(key, 1, _MOST_BUCKETS)),
    "in_set": Entry("alone", lambda fields, key: not fields.flag(key), lambda in_set: not in_set),
    "clipping": Entry(
        "clippingUntold", lambda fields, key: not fields.flag(key), lambda told: not told
    ),
}
_PRIVACY: Entries = {
    "epsilon": Entry("epsilon", _epsilon, str),
    "expected": Entry("expected", lambda fields, key: read_share(fields, key, "cases"), as_json),
}
_WORDS: Entries = {
    "goals": Entry("goals", Fields.texts, list),
    "responsible": Entry("responsible", Fields.text),
    "informed": Entry("informed", Fields.texts, list),
    "comments": Entry("comments", Fields.text),
    "show": Entry("show", _view, str),
}
"""The attributes of a PPI that are written as they are."""


# --- writing --------------------------------------------------------------------------


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
    scale = _scale_shown(ppi.show, time.factor if is_time else ppi.unit.factor)
    label = "" if is_time or labelled(ppi.measure, ppi.unit.name) != ppi.unit else ppi.unit.name
    usual = time if is_time else labelled(ppi.measure, label)
    measure = measure_json(ppi.measure, ppi.process, time.factor)
    measure |= {"unitOfMeasure": label} if label else {}
    value_range: Json = {}
    if ppi.value_range is not None:
        kind = measure_kind(ppi.measure, None)
        value_range = range_json(ppi.value_range, kind, ppi.unit.factor)
    written: Json = {
        "id": ppi.id,
        "name": ppi.name if ppi.name != ppi.id else "",
        "process": ppi.process if ppi.process != shared else "",
        **attributes_written(ppi, _WORDS),
        "target": _target_json(ppi.target, scale),
        "scope": _scope_json(ppi.scope, ppi.process),
        "measuredBy": measure,
        **written_unit(ppi.unit, ppi.measure, usual),
        "tolerated": _target_json(ppi.tolerated, scale),
        "groupTargets": [_group_target_json(group, scale) for group in ppi.group_targets],
        "valueRange": value_range,
        "privacy": attributes_written(ppi, _PRIVACY) | attributes_written(ppi.release, _RELEASE),
    }
    return {key: value for key, value in written.items() if value not in ("", [], {})}


_WORDS_OF = {unit: word for word, unit in _PERIODS.items()}


def _scope_json(scope: Scope, process: str) -> Json:
    """A scope; empty for all of the log as one period."""
    if scope == Scope(None):
        return {}
    recent = None if scope.recent is None else _period_json(scope.recent)
    cut: Json = {"kind": _ONE_PERIOD}
    if scope.last_cases is not None:
        cut = {"kind": _INSTANCES, "numberOfInstances": scope.last_cases}
    elif scope.grid is not None:
        cut = {"kind": _TIME, **_period_json(scope.grid), "relative": False}
    elif recent is not None:
        cut, recent = {"kind": _TIME, **recent, "relative": True}, None
    written = {
        "recent": recent,
        "from": scope.start and scope.start.isoformat(),
        "until": scope.until and scope.until.isoformat(),
        "cases": scope.cases and measure_json(scope.cases, process),
        "referencePoint": scope.anchor and anchor_json(scope.anchor, process),
    }
    return cut | present(written)


def _period_json(periods: Grid | Recent) -> Json:
    if periods.unit is not Calendar.QUARTER:
        return {"period": _WORDS_OF[periods.unit], "frequency": periods.count}
    months = _MONTHS_OF_QUARTER * periods.count
    return {"period": "MONTHLY", "frequency": months, "calendar": "quarter"}


def _target_json(target: Target | None, scale: Fraction) -> Json:
    if target is None:
        return {}
    written = _limit_json("refMin", target.low, scale) | _limit_json("refMax", target.high, scale)
    written |= {} if target.low_included else {"refMinExcluded": True}
    return written | ({} if target.high_included else {"refMaxExcluded": True})


def _limit_json(key: str, limit: Fraction | None, scale: Fraction) -> Json:
    """A limit as a number, which Java needs; and exactly, where no number is that."""
    if limit is None:
        return {}
    number = as_json(limit / scale)
    if isinstance(number, str):
        return {key: nearest(limit / scale), f"{key}Exact": number}
    return {key: number}


def _group_target_json(target: GroupTarget, scale: Fraction) -> Json:
    tolerated = _target_json(target.tolerated, scale)
    written: Json = {"value": target.key, **_target_json(target.target, scale)}
    return written | ({"tolerated": tolerated} if tolerated else {})


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
