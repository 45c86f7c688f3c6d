"""Measures, connectors and PPIs of a diagram as the objects of PPINOT JSON.

Measures refer to each other by their ids, and may be shared; written out, shared ones multiply,
so their number and depth are bounded.
"""

from __future__ import annotations

from pappi.errors import Position
from pappi.ppinot.bpmn.connectors import (
    AGGREGATES,
    CONNECTORS,
    GROUPED,
    TIME,
    TO_DATA,
    TO_ELEMENT,
    USES,
    Connectors,
)
from pappi.ppinot.bpmn.elements import Element, FlowElement, Model
from pappi.ppinot.bpmn.indicators import group_keys, ppi_fields
from pappi.ppinot.bpmn.nodes import Fields, listing, record
from pappi.ppinot.catalogue.document import MapNode, Node
from pappi.ppinot.catalogue.shapes import Problems
from pappi.ppinot.wording import quoted

MAX_MEASURES = 2_000
MAX_DEPTH = 12

_KINDS = {
    kind.lower(): kind
    for kind in (
        *("CountMeasure", "TimeMeasure", "DataMeasure", "StateConditionMeasure"),
        *("DataPropertyConditionMeasure", "AggregatedMeasure"),
        *("DerivedSingleInstanceMeasure", "DerivedMultiInstanceMeasure"),
    )
}


def document_of(model: Model, file: str, problems: Problems) -> MapNode:
    """The document that says what the sets of PPIs of a model say."""
    found: list[Node] = []
    for process, element in model.sets:
        translation = _Translation(process, element, model.flow, problems)
        found += translation.ppis() or translation.definitions()
    if not found and not problems.found:
        problems.add(model.sets[0][1].position, "this set of PPIs is empty")
    place = Position(file, 1, 1)
    return record({"ppis": listing(found, place)}, place)


class _Translation:
    def __init__(
        self,
        process: str,
        root: Element,
        flow: dict[str, FlowElement],
        problems: Problems,
    ) -> None:
        self._process = process
        self._problems = problems
        self._connectors = Connectors(
            [each for each in root.children if each.tag in CONNECTORS], flow, problems
        )
        self._ppis = [each for each in root.children if each.tag == "ppi"]
        self._tops = [each for each in root.children if each.tag.endswith("measure")]
        self._measures = {
            each.get("id"): each
            for top in self._tops
            for each in (top, *top.children)
            if each.get("id") and each.tag.endswith("measure")
        }
        self._count = 0
        self._keys: tuple[str, ...] = ()

    def ppis(self) -> list[Node]:
        return [each for each in map(self._ppi, self._ppis) if each is not None]

    def definitions(self) -> list[Node]:
        """Without PPIs, the measures that no other measure is made of."""
        if self._ppis:
            return []
        parts = {
            connector.get("targetref")
            for measure in self._measures.values()
            for tag in (USES, AGGREGATES)
            for connector in self._connectors.of(measure, tag)
        }
        whole = [each for each in self._tops if each.get("id") not in parts]
        found = [self._measure(each, 0) for each in whole]
        return [each for each in found if each is not None]

    def _ppi(self, ppi: Element) -> Node | None:
        self._keys = group_keys(ppi)
        reference = ppi.get("measuredby")
        measure = self._measures.get(reference)
        if measure is None:
            message = f"this PPI is measured by {quoted(reference)}, which is no measure here"
            self._problems.add(ppi.position, message)
            return None
        measured = self._measure(measure, 0)
        if measured is None:
            return None
        measured_by: Fields = {"measuredBy": measured, "process": self._process}
        return record({**ppi_fields(ppi, self._problems), **measured_by}, ppi.position)

    # --- measures ---------------------------------------------------------------------

    def _measure(self, measure: Element, depth: int) -> MapNode | None:
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_MEASURES:
            message = "measures refer to each other without end, or too often"
            self._problems.add(measure.position, message)
            return None
        found = self._fields(measure, depth)
        if found is None:
            return None
        described: Fields = {
            "id": measure.get("id"),
            "name": measure.get("name"),
            "kind": _KINDS[measure.tag],
            "unitOfMeasure": measure.get("unitofmeasure"),
            "description": measure.get("description"),
            # A PPI says its process itself; a measure that becomes one has to.
            "process": "" if self._ppis or depth else self._process,
        }
        return record({**described, **found}, measure.position)

    def _fields(self, measure: Element, depth: int) -> Fields | None:
        """What is particular to the kind of measure; None with a problem."""
        match _KINDS.get(measure.tag):
            case "CountMeasure":
                return self._count_of(measure)
            case "TimeMeasure":
                return self._time(measure)
            case "DataMeasure":
                return self._data(measure)
            case "StateConditionMeasure":
                return self._state(measure)
            case "DataPropertyConditionMeasure":
                return self._property(measure)
            case "AggregatedMeasure":
                return self._aggregated(measure, depth)
            case None:
                message = f"a measure {quoted(measure.tag)} is not known"
                self._problems.add(measure.position, message)
                return None
            case _:
                return self._derived(measure, depth)

    def _count_of(self, measure: Element) -> Fields | None:
        data = self._connectors.of(measure, TO_DATA)
        tag = TO_DATA if data else TO_ELEMENT
        connector = self._connectors.one(measure, tag, "an element")
        when = None if connector is None else self._connectors.instant(connector)
        return None if when is None else {"when": when}

    def _time(self, measure: Element) -> Fields | None:
        connectors = self._connectors.of(measure, TIME)
        ends = [(each.get("type") or each.get("conditiontype")).lower() for each in connectors]
        if sorted(ends) != ["from", "to"]:
            message = "a time measure needs one connector 'from' and one 'to'"
            self._problems.add(measure.position, message)
            return None
        instants = [self._connectors.instant(each) for each in connectors]
        if None in instants:
            return None
        kind = measure.get("timemeasuretype").upper() or "LINEAR"
        function = measure.get("singleinstanceaggfunction")
        between: Fields = dict(zip(ends, instants, strict=True))
        return {**between, "timeMeasureType": kind, "singleInstanceAggFunction": function}

    def _data(self, measure: Element) -> Fields | None:
        connector = self._connectors.one(measure, TO_DATA, "a data object")
        if connector is None:
            return None
        selection = _selection(connector)
        precondition = self._connectors.property(connector)
        return {"dataContentSelection": selection, "precondition": precondition}

    def _state(self, measure: Element) -> Fields | None:
        connector = self._connectors.one(measure, TO_ELEMENT, "an element")
        state = None if connector is None else self._connectors.state(connector)
        return None if state is None else {"condition": state}

    def _property(self, measure: Element) -> Fields | None:
        connector = self._connectors.one(measure, TO_DATA, "a data object")
        return None if connector is None else {"condition": self._connectors.property(connector)}

    def _derived(self, measure: Element, depth: int) -> Fields | None:
        connectors = self._connectors.of(measure, USES)
        names = [connector.get("variable") for connector in connectors]
        if len(set(names)) < len(names):
            message = "two measures of a formula have the same variable"
            self._problems.add(measure.position, message)
            return None
        used = [self._referred(connector, depth) for connector in connectors]
        if None in used:
            return None
        variables: Fields = dict(zip(names, used, strict=True))
        formula = measure.get("function")
        return {"function": formula, "usedMeasureMap": record(variables, measure.position)}

    def _aggregated(self, measure: Element, depth: int) -> Fields | None:
        inner = next((each for each in measure.children if each.tag.endswith("measure")), None)
        if inner is not None:
            base = self._measure(inner, depth + 1)
        else:
            connector = self._connectors.one(measure, AGGREGATES, "the measure it aggregates")
            base = None if connector is None else self._referred(connector, depth)
        if base is None:
            return None
        function = measure.get("aggregationfunction")
        return {"aggregationFunction": function, "baseMeasure": base, **self._grouping(measure)}

    def _grouping(self, measure: Element) -> Fields:
        connectors = self._connectors.of(measure, GROUPED)
        if not connectors:
            return {}
        place = connectors[0].position
        said = tuple(filter(None, map(str.strip, connectors[0].get("keys").split(","))))
        keys = said or self._keys
        by = listing([_group(each) for each in connectors], place)
        return {"groupedBy": by, "keys": listing(keys, place) if keys else None}

    def _referred(self, connector: Element, depth: int) -> MapNode | None:
        reference = connector.get("targetref")
        measure = self._measures.get(reference)
        if measure is None:
            message = f"there is no measure with the id {quoted(reference)} in this set"
            self._problems.add(connector.position, message)
            return None
        return self._measure(measure, depth + 1)


def _group(connector: Element) -> MapNode:
    fields: Fields = {"kind": "DataMeasure", "dataContentSelection": _selection(connector)}
    return record(fields, connector.position)


def _selection(connector: Element) -> MapNode:
    return record({"selection": connector.get("datacontentselection")}, connector.position)
