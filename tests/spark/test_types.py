"""Spark types and Arrow types; nothing here starts Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

from muntin.spark.types import to_arrow, to_spark

FLAT = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "interval day to second": pa.duration("us"),
    "decimal(12,3)": pa.decimal128(12, 3),
}


@pytest.mark.parametrize("name", FLAT)
def test_flat_types_there_and_back(name: str) -> None:
    made = to_spark(FLAT[name])
    assert made.simpleString() == name
    assert to_arrow(made, "x") == FLAT[name]


@pytest.mark.parametrize("name", FLAT)
def test_lists_and_items_of_every_type(name: str) -> None:
    assert to_spark(pa.list_(FLAT[name])).simpleString() == f"array<{name}>"
    items = pa.list_(pa.struct([("item", FLAT[name]), ("count", pa.int64())]))
    assert to_spark(items).simpleString() == f"array<struct<item:{name},count:bigint>>"
