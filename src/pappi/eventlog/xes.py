"""The XES reader: streams `.xes` and `.xes.gz` through expat in constant memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

from pappi.errors import LogFormatError
from pappi.eventlog.files import open_log_file
from pappi.eventlog.log import Batches, Description, Guess, Progress, RecordBatch, no_progress
from pappi.eventlog.options import ReadOptions
from pappi.eventlog.xes_document import XesDocument
from pappi.eventlog.xes_values import DateReader

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

_CHUNK = 1 << 17

# What the counts of `_notices` are counts of.
_NOTICES = (
    "× a trace has the name of an earlier one: kept as a case of its own, as “name (2)”",
    "× a trace has no name: kept as the case “unnamed (1)”, “unnamed (2)”, …",
    "× a trace has no events: nothing to import from it",
    "× a whole number does not fit into 64 bits: kept as text in the extra column",
    "× a time:timestamp is no date: kept as an attribute; the event counts as without time",
    "× a date is finer than a microsecond: the rest was cut off",
)


class XesReader:
    """One XES file. Options other than the time zone do not apply: XES says the rest."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self._path = path
        self._options = options
        self._dates = DateReader(options.zone)
        self._parser, self._document = self._prepared()

    @property
    def name(self) -> str:
        return self._path.name

    def batches(self, progress: Progress = no_progress) -> Batches:
        with open_log_file(self._path) as file:
            while chunk := file.content.read(_CHUNK):
                self._parse(chunk, final=False)
                progress(file.done, file.total)
                yield from self._ready()
            self._parse(b"", final=True)
            self._document.finish()
            yield from self._ready()

    def description(self) -> Description:
        return Description(
            self._document.columns.described(), tuple(self._guesses()), tuple(self._notices())
        )

    def _prepared(self) -> tuple[XMLParserType, XesDocument]:
        parser = expat.ParserCreate()
        document = XesDocument(self.name, parser, self._dates)
        parser.StartElementHandler = self._start_root
        parser.EndElementHandler = document.end
        parser.StartDoctypeDeclHandler = self._refuse_declarations
        parser.EntityDeclHandler = self._refuse_declarations
        return parser, document

    def _start_root(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Decides, at the first element, how the others are spelled: <log> or <xes:log>."""
        prefix = tag[: tag.rfind(":") + 1]
        start = self._document.start
        if prefix:
            self._parser.StartElementHandler = lambda tag, attributes: start(
                tag.removeprefix(prefix), attributes
            )
        else:
            self._parser.StartElementHandler = start
        start(tag.removeprefix(prefix), attributes)

    def _refuse_declarations(self, *_declaration: object) -> None:
        raise LogFormatError(
            self.name,
            self._parser.CurrentLineNumber,
            "a document type or entity declaration, which no event log needs",
            hint="remove the <!DOCTYPE …> part: entities can expand without bound",
        )

    def _parse(self, chunk: bytes, *, final: bool) -> None:
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as error:
            raise self._malformed(error, final=final) from None

    def _malformed(self, error: expat.ExpatError, *, final: bool) -> LogFormatError:
        if final:
            cause = "the XML ends too early: the file is truncated"
            hint = "copy or download it again, and compare the size with the original"
        else:
            cause = f"malformed XML: {expat.ErrorString(error.code)}"
            hint = "export the log again, or correct the file at this line"
        return LogFormatError(self.name, error.lineno, cause, hint=hint)

    def _ready(self) -> Iterator[RecordBatch]:
        ready, self._document.ready = self._document.ready, []
        yield from ready

    def _guesses(self) -> Iterator[Guess]:
        if count := self._dates.without_offset:
            zone = self._options.timezone or "UTC"
            yield Guess(f"{count} dates without an offset", f"read as {zone}", "timezone")

    def _notices(self) -> Iterator[str]:
        counts = (
            self._document.duplicate_names,
            self._document.unnamed_traces,
            self._document.empty_traces,
            self._document.too_long_numbers,
            self._document.untyped_times,
            self._dates.finer,
        )
        return (f"{count} {what}" for count, what in zip(counts, _NOTICES, strict=True) if count)
