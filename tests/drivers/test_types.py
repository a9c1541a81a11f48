"""Conversion between Spark types and Arrow types; nothing here starts Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import types as spark

from muntin.errors import UnsupportedTypeError
from muntin.spark.columns import to_arrow, to_spark

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
    spark_type = to_spark(FLAT[name])
    assert spark_type.simpleString() == name
    assert to_arrow(spark_type, "x") == FLAT[name]


@pytest.mark.parametrize("name", FLAT)
def test_lists_and_items_of_every_type(name: str) -> None:
    assert to_spark(pa.list_(FLAT[name])).simpleString() == f"array<{name}>"
    items = pa.list_(pa.struct([("item", FLAT[name]), ("count", pa.int64())]))
    assert to_spark(items).simpleString() == f"array<struct<item:{name},count:bigint>>"


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE", "de_CI_AI"])
def test_a_string_that_compares_otherwise_is_refused(collation: str) -> None:
    says = f"by='name' has type string collate {collation}: .*collate\\(x, 'UTF8_BINARY'\\)"
    with pytest.raises(UnsupportedTypeError, match=says):
        to_arrow(spark.StringType(collation), "by='name'")


@pytest.mark.parametrize(
    "type_",
    [
        spark.MapType(spark.StringType(), spark.LongType()),
        spark.ArrayType(spark.LongType()),
        spark.VariantType(),
        spark.YearMonthIntervalType(),
    ],
)
def test_a_type_that_is_not_carried_is_named(type_: spark.DataType) -> None:
    with pytest.raises(UnsupportedTypeError) as caught:
        to_arrow(type_, "by='x'")
    assert str(caught.value) == (
        f"by='x' has type {type_.simpleString()}, which Muntin does not carry; "
        "use numbers, strings, booleans, binary, dates or timestamps"
    )
