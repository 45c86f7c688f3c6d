"""The XML parser of the XES reader: expat, asked to tell where it stands.

It need not see the whole file. Where it stands right behind the end of a trace, whole traces
may be left out (`skip`): nothing inside them changes how the rest is to be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from xml.parsers import expat

from pappi.errors import LogFormatError, Option
from pappi.eventlog.log import RecordBatch
from pappi.eventlog.options import ReadOptions
from pappi.eventlog.xes_document import XesDocument
from pappi.eventlog.xes_values import DateReader

END_OF_TRACE = b"</trace>"

_STEP = 1 << 17
# What a character takes in UTF-8 at most.
_BYTES = 4


class XesParser:
    """Feeds one file to the document's handlers; its defects become LogFormatError."""

    def __init__(self, file: str, dates: DateReader, options: ReadOptions) -> None:
        self._file = file
        self._longest = _BYTES * options.longest_text + _STEP
        self._parser = parser = expat.ParserCreate()
        self._fed = 0
        self._lines_skipped = 0
        self._utf8 = True
        self._trace_end = -1
        self.document = XesDocument(dates, self._defect, self._at_trace_end, options.most_columns)
        parser.StartElementHandler = self._start_root
        parser.EndElementHandler = self.document.end
        parser.XmlDeclHandler = self._declared
        parser.StartDoctypeDeclHandler = self._refuse_declarations
        parser.EntityDeclHandler = self._refuse_declarations

    @property
    def between_traces(self) -> bool:
        """Whether all that was fed was read, and the last of it was `</trace>`, in UTF-8."""
        return self._utf8 and self._trace_end + len(END_OF_TRACE) == self._fed

    def feed(self, text: bytes) -> Iterator[RecordBatch]:
        """Reads on; gives the batches that have become full."""
        for begin in range(0, len(text), _STEP):
            step = text[begin : begin + _STEP]
            self._fed += len(step)
            self._parse(step, final=False)
            self._refuse_endless()
            yield from self.document.taken()

    def skip(self, traces: bytes) -> Iterator[RecordBatch]:
        """Leaves traces out that were read elsewhere; gives what was read before them."""
        self._lines_skipped += _lines(traces)
        self.document.hand_over()
        yield from self.document.taken()

    def finish(self) -> Iterator[RecordBatch]:
        self._parse(b"", final=True)
        self.document.hand_over()
        yield from self.document.taken()

    def _parse(self, text: bytes, *, final: bool) -> None:
        try:
            self._parser.Parse(text, final)
        except expat.ExpatError as error:
            raise self._malformed(error, final=final) from None

    def _malformed(self, error: expat.ExpatError, *, final: bool) -> LogFormatError:
        if final:
            cause = "the XML ends too early: the file is truncated"
            hint = "copy or download it again, and compare the size with the original"
        else:
            cause = f"malformed XML: {expat.ErrorString(error.code)}"
            hint = "export the log again, or correct the file at this line"
        return LogFormatError(self._file, error.lineno + self._lines_skipped, cause, hint=hint)

    def _refuse_endless(self) -> None:
        """Of a tag that goes on, expat reads all anew with every step."""
        if self._fed - self._parser.CurrentByteIndex > self._longest:
            raise self._defect(
                f"a tag or text that does not end within {self._longest >> 20} MB",
                "leave such values out, or say that texts may be longer",
                (Option("longest_text"),),
            )

    def _defect(self, cause: str, hint: str, options: Sequence[Option] = ()) -> LogFormatError:
        line = self._parser.CurrentLineNumber + self._lines_skipped
        return LogFormatError(self._file, line, cause, hint=hint, options=options)

    def _start_root(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Decides, at the first element, how the others are spelled: <log> or <xes:log>."""
        prefix = tag[: tag.rfind(":") + 1]
        start = self.document.start
        if prefix:
            self._parser.StartElementHandler = lambda tag, attributes: start(
                tag.removeprefix(prefix), attributes
            )
        else:
            self._parser.StartElementHandler = start
        start(tag.removeprefix(prefix), attributes)

    def _at_trace_end(self) -> None:
        self._trace_end = self._parser.CurrentByteIndex

    def _declared(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self._utf8 = encoding is None or encoding.lower() == "utf-8"

    def _refuse_declarations(self, *_declaration: object) -> None:
        raise self._defect(
            "a document type or entity declaration, which no event log needs",
            "remove the <!DOCTYPE …> part: entities can expand without bound",
        )


def _lines(text: bytes) -> int:
    """How many lines end in the text, each with LF, CR LF or CR."""
    import numpy as np

    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))
