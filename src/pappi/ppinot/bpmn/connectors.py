"""The arrows of the diagram: from a measure to the element of the process it is about.

A connector names an element by its id; its name is the activity in the log. A connector to the
process or its pool, or to a start or end event without a name, is about the case as a whole. A
state that is none of an activity's is one of the data: an expression that becomes true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pappi.ppinot.bpmn.elements import Element, FlowElement
from pappi.ppinot.bpmn.nodes import Fields, record
from pappi.ppinot.catalogue.document import MapNode
from pappi.ppinot.catalogue.shapes import Problems
from pappi.ppinot.java.conditions import INSTANT, PROPERTY, STATE
from pappi.ppinot.java.states import BPMN, DATA, GENERIC, STATES
from pappi.ppinot.wording import quoted

TO_ELEMENT, TO_DATA, TIME = "appliestoelementconnector", "appliestodataconnector", "timeconnector"
USES, AGGREGATES, GROUPED = "uses", "aggregates", "isgroupedby"
CONNECTORS = (TO_ELEMENT, TO_DATA, TIME, USES, AGGREGATES, GROUPED)

_PROCESS = ("process", "participant")
_BORDERS = {"startevent": "START", "endevent": "END"}
_GENERIC = ("START", "END")


class Connectors:
    """The connectors of a set, by the measure they come from."""

    def __init__(
        self, elements: Sequence[Element], flow: Mapping[str, FlowElement], problems: Problems
    ) -> None:
        self._from: dict[str, list[Element]] = {}
        self._flow = flow
        self._problems = problems
        for element in elements:
            self._from.setdefault(element.get("sourceref"), []).append(element)

    def of(self, measure: Element, tag: str) -> list[Element]:
        found = self._from.get(measure.get("id"), [])
        return [each for each in found if each.tag == tag]

    def one(self, measure: Element, tag: str, what: str) -> Element | None:
        """The only connector of a kind; a problem if there are none or several."""
        found = self.of(measure, tag)
        if len(found) == 1:
            return found[0]
        message = f"the measure {quoted(measure.get('id'))} needs one connector to {what}"
        self._problems.add(measure.position, f"{message}, and has {len(found)}")
        return None

    # --- conditions -------------------------------------------------------------------

    def instant(self, connector: Element) -> MapNode | None:
        """When the element of a connector enters a state."""
        target = self._target(connector)
        if target is None:
            return None
        state = connector.get("state")
        if target.tag.startswith("data") or (state and state.upper() not in STATES):
            return self._instant(connector, {"changesToState": _data_state(connector)})
        if target.tag in _PROCESS:
            return self._border(connector, state)
        if not target.name:
            return self._unnamed(connector, target)
        return self._instant(connector, self._activity(connector, target.name, state))

    def state(self, connector: Element) -> MapNode | None:
        """In which state an element is."""
        target = self._target(connector)
        if target is None:
            return None
        is_data = target.tag.startswith("data")
        state = _data_state(connector) if is_data else _state(connector, connector.get("state"))
        fields: Fields = {"kind": STATE, "appliesTo": target.name, "state": state}
        return record(fields, connector.position)

    def property(self, connector: Element) -> MapNode | None:
        """What is true of the data; None if the connector does not say."""
        states = connector.get("states") or connector.get("state")
        restriction = connector.get("restriction")
        if not restriction and not states:
            return None
        fields: Fields = {"kind": PROPERTY, "restriction": restriction, "states": states}
        return record(fields, connector.position)

    def _target(self, connector: Element) -> FlowElement | None:
        reference = connector.get("targetref")
        if reference not in self._flow:
            message = f"there is no element with the id {quoted(reference)} in this file"
            self._problems.add(connector.position, message)
        return self._flow.get(reference)

    def _instant(self, connector: Element, fields: Fields) -> MapNode:
        return record({"kind": INSTANT, **fields}, connector.position)

    def _activity(self, connector: Element, name: str, state: str) -> Fields:
        # An arrow without a state is about the activity, whatever happens to it.
        lifecycle = "" if state else "any"
        changes = _state(connector, state or "END")
        named = {"appliesTo": name, "element": "activity", "lifecycle": lifecycle}
        return {**named, "changesToState": changes}

    def _border(self, connector: Element, state: str) -> MapNode:
        changes = _state(connector, state)
        return self._instant(connector, {"element": "process", "changesToState": changes})

    def _unnamed(self, connector: Element, target: FlowElement) -> MapNode | None:
        if target.tag in _BORDERS:
            return self._border(connector, _BORDERS[target.tag])
        reference = quoted(connector.get("targetref"))
        message = f"the element {reference} has no name by which a log could call it"
        self._problems.add(connector.position, message)
        return None


def _state(connector: Element, state: str) -> MapNode:
    key = GENERIC if state.upper() in _GENERIC else BPMN
    return record({key: state}, connector.position)


def _data_state(connector: Element) -> MapNode:
    name = record({"name": connector.get("state")}, connector.position)
    return record({DATA: name}, connector.position)
