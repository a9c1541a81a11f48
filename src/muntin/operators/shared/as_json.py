"""Planned queries as JSON: operators, expressions and specifications, without pickles.

A query of the engine is data that other processes read. Only classes of Muntin's own rooms for
specifications, expressions, aggregates and operators are written and read, and a class is found by
its name only among dataclasses and enumerations of these rooms. Nothing else is ever called.
"""

from __future__ import annotations

import base64
import dataclasses
import importlib
import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.errors import CannotEvaluate, MuntinError

_ROOMS = ("specs", "expressions", "aggregates", "operators")
#: The key that names what a JSON object stands for.
_TAG = "$"


def to_json(value: object) -> str:
    """Return a value as JSON; raise CannotEvaluate if it holds something that is not data."""
    return json.dumps(_written(value), separators=(",", ":"), sort_keys=False)


def from_json(text: str) -> Any:
    """Return the value of a JSON text; raise MuntinError if it names what is not there."""
    return _read(json.loads(text))


def _written(value: object) -> Any:
    if value is None or type(value) in (bool, str, int):
        return value
    for known, write in _WRITERS:
        if isinstance(value, known):
            return write(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass(value)
    raise CannotEvaluate(f"{type(value).__name__} {value!r} cannot be sent as data")


def _dataclass(value: Any) -> dict[str, Any]:
    parts = {
        field.name: _written(getattr(value, field.name))
        for field in dataclasses.fields(value)
        if field.init
    }
    return {_TAG: _name_of(type(value)), **parts}


def _name_of(kind: type[object]) -> str:
    """Return the name under which a class of Muntin's is found again."""
    package, _, rest = kind.__module__.partition(".")
    if package != "muntin" or rest.split(".")[0] not in _ROOMS:
        raise CannotEvaluate(f"{kind.__name__} is not a class of Muntin's, so it cannot be sent")
    return f"{rest}:{kind.__qualname__}"


def _named(name: str) -> type[Any]:
    """Return the class of a name; raise if it is no dataclass or enumeration of these rooms."""
    module, _, qualified = name.partition(":")
    if module.split(".")[0] not in _ROOMS or not qualified.isidentifier():
        raise MuntinError(f"{name!r} is not a class that queries are made of")
    try:
        kind = getattr(importlib.import_module(f"muntin.{module}"), qualified, None)
    except ImportError:
        kind = None
    if isinstance(kind, type) and _is_data(kind) and kind.__module__ == f"muntin.{module}":
        return kind
    raise MuntinError(
        f"there is no {name!r} in this version of Muntin; another version wrote the query"
    )


def _is_data(kind: type[Any]) -> bool:
    return dataclasses.is_dataclass(kind) or issubclass(kind, Enum)


def _number(value: float) -> Any:
    # JSON has no NaN and no infinity.
    return value if math.isfinite(value) else {_TAG: "float", "text": repr(value)}


def _schema(schema: pa.Schema) -> dict[str, Any]:
    return {_TAG: "schema", "bytes": base64.b64encode(schema.serialize()).decode()}


def _type(type_: pa.DataType) -> dict[str, Any]:
    text = str(type_)
    if text in _SIMPLE:
        return {_TAG: "type", "name": text}
    packed = pa.schema([pa.field("t", type_)]).serialize()
    return {_TAG: "type", "bytes": base64.b64encode(packed).decode()}


def _table(table: pa.Table) -> dict[str, Any]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return {_TAG: "table", "bytes": base64.b64encode(sink.getvalue()).decode()}


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {_TAG: "dict", "items": [[_written(k), _written(v)] for k, v in value.items()]}


def _tagged(tag: str, text: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {_TAG: tag, "text": text(value)}


#: The types that are written, the more special ones first.
_WRITERS: tuple[tuple[type[Any], Callable[[Any], Any]], ...] = (
    (Enum, lambda value: {_TAG: _name_of(type(value)), "member": value.name}),
    (np.bool_, bool),
    (np.integer, int),
    (float, _number),
    (tuple, lambda value: [_written(part) for part in value]),
    (list, lambda value: {_TAG: "list", "items": [_written(part) for part in value]}),
    (frozenset, lambda value: {_TAG: "frozenset", "items": sorted(map(_written, value))}),
    (Mapping, _mapping),
    (Decimal, _tagged("decimal", str)),
    (datetime, _tagged("datetime", datetime.isoformat)),
    (date, _tagged("date", date.isoformat)),
    (bytes, lambda value: {_TAG: "bytes", "text": base64.b64encode(value).decode()}),
    (pa.Schema, _schema),
    (pa.DataType, _type),
    (pa.Table, _table),
)
_SIMPLE = {
    str(type_): type_
    for type_ in (
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
        *(pa.string(), pa.binary(), pa.date32(), pa.null(), pa.duration("us")),
        *(pa.timestamp("us"), pa.timestamp("us", tz="UTC")),
    )
}


def _bytes(value: Mapping[str, Any]) -> bytes:
    return base64.b64decode(value["bytes"])


def _read_type(value: Mapping[str, Any]) -> pa.DataType:
    if "name" in value:
        return _SIMPLE[value["name"]]
    return pa.ipc.read_schema(pa.py_buffer(_bytes(value))).field(0).type


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "float": lambda value: float(value["text"]),
    "list": lambda value: [_read(part) for part in value["items"]],
    "frozenset": lambda value: frozenset(_read(part) for part in value["items"]),
    "dict": lambda value: {_read(key): _read(part) for key, part in value["items"]},
    "decimal": lambda value: Decimal(value["text"]),
    "datetime": lambda value: datetime.fromisoformat(value["text"]),
    "date": lambda value: date.fromisoformat(value["text"]),
    "bytes": lambda value: base64.b64decode(value["text"]),
    "schema": lambda value: pa.ipc.read_schema(pa.py_buffer(_bytes(value))),
    "type": _read_type,
    "table": lambda value: pa.ipc.open_stream(_bytes(value)).read_all(),
}


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(part) for part in value)
    if not isinstance(value, dict):
        return value
    tag = value[_TAG]
    if tag in _READERS:
        return _READERS[tag](value)
    kind = _named(tag)
    if issubclass(kind, Enum):
        return kind[value["member"]]
    return kind(**{name: _read(part) for name, part in value.items() if name != _TAG})
