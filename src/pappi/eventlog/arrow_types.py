"""How each Arrow type is stored in an event table.

Four storage types are enough for every engine (64-bit integers, doubles, truth values,
text); what cannot be one of them without loss becomes JSON text, and is reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pappi.eventlog.log import ArrowArray, ArrowType
from pappi.eventlog.zones import instants
from pappi.values.vocabulary import Kind

if TYPE_CHECKING:
    from pappi.eventlog.clocks import LogClock


@dataclass(frozen=True, slots=True)
class StoredType:
    """Kind, source type in plain words, conversion, and what the owner should know."""

    kind: Kind
    source: str
    convert: Callable[[ArrowArray, LogClock], ArrowArray]
    notice: str = ""


def stored_type(arrow_type: ArrowType) -> StoredType:
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if types.is_null(arrow_type) or _is_text(arrow_type):
        return StoredType(Kind.TEXT, "text", _cast_to("string"))
    if types.is_boolean(arrow_type):
        return StoredType(Kind.TRUTH, "boolean", _cast_to("bool"))
    if types.is_timestamp(arrow_type) or types.is_date(arrow_type):
        return StoredType(Kind.TIME, "time", _time)
    if types.is_duration(arrow_type):
        return StoredType(Kind.DURATION, "duration", _duration)
    return _stored_number(arrow_type) or StoredType(
        Kind.TEXT, "json", _json, f"holds {arrow_type}: kept as JSON text"
    )


def _stored_number(arrow_type: ArrowType) -> StoredType | None:
    from pyarrow import types

    if types.is_uint64(arrow_type):  # may exceed 64 bits with a sign
        return StoredType(Kind.TEXT, "text", _cast_to("string"), "holds uint64: kept as text")
    if types.is_integer(arrow_type):
        return StoredType(Kind.NUMBER, "integer", _cast_to("int64"))
    if types.is_floating(arrow_type):
        return StoredType(Kind.NUMBER, "float", _cast_to("float64"))
    if types.is_decimal(arrow_type):
        notice = f"holds {arrow_type}: kept as the nearest double"
        return StoredType(Kind.NUMBER, "float", _nearest_doubles, notice)
    return None


def _is_text(arrow_type: ArrowType) -> bool:
    from pyarrow import types

    return bool(
        types.is_string(arrow_type)
        or types.is_large_string(arrow_type)
        or types.is_string_view(arrow_type)
    )


def _cast_to(name: str) -> Callable[[ArrowArray, LogClock], ArrowArray]:
    def cast(column: ArrowArray, _clock: LogClock) -> ArrowArray:
        import pyarrow as pa

        return column.cast(pa.type_for_alias(name))

    return cast


def _nearest_doubles(column: ArrowArray, _clock: LogClock) -> ArrowArray:
    """By way of text: Arrow's own conversion scales by a double, and is off for one in ten prices.

    As whole numbers with an exponent, because Arrow writes no decimal of an unusual scale.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    of = column.type
    wide = {32: pa.decimal32, 64: pa.decimal64, 128: pa.decimal128, 256: pa.decimal256}
    digits = column.view(wide[of.bit_width](of.precision, 0)).cast(pa.string())
    written = pc.binary_join_element_wise(digits, f"e{-of.scale}", "")
    return written.cast(pa.float64())


def _time(column: ArrowArray, clock: LogClock) -> ArrowArray:
    """UTC microseconds; a time without zone is wall clock of the log's zone, or UTC."""
    import numpy as np
    import pyarrow as pa

    us = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False)
    numbers = us.cast(pa.int64())
    if getattr(column.type, "tz", None) is not None:
        return numbers
    clock.without_offset += len(column) - column.null_count
    if clock.clock.zone is None:
        return numbers
    wall = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    absent = numbers.is_null().to_numpy(zero_copy_only=False)
    read = instants(wall[~absent], clock.clock.zone)
    clock.skipped += read.skipped
    clock.twice += read.twice
    us = np.zeros(len(wall), np.int64)
    us[~absent] = read.us
    return pa.array(us, pa.int64(), mask=absent)


def _duration(column: ArrowArray, _clock: LogClock) -> ArrowArray:
    import pyarrow as pa

    return column.cast(pa.duration("us"), safe=False).cast(pa.int64())


def _json(column: ArrowArray, _clock: LogClock) -> ArrowArray:
    import pyarrow as pa

    texts = (
        None if value is None else json.dumps(value, ensure_ascii=False, default=str)
        for value in column.to_pylist()
    )
    return pa.array(list(texts), pa.string())
