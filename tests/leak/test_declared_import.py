"""A log declared beforehand: one case more or less changes nothing that analysts are told."""

from __future__ import annotations

from contextlib import closing
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pyarrow import csv, parquet

import pappi
from pappi.custody import NewLog
from pappi.eventlog import ReadOptions, open_log
from pappi.session import Workspace, to_wire
from pappi.store import open_readonly
from pappi.values import Kind, Vocabulary

DECLARED = Vocabulary(
    ("Register", "Pay", "Never seen"),
    {"age": Kind.NUMBER, "paid": Kind.TRUTH, "due": Kind.TIME, "never": Kind.TEXT},
)
TERMS = NewLog(first=date(2024, 1, 1), until=date(2025, 1, 1), vocabulary=DECLARED)

CSV = """case,activity,time,age,paid,due
1,Register,2024-03-01 10:00,30,true,2024-04-01
1,Pay,2024-03-02 10:00,30,TRUE,2024-04-01
2,Register,2024-03-05 10:00,007,False,2024-04-02
2,Pay,2024-03-07 10:00,,,
"""
# Another activity, another kind of age, truth and due day, an earlier month.
ONE_MORE = """3,HIV test,2023-11-01 10:00,unknown,maybe,never
3,Register,2023-11-02 10:00,1e2,true,2024-04-03
"""

XES = """<log>
<trace><string key="concept:name" value="1"/>
 <event><string key="concept:name" value="Register"/><int key="age" value="30"/>
  <date key="time:timestamp" value="2024-03-01T10:00:00Z"/>
  <boolean key="paid" value="true"/></event>
 <event><string key="concept:name" value="Pay"/><float key="age" value="31.5"/>
  <date key="time:timestamp" value="2024-03-02T10:00:00Z"/></event></trace>
{}</log>"""
# So many ages that are texts that they outnumber the others.
XES_ONE_MORE = (
    '<trace><string key="concept:name" value="3"/>'
    + "".join(
        '<event><string key="concept:name" value="HIV test"/>'
        f'<string key="age" value="{age}"/><string key="diagnosis" value="x"/>'
        '<date key="time:timestamp" value="2023-11-01T10:00:00Z"/></event>'
        for age in ("old", "40", "older", "oldest")
    )
    + "</trace>"
)


def rows(workspace: Workspace, *, without: str = "") -> list[tuple[Any, ...]]:
    with closing(open_readonly(workspace.root / "events", "events_1")) as db:
        columns = ", ".join(
            f'"{name}"' for name in ("case_id", "ts_us", "activity", *DECLARED.attributes)
        )
        asked = f"SELECT {columns} FROM events_1 WHERE case_id <> ? ORDER BY pos"  # noqa: S608
        return db.execute(asked, [without]).fetchall()


def imported(folder: Path, ending: str, text: str, new: NewLog) -> Workspace:
    workspace = pappi.create(folder)
    file = folder.with_name(f"{folder.name}{ending}")
    file.write_text(text, encoding="utf-8")
    workspace.import_log(file, "log", new=new)
    return workspace


LOGS = {
    ".csv": (CSV, CSV + ONE_MORE),
    ".xes": (XES.format(""), XES.format(XES_ONE_MORE)),
}


def pair(tmp_path: Path, ending: str, new: NewLog) -> tuple[Workspace, Workspace]:
    first, second = LOGS[ending]
    return (
        imported(tmp_path / "one", ending, first, new),
        imported(tmp_path / "other", ending, second, new),
    )


def public(workspace: Workspace) -> dict[str, Any]:
    """As it is sent to analysts; the declaration behind it must not differ either."""
    told: dict[str, Any] = to_wire(workspace.checkpoint("ann").log("log"))
    return {**workspace.log("log").to_json(), **told}


@pytest.mark.parametrize("ending", LOGS)
def test_one_case_more_changes_nothing_that_is_public(tmp_path: Path, ending: str) -> None:
    one, other = pair(tmp_path, ending, TERMS)
    assert public(one) == public(other)
    assert public(one)["activities"] == ["Register", "Pay", "Never seen"]


@pytest.mark.parametrize("ending", LOGS)
def test_without_a_declaration_it_does(tmp_path: Path, ending: str) -> None:
    """The detector's own check: what a file proposes tells of single cases."""
    one, other = pair(tmp_path, ending, NewLog())
    assert public(one)["activities"] != public(other)["activities"]
    assert public(one)["attributes"] != public(other)["attributes"]
    assert public(one)["first"] != public(other)["first"]


@pytest.mark.parametrize("ending", LOGS)
def test_one_case_more_changes_no_value_of_another_case(tmp_path: Path, ending: str) -> None:
    one, other = pair(tmp_path, ending, TERMS)
    assert rows(one) == rows(other, without="3")


def read(folder: Path, ending: str, text: str, options: ReadOptions) -> list[dict[str, Any]]:
    """All but the third case, as a reader gives it."""
    file = folder / f"log{ending}"
    if ending == ".csv":
        file.write_text(text, encoding="utf-8")
    else:
        table = csv.read_csv(
            BytesIO(text.encode()),
            convert_options=csv.ConvertOptions(
                column_types={"case": "string", "time": "string", "due": "string"}
            ),
        )
        parquet.write_table(table, file)
    reader = open_log(file, options, Vocabulary(("Pay",), {"due": Kind.TIME}))
    rows = [row for batch in reader.batches() for row in batch.to_pylist()]
    return [row for row in rows if row["case_id"] != "3"]


BASE = "case,activity,time,due\n"
TIMES = {
    # Month first, said and in all other cases possible: one more case must not turn it around.
    "a day that cannot be one": (
        BASE + "1,Pay,01/02/2024,03/04/2024\n2,Pay,01/03/2024,05/06/2024\n",
        "3,Pay,01/04/2024,31/12/2024\n",
        ReadOptions(time_format="mm/dd/yyyy"),
    ),
    "a time with an offset": (
        BASE + "1,Pay,2024-02-01T10:00:00Z,2024-03-01T10:00:00Z\n",
        "3,Pay,2024-02-01T10:00:00+05:00,2024-02-01T10:00:00+05:00\n",
        ReadOptions(time_format="yyyy-mm-dd", timezone="Europe/Berlin"),
    ),
    "due days that are written in another way": (
        BASE + "1,Pay,2024-02-01,01.03.2024\n2,Pay,2024-02-01,2024/03/05\n",
        "3,Pay,2024-02-01,2024-03-04\n3,Pay,2024-02-01,2024-03-04\n",
        ReadOptions(),
    ),
}


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("name", TIMES)
def test_one_case_more_changes_no_time_of_another_case(
    tmp_path: Path, name: str, ending: str
) -> None:
    """How times are written is said: then nothing about them is learned from other cases."""
    text, more, options = TIMES[name]
    alone, beside = (read(tmp_path, ending, each, options) for each in (text, text + more))
    assert alone == beside
    assert all(row["ts_us"] is not None and row["a0"] is not None for row in alone)


@pytest.mark.parametrize("said", ["cp1252", None])
def test_one_case_more_changes_no_character_if_the_encoding_is_said(
    tmp_path: Path, said: str | None
) -> None:
    """And does if it is guessed: the detector's own check."""
    read = []
    for more in (b"", b"3,\xe9 \xe9 \xe9,2024-02-01\n"):
        file = tmp_path / "log.csv"
        file.write_bytes(b"case,activity,time\n1,caf\xc3\xa9,2024-02-01\n" + more)
        declared = Vocabulary(("café", "cafÃ©"), {})
        reader = open_log(file, ReadOptions(encoding=said), declared)
        read.append(next(r for batch in [*reader.batches()] for r in batch.to_pylist()))
    assert (read[0] == read[1]) == (said is not None)


AGES = (
    '<trace><string key="concept:name" value="{}"/><event><string key="concept:name" value="Pay"/>'
    '<date key="time:timestamp" value="2024-03-01T10:00:00Z"/>{}</event></trace>'
)
AGE, OTHER_AGE = '<int key="Age" value="30"/>', '<int key="age" value="31"/>'


def test_keys_alike_but_for_case_are_told_apart_by_no_other_case(tmp_path: Path) -> None:
    """Which of them comes first, another case decides; it must not matter."""
    ours = AGES.format(1, AGE + OTHER_AGE)
    declared = Vocabulary(("Pay",), {"Age": Kind.NUMBER, "age (2)": Kind.NUMBER})
    for before in ("", AGES.format(3, OTHER_AGE)):
        file = tmp_path / "log.xes"
        file.write_text(f"<log>{before}{ours}</log>", encoding="utf-8")
        read = [
            r for batch in open_log(file, declared=declared).batches() for r in batch.to_pylist()
        ]
        assert [(row["a0"], row["a1"]) for row in read if row["case_id"] == "1"] == [(30, 31)]


def test_without_a_declaration_one_case_more_changes_times(tmp_path: Path) -> None:
    """The detector's own check."""
    text, more, options = TIMES["a time with an offset"]
    found = []
    for each in (text, text + more):
        file = tmp_path / "log.csv"
        file.write_text(each, encoding="utf-8")
        found.append(next(iter(open_log(file, options).batches())).to_pylist()[0])
    assert found[0]["ts_us"] != found[1]["ts_us"]


def test_what_is_not_declared_is_not_stored(tmp_path: Path) -> None:
    _, other = pair(tmp_path, ".xes", TERMS)
    content = b"".join(path.read_bytes() for path in (other.root / "events").iterdir())
    assert b"HIV test" not in content
    assert b"diagnosis" not in content


def test_a_value_counts_if_it_is_of_the_declared_kind(tmp_path: Path) -> None:
    _, other = pair(tmp_path, ".csv", TERMS)
    found = rows(other)
    assert [row[3] for row in found] == [30, 30, 7, None, None, 100]
    assert [row[4] for row in found] == [True, True, False, None, None, True]
    assert [row[5] is not None for row in found] == [True, True, True, False, False, True]
    assert [row[2] for row in found] == ["Register", "Pay", "Register", "Pay", None, "Register"]
    assert {row[6] for row in found} == {None}


def test_ages_of_every_type_are_ages(tmp_path: Path) -> None:
    _, other = pair(tmp_path, ".xes", TERMS)
    assert [row[3] for row in rows(other)] == [30, 31.5, None, 40, None, None]


@pytest.mark.parametrize(
    "measure",
    [
        "{sum: {count: {activity: HIV test}}, bounds: [0, 5]}",
        '{mean: {data: age}, by: {data: activity, values: ["HIV test"]}, bounds: [0, 100]}',
        '{share: {derive: x == "HIV test", x: {data: activity}}}',
    ],
)
def test_no_question_can_name_an_activity_that_is_not_declared(
    tmp_path: Path, measure: str
) -> None:
    one, _ = pair(tmp_path, ".csv", TERMS)
    file = tmp_path / "asked.yaml"
    file.write_text(f"log: log\nppis:\n  - id: asked\n    measure: {measure}\n")
    with pytest.raises(pappi.errors.DefinitionError, match="unknown activity 'HIV test'"):
        one.checkpoint("ann").preview(file)


def test_a_case_begins_ends_and_lasts_as_it_did(tmp_path: Path) -> None:
    """Its last event is of an activity that nobody can name, and still is its last event."""
    text = CSV + "1,HIV test,2024-05-02 10:00,,,\n"
    workspace = imported(tmp_path / "one", ".csv", text, TERMS)
    file = tmp_path / "asked.yaml"
    lasts = "{max: {time: {from: case start, to: case end}}}"
    file.write_text(
        f"log: log\nppis:\n  - {{id: asked, measure: {lasts}, scope: {{every: month}}}}\n"
    )
    answers = workspace.exact(file)
    found = {str(answer.period): answer.value for answer in answers if answer.value is not None}
    assert len(found) == 2
    assert max(found.values()) == 62 * 24


def test_a_reader_that_gives_more_than_was_declared_is_refused(tmp_path: Path) -> None:
    """Fails closed: a log that was opened without its declaration is not taken in."""
    workspace = pappi.create(tmp_path / "w")
    file = tmp_path / "log.csv"
    file.write_text(CSV)
    with pytest.raises(ValueError, match="not opened for what is declared"):
        workspace.custody.import_log("log", open_log(file), TERMS, lambda *_: None)
    assert workspace.logs() == ()
