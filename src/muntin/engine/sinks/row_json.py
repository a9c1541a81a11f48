"""Rows of an Arrow table as JSON objects, one text a row, as Spark's ``to_json`` writes them.

Times are written in the session's zone, with microseconds where there are any; Spark cuts them off
after milliseconds. NaN and the infinities are texts, because JSON has no numbers for them.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal

import pyarrow as pa


def row_lines(table: pa.Table, zone: tzinfo) -> list[str]:
    """Return every row of a table as a JSON object, with nulls.

    >>> from datetime import UTC
    >>> row_lines(pa.table({"k": ["a", None], "n": [1.5, float("nan")]}), UTC)
    ['{"k":"a","n":1.5}', '{"k":null,"n":"NaN"}']
    """
    names = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    columns = [
        [_written(value, field.type, zone) for value in column.to_pylist()]
        for field, column in zip(table.schema, table.columns, strict=True)
    ]
    return [
        "{" + ",".join(f"{name}:{text}" for name, text in zip(names, row, strict=True)) + "}"
        for row in zip(*columns, strict=True)
    ]


def _written(value: object, kind: pa.DataType, zone: tzinfo) -> str:
    """Return a value as JSON."""
    if isinstance(value, list) and pa.types.is_map(kind):
        parts = [f"{_key(key)}:{_written(item, kind.item_type, zone)}" for key, item in value]
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_written(item, kind.value_type, zone) for item in value) + "]"
    if isinstance(value, Mapping):
        parts = [
            f"{_key(name)}:{_written(item, kind.field(name).type, zone)}"
            for name, item in value.items()
        ]
        return "{" + ",".join(parts) + "}"
    return _scalar(value, zone)


def _key(name: object) -> str:
    return json.dumps(str(name), ensure_ascii=False)


def _scalar(value: object, zone: tzinfo) -> str:
    match value:
        case float() if not math.isfinite(value):
            return {math.inf: '"Infinity"', -math.inf: '"-Infinity"'}.get(value, '"NaN"')
        case Decimal():
            return format(value, "f")
        case datetime():
            return f'"{_time(value, zone)}"'
        case date() | time():
            return f'"{value.isoformat()}"'
        case timedelta():
            return json.dumps(value.total_seconds())
        case bytes():
            return f'"{base64.b64encode(value).decode()}"'
        case _:
            return json.dumps(value, ensure_ascii=False)


def _time(value: datetime, zone: tzinfo) -> str:
    exact = "microseconds" if value.microsecond % 1000 else "milliseconds"
    if value.tzinfo is None:
        return value.isoformat(timespec=exact)
    text = value.astimezone(zone).isoformat(timespec=exact)
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text
