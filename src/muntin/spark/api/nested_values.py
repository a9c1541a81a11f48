"""Structs, arrays and maps in aggregates that only pass values on: ``collect_list(struct(a, b))``.

Operators order values, and these have no order there. So Spark writes each as text before the
exchange, and reads it again in the result. Values at equal ``on`` are then ordered by their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types

from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse import Column, placeholder
from muntin.expressions.spark_expressions import Expression, Native
from muntin.spark.columns import column, quoted

_ONE = ("first", "last", "any_value", "min_by", "max_by")
_TAKING = (*_ONE, "collect", "count", "count_distinct")
#: Written so that reading it gives the same value again.
_OPTIONS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "ignoreNullFields": "false",
}
_FLOATING = (spark_types.FloatType, spark_types.DoubleType)
#: Types whose text says all about a value.
_PLAIN = (
    spark_types.BooleanType,
    spark_types.IntegralType,
    *_FLOATING,
    spark_types.DecimalType,
    spark_types.BinaryType,
    spark_types.DateType,
    spark_types.TimestampType,
    spark_types.TimestampNTZType,
)
_NESTED = (spark_types.StructType, spark_types.ArrayType, spark_types.MapType)


def with_nested_values(result: Column, df: DataFrame) -> Column:
    """Return a result column whose aggregates pass nested values on as text, if it has some."""
    aggregates, outer = list(result.aggregates), result.outer
    for place, aggregate in enumerate(result.aggregates):
        type_ = _nested_type(aggregate, df)
        if type_ is None:
            continue
        value = column(aggregate.arguments[0])
        aggregates[place] = replace(
            aggregate,
            arguments=(Native(_sent(aggregate, value, type_)), *aggregate.arguments[1:]),
            name=aggregate.column_name,
        )
        name = placeholder(place)
        reading = _read(aggregate, name, type_).replace("\\", r"\\")
        outer = re.sub(rf"\b{name}\b", reading, outer or name)
    if outer == result.outer:
        return replace(result, aggregates=tuple(aggregates))
    return Column(result.name, tuple(aggregates), outer)


def _nested_type(aggregate: Aggregate, df: DataFrame) -> spark_types.DataType | None:
    """Return the type of an argument that is nested and can travel as text."""
    if aggregate.function not in _TAKING or not aggregate.arguments:
        return None
    type_ = _type_of(aggregate.arguments[0], df)
    if not isinstance(type_, _NESTED):
        return None
    if aggregate.function == "count":
        return type_
    if aggregate.function == "count_distinct":
        floating = isinstance(type_, spark_types.StructType) and all(
            _is_plain(field.dataType) for field in type_
        )
        return type_ if floating or _is_comparable(type_) else None
    return type_ if _is_written(type_, outermost=True) else None


def _type_of(argument: Expression, df: DataFrame) -> spark_types.DataType | None:
    text = str(argument)
    if text in df.columns:
        return df.schema[text].dataType
    try:
        return df.select(column(argument)).schema[0].dataType
    except PySparkException:
        return None  # the plan refuses it, with the text around it


def _is_plain(type_: spark_types.DataType) -> bool:
    if isinstance(type_, spark_types.StringType):
        return bool(type_.isUTF8BinaryCollation())
    return isinstance(type_, _PLAIN)


def _is_written(type_: spark_types.DataType, *, outermost: bool = False) -> bool:
    """Return whether reading the text of a value gives the value again."""
    match type_:
        case spark_types.StructType():
            return all(_is_written(field.dataType) for field in type_)
        case spark_types.ArrayType():
            return _is_written(type_.elementType)
        case spark_types.MapType():
            # JSON has texts as keys; the outermost map is written as its entries.
            text = isinstance(type_.keyType, spark_types.StringType)
            return (outermost or text) and all(map(_is_written, (type_.keyType, type_.valueType)))
    return _is_plain(type_)


def _is_comparable(type_: spark_types.DataType) -> bool:
    """Return whether equal values have equal texts: not -0.0 and 0.0."""
    return _is_written(type_) and not any(
        isinstance(part, (*_FLOATING, spark_types.MapType)) for part in _parts(type_)
    )


def _parts(type_: spark_types.DataType) -> Iterator[spark_types.DataType]:
    yield type_
    inner: list[spark_types.DataType] = []
    if isinstance(type_, spark_types.StructType):
        inner = [field.dataType for field in type_]
    elif isinstance(type_, spark_types.ArrayType):
        inner = [type_.elementType]
    elif isinstance(type_, spark_types.MapType):
        inner = [type_.keyType, type_.valueType]
    for part in inner:
        yield from _parts(part)


def _sent(aggregate: Aggregate, value: SparkColumn, type_: spark_types.DataType) -> SparkColumn:
    """Return what travels for a value; null for null."""
    if aggregate.function == "count":
        return F.when(value.isNotNull(), F.lit(1))
    if isinstance(type_, spark_types.MapType):
        value = F.map_entries(value)
    if aggregate.function == "count_distinct" and isinstance(type_, spark_types.StructType):
        fields = (
            _without_sign_of_zero(value.getField(field.name), field.dataType).alias(f"c{place}")
            for place, field in enumerate(type_)
        )
        return F.when(value.isNotNull(), F.to_json(F.struct(*fields), _OPTIONS))
    return F.when(value.isNotNull(), F.to_json(F.struct(value.alias("v")), _OPTIONS))


def _without_sign_of_zero(value: SparkColumn, type_: spark_types.DataType) -> SparkColumn:
    return value + F.lit(0.0) if isinstance(type_, _FLOATING) else value


def _read(aggregate: Aggregate, text: str, type_: spark_types.DataType) -> str:
    """Return the SQL that reads the result of an aggregate."""
    if aggregate.function in ("count", "count_distinct"):
        return text
    is_map = isinstance(type_, spark_types.MapType)
    if isinstance(type_, spark_types.MapType):
        entry = spark_types.StructType().add("key", type_.keyType).add("value", type_.valueType)
        type_ = spark_types.ArrayType(entry)
    options = ", ".join(f"'{name}', {_literal(option)}" for name, option in _OPTIONS.items())

    def value(written: str) -> str:
        ddl = _literal(f"v {_ddl(type_)}")
        read = f"from_json({written}, {ddl}, map({options})).v"
        return f"map_from_entries({read})" if is_map else read

    if aggregate.function == "collect":
        return f"transform({text}, muntin_value -> {value('muntin_value')})"
    return value(text)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _ddl(type_: spark_types.DataType) -> str:
    """Return a type as SQL writes it, with quoted names."""
    match type_:
        case spark_types.StructType():
            fields = (f"{quoted(field.name)}: {_ddl(field.dataType)}" for field in type_)
            return f"STRUCT<{', '.join(fields)}>"
        case spark_types.ArrayType():
            return f"ARRAY<{_ddl(type_.elementType)}>"
        case spark_types.MapType():
            return f"MAP<{_ddl(type_.keyType)}, {_ddl(type_.valueType)}>"
    return str(type_.simpleString())
