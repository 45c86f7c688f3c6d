"""Opening log files, compressed or not, and saying clearly what is wrong with them."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from pappi.errors import LogFormatError

_GZIP_MAGIC = b"\x1f\x8b"
# Event logs shrink to a tenth, repetitive ones to a hundredth. What grows more than this, and
# beyond a size that harms nobody, was made to exhaust its reader.
_EXPANSION = 400
_HARMLESS = 1 << 28


class LogFile:
    """The plain bytes of a log file, counting the bytes taken from the disk."""

    def __init__(self, raw: BinaryIO, content: BinaryIO, total: int) -> None:
        self._raw = raw
        self.content = content
        self.total = total

    @property
    def done(self) -> int:
        return self._raw.tell()


class _Unpacked(gzip.GzipFile):
    """The content of a compressed file, refused as soon as it is out of all proportion."""

    def __init__(self, path: Path, raw: BinaryIO) -> None:
        super().__init__(fileobj=raw)
        self._path = path
        self._most = max(_HARMLESS, path.stat().st_size * _EXPANSION)

    def read(self, size: int | None = -1) -> bytes:
        return self._checked(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._checked(super().read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        return self._checked(super().readline(size))

    def _checked(self, content: bytes) -> bytes:
        if self.tell() > self._most:
            raise LogFormatError(
                self._path.name,
                None,
                f"the compressed file grows to more than {_EXPANSION} times its size",
                hint="files are made so to exhaust who reads them; if this one is right, "
                "decompress it first",
            )
        return content


@contextmanager
def open_log_file(path: Path) -> Iterator[LogFile]:
    """The file, decompressed by content and not by name; its defects as LogFormatError."""
    try:
        with path.open("rb") as raw:
            compressed = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            content = cast("BinaryIO", _Unpacked(path, raw)) if compressed else raw
            yield LogFile(raw, content, path.stat().st_size)
    except EOFError:
        raise LogFormatError(
            path.name,
            None,
            "the compressed file ends too early: it is truncated",
            hint="copy or download it again, and compare the size with the original",
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise LogFormatError(
            path.name,
            None,
            f"the compressed file is damaged: {error}",
            hint="copy or download it again",
        ) from None
    except OSError as error:
        raise LogFormatError(
            path.name,
            None,
            f"cannot be read: {error.strerror or error}",
            hint="check path and rights",
        ) from None
