"""The columns that describe a stream: names in any case, fields of structs, or expressions."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.errors import ArgumentError, UnknownColumnError
from muntin.spark.columns import problem, quoted, text_of
from muntin.spark.requirements import setting
from muntin.specs.windows import column_name

#: A column as a user gives it.
Given = str | Column


def described_columns(
    df: DataFrame, on: Given, by: Given | Sequence[Given] | None
) -> tuple[DataFrame, str, tuple[str, ...]]:
    """Return a DataFrame with the columns that describe it, and their names.

    A field of a struct, or an expression, becomes a column of its own with the name that Spark
    gives it in a SELECT.
    """
    df, progressing = _resolved(df, "on", on)
    keys = []
    for key in _several(by):
        df, name = _resolved(df, "by", key)
        keys.append(name)
    return df, progressing, tuple(keys)


def _several(by: Given | Sequence[Given] | None) -> Sequence[Given]:
    if by is None:
        return ()
    if isinstance(by, str | Column):
        return (by,)
    if not isinstance(by, Sequence):
        raise ArgumentError("by", by, "it must be a column name or several")
    return by


def _resolved(df: DataFrame, argument: str, given: Given) -> tuple[DataFrame, str]:
    """Return the DataFrame with a column, and the column's name; raise if there is none."""
    if isinstance(given, Column):
        return _with_expression(df, argument, given)
    name = column_name(argument, given)
    if name in df.columns:
        return df, name
    if setting(df.sparkSession, "spark.sql.caseSensitive", "false") != "true":
        alike = [known for known in df.columns if known.casefold() == name.casefold()]
        if len(alike) == 1:
            return df, alike[0]
    head, _, rest = name.partition(".")
    if rest and head.casefold() in {known.casefold() for known in df.columns}:
        return _with_expression(df, argument, name)
    raise UnknownColumnError(argument, name, df.columns)


def _with_expression(df: DataFrame, argument: str, given: Given) -> tuple[DataFrame, str]:
    text = text_of(given)
    try:
        chosen = df.select(given)
        (name,) = chosen.columns
    except (PySparkException, ValueError) as error:
        spoke = f"Spark says: {problem(error)}" if isinstance(error, PySparkException) else None
        raise ArgumentError(argument, text, spoke or "it is not one column") from error
    plain = text in (name, quoted(name))
    if plain and name in df.columns:
        return df, name
    if name in df.columns:
        raise ArgumentError(
            argument,
            text,
            f"the DataFrame has a column {name!r} already; give this one another name: "
            f"F.col(...).alias('{name}_2')",
        )
    return df.withColumn(name, F.col(given) if isinstance(given, str) else given), name
