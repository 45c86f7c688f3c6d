"""Object-centric event logs, OCEL 2.0 in SQLite, JSON and XML, and the older JSON and XML.

Events there concern objects of several types. One type is chosen, its objects are the cases, and
a case is all events that concern its object. An event that concerns several of them is in each of
their cases, once. Nothing is kept of an event's other objects: a case says something about its own
object and about no other, and removing an object removes exactly its case. That makes the object a
sound privacy unit. The event is not one: whether it took place can show in every case it concerns.

An attribute of the object is `case:…`. If it changes, an event has the value at its time.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.parsers import expat

from sqlglot import exp

from pappi.errors import LogFormatError, Option, UsageError
from pappi.eventlog.files import Place, log_bytes, open_log_file, refuse_many_columns
from pappi.eventlog.log import Guess, Progress, ReadOptions, RecordBatch
from pappi.eventlog.texts import TableSource, as_text, document, list_source, text_batches

_CASE, _ACTIVITY, _TIME = "object", "event type", "event time"
_BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class OcelEvent:
    type: str
    time: str
    attributes: Mapping[str, str]
    objects: Sequence[str]


@dataclass(frozen=True, slots=True)
class OcelObject:
    """Its type, and the values of its attributes in the order of their times."""

    type: str
    values: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)

    def at(self, name: str, moment: str) -> str:
        """The value at a moment; the first one before that. Moments are compared as texts."""
        history = self.values.get(name, ())
        earlier = [value for since, value in history if since <= moment.replace("T", " ")]
        return earlier[-1] if earlier else history[0][1] if history else ""


class Ocel:
    """A whole log, in memory."""

    def __init__(
        self, name: str, events: Sequence[OcelEvent], objects: Mapping[str, OcelObject]
    ) -> None:
        self.name = name
        self._events = events
        self._objects = objects

    def source(self, options: ReadOptions) -> TableSource:
        return _ObjectCases(self, self._chosen(options.object_type), options)

    def reading(self, options: ReadOptions) -> ReadOptions:
        """How to read the resulting table; its times follow a standard, so a Z is true."""
        return replace(options, case=_CASE, activity=_ACTIVITY, timestamp=_TIME, z_is_utc=True)

    def rows(self, object_type: str) -> Iterator[tuple[str, OcelEvent]]:
        """Each event with each object of the type that it concerns."""
        for event in self._events:
            for concerned in dict.fromkeys(event.objects):
                obj = self._objects.get(concerned)
                if obj is not None and obj.type == object_type:
                    yield concerned, event

    def object(self, name: str) -> OcelObject:
        return self._objects[name]

    @property
    def events(self) -> int:
        return len(self._events)

    def types(self) -> dict[str, tuple[int, int]]:
        """How many objects each type has, and how many events concern one of them; most first."""
        objects = Counter(obj.type for obj in self._objects.values())
        events = Counter(
            of
            for event in self._events
            for of in {self._objects[o].type for o in event.objects if o in self._objects}
        )
        ranked = sorted(objects, key=lambda of: (-events[of], objects[of], of))
        return {of: (objects[of], events[of]) for of in ranked}

    def _chosen(self, requested: str | None) -> str:
        types = self.types()
        if not types:
            raise LogFormatError(
                self.name, None, "the log has no objects", hint="check how it was exported"
            )
        if requested in types:
            return str(requested)
        listing = ", ".join(
            f"{of!r} ({objects:,} objects in {events:,} events)"
            for of, (objects, events) in list(types.items())[:20]
        )
        if requested is not None:
            raise UsageError(
                f"no object has the type {requested!r}", hint=f"the object types are {listing}"
            )
        if len(types) > 1:
            raise LogFormatError(
                self.name,
                None,
                f"events concern objects of {len(types)} types: {listing}",
                hint="a case is all events of one object, and the object is what is protected: "
                "choose a type, e.g.",
                options=(Option("object_type", next(iter(types))),),
            )
        return next(iter(types))


class _ObjectCases(TableSource):
    """The events of a log as a table, by the objects of one type."""

    def __init__(self, log: Ocel, object_type: str, options: ReadOptions) -> None:
        self._log = log
        self._type = object_type
        self.name = log.name
        self._guessed = options.object_type is None
        self._rows = list(log.rows(object_type))
        if not self._rows:
            raise LogFormatError(
                log.name,
                None,
                f"no event concerns an object of type {object_type!r}",
                hint="name another type",
                options=(Option("object_type"),),
            )
        of_events: dict[str, None] = {}
        of_objects: dict[str, None] = {}
        for case, event in self._rows:
            of_events.update(dict.fromkeys(event.attributes))
            of_objects.update(dict.fromkeys(log.object(case).values))
        self._of_events, self._of_objects = tuple(of_events), tuple(of_objects)
        self.names = (
            _CASE,
            _ACTIVITY,
            _TIME,
            *self._of_events,
            *(f"case:{name}" for name in self._of_objects),
        )
        refuse_many_columns(self.name, None, len(self.names), options)

    def batches(self, progress: Progress) -> Iterator[RecordBatch]:
        rows = map(self._texts, self._rows)
        yield from text_batches(rows, len(self.names), progress, len(self._rows))

    def _texts(self, row: tuple[str, OcelEvent]) -> Sequence[str]:
        case, event = row
        obj = self._log.object(case)
        return (
            case,
            event.type,
            event.time,
            *(event.attributes.get(name, "") for name in self._of_events),
            *(obj.at(name, event.time) for name in self._of_objects),
        )

    def place(self, row: int) -> str:
        return f"an event of the object {self._rows[row][0]!r}"

    def guesses(self) -> Iterator[Guess]:
        if self._guessed:
            yield Guess("cases", f"the objects of the only type, {self._type!r}", "object_type")

    def notices(self) -> Iterator[str]:
        several = len(self._rows) - len({id(event) for _, event in self._rows})
        if several:
            yield (
                f"events that concern several objects of type {self._type!r} are in the case of "
                f"each: {several:,} more events than in the file"
            )
        unused = self._log.events - len({id(event) for _, event in self._rows})
        if unused:
            subject = "1 event concerns" if unused == 1 else f"{unused:,} events concern"
            yield f"{subject} no object of type {self._type!r}: left out"


# --- JSON ----------------------------------------------------------------------------


def json_source(place: Place, options: ReadOptions) -> tuple[TableSource, ReadOptions]:
    """What a JSON file is: an object-centric log, old or new, or a list of events."""
    content = document(place)
    try:
        if isinstance(content, dict) and isinstance(content.get("ocel:events"), dict):
            log = _old_json(place.name, content)
        elif isinstance(content, dict) and {"events", "objects"} <= {*content}:
            log = _new_json(place.name, content)
        else:
            return list_source(place.name, content, options), options
    except (KeyError, TypeError, AttributeError) as error:
        raise _not_ocel(place.name, f"something lacks {error}") from None
    return log.source(options), log.reading(options)


def _new_json(name: str, content: Mapping[str, Any]) -> Ocel:
    events = [
        OcelEvent(
            as_text(event["type"]),
            as_text(event["time"]),
            _named((a["name"], a["value"]) for a in event.get("attributes", ())),
            [as_text(related["objectId"]) for related in event.get("relationships", ())],
        )
        for event in content["events"]
    ]
    objects = {
        as_text(obj["id"]): OcelObject(
            as_text(obj["type"]),
            _in_time(
                (as_text(a["name"]), as_text(a.get("time")), as_text(a["value"]))
                for a in obj.get("attributes", ())
            ),
        )
        for obj in content["objects"]
    }
    return Ocel(name, events, objects)


def _old_json(name: str, content: Mapping[str, Any]) -> Ocel:
    events = [
        OcelEvent(
            as_text(event["ocel:activity"]),
            as_text(event["ocel:timestamp"]),
            _named(event.get("ocel:vmap", {}).items()),
            [as_text(related) for related in event["ocel:omap"]],
        )
        for event in content["ocel:events"].values()
    ]
    objects = {
        key: OcelObject(
            as_text(obj["ocel:type"]),
            _in_time((a, "", as_text(value)) for a, value in obj.get("ocel:ovmap", {}).items()),
        )
        for key, obj in content["ocel:objects"].items()
    }
    return Ocel(name, events, objects)


def _named(values: Iterable[tuple[object, object]]) -> dict[str, str]:
    return {as_text(name): as_text(value) for name, value in values}


def _in_time(values: Iterator[tuple[str, str, str]]) -> dict[str, list[tuple[str, str]]]:
    histories: dict[str, list[tuple[str, str]]] = {}
    for name, since, value in sorted(values, key=lambda item: item[1]):
        histories.setdefault(name, []).append((since.replace("T", " "), value))
    return histories


def _not_ocel(name: str, why: str) -> LogFormatError:
    return LogFormatError(
        name,
        None,
        f"not an OCEL 2.0 log: {why}",
        hint="export it again, or give the events as CSV, Parquet or XES",
    )


# --- SQLite --------------------------------------------------------------------------


def ocel_in_sqlite(place: Place) -> Ocel:
    try:
        with closing(_connected(place)) as connection:
            return _read_tables(place.name, connection)
    except (sqlite3.Error, UnicodeDecodeError, IndexError, KeyError) as error:
        raise _not_ocel(place.name, str(error)) from None


def _connected(place: Place) -> sqlite3.Connection:
    if isinstance(place, Path):
        address = f"{place.absolute().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True)
    else:
        connection = sqlite3.connect(":memory:")
        connection.deserialize(log_bytes(place))
    # Nothing that the file defines is run. Only stored tables are read: no virtual table, view,
    # trigger or generated column, which could produce gigabytes.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.row_factory = sqlite3.Row
    return connection


def _read_tables(name: str, connection: sqlite3.Connection) -> Ocel:
    tables = {
        row["name"]
        for row in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
        )
    }

    def rows(table: str) -> Iterator[Mapping[str, Any]]:
        if table not in tables:
            raise _not_ocel(name, f"it has no table {table!r}")
        quoted = exp.Table(this=exp.to_identifier(table, quoted=True))
        stored = [
            exp.column(exp.to_identifier(column["name"], quoted=True))
            for column in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        ]
        for row in connection.execute(exp.select(*stored).from_(quoted).sql("sqlite")):
            yield {key: row[key] for key in row.keys()}  # noqa: SIM118 - no mapping

    related: dict[str, list[str]] = {}
    for row in rows("event_object"):
        related.setdefault(row["ocel_event_id"], []).append(as_text(row["ocel_object_id"]))
    order = {row["ocel_id"]: number for number, row in enumerate(rows("event"))}
    placed: list[tuple[int, OcelEvent]] = []
    objects = {}
    for kind in rows("event_map_type"):
        for row in rows(f"event_{kind['ocel_type_map']}"):
            attributes = {
                key: as_text(value) for key, value in row.items() if not key.startswith("ocel_")
            }
            concerned = related.get(row["ocel_id"], ())
            time = as_text(row["ocel_time"])
            event = OcelEvent(as_text(kind["ocel_type"]), time, attributes, concerned)
            placed.append((order.get(row["ocel_id"], len(order)), event))
    for kind in rows("object_map_type"):
        histories: dict[str, list[tuple[str, str, str]]] = {}
        for row in rows(f"object_{kind['ocel_type_map']}"):
            changed = row.get("ocel_changed_field")
            history = histories.setdefault(as_text(row["ocel_id"]), [])
            history += [
                (key, as_text(row.get("ocel_time")), as_text(value))
                for key, value in row.items()
                if not key.startswith("ocel_") and value is not None and changed in (None, "", key)
            ]
        for key, values in histories.items():
            objects[key] = OcelObject(as_text(kind["ocel_type"]), _in_time(iter(values)))
    # Each type has a table of its own; their common order is that of all events.
    events = [event for _, event in sorted(placed, key=lambda pair: pair[0])]
    return Ocel(name, events, objects)


# --- XML -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Element:
    tag: str
    attributes: Mapping[str, str]
    children: list[_Element] = field(default_factory=list)
    text: str = ""

    def each(self, *path: str) -> Iterator[_Element]:
        """The elements below, by their tags; `*` is any."""
        for child in self.children:
            if path[0] in (child.tag, "*"):
                yield from child.each(*path[1:]) if path[1:] else (child,)

    def keyed(self, key: str) -> _Element:
        """Of the old format: the child with this key."""
        matches = (child for child in self.children if child.attributes.get("key") == key)
        return next(matches, _Element("", {}))


def ocel_in_xml(place: Place) -> Ocel:
    root = _xml(place)
    try:
        if any(element.keyed("id").tag for element in root.each("events", "event")):
            return _old_xml(place.name, root)
        return _new_xml(place.name, root)
    except KeyError as error:
        raise _not_ocel(place.name, f"something lacks {error}") from None


def _new_xml(name: str, root: _Element) -> Ocel:
    events = [
        OcelEvent(
            event.attributes["type"],
            event.attributes["time"],
            {a.attributes["name"]: a.text.strip() for a in event.each("attributes", "attribute")},
            [related.attributes["object-id"] for related in event.each("objects", "*")],
        )
        for event in root.each("events", "event")
    ]
    objects = {
        obj.attributes["id"]: OcelObject(
            obj.attributes["type"],
            _in_time(
                (a.attributes["name"], a.attributes.get("time", ""), a.text.strip())
                for a in obj.each("attributes", "attribute")
            ),
        )
        for obj in root.each("objects", "object")
    }
    return Ocel(name, events, objects)


def _old_xml(name: str, root: _Element) -> Ocel:
    events = [
        OcelEvent(
            event.keyed("activity").attributes["value"],
            event.keyed("timestamp").attributes["value"],
            {a.attributes["key"]: a.attributes["value"] for a in event.keyed("vmap").children},
            [o.attributes["value"] for o in event.keyed("omap").children],
        )
        for event in root.each("events", "event")
    ]
    objects = {
        obj.keyed("id").attributes["value"]: OcelObject(
            obj.keyed("type").attributes["value"],
            _in_time(
                (a.attributes["key"], "", a.attributes["value"])
                for a in obj.keyed("ovmap").children
            ),
        )
        for obj in root.each("objects", "object")
    }
    return Ocel(name, events, objects)


def _xml(place: Place) -> _Element:
    """The document as a tree; entities and document types are refused."""
    parser = expat.ParserCreate()
    root = _Element("", {})
    open_elements = [root]

    def start(tag: str, attributes: Mapping[str, str]) -> None:
        element = _Element(tag.rpartition(":")[2], attributes)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_tag: str) -> None:
        open_elements.pop()

    def text(data: str) -> None:
        if not open_elements[-1].children:  # a value; text between elements is not one
            open_elements[-1].text += data

    def refuse(*_declaration: object) -> None:
        raise LogFormatError(
            place.name,
            parser.CurrentLineNumber,
            "document type and entity declarations are not accepted in an event log",
            hint="remove the <!DOCTYPE …> part: entities can expand without bound",
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.buffer_text = True
    with open_log_file(place) as file:
        try:
            while block := file.content.read(_BLOCK):
                parser.Parse(block, False)  # noqa: FBT003 - expat's own
            parser.Parse(b"", True)  # noqa: FBT003 - expat's own
        except expat.ExpatError as error:
            raise LogFormatError(
                place.name,
                error.lineno,
                f"malformed XML: {expat.ErrorString(error.code)}",
                hint="export the log again, or correct the file at this line",
            ) from None
    if len(root.children) != 1 or root.children[0].tag != "log":
        raise _not_ocel(place.name, "it does not begin with <log>")
    return root.children[0]
