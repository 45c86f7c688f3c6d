"""What the users' sentences in the shared data mean, in our notation.

Their gold definitions are those of another tool: a type, an aggregation, conditions on one
attribute. Each becomes the PPIs that say the same here; any of them counts as right.

- "Number of fines that …" is a sum of a count there. People count fines: the number of cases in
  which it happens is right as well as the number of times it happens.
- From a state until it is another one, there, is the time spent in it here.
- A value "nan" is a missing one.
- An attribute is compared at the last event that carries it, or at some event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Meant = dict[str, Any]
_FUNCTIONS = {"average": "mean", "maximum": "max", "minimum": "min", "sum": "sum"}
_OPERATORS = {"gt": ">", "equal": "==", "lt": "<", "ge": ">=", "le": "<="}


def meanings(gold: Mapping[str, Any], vocabulary: Mapping[str, Any]) -> list[Meant]:
    """Every PPI, without id and log, that a gold definition stands for."""
    measures = {"count": _counts, "time": _times, "data": _data}[gold["type"]](gold, vocabulary)
    found = []
    for written in measures:
        measure = dict(written)
        if "filter" in gold:
            key = "among" if "share" in measure else "where"
            measure[key] = {"condition": _test(gold["filter"], vocabulary)}
        if group := gold.get("groupby_attribute"):
            measure["by"] = {"data": group["attribute"], "values": ["any"]}
        window = gold.get("period", {}).get("window")
        found.append({"measure": measure, **({"scope": f"every {window}"} if window else {})})
    return found


def _counts(gold: Mapping[str, Any], vocabulary: Mapping[str, Any]) -> list[Meant]:
    counted, function = gold["count_condition"], gold["aggregation"]
    if counted.get("case"):
        return [{"number": "cases"}]
    if counted["value"] == "nan":
        name = counted["attribute"]
        missing = {"derive": "v is missing", "v": {"data": name}}
        return [{"share": missing}, {"share": {"condition": f"{name} is missing"}}]
    test = _test(counted, vocabulary)
    happens: Meant = {"condition": test}
    if gold.get("condition", {}).get("operator") == "equal":
        happens = {"derive": "not x", "x": {"condition": test}}
    elif "condition" not in gold and function != "percentage":
        times: list[Meant] = [{_FUNCTIONS[function]: {"count": test}}]
        numbers = [{"number": "cases", "where": it} for it in (happens, *_at_the_end(counted))]
        return [*times, *numbers] if function == "sum" else times
    if function == "sum":
        return [{"number": "cases", "where": happens}]
    return [{"share": happens}]


def _at_the_end(counted: Mapping[str, Any]) -> list[Meant]:
    if counted["attribute"] == "ACTIVITY":
        return []
    return [{"derive": f'v == "{counted["value"]}"', "v": {"data": counted["attribute"]}}]


def _times(gold: Mapping[str, Any], vocabulary: Mapping[str, Any]) -> list[Meant]:
    start, end = gold["from_condition"], gold["to_condition"]
    if end.get("operator") == "!=":
        whole = {"from": "case start", "to": "case end"}
        spent = {"time": {**whole, "while": _expression(start, vocabulary)}}
        if gold["aggregation"] == "percentage":
            ratio = {"a": {"sum": spent}, "b": {"sum": {"time": whole}}}
            return [{"derive": "100 * a / b", **ratio}]
        return [{_FUNCTIONS[gold["aggregation"]]: spent}]
    ends = [
        {"begin": "case start", "end": "case end"}[moment["case"]]
        if "case" in moment
        else _test(moment, vocabulary)
        for moment in (start, end)
    ]
    return [{_FUNCTIONS[gold["aggregation"]]: {"time": {"from": ends[0], "to": ends[1]}}}]


def _data(gold: Mapping[str, Any], _vocabulary: Mapping[str, Any]) -> list[Meant]:
    name, limit = gold["data_condition"]["attribute"], gold["condition"]
    value = limit["value"] if limit["value"].isdigit() else f'"{limit["value"]}"'
    compared = f"{_OPERATORS[limit['operator']]} {value}"
    ways: list[Meant] = [
        {"derive": f"v {compared}", "v": {"data": name}},
        {"condition": f"{name} {compared}"},
    ]
    if gold["aggregation"] == "percentage":
        return [{"share": way} for way in ways]
    return [{"number": "cases", "where": way} for way in ways]


def _test(condition: Mapping[str, Any], vocabulary: Mapping[str, Any]) -> str | dict[str, str]:
    if condition["attribute"] == "ACTIVITY":
        names = {name.lower(): name for name in vocabulary["activities"]}
        return {"activity": names[condition["value"].lower()]}
    return _expression(condition, vocabulary)


def _expression(condition: Mapping[str, Any], _vocabulary: Mapping[str, Any]) -> str:
    return f'{condition["attribute"]} == "{condition["value"]}"'


def pairs(sentences: list[Mapping[str, Any]]) -> list[tuple[str, str, list[Meant], Any]]:
    """Each sentence with each log that it has a gold definition for."""
    return [
        (
            sentence["text"],
            log,
            meanings(gold, sentence["vocabulary"][log]),
            sentence["vocabulary"][log],
        )
        for sentence, log in ((sentence, log) for sentence in sentences for log in sentence["gold"])
        for gold in [sentence["gold"][log]]
    ]
