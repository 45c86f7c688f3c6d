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


class LogFile:
    """The plain bytes of a log file, counting the bytes taken from the disk."""

    def __init__(self, raw: BinaryIO, content: BinaryIO, total: int) -> None:
        self._raw = raw
        self.content = content
        self.total = total

    @property
    def done(self) -> int:
        return self._raw.tell()


@contextmanager
def open_log_file(path: Path) -> Iterator[LogFile]:
    """The file, decompressed by content and not by name; its defects as LogFormatError."""
    try:
        with path.open("rb") as raw:
            compressed = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            content = cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if compressed else raw
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
