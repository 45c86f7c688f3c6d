"""What scripts may rely on in the output of `pappi … --json`: names, and types of values.

    python -m tests.golden.cli_json

writes `cli_json.json` anew, where a change is meant.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import pappi
from pappi.cli.program import pappi as command
from tests.golden.journal_entries import ASKED, same_every_time
from tests.small_logs import claims, event_table

FILE = Path(__file__).with_suffix(".json")
ACCEPT = "python -m tests.golden.cli_json"

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "release": ("release", "asked.yaml", "--epsilon", "0.1"),
    "release --smooth": ("release", "asked.yaml", "--epsilon", "0.1", "--smooth"),
    "preview": ("preview", "new.yaml", "--epsilon", "0.1"),
    "advise": ("advise", "asked.yaml", "--epsilon", "0.1"),
    "exact": ("exact", "asked.yaml"),
    "budget": ("budget",),
    "trail": ("trail", "--limit", "1"),
    "log list": ("log", "list"),
    "log describe": ("log", "describe", "small"),
}


def printed(folder: Path) -> dict[str, Any]:
    """What each command prints, in a workspace in which its question was released before.

    With the same noise every time: where it lets no value be told, another type is printed.
    """
    with same_every_time():
        return _printed(folder)


def _printed(folder: Path) -> dict[str, Any]:
    place, asked = folder / "w", folder / "asked.yaml"
    asked.write_text(ASKED, encoding="utf-8")
    # One that would be paid, as only these are looked at for alternatives.
    (folder / "new.yaml").write_text(ASKED.replace("Pay", "Reject"), encoding="utf-8")
    workspace = pappi.create(place)
    workspace.import_log(event_table(claims(30)), "small")
    # Not by the command, which waits for its time grid.
    workspace.checkpoint().release(asked, "0.1", anyway=True)
    workspace.close()
    found = {}
    for name, words in COMMANDS.items():
        called = [str(folder / word) if word.endswith(".yaml") else word for word in words]
        done = CliRunner().invoke(
            command, [*called, "--json", "--workspace", str(place)], catch_exceptions=False
        )
        assert done.exit_code == 0, done.output
        found[name] = json.loads(done.stdout)
    return found


def shape(value: object) -> Any:  # noqa: ANN401 - JSON
    """Names and types alone; of a list, what its items have between them.

    >>> shape({"answers": [{"value": 1.5}, {"value": None, "more": "a"}]})
    {'answers': [{'more': 'sometimes text', 'value': 'nothing or number'}]}
    """
    match value:
        case dict():
            return {name: shape(value[name]) for name in sorted(value)}
        case list():
            return [_together([shape(each) for each in value])] if value else []
        case None:
            return "nothing"
        case bool():
            return "truth"
        case int() | float():
            return "number"
        case _:
            return "text"


def _together(shapes: list[Any]) -> Any:  # noqa: ANN401 - JSON
    if all(isinstance(each, dict) for each in shapes):
        names = sorted({name for each in shapes for name in each})
        found = {}
        for name in names:
            some = _together([each[name] for each in shapes if name in each])
            always = all(name in each for each in shapes)
            found[name] = some if always else f"sometimes {some}"
        return found
    if all(isinstance(each, str) for each in shapes):
        return " or ".join(sorted(set(shapes)))
    distinct = {json.dumps(each): each for each in shapes}
    return [distinct[each] for each in sorted(distinct)] if len(distinct) > 1 else shapes[0]


def shapes(outputs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: shape(output) for name, output in outputs.items()}


def pinned() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(shapes(printed(Path(folder))), indent=1, sort_keys=True)
    FILE.write_text(text + "\n", encoding="utf-8")
