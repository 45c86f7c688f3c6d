"""Each import that the guide shows leads from a file of that kind to a chart, as written."""

from __future__ import annotations

import io
import json
import random
import shlex
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.commands import Run
from tests.docs.pages import DOCS, commands, files
from tests.foreign_files import Cell, Objects, archive, workbook

pytestmark = pytest.mark.outside

PAGE = (DOCS / "how-to" / "import-files.md").read_text(encoding="utf-8")
SHOWN = commands(PAGE)
IMPORTS = [line for line in SHOWN if line.startswith("pappi log import ")]
AROUND = [line for line in SHOWN if line not in IMPORTS]
MOST_COMMANDS = 8


def orders() -> list[tuple[str, datetime, datetime]]:
    chance = random.Random(1)  # noqa: S311 - a made-up log
    begin = datetime(2025, 1, 2, 8)  # noqa: DTZ001 - what stands on the wall
    found = []
    for number in range(800):
        at = begin + timedelta(days=chance.randrange(55), minutes=chance.randrange(600))
        found.append((f"o-{number}", at, at + timedelta(hours=chance.randrange(10, 100))))
    return found


ORDERS = orders()
EVENTS = [
    (order, step, at)
    for order, first, last in ORDERS
    for step, at in (("Order", first), ("Deliver", last))
]


def german(path: Path) -> None:
    rows = "".join(f"{o};{s} für;{at:%d.%m.%Y %H:%M};1.234,5\n" for o, s, at in EVENTS)
    path.write_bytes(f"Vorgang;Tätigkeit;Zeitpunkt;Kosten\n{rows}".encode("cp1252"))


def two_columns(path: Path) -> None:
    rows = "".join(f"{o},{s},{at:%Y-%m-%d},{at:%H:%M}\n" for o, s, at in EVENTS)
    path.write_text(f"case,activity,Day,Clock\n{rows}")


def start_and_end(path: Path) -> None:
    rows = "".join(f"{o},Ship,{a},{b}\n" for o, a, b in ORDERS)
    path.write_text(f"case,activity,Begin,End\n{rows}")


def wide(path: Path) -> None:
    path.write_text("Order,Ordered,Delivered\n" + "".join(f"{o},{a},{b}\n" for o, a, b in ORDERS))


def plain(path: Path) -> None:
    path.write_text(text())


def text() -> str:
    return "case,activity,time\n" + "".join(f"{o},{s},{at}\n" for o, s, at in EVENTS)


def with_holes(path: Path) -> None:
    path.write_text(text() + ",Order,2025-01-01\no-1,Order,soon\no-1\n")


def excel(path: Path) -> None:
    rows: list[tuple[Cell, ...]] = [("case", "activity", "time"), *EVENTS]
    path.write_bytes(workbook({"About": [["x"]], "Events": rows}))


def zipped(path: Path) -> None:
    path.write_bytes(archive({"readme.csv": "about\n", "events.csv": text()}))


def json_lines(path: Path) -> None:
    rows = ({"order": {"id": o}, "activity": s, "time": str(at)} for o, s, at in EVENTS)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def objects() -> Objects:
    return Objects(
        [(s, f"{at.isoformat()}Z", {}, [o, "c"]) for o, s, at in EVENTS],
        {"c": ("customers", []), **{o: ("orders", []) for o, _, _ in ORDERS}},
    )


def xes(path: Path) -> None:
    import gzip

    traces = io.StringIO()
    for order, *moments in ORDERS:
        traces.write(f'<trace><string key="concept:name" value={quoteattr(order)}/>')
        for step, at in zip(("Order", "Deliver"), moments, strict=True):
            traces.write(f'<event><string key="concept:name" value="{step}"/>')
            traces.write(f'<date key="time:timestamp" value="{at.isoformat()}Z"/></event>')
        traces.write("</trace>")
    path.write_bytes(gzip.compress(f"<log>{traces.getvalue()}</log>".encode()))


def columns(path: Path) -> None:
    cases, steps, times = zip(*EVENTS, strict=True)
    table = {"case": list(cases), "activity": list(steps), "time": pa.array(times)}
    parquet.write_table(pa.table(table), path)


# By what the command says: the first whose words it has.
WRITERS: list[tuple[str, Callable[[Path], object]]] = [
    ("--encoding", german),
    ("--time-of-day", two_columns),
    ("--start", start_and_end),
    ("--wide", wide),
    ("--skip-invalid", with_holes),
    ("orders.csv", plain),
    ("orders.xlsx", excel),
    ("orders.zip", zipped),
    ("orders.jsonl", json_lines),
    ("orders.sqlite", lambda path: objects().sqlite(path)),
    ("orders.json", lambda path: path.write_bytes(objects().json().encode())),
    ("orders.xml", lambda path: path.write_bytes(objects().xml().encode())),
    ("orders.xes.gz", xes),
    ("orders.parquet", columns),
]


def test_every_kind_is_shown_and_takes_at_most_eight_commands() -> None:
    for word, _ in WRITERS:
        assert any(word in line for line in IMPORTS), word
    assert len(IMPORTS) == len(WRITERS)
    assert len(AROUND) + 1 <= MOST_COMMANDS


@pytest.mark.parametrize("line", IMPORTS)
def test_a_file_of_this_kind_leads_to_a_chart(
    line: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in files(PAGE).items():
        Path(name).write_text(content, encoding="utf-8")
    write = next(write for word, write in WRITERS if word in line)
    write(Path(shlex.split(line)[3]))
    typed = [*AROUND[:2], line, *AROUND[2:]]
    for words in map(shlex.split, typed):
        if words[0] == "export":
            monkeypatch.setenv(*words[1].split("=", 1))
            continue
        code, out, errors = run(*words[1:])
        assert code == 0, f"{words}: {errors}"
        if words[:3] == ["pappi", "log", "import"]:
            assert "in 800 cases as 'orders'" in out
    report = Path("report.html").read_text(encoding="utf-8")
    assert "<svg" in report
    assert "Mean time from order to delivery" in report
