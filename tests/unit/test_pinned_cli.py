"""What `pappi … --json` prints keeps its names and types: scripts read it.

A change that is meant is accepted with `python -m tests.golden.cli_json`, and told in the
changelog.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.golden.cli_json import ACCEPT, COMMANDS, pinned, printed, shapes
from tests.golden.differences import differences

Outputs = dict[str, Any]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    return printed(tmp_path_factory.mktemp("printed"))


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_printed_has_the_pinned_names_and_types(outputs: Outputs, name: str) -> None:
    found = list(differences(pinned()[name], shapes(outputs)[name]))
    assert not found, "\n".join([*found, f"if it is meant: {ACCEPT}"])


def test_nothing_else_is_pinned() -> None:
    assert pinned().keys() == COMMANDS.keys()


def rename_a_member(outputs: Outputs) -> None:
    for answer in outputs["release"]["answers"]:
        answer["guarantee"]["privacy_unit"] = answer["guarantee"].pop("unit")


def rename_a_member_of_one_answer(outputs: Outputs) -> None:
    answer = outputs["release"]["answers"][1]
    answer["result"] = answer.pop("value")


def write_an_epsilon_as_a_number(outputs: Outputs) -> None:
    outputs["preview"]["quotes"][0]["epsilon"] = 0.1


def rename_what_is_left(outputs: Outputs) -> None:
    for account in outputs["budget"]["accounts"]:
        account["remaining"] = account.pop("left")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (rename_a_member, "guarantee / privacy_unit"),
        (rename_a_member_of_one_answer, "result"),
        (write_an_epsilon_as_a_number, 'epsilon: "text", now "number or text"'),
        (rename_what_is_left, "gone: budget / accounts / 0 / left"),
    ],
)
def test_a_planted_change_is_told(
    outputs: Outputs, change: Callable[[Outputs], None], told: str
) -> None:
    planted = deepcopy(outputs)
    change(planted)
    assert any(told in line for line in differences(pinned(), shapes(planted)))
