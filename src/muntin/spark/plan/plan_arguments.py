"""All arguments of a plan as texts by name, for the fingerprint of its checkpoint.

They are found by reflection over the frozen values that a plan is made of, so that a field nobody
thought of is among them. Names of classes are left out: code may move and be renamed. A field that
has its default is left out as well, so that checkpoints survive a new field.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, get_args

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import types as spark_types

from muntin.aggregates.own_aggregate import OwnAggregate, described
from muntin.aggregates.parse import Column
from muntin.expressions.spark_expressions import Expression
from muntin.spark.columns import text_of
from muntin.specs.calendar import CalendarLength
from muntin.specs.frames.own_function import CompiledFraming, FramingFunction
from muntin.specs.lengths import Duration, Number
from muntin.specs.may_change import may_change

_PLAIN = (str, int, float, bytes, Decimal, Fraction, date, timedelta)
#: Values that say all about themselves.
_TEXTS = (Duration, Number, CalendarLength, pa.DataType, *get_args(Expression))
#: Longer texts are digested, because every shard stores them.
_LONGEST = 100


def arguments(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and the text of everything in a value that is not None, False or empty."""
    if value is None or value is False:
        return
    if isinstance(value, list | tuple):
        values = _flat(value)
        for place, item in enumerate(values):
            yield from arguments(item, f"{path}.{place}" if path else str(place))
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from arguments(value[key], f"{path}.{key}" if path else str(key))
    elif is_dataclass(value) and not isinstance(value, (type, *_TEXTS, OwnAggregate)):
        for field in fields(value):
            held = getattr(value, field.name)
            if not may_change(field) and not _is_default(field, held):
                yield from arguments(held, f"{path}.{field.name}" if path else field.name)
    else:
        yield path, _short(_text(value))


def _flat(values: list[Any] | tuple[Any, ...]) -> list[Any]:
    """Return a list; of result columns only the aggregates, since SQL may combine them anew."""
    if values and all(isinstance(value, Column) for value in values):
        return [aggregate for column in values for aggregate in column.aggregates]
    return list(values)


def _is_default(field: Field[Any], held: object) -> bool:
    default = field.default
    if field.default_factory is not MISSING:
        default = field.default_factory()
    # Two PySpark columns cannot be compared with ==, and no default is one.
    return not isinstance(held, SparkColumn) and type(held) is type(default) and held == default


def _text(value: object) -> str:
    """Return the text of a value that has no parts; raise if nobody has thought of its type."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, _PLAIN):
        return str(value)
    if isinstance(value, SparkColumn):
        return text_of(value)
    if isinstance(value, spark_types.DataType):
        return str(value.simpleString())
    if isinstance(value, OwnAggregate):
        return described(value, [])
    if isinstance(value, FramingFunction | CompiledFraming):
        own = {name: held for name, held in vars(value).items() if not name.startswith("_")}
        return f"{value.name} of {list(value.columns)} with {own}"
    if isinstance(value, _TEXTS):
        return str(value)
    raise TypeError(f"the fingerprint of a checkpoint has no text for {type(value).__name__}")


def _short(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return hashlib.sha256(text.encode()).hexdigest()[:16]
