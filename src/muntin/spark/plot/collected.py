"""What a user has collected, frames or rows, as a DataFrame that is no stream.

All that is drawn comes from DataFrames: so the times of PySpark's rows and those of pandas, which
are in different zones, come out as the same moments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from muntin.errors import ArgumentError

Types = Mapping[str, spark_types.DataType]


def as_batch(spark: SparkSession, argument: str, given: object, like: DataFrame) -> DataFrame:
    """What a user has, collected or not, as a DataFrame that is no stream."""
    if hasattr(given, "isStreaming"):
        if given.isStreaming:
            raise ArgumentError(
                argument,
                given,
                f"it is a stream; write it, then read what was written as {argument}=",
            )
        return given  # type: ignore[return-value]
    known = {field.name: field.dataType for field in like.schema}
    if hasattr(given, "iloc"):
        return _from_pandas(spark, given, known)
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ArgumentError(
            argument, given, "it is a DataFrame, a pandas DataFrame or a list of rows"
        )
    if not given:
        return spark.createDataFrame([], like.schema)
    names = list(given[0] if isinstance(given[0], Mapping) else getattr(given[0], "__fields__", ()))
    values = [
        tuple(row[n] if n in known or row[n] is None else str(row[n]) for n in names)
        for row in given
    ]
    return spark.createDataFrame(values, _schema(names, known))


def _schema(names: Iterable[str], known: Types) -> spark_types.StructType:
    """What is not known is only shown; as text it needs no type to be guessed."""
    text = spark_types.StringType()
    return spark_types.StructType(
        [spark_types.StructField(name, known.get(name, text)) for name in names]
    )


def _from_pandas(spark: SparkSession, given: Any, known: Types) -> DataFrame:
    """As of a list: text says nothing about its type where all of it is null, or none is there."""
    if given.empty:
        return spark.createDataFrame([], _schema(list(given.columns) or known, known))
    made, types = given.copy(deep=False), dict(known)
    for name in made.columns:
        column = made[name]
        if isinstance(known.get(name, spark_types.StringType()), spark_types.StringType):
            made[name] = column.astype(object).map(str, na_action="ignore")
        elif column.dtype.kind in "iufb":
            made[name], types[name] = _number(column, known[name])
    return spark.createDataFrame(made, _schema(made.columns, types))


def _number(column: Any, known: spark_types.DataType) -> tuple[Any, spark_types.DataType]:
    """With the type that pandas gives it, except for nulls, which have made doubles of others."""
    if column.dtype.kind != "f":
        whole = spark_types.BooleanType() if column.dtype.kind == "b" else spark_types.LongType()
        return column, whole
    there = column[column.notna()]
    if not isinstance(known, spark_types.IntegralType) or (there != there.round()).any():
        return column, spark_types.DoubleType()
    return column.astype("Int64").astype(object).where(column.notna(), None), known
