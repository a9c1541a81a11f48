"""Tables as the service answers them: JSON for the page, and files in other forms."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from types import MappingProxyType

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from muntin.engine.sinks.row_json import row_lines
from muntin.errors import ArgumentError
from muntin.server.shapes import columns_of

#: How many rows are written at a time.
_PART = 20_000
#: Writes a table in parts; times of JSON are in the zone.
Written = Callable[[pa.Table, tzinfo], Iterator[bytes]]


@dataclass(frozen=True)
class AnswerForm:
    """A form in which tables are answered: its media type, and how files of it end."""

    media: str
    ending: str
    written: Written


def rows_json(table: pa.Table, limit: int, zone: tzinfo = UTC) -> bytes:
    """Return a table as JSON: its columns, and at most so many rows as objects.

    >>> rows_json(pa.table({"k": ["a", "b"]}), 1).decode()
    '{"columns":[{"name":"k","type":"string"}],"rows":[{"k":"a"}],"count":1,"truncated":true}'
    """
    shown = table.slice(0, limit)
    columns = json.dumps(columns_of(table.schema), ensure_ascii=False, separators=(",", ":"))
    rows = ",".join(row_lines(shown, zone))
    truncated = json.dumps(table.num_rows > limit)
    return (
        f'{{"columns":{columns},"rows":[{rows}],"count":{shown.num_rows},"truncated":{truncated}}}'
    ).encode()


def _json(table: pa.Table, zone: tzinfo) -> Iterator[bytes]:
    yield rows_json(table, table.num_rows, zone)


def _json_lines(table: pa.Table, zone: tzinfo) -> Iterator[bytes]:
    for part in _parts(table):
        yield "".join(f"{line}\n" for line in row_lines(part, zone)).encode()


def _csv(table: pa.Table, zone: tzinfo) -> Iterator[bytes]:
    flat = _flat(table, zone)
    for number, part in enumerate(_parts(flat)):
        sink = io.BytesIO()
        options = pyarrow.csv.WriteOptions(include_header=number == 0)
        pyarrow.csv.write_csv(part, sink, options)
        yield sink.getvalue()


def _flat(table: pa.Table, zone: tzinfo) -> pa.Table:
    """Return a table whose nested columns are JSON texts, which CSV can hold."""
    for place, field in enumerate(table.schema):
        if pa.types.is_nested(field.type) or pa.types.is_duration(field.type):
            one = table.select([place]).rename_columns(["v"])
            texts = [line[len('{"v":') : -1] for line in row_lines(one, zone)]
            made = pa.array([None if text == "null" else text for text in texts], pa.string())
            table = table.set_column(place, field.name, made)
    return table


def arrow_bytes(table: pa.Table, zone: tzinfo = UTC) -> Iterator[bytes]:
    """Yield a table as an Arrow stream."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for part in _parts(table):
            writer.write_table(part)
            yield _taken(sink)
    yield _taken(sink)


def _parquet(table: pa.Table, zone: tzinfo) -> Iterator[bytes]:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    yield sink.getvalue()


def _taken(sink: io.BytesIO) -> bytes:
    """Return what was written since the last time."""
    written = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return written


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    for first in range(0, max(1, table.num_rows), _PART):
        yield table.slice(first, _PART)


FORMS: Mapping[str, AnswerForm] = MappingProxyType(
    {
        "json": AnswerForm("application/json", "json", _json),
        "jsonl": AnswerForm("application/x-ndjson", "jsonl", _json_lines),
        "csv": AnswerForm("text/csv; charset=utf-8", "csv", _csv),
        "arrow": AnswerForm("application/vnd.apache.arrow.stream", "arrows", arrow_bytes),
        "parquet": AnswerForm("application/vnd.apache.parquet", "parquet", _parquet),
    }
)


def form_of(name: str) -> AnswerForm:
    """Return a form by its name."""
    if name not in FORMS:
        raise ArgumentError("format", name, f"it is one of {', '.join(FORMS)}")
    return FORMS[name]
