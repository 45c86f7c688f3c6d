"""The PPIs of a diagram: who, what for, which target, over which cases."""

from __future__ import annotations

from pappi.ppinot.bpmn.elements import Element
from pappi.ppinot.bpmn.nodes import Fields, listing, record
from pappi.ppinot.catalogue.document import Node
from pappi.ppinot.catalogue.shapes import Problems
from pappi.ppinot.wording import quoted

_SIMPLE, _COMPOSED = "simpletarget", "composedtarget"
_TIME, _INSTANCES = "simpletimefilter", "lastinstancesfilter"


def ppi_fields(ppi: Element, problems: Problems) -> Fields:
    """The fields of a PPI but for its measure."""
    for key in ("target", "scope"):
        if ppi.get(key):
            message = f"the {key} of a PPI is an element, and this is a text of no known form"
            problems.add(ppi.position, message)
    return {
        "id": ppi.get("id"),
        "name": ppi.get("name"),
        "goals": _texts(ppi, "goals", "goal"),
        "responsible": _text(ppi, "responsible"),
        "informed": _texts(ppi, "informed", "inform"),
        "comments": _text(ppi, "comments") or ppi.get("description"),
        "target": _target(ppi, problems),
        "groupTargets": _group_targets(ppi),
        "scope": _scope(ppi, problems),
    }


def group_keys(ppi: Element) -> tuple[str, ...]:
    """The groups that a composed target has targets for."""
    return tuple(dict.fromkeys(each.get("value") for each in _composed(ppi)))


def _text(ppi: Element, tag: str) -> str:
    child = ppi.child(tag)
    return ppi.get(tag) if child is None else child.text


def _texts(ppi: Element, tag: str, item: str) -> Node | None:
    child = ppi.child(tag)
    if child is None:
        said = [ppi.get(tag)]
    else:
        said = [each.text for each in child.children if each.tag == item]
    texts = [each for each in said if each]
    return listing(texts, ppi.position) if texts else None


def _target(ppi: Element, problems: Problems) -> Node | None:
    target = ppi.child("target")
    if target is None:
        return None
    simple = target.child(_SIMPLE)
    for each in target.children:
        if each.tag not in (_SIMPLE, _COMPOSED):
            message = f"there is no target {quoted(each.tag)} here"
            problems.add(each.position, message, "write simpleTarget or composedTarget")
    return None if simple is None else _limits(simple)


def _limits(target: Element) -> Node:
    limits = {"refMin": target.get("lowerbound"), "refMax": target.get("upperbound")}
    return record({"value": target.get("value"), **limits}, target.position)


def _group_targets(ppi: Element) -> Node | None:
    found = [_limits(each) for each in _composed(ppi)]
    return listing(found, ppi.position) if found else None


def _composed(ppi: Element) -> list[Element]:
    target = ppi.child("target")
    composed = None if target is None else target.child(_COMPOSED)
    return [] if composed is None else [each for each in composed.children if each.tag == "target"]


def _scope(ppi: Element, problems: Problems) -> Node | None:
    scope = ppi.child("scope")
    if scope is None or not scope.children:
        return None
    each = scope.children[0]
    fields: Fields
    if each.tag == _TIME:
        names = ("period", "frequency", "relative")
        fields = {"kind": "SimpleTimeFilter", **{name: each.get(name) for name in names}}
    elif each.tag == _INSTANCES:
        number = each.get("numberofinstances")
        fields = {"kind": "LastInstancesFilter", "numberOfInstances": number}
    else:
        message = f"there is no scope {quoted(each.tag)} here"
        problems.add(each.position, message, "write simpleTimeFilter or lastInstancesFilter")
        return None
    return record(fields, each.position)
