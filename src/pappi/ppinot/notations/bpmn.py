"""PPIs in a BPMN 2.0 model: the `ppiset` extension that Visual PPINOT draws.

Measures, connectors and PPIs of the diagram become the objects of PPINOT's meta-model. What these
mean is said once, in `notations.java`; problems carry the line of the XML element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from xml.parsers import expat

from pappi.errors import Position
from pappi.ppinot.grammar import refusal
from pappi.ppinot.notations.document import (
    MAX_FILE,
    BrokenNode,
    MapNode,
    Node,
    Problems,
    ReadCatalogue,
    list_node,
    map_node,
    text_node,
)
from pappi.ppinot.notations.java import reading_of
from pappi.ppinot.notations.java_measures import (
    BPMN,
    DATA,
    GENERIC,
    INSTANT,
    PROPERTY,
    STATE,
    STATES,
)
from pappi.values import quoted

NAMESPACE = "http://www.isa.us.es/ppinot"
MAX_NESTING = 100
MAX_ELEMENTS = 10_000
# Measures refer to each other and may be shared; written out, shared ones multiply.
MAX_MEASURES = 2_000
MAX_DEPTH = 12


def read_bpmn(
    text: str, file: str = "<bpmn>", log: str | None = None, *, lifecycle: bool = True
) -> ReadCatalogue:
    """The catalogue of a BPMN model's PPIs; DefinitionError with every problem in it.

    `log` names the log they are about. Without `lifecycle` every event of it is a completion.
    """
    problems = Problems()
    model = read_elements(text, file)
    ppis: list[Node] = []
    for process, element in model.sets:
        ppis += _Translation(process, element, model.flow, problems).nodes()
    if not ppis and not problems.found:
        problems.add(model.sets[0][1].position, "this set of PPIs is empty")
    place = Position(file, 1, 1)
    root = map_node({"ppis": list_node(ppis, place)}, place)
    unread = chain.from_iterable(element.unread() for _, element in model.sets)
    return reading_of(root, log, problems, lifecycle=lifecycle, lost_before=unread)


# --- XML into elements ----------------------------------------------------------------
# The file is an adversary's: no document type and no entities are read, its size and depth are
# bounded, and only what is needed is kept. Names of elements and attributes are compared without
# capitals, since the versions of the schema differ in them.

_SEPARATOR = " "
_TEXT = ""


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a set of PPIs; names in small letters. `read` is what was looked up in it."""

    tag: str
    attributes: dict[str, str]
    position: Position
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    def get(self, name: str) -> str:
        """An attribute, empty if it is not there."""
        self.read.add(name)
        return self.attributes.get(name, "").strip()

    @property
    def text(self) -> str:
        self.read.add(_TEXT)
        return "".join(self.texts).strip()

    def unread(self) -> Iterator[tuple[str, Position]]:
        """What stands in it, and in what is inside, and was never looked up."""
        if _TEXT not in self.read and "".join(self.texts).strip():
            yield self.tag, self.position
        for name, value in self.attributes.items():
            if name not in self.read and value.strip():
                yield name, self.position
        for child in self.children:
            yield from child.unread()

    def child(self, tag: str) -> Element | None:
        return next((child for child in self.children if child.tag == tag), None)


@dataclass(frozen=True, slots=True)
class FlowElement:
    """An element of the process: a task, an event, a data object, the process itself."""

    tag: str
    name: str


def read_elements(text: str, file: str) -> Model:
    """What a file holds; DefinitionError if it is not XML, or unfit to be read."""
    start = Position(file, 1, 1)
    if len(text) > MAX_FILE:
        raise refusal(start, f"the file has more than {MAX_FILE:,} characters")
    model = Model(file)
    try:
        model.parser.Parse(text.removeprefix("\ufeff"), True)  # noqa: FBT003 - pyexpat's own
    except expat.ExpatError as error:
        place = Position(file, error.lineno, error.offset + 1)
        raise refusal(place, f"malformed XML: {expat.ErrorString(error.code)}") from None
    except UnicodeError:
        raise refusal(start, "this is not valid XML text") from None
    if not model.sets:
        raise refusal(start, f"there is no ppiset in the namespace {NAMESPACE} in this file")
    return model


class Model:
    """The sets of PPIs in a file, with the process around each, and all BPMN elements by id."""

    def __init__(self, file: str) -> None:
        self.sets: list[tuple[str, Element]] = []
        self.flow: dict[str, FlowElement] = {}
        self.parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.StartDoctypeDeclHandler = self._refuse_declaration
        self.parser.EntityDeclHandler = self._refuse_declaration
        self._file = file
        self._depth = 0
        self._count = 0
        self._open: list[Element] = []
        self._processes: list[tuple[int, str]] = []
        self._namespace: str | None = None

    def _place(self) -> Position:
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber
        return Position(self._file, line, column + 1)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise refusal(self._place(), f"this is nested more than {MAX_NESTING} levels deep")
        namespace, _, tag = name.rpartition(_SEPARATOR)
        tag = tag.lower()
        if self._namespace is None:
            self._namespace = namespace
        if self._open or (namespace == NAMESPACE and tag == "ppiset"):
            self._keep(tag, attributes)
        elif namespace == self._namespace:
            # Ids in other extensions need not be unique, and name nothing of the process.
            self._note(tag, attributes)

    def _keep(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise refusal(self._place(), f"the file has more than {MAX_ELEMENTS:,} PPI elements")
        plain = {
            name.rpartition(_SEPARATOR)[2].lower(): value for name, value in attributes.items()
        }
        element = Element(tag, plain, self._place())
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.sets.append((self._processes[-1][1] if self._processes else "", element))
        self._open.append(element)

    def _note(self, tag: str, attributes: dict[str, str]) -> None:
        name, identifier = attributes.get("name", "").strip(), attributes.get("id", "")
        if tag == "process":
            self._processes.append((self._depth, name or identifier))
        if identifier in self.flow:
            raise refusal(self._place(), f"the id {quoted(identifier)} appears twice")
        if identifier:
            self.flow[identifier] = FlowElement(tag, name)

    def _end(self, _name: str) -> None:
        if self._open:
            self._open.pop()
        elif self._processes and self._processes[-1][0] == self._depth:
            self._processes.pop()
        self._depth -= 1

    def _data(self, text: str) -> None:
        if self._open:
            self._open[-1].texts.append(text)

    def _refuse_declaration(self, *_declaration: object) -> None:
        message = "document type and entity declarations are not accepted in a BPMN model"
        hint = "remove the <!DOCTYPE …> part: entities can expand without bound"
        raise refusal(self._place(), message, hint)


# --- measures -------------------------------------------------------------------------

Members = dict[str, str | Node | None]

_KINDS = {
    kind.lower(): kind
    for kind in (
        *("CountMeasure", "TimeMeasure", "DataMeasure", "StateConditionMeasure"),
        *("DataPropertyConditionMeasure", "AggregatedMeasure"),
        *("DerivedSingleInstanceMeasure", "DerivedMultiInstanceMeasure"),
    )
}
_TO_ELEMENT, _TO_DATA = "appliestoelementconnector", "appliestodataconnector"
_TIME = "timeconnector"
_USES, _AGGREGATES, _GROUPED = "uses", "aggregates", "isgroupedby"
_CONNECTORS = (_TO_ELEMENT, _TO_DATA, _TIME, _USES, _AGGREGATES, _GROUPED)

_PROCESS = ("process", "participant")
_BORDERS = {"startevent": "START", "endevent": "END"}


class _Translation:
    """One set of PPIs as objects of the meta-model; what is wrong in a part leaves it broken."""

    def __init__(
        self, process: str, root: Element, flow: Mapping[str, FlowElement], problems: Problems
    ) -> None:
        self._problems = problems
        self._process = process
        self._flow = flow
        self._from: dict[str, list[Element]] = {}
        for element in root.children:
            if element.tag in _CONNECTORS:
                self._from.setdefault(element.get("sourceref"), []).append(element)
        self._ppis = [element for element in root.children if element.tag == "ppi"]
        self._tops = [element for element in root.children if element.tag.endswith("measure")]
        self._measures = {
            element.get("id"): element
            for top in self._tops
            for element in (top, *top.children)
            if element.get("id") and element.tag.endswith("measure")
        }
        self._count = 0
        self._groups: tuple[str, ...] = ()

    def nodes(self) -> Iterator[Node]:
        """The PPIs; without any, the measures that no other measure is made of."""
        parts = {
            connector.get("targetref")
            for measure in self._measures.values()
            for tag in (_USES, _AGGREGATES)
            for connector in self._of(measure, tag)
        }
        whole = [top for top in self._tops if top.get("id") not in parts]
        for element in self._ppis or whole:
            yield self._ppi(element) if self._ppis else self._measure(element, 0)

    def _broken(self, element: Element, message: str, hint: str = "") -> BrokenNode:
        """What stands for an element with a problem: the others are read on."""
        self._problems.add(element.position, message, hint)
        return BrokenNode(element.position)

    def _ppi(self, ppi: Element) -> Node:
        self._groups = tuple(dict.fromkeys(target.get("value") for target in _composed(ppi)))
        fields: Members = {
            **_words(ppi),
            "measuredBy": self._measured(ppi),
            "target": self._target(ppi),
            "catalogue": self._group_targets(ppi),
            "scope": self._scope(ppi),
            "process": self._process,
        }
        return map_node(fields, ppi.position)

    def _measured(self, ppi: Element) -> Node:
        reference = ppi.get("measuredby")
        if reference not in self._measures:
            message = f"this PPI is measured by {quoted(reference)}"
            return self._broken(ppi, f"{message}, which is not a measure in this file")
        return self._measure(self._measures[reference], 0)

    def _measure(self, measure: Element, depth: int) -> Node:
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_MEASURES:
            message = "measures refer to each other in a circle, or too often"
            return self._broken(measure, message)
        if measure.tag not in _KINDS:
            return self._broken(measure, f"unknown kind of measure {quoted(measure.tag)}")
        described: Members = {
            "id": measure.get("id"),
            "name": measure.get("name"),
            "kind": _KINDS[measure.tag],
            "unitOfMeasure": measure.get("unitofmeasure"),
            "description": measure.get("description"),
            # A PPI says its process itself; a measure that becomes one has to.
            "process": "" if self._ppis or depth else self._process,
        }
        return map_node({**described, **self._fields(measure, depth)}, measure.position)

    def _fields(self, measure: Element, depth: int) -> Members:
        """What is particular to the kind of measure."""
        match _KINDS[measure.tag]:
            case "CountMeasure":
                tag = _TO_DATA if self._of(measure, _TO_DATA) else _TO_ELEMENT
                return {"when": self._one(measure, tag, "an element", self._instant)}
            case "TimeMeasure":
                return self._time(measure)
            case "AggregatedMeasure":
                return self._aggregated(measure, depth)
            case "StateConditionMeasure":
                return {"condition": self._one(measure, _TO_ELEMENT, "an element", self._state_of)}
            case "DataPropertyConditionMeasure":
                return {"condition": self._one(measure, _TO_DATA, "a data object", _property)}
            case "DataMeasure":
                selection = self._one(measure, _TO_DATA, "a data object", _selection)
                holds = map(_property, self._of(measure, _TO_DATA))
                return {"dataContentSelection": selection, "precondition": next(holds, None)}
            case _:
                return self._derived(measure, depth)

    def _time(self, measure: Element) -> Members:
        ends = {
            (to.get("type") or to.get("conditiontype")).lower(): to
            for to in self._of(measure, _TIME)
        }
        if ends.keys() != {"from", "to"} or len(self._of(measure, _TIME)) > len(ends):
            broken = self._broken(measure, "a time measure needs one connector 'from' and one 'to'")
            return {"from": broken, "to": broken}
        return {
            **{end: self._instant(connector) for end, connector in ends.items()},
            "timeMeasureType": measure.get("timemeasuretype").upper() or "LINEAR",
            "singleInstanceAggFunction": measure.get("singleinstanceaggfunction"),
        }

    def _derived(self, measure: Element, depth: int) -> Members:
        connectors = self._of(measure, _USES)
        if len({connector.get("variable") for connector in connectors}) < len(connectors):
            self._broken(measure, "two measures of a formula have the same variable")
        variables: Members = {to.get("variable"): self._referred(to, depth) for to in connectors}
        formula = measure.get("function")
        return {"function": formula, "usedMeasureMap": map_node(variables, measure.position)}

    def _aggregated(self, measure: Element, depth: int) -> Members:
        inner = next((child for child in measure.children if child.tag.endswith("measure")), None)
        if inner is not None:
            base: Node | None = self._measure(inner, depth + 1)
        else:
            what = "the measure it aggregates"
            base = self._one(measure, _AGGREGATES, what, lambda to: self._referred(to, depth))
        function = measure.get("aggregationfunction")
        return {"aggregationFunction": function, "baseMeasure": base, **self._grouping(measure)}

    def _grouping(self, measure: Element) -> Members:
        connectors = self._of(measure, _GROUPED)
        if not connectors:
            return {}
        place = connectors[0].position
        listed = connectors[0].get("values") or connectors[0].get("keys")  # as it was called once
        by = [
            map_node({"kind": "DataMeasure", "dataContentSelection": _selection(to)}, to.position)
            for to in connectors
        ]
        groups = tuple(filter(None, map(str.strip, listed.split(",")))) or self._groups
        return {
            "groupedBy": list_node(by, place),
            "values": list_node(groups, place) if groups else None,
        }

    def _referred(self, connector: Element, depth: int) -> Node:
        reference = connector.get("targetref")
        if reference in self._measures:
            return self._measure(self._measures[reference], depth + 1)
        message = f"there is no measure with the id {quoted(reference)} in this set"
        return self._broken(connector, message)

    # --- connectors ---------------------------------------------------------------------
    # The arrows of the diagram, from a measure to the element of the process it is about, which
    # they name by its id; its name is the activity in the log. One to the process or its pool, or
    # to a start or end event without a name, is about the case as a whole. A state that is none of
    # an activity's is one of the data: an expression that becomes true.

    def _of(self, measure: Element, tag: str) -> list[Element]:
        """The connectors of a kind that come from a measure."""
        connectors = self._from.get(measure.get("id"), [])
        return [connector for connector in connectors if connector.tag == tag]

    def _one(
        self, measure: Element, tag: str, what: str, read: Callable[[Element], Node | None]
    ) -> Node | None:
        """What the only connector of a kind says."""
        connectors = self._of(measure, tag)
        if len(connectors) == 1:
            return read(connectors[0])
        message = f"the measure {quoted(measure.get('id'))} needs one connector to {what}"
        return self._broken(measure, f"{message}, and has {len(connectors)}")

    def _instant(self, connector: Element) -> Node:
        """When the element of a connector enters a state."""
        target, state = self._flow.get(connector.get("targetref")), connector.get("state")
        fields: Members
        if target is None:
            return self._unknown_element(connector)
        if target.tag.startswith("data") or (state and state.upper() not in STATES):
            fields = {"changesToState": _data_state(connector)}
        elif target.tag in _PROCESS or (not target.name and target.tag in _BORDERS):
            changes = _state(connector, _BORDERS.get(target.tag, state))
            fields = {"element": "process", "changesToState": changes}
        elif target.name:
            # An arrow without a state is about the activity, whatever happens to it.
            fields = {
                "appliesTo": target.name,
                "element": "activity",
                "lifecycle": "" if state else "any",
                "changesToState": _state(connector, state or "END"),
            }
        else:
            reference = quoted(connector.get("targetref"))
            message = f"the element {reference} has no name to look up in the log"
            return self._broken(connector, message)
        return map_node({"kind": INSTANT, **fields}, connector.position)

    def _state_of(self, connector: Element) -> Node:
        """In which state an element is."""
        target = self._flow.get(connector.get("targetref"))
        if target is None:
            return self._unknown_element(connector)
        is_data = target.tag.startswith("data")
        state = _data_state(connector) if is_data else _state(connector, connector.get("state"))
        fields: Members = {"kind": STATE, "appliesTo": target.name, "state": state}
        return map_node(fields, connector.position)

    def _unknown_element(self, connector: Element) -> BrokenNode:
        reference = quoted(connector.get("targetref"))
        return self._broken(connector, f"there is no element with the id {reference} in this file")

    # --- which target, over which cases ---------------------------------------------------

    def _target(self, ppi: Element) -> Node | None:
        target = self._no_text(ppi, "target")
        for kind in target.children if target else ():
            if kind.tag not in (_SIMPLE, _COMPOSED):
                message = f"unknown kind of target {quoted(kind.tag)}"
                return self._broken(kind, message, "write simpleTarget or composedTarget")
        simple = target and target.child(_SIMPLE)
        if not simple:
            return None
        limits = {"refMin": simple.get("lowerbound"), "refMax": simple.get("upperbound")}
        return map_node(limits, simple.position)

    def _group_targets(self, ppi: Element) -> Node | None:
        """Targets of single groups, in the words of a catalogue."""
        groups: dict[str, str | Node | None] = {}
        for target in _composed(ppi):
            value, low, high = (target.get(name) for name in ("value", "lowerbound", "upperbound"))
            if not value or not (low or high):
                self._broken(target, "the target of a group needs its value and a limit")
                continue
            if value in groups:
                self._broken(target, f"the group {quoted(value)} has two targets")
            words = f"at least {low}" if low else f"at most {high}"
            words = f"between {low} and {high}" if low and high else words
            groups[value] = text_node(words, target.position)
        if not groups:
            return None
        by_group = map_node({"groups": map_node(groups, ppi.position)}, ppi.position)
        return map_node({"target": by_group}, ppi.position)

    def _scope(self, ppi: Element) -> Node | None:
        scope = self._no_text(ppi, "scope")
        if scope is None or not scope.children:
            return None
        chosen = scope.children[0]
        if chosen.tag not in _SCOPES:
            message = f"unknown kind of scope {quoted(chosen.tag)}"
            return self._broken(chosen, message, "write simpleTimeFilter or lastInstancesFilter")
        kind, names = _SCOPES[chosen.tag]
        fields = {"kind": kind, **{name: chosen.get(name.lower()) for name in names}}
        return map_node(fields, chosen.position)

    def _no_text(self, ppi: Element, key: str) -> Element | None:
        """The element of that name; an attribute would be a text."""
        if ppi.get(key):
            message = f"the {key} of a PPI must be an element; this text has no known form"
            self._broken(ppi, message)
        return ppi.child(key)


def _state(connector: Element, state: str) -> MapNode:
    key = GENERIC if state.upper() in _BORDERS.values() else BPMN
    return map_node({key: state}, connector.position)


def _data_state(connector: Element) -> MapNode:
    name = map_node({"name": connector.get("state")}, connector.position)
    return map_node({DATA: name}, connector.position)


def _property(connector: Element) -> MapNode | None:
    """What is true of the data; None if the connector does not say."""
    states = connector.get("states") or connector.get("state")
    restriction = connector.get("restriction")
    if not restriction and not states:
        return None
    fields: Members = {"kind": PROPERTY, "restriction": restriction, "states": states}
    return map_node(fields, connector.position)


def _selection(connector: Element) -> MapNode:
    return map_node({"selection": connector.get("datacontentselection")}, connector.position)


# --- PPIs -----------------------------------------------------------------------------

_SIMPLE, _COMPOSED = "simpletarget", "composedtarget"


def _words(ppi: Element) -> Members:
    """What a PPI says in words."""
    return {
        "id": ppi.get("id"),
        "name": ppi.get("name"),
        "goals": _texts(ppi, "goals", "goal"),
        "responsible": _text(ppi, "responsible"),
        "informed": _texts(ppi, "informed", "inform"),
        "comments": _text(ppi, "comments") or ppi.get("description"),
    }


def _text(ppi: Element, tag: str) -> str:
    child = ppi.child(tag)
    return ppi.get(tag) if child is None else child.text


def _texts(ppi: Element, tag: str, item: str) -> Node | None:
    child = ppi.child(tag)
    if child is None:
        written = [ppi.get(tag)]
    else:
        written = [text.text for text in child.children if text.tag == item]
    texts = [text for text in written if text]
    return list_node(texts, ppi.position) if texts else None


def _composed(ppi: Element) -> list[Element]:
    """The targets of single groups."""
    target = ppi.child("target")
    composed = target and target.child(_COMPOSED)
    return [child for child in composed.children if child.tag == "target"] if composed else []


_SCOPES = {
    "simpletimefilter": ("SimpleTimeFilter", ("period", "frequency", "relative")),
    "lastinstancesfilter": ("LastInstancesFilter", ("numberOfInstances",)),
}
