"""The columns of a Parquet file in the types in which Spark's reader returns them.

Only conversions whose result is certain are made. Any other column raises :class:`CannotScan`, and
the scan is left to Spark: while a batch is planned nothing is lost by that, and a file that comes
to a running stream ends it with a message that names the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

UTC = pa.timestamp("us", tz="UTC")
NTZ = pa.timestamp("us")
#: Each type holds all values of those before it, and Spark reads the narrow ones as the wide ones.
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_SIGNED = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_UNSIGNED = {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.decimal128(20, 0)}
_PLAIN = {
    "BOOLEAN": pa.bool_(),
    "INT32": pa.int32(),
    "INT64": pa.int64(),
    "INT96": UTC,
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BYTE_ARRAY": pa.binary(),
    "FIXED_LEN_BYTE_ARRAY": pa.binary(),
}
_TEXTS = ("String", "Enum", "JSON")
_UNITS = ("milliseconds", "microseconds")
#: Spark changes values of files with the old calendar that lie before this day. Its own limits
#: differ by time zone; the latest of them is earlier.
_OLD = np.datetime64("1980-01-01")
_SPARK_VERSION = b"org.apache.spark.version"


class CannotScan(Exception):  # noqa: N818  (a reason, not an error)
    """Only Spark's reader can read this; the message says why."""


def spark_type(column: pq.ColumnSchema) -> pa.DataType:
    """Return the type that Spark finds for a column of a file."""
    logical = json.loads(column.logical_type.to_json())
    kind = logical["Type"]
    match kind:
        case "None":
            return _PLAIN[column.physical_type]
        case "Int":
            return (_SIGNED if logical["isSigned"] else _UNSIGNED)[logical["bitWidth"]]
        case "Decimal":
            return pa.decimal128(logical["precision"], logical["scale"])
        case "Date":
            return pa.date32()
        case "Timestamp" if logical["timeUnit"] in _UNITS:
            return UTC if logical["isAdjustedToUTC"] else NTZ
        case "BSON":
            return pa.binary()
    if kind in _TEXTS:
        return pa.string()
    unit = f" in {logical['timeUnit']}" if "timeUnit" in logical else ""
    raise CannotScan(f"it has the Parquet type {kind}{unit}")


def check_readable(found: pa.DataType, wanted: pa.DataType) -> None:
    """Raise unless Spark reads a column of type ``found`` as ``wanted``, and Arrow can too."""
    if pa.types.is_timestamp(wanted) and wanted.tz is not None:
        wanted = UTC  # a time zone changes how a value is written, not what it is
    if found == wanted or (found in _INTEGERS and wanted in _INTEGERS[_INTEGERS.index(found) :]):
        return
    if (found, wanted) == (pa.float32(), pa.float64()):
        return
    raise CannotScan(f"it has type {found} there, and {wanted} is wanted")


def converted(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Return a column, as pyarrow read it, in a type that :func:`check_readable` allows.

    Files written by Arrow remember types that Spark knows nothing of: dictionaries, large strings,
    durations, other time zones.
    """
    if column.type == wanted:
        return column
    if isinstance(column.type, pa.BaseExtensionType):
        storage = column.type.storage_type
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], storage)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(wanted) and pa.types.is_binary(column.type):
        # Spark does not look whether bytes are UTF-8.
        return pa.chunked_array([chunk.view(wanted) for chunk in column.chunks], wanted)
    if pa.types.is_timestamp(wanted) and wanted.tz is not None and column.type.tz is None:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))  # INT96, which has no zone
    return column.cast(wanted)


@dataclass(frozen=True)
class Calendar:
    """Spark's settings of the calendar in which dates and times of files were written."""

    dates: str = "CORRECTED"
    int96: str = "CORRECTED"

    def is_old(self, metadata: Mapping[bytes, bytes] | None, *, int96: bool) -> bool:
        """Return whether a file may have values in the calendar of Spark 2."""
        known = metadata or {}
        if _SPARK_VERSION not in known:
            return (self.int96 if int96 else self.dates) != "CORRECTED"
        first = (3, 1) if int96 else (3, 0)
        version = tuple(int(part) for part in known[_SPARK_VERSION].split(b".")[:2])
        flag = b"org.apache.spark.legacyINT96" if int96 else b"org.apache.spark.legacyDateTime"
        return version < first or flag in known


def has_old_values(column: pa.ChunkedArray) -> bool:
    """Return whether a column of dates or times has values that Spark may have to change."""
    type_ = column.type
    limit = pa.scalar(_OLD.astype("datetime64[D]").item(), pa.date32())
    if pa.types.is_timestamp(type_):
        limit = limit.cast(pa.timestamp("us")).cast(pa.int64())
        column = column.cast(pa.int64())
    return bool(pc.any(pc.less(column, limit)).as_py())
