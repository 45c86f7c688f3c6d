"""Both applications keep to their OpenAPI documents, whatever they are asked.

schemathesis makes requests from the documents, in the right form and in wrong ones, in-process
and with a valid key. In the tests a few of each operation; more with PAPPI_OPENAPI_EXAMPLES.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import positive_data_acceptance

from pappi.custody import NewLog
from pappi.service.middleware import Service
from pappi.values import Epsilon, Terms
from tests.leak.asked import sound_questions
from tests.lengths import length
from tests.service.serving import Caller, analyst_key, owner_key, serving
from tests.service.test_access import ANALYST, OPEN, OWNER, Call
from tests.small_logs import claims, workspace_with

Operation = APIOperation[Any, Any, Any, Any]
EXAMPLES = int(os.environ.get("PAPPI_OPENAPI_EXAMPLES", length(4, 8)))
QUESTIONS = tuple(sound_questions())
KNOWN = {"log": "small", "name": "alice"}
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "LOCK")
ROLES = ("analyst", "owner")
# What a schema cannot say is refused all the same: days in the past, definitions, time zones.
NOT_ASKED: list[Any] = [positive_data_acceptance]
# The same as by default, and too large.
REJECTIONS = ["400", "404", "405", "409", "413", "415", "422"]


@dataclass(frozen=True, slots=True)
class Described:
    """An application, its document, and the headers that open it."""

    app: Service
    headers: Mapping[str, str]
    table: tuple[Call, ...]

    @property
    def document(self) -> dict[str, Any]:
        return deepcopy(self.app.openapi())

    def operations(self) -> Iterator[Operation]:
        """Without keys: whether they are needed is asked below, and in `test_access`."""
        document = self.document
        for item in document["paths"].values():
            for operation in item.values():
                operation.pop("security", None)
        schema = schemathesis.openapi.from_dict(document)
        schema.app = self.app
        schema.config.checks.negative_data_rejection.expected_statuses = REJECTIONS
        for found in schema.get_all_operations():
            assert isinstance(found, Ok)
            yield found.ok()

    def operation(self, call: Call) -> Operation:
        return next(
            each
            for each in self.operations()
            if (each.method.upper(), each.path) == (call.method, call.path)
        )


@pytest.fixture(scope="module", params=ROLES)
def described(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Described:
    folder = tmp_path_factory.mktemp(request.param) / "w"
    workspace = workspace_with(
        folder, claims(30), NewLog(terms=Terms(block_budget=Epsilon.of(1_000)))
    )
    analyst, owner = analyst_key(workspace, "alice", {"small": "500"}), owner_key(workspace)
    service = serving(workspace)
    if request.param == "analyst":
        return Described(service.analyst, {"Authorization": f"Bearer {analyst}"}, ANALYST)
    return Described(service.owner, {"Authorization": f"Bearer {owner}"}, OWNER)


def test_every_reply_to_a_sound_request_is_as_documented(described: Described) -> None:
    for call in described.table:
        operation = described.operation(call)
        case = operation.Case(path_parameters=parameters_of(call))
        if call.body is not None:
            case.body, case.media_type = cast("Any", call.body), "application/json"
        reply = case.call(headers=dict(described.headers))
        assert reply.status_code == call.status, (call, reply.text)
        case.validate_response(reply, headers=dict(described.headers), excluded_checks=NOT_ASKED)


def parameters_of(call: Call) -> dict[str, str]:
    pairs = zip(call.path.split("/"), call.address.split("/"), strict=True)
    return {name.strip("{}"): value for name, value in pairs if name.startswith("{")}


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_request_breaks_the_service_or_its_schema(
    described: Described, mode: GenerationMode
) -> None:
    for operation in described.operations():
        _try(operation, mode, dict(described.headers))


def _try(operation: Operation, mode: GenerationMode, headers: dict[str, str]) -> None:
    @settings(
        max_examples=EXAMPLES,
        suppress_health_check=list(HealthCheck),
        database=None,
        derandomize=True,
        phases=[Phase.generate],
    )
    @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def ask(case: Case[Any], data: st.DataObject) -> None:
        if mode is GenerationMode.POSITIVE:
            _aim(case, data)
        reply = case.call(headers=headers)
        case.validate_response(reply, headers=headers, excluded_checks=NOT_ASKED)

    try:
        ask()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE, f"{operation.label} cannot be asked at all"
        assert not list(operation.iter_parameters())


def _aim(case: Case[Any], data: st.DataObject) -> None:
    """Random names and definitions seldom are of something: put known ones in their place."""
    for name in KNOWN.keys() & dict(case.path_parameters or {}).keys():
        if data.draw(st.booleans()):
            case.path_parameters[name] = KNOWN[name]
    if isinstance(case.body, dict) and "definitions" in case.body and data.draw(st.booleans()):
        case.body["definitions"] = data.draw(st.sampled_from(QUESTIONS))
        case.body.pop("notation", None)


def test_a_path_answers_to_its_methods_alone(described: Described) -> None:
    with Caller(described.app, None) as call:
        for path, item in described.document["paths"].items():
            address = path.format(**KNOWN, key="none", subscription="none", query="none")
            for method in METHODS:
                if method.lower() in item:
                    continue
                reply = call(method, address, headers=dict(described.headers))
                assert reply.status_code == 405, (method, path, reply.status_code)
                allowed = {each.strip() for each in reply.headers["allow"].split(",")}
                assert allowed <= {each.upper() for each in item}


@pytest.mark.parametrize(
    "credentials", [None, "Bearer", "Bearer x", "Basic YTpi", "Bearer pappi_000000000000_0"]
)
def test_every_operation_that_needs_a_key_says_so_and_refuses_without(
    described: Described, credentials: str | None
) -> None:
    headers = {} if credentials is None else {"Authorization": credentials}
    with Caller(described.app, None) as call:
        for path, item in described.document["paths"].items():
            for method, operation in item.items():
                assert ("security" in operation) is (path not in OPEN)
                address = path.format(**KNOWN, key="none", subscription="none", query="none")
                reply = call(method.upper(), address, headers=headers)
                assert (reply.status_code == 401) is (path not in OPEN), (method, path)
