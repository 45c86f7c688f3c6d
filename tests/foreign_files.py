"""Files as other programs write them, made by hand: workbooks and object-centric logs."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

Cell = str | float | bool | datetime | None
Rows = Sequence[Sequence[Cell]]

_BEGINS = datetime(1899, 12, 30)  # noqa: DTZ001 - what stands on the wall
_TYPES = "http://schemas.openxmlformats.org"
_MAIN = f"{_TYPES}/spreadsheetml/2006/main"
_RELATED = f"{_TYPES}/officeDocument/2006/relationships"


def workbook(sheets: Mapping[str, Rows]) -> bytes:
    """An .xlsx file; moments are numbers that are shown as dates."""
    names = list(sheets)
    numbered = [(f"rId{n}", f"sheet{n}", name) for n, name in enumerate(names, 1)]
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_TYPES}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
        'relationships+xml"/><Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_TYPES}/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{_RELATED}/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>",
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATED}"><sheets>'
        + "".join(
            f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="{key}"/>'
            for n, (key, _, name) in enumerate(numbered, 1)
        )
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_TYPES}/package/2006/relationships">'
        + "".join(
            f'<Relationship Id="{key}" Type="{_RELATED}/worksheet" Target="worksheets/{file}.xml"/>'
            for key, file, _ in numbered
        )
        + f'<Relationship Id="s" Type="{_RELATED}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><cellXfs><xf numFmtId="0"/>'
        '<xf numFmtId="22" applyNumberFormat="1"/></cellXfs></styleSheet>',
    }
    for (_, file, _), rows in zip(numbered, sheets.values(), strict=True):
        table = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
        content = f"<sheetData>{table}</sheetData>"
        parts[f"xl/worksheets/{file}.xml"] = f'<worksheet xmlns="{_MAIN}">{content}</worksheet>'
    return archive(parts)


def _cell(value: Cell) -> str:
    match value:
        case None:
            return "<c/>"
        case bool():
            return f'<c t="b"><v>{int(value)}</v></c>'
        case int() | float():
            return f"<c><v>{value}</v></c>"
        case datetime():
            return f'<c s="1"><v>{(value - _BEGINS) / timedelta(days=1)}</v></c>'
    return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def archive(members: Mapping[str, str | bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in members.items():
            file.writestr(name, text)
    return content.getvalue()


class Objects:
    """An object-centric log: events (type, time, attributes, objects), objects by their names."""

    def __init__(
        self,
        events: Sequence[tuple[str, str, Mapping[str, str], Sequence[str]]],
        objects: Mapping[str, tuple[str, Sequence[tuple[str, str, str]]]],
    ) -> None:
        self.events = events
        self.objects = objects

    def json(self) -> str:
        events = [
            {
                "id": f"e{n}",
                "type": of,
                "time": at,
                "attributes": [{"name": k, "value": v} for k, v in given.items()],
                "relationships": [{"objectId": o, "qualifier": "q"} for o in objects],
            }
            for n, (of, at, given, objects) in enumerate(self.events)
        ]
        objects = [
            {
                "id": key,
                "type": of,
                "attributes": [{"name": k, "time": t, "value": v} for k, t, v in given],
            }
            for key, (of, given) in self.objects.items()
        ]
        return json.dumps(
            {"objectTypes": [], "eventTypes": [], "events": events, "objects": objects}
        )

    def old_json(self) -> str:
        events = {
            f"e{n}": {
                "ocel:activity": of,
                "ocel:timestamp": at,
                "ocel:vmap": given,
                "ocel:omap": objects,
            }
            for n, (of, at, given, objects) in enumerate(self.events)
        }
        objects = {
            key: {"ocel:type": of, "ocel:ovmap": {k: v for k, _, v in given}}
            for key, (of, given) in self.objects.items()
        }
        return json.dumps({"ocel:events": events, "ocel:objects": objects})

    def xml(self) -> str:
        events = "".join(
            f'<event id="e{n}" type="{of}" time="{at}"><attributes>'
            + "".join(f'<attribute name="{k}">{v}</attribute>' for k, v in given.items())
            + "</attributes><objects>"
            + "".join(f'<relationship object-id="{o}" qualifier="q"/>' for o in objects)
            + "</objects></event>"
            for n, (of, at, given, objects) in enumerate(self.events)
        )
        objects = "".join(
            f'<object id="{key}" type="{of}"><attributes>'
            + "".join(f'<attribute name="{k}" time="{t}">{v}</attribute>' for k, t, v in given)
            + "</attributes></object>"
            for key, (of, given) in self.objects.items()
        )
        parts = f"<objects>{objects}</objects><events>{events}</events>"
        return f"<log><object-types/><event-types/>{parts}</log>"

    def old_xml(self) -> str:
        events = "".join(
            f'<event><string key="id" value="e{n}"/><string key="activity" value="{of}"/>'
            f'<date key="timestamp" value="{at}"/><list key="omap">'
            + "".join(f'<string key="object-id" value="{o}"/>' for o in objects)
            + '</list><list key="vmap">'
            + "".join(f'<string key="{k}" value="{v}"/>' for k, v in given.items())
            + "</list></event>"
            for n, (of, at, given, objects) in enumerate(self.events)
        )
        objects = "".join(
            f'<object><string key="id" value="{key}"/><string key="type" value="{of}"/>'
            '<list key="ovmap">'
            + "".join(f'<string key="{k}" value="{v}"/>' for k, _, v in given)
            + "</list></object>"
            for key, (of, given) in self.objects.items()
        )
        return f"<log><events>{events}</events><objects>{objects}</objects></log>"

    def sqlite(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as db:
            for kind in ("event", "object"):
                db.execute(f"CREATE TABLE {kind} (ocel_id, ocel_type)")
                db.execute(f"CREATE TABLE {kind}_map_type (ocel_type, ocel_type_map)")
            db.execute("CREATE TABLE event_object (ocel_event_id, ocel_object_id, ocel_qualifier)")
            rows = [(f"e{n}", of) for n, (of, *_) in enumerate(self.events)]
            db.executemany("INSERT INTO event VALUES (?, ?)", rows)
            self._events(db)
            self._objects(db)
            db.commit()

    def _events(self, db: sqlite3.Connection) -> None:
        names = sorted({name for _, _, given, _ in self.events for name in given})
        more = "".join(f', "{name}"' for name in names)
        for number, of in enumerate(sorted({of for of, *_ in self.events})):
            db.execute("INSERT INTO event_map_type VALUES (?, ?)", [of, f"T{number}"])
            db.execute(f"CREATE TABLE event_T{number} (ocel_id, ocel_time{more})")
            for n, (its, at, given, objects) in enumerate(self.events):
                if its == of:
                    values = [f"e{n}", at, *(given.get(name) for name in names)]
                    marks = ", ".join("?" * len(values))
                    db.execute(f"INSERT INTO event_T{number} VALUES ({marks})", values)  # noqa: S608
                    db.executemany(
                        "INSERT INTO event_object VALUES (?, ?, 'q')",
                        [(f"e{n}", o) for o in objects],
                    )

    def _objects(self, db: sqlite3.Connection) -> None:
        names = sorted({name for _, given in self.objects.values() for name, _, _ in given})
        more = "".join(f', "{name}"' for name in names)
        columns = f"ocel_id, ocel_time, ocel_changed_field{more}"
        for number, of in enumerate(sorted({of for of, _ in self.objects.values()})):
            db.execute("INSERT INTO object_map_type VALUES (?, ?)", [of, f"T{number}"])
            db.execute(f"CREATE TABLE object_T{number} ({columns})")
            for key, (its, given) in self.objects.items():
                for place, (name, at, value) in enumerate(given or [("", "", "")]):
                    if its == of:
                        changed = name if place else None
                        values = [value if name == column else None for column in names]
                        marks = ", ".join("?" * (3 + len(values)))
                        row = [key, at, changed, *values]
                        db.execute(f"INSERT INTO object_T{number} VALUES ({marks})", row)  # noqa: S608
