"""The HTTP interface stays as it is: what programs rely on, not what our classes are called.

A change that is meant is accepted with `python -m tests.golden.openapi`, and told in the changelog.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import pytest

from tests.golden.differences import differences
from tests.golden.openapi import ACCEPT, documents, pinned, promise, promised

ANALYSTS = "For analysts"
ANSWER = ("ppi", "period", "probability_met")


@pytest.fixture(scope="module")
def both() -> Mapping[str, Mapping[str, Any]]:
    return documents()


@pytest.fixture(scope="module")
def document(both: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """What the analysts' application says of itself."""
    return both[ANALYSTS]


def changes(document: Mapping[str, Any]) -> list[str]:
    return list(differences(pinned()[ANALYSTS], promise(document)))


def test_the_interface_is_the_pinned_one(both: Mapping[str, Mapping[str, Any]]) -> None:
    found = list(differences(pinned(), promised(both)))
    assert not found, "\n".join([*found[:40], f"if it is meant: {ACCEPT}"])


def schema(document: dict[str, Any], *fields: str) -> dict[str, Any]:
    """The first schema that has these fields, whatever its class is called."""
    schemas: dict[str, dict[str, Any]] = document["components"]["schemas"]
    wanted = set(fields)
    return next(each for each in schemas.values() if wanted <= each.get("properties", {}).keys())


def rename_a_field(document: dict[str, Any]) -> None:
    fields = schema(document, *ANSWER)["properties"]
    fields["periods"] = fields.pop("period")


def rename_the_title_of_a_problem(document: dict[str, Any]) -> None:
    fields = schema(document, "title", "status")["properties"]
    fields["caption"] = fields.pop("title")


def retype_a_field(document: dict[str, Any]) -> None:
    schema(document, *ANSWER)["properties"]["ppi"]["type"] = "integer"


def require_less(document: dict[str, Any]) -> None:
    schema(document, *ANSWER)["required"].remove("ppi")


def rename_a_member_of_an_enum(document: dict[str, Any]) -> None:
    fields = schema(document, "adjacency", "activities")["properties"]
    words = next(field["enum"] for field in fields.values() if "enum" in field)
    words[0] = "renamed"


def move_a_path(document: dict[str, Any]) -> None:
    document["paths"]["/published"] = document["paths"].pop("/release")


def change_a_method(document: dict[str, Any]) -> None:
    item = document["paths"]["/release"]
    item["put"] = item.pop("post")


def change_a_status(document: dict[str, Any]) -> None:
    replies = document["paths"]["/release"]["post"]["responses"]
    replies["201"] = replies.pop("200")


def rename_a_parameter(document: dict[str, Any]) -> None:
    document["paths"]["/logs/{log}"]["get"]["parameters"][0]["name"] = "which"


def need_no_key(document: dict[str, Any]) -> None:
    del document["paths"]["/release"]["post"]["security"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (rename_a_field, "properties / periods"),
        (rename_the_title_of_a_problem, "properties / caption"),
        (retype_a_field, 'ppi / type: "string", now "integer"'),
        (require_less, "required"),
        (rename_a_member_of_an_enum, "renamed"),
        (move_a_path, "gone: paths / /release"),
        (change_a_method, "new: paths / /release / put"),
        (change_a_status, "responses / 201"),
        (rename_a_parameter, "parameters / path which"),
        (need_no_key, "security"),
    ],
)
def test_a_planted_change_is_told(
    document: Mapping[str, Any], change: Callable[[dict[str, Any]], None], told: str
) -> None:
    planted = deepcopy(dict(document))
    change(planted)
    assert any(told in line for line in changes(planted))


def test_names_of_classes_and_texts_for_people_may_change(document: Mapping[str, Any]) -> None:
    text = json.dumps(document)
    for name in document["components"]["schemas"]:
        text = text.replace(f'schemas/{name}"', f'schemas/Renamed{name}"')
        text = text.replace(f'"{name}": {{', f'"Renamed{name}": {{')
        text = text.replace(f'"title": "{name}"', f'"title": "Renamed{name}"')
    text = text.replace("HTTPBearer", "KeyOfTheOwnersMaking")
    renamed = json.loads(text)
    for item in renamed["paths"].values():
        for operation in item.values():
            operation["operationId"] = operation["summary"] = operation["description"] = "other"
    assert all(name.startswith("Renamed") for name in renamed["components"]["schemas"])
    assert changes(renamed) == []
