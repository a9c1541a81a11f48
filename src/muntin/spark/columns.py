"""Columns of Spark: by name, as expressions that Spark evaluates, and their types in Arrow.

Spark evaluates the expressions of aggregates natively, before rows travel.
"""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types as arrow
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name every Spark program uses)
from pyspark.sql import types as spark

from muntin.errors import UnsupportedTypeError
from muntin.expressions.spark_expressions import (
    AsDouble,
    Both,
    CastTo,
    Expression,
    Hashed,
    KeyOf,
    Lacking,
    Name,
    Native,
    NotNull,
    Sql,
    Times,
    Where,
)
from muntin.specs.axis import Domain

#: For rooms that name Spark's types and do not import Spark.
__all__ = [
    "DataFrame",
    "SparkSession",
    "bound_type",
    "column",
    "condition",
    "dataframe",
    "named",
    "problem",
    "progressing",
    "text_of",
    "to_arrow",
    "to_spark",
    "watermark_of",
]
_SIMPLE: list[tuple[type[spark.DataType], pa.DataType]] = [
    (spark.BooleanType, pa.bool_()),
    (spark.ByteType, pa.int8()),
    (spark.ShortType, pa.int16()),
    (spark.IntegerType, pa.int32()),
    (spark.LongType, pa.int64()),
    (spark.FloatType, pa.float32()),
    (spark.DoubleType, pa.float64()),
    (spark.StringType, pa.string()),
    (spark.BinaryType, pa.binary()),
    (spark.DateType, pa.date32()),
    (spark.TimestampType, pa.timestamp("us", tz="UTC")),
    (spark.TimestampNTZType, pa.timestamp("us")),
    (spark.DayTimeIntervalType, pa.duration("us")),
]
_INTEGERS = (spark.ByteType, spark.ShortType, spark.IntegerType, spark.LongType)


def to_arrow(type_: spark.DataType, name: str) -> pa.DataType:
    """Return the Arrow type of a Spark column; ``name`` names the column in the error."""
    if isinstance(type_, spark.DecimalType):
        return pa.decimal128(type_.precision, type_.scale)
    if isinstance(type_, spark.StringType) and not type_.isUTF8BinaryCollation():
        raise UnsupportedTypeError(
            f"{name} has type {type_.simpleString()}: Muntin compares strings byte by byte and "
            "would answer differently from Spark; use collate(x, 'UTF8_BINARY'), or "
            "lower(collate(x, 'UTF8_BINARY')) where case does not matter",
            name,
        )
    for known, arrow_type in _SIMPLE:
        if isinstance(type_, known):
            return arrow_type
    raise UnsupportedTypeError(
        f"{name} has type {type_.simpleString()}, which Muntin does not carry; "
        "use numbers, strings, booleans, binary, dates or timestamps",
        name,
    )


def to_spark(type_: pa.DataType) -> spark.DataType:
    """Return the Spark type of a column that Muntin makes."""
    if arrow.is_decimal(type_):
        return spark.DecimalType(type_.precision, type_.scale)
    if arrow.is_list(type_):
        return spark.ArrayType(to_spark(type_.value_type))
    if arrow.is_struct(type_):
        return spark.StructType([spark.StructField(f.name, to_spark(f.type)) for f in type_])
    if arrow.is_map(type_):
        return spark.MapType(to_spark(type_.key_type), to_spark(type_.item_type))
    if arrow.is_timestamp(type_):
        return spark.TimestampNTZType() if type_.tz is None else spark.TimestampType()
    for known, arrow_type in _SIMPLE:
        if arrow_type == type_:
            return known()
    raise AssertionError(f"no Spark type for {type_}")


def dataframe(session: SparkSession, table: pa.Table) -> DataFrame:
    """Return an Arrow table as a DataFrame.

    Spark by itself would take times without a zone for times in the session's zone.
    """
    fields = [spark.StructField(field.name, to_spark(field.type)) for field in table.schema]
    return session.createDataFrame(table, spark.StructType(fields))


def progressing(type_: spark.DataType, name: str) -> tuple[Domain, int]:
    """Return the domain of an ``on`` column and its decimals; raise if it cannot progress."""
    if isinstance(type_, spark.TimestampType):
        return Domain.TIMESTAMP, 0
    if isinstance(type_, spark.TimestampNTZType):
        return Domain.TIMESTAMP_NTZ, 0
    if isinstance(type_, spark.DateType):
        return Domain.DATE, 0
    if isinstance(type_, _INTEGERS):
        return Domain.INTEGER, 0
    if isinstance(type_, spark.DecimalType):
        return Domain.DECIMAL, type_.scale
    if isinstance(type_, spark.DoubleType):
        return Domain.DOUBLE, 0
    instead = "to_timestamp(...)" if isinstance(type_, spark.StringType) else "a cast to double"
    raise UnsupportedTypeError(
        f"on={name!r} has type {type_.simpleString()} and cannot progress; it must be a timestamp, "
        f"date, integer, decimal or double column, for example through {instead}"
    )


def bound_type(type_: spark.DataType, digits: int) -> pa.DataType:
    """Return the type of ``window_start`` and ``window_end`` for an ``on`` column.

    It is the type of the column, except that integers are bigint and decimals have the digits of
    the lengths, because an edge may lie where no value of a narrow column can.
    """
    if isinstance(type_, spark.DecimalType):
        return pa.decimal128(min(38, max(type_.precision - type_.scale + digits, 20)), digits)
    if isinstance(type_, _INTEGERS):
        return pa.int64()
    return to_arrow(type_, "on")


def watermark_of(df: DataFrame) -> tuple[str, str] | None:
    """Return the column and the length of ``withWatermark`` of a DataFrame, if it has one."""
    for field in df.schema:
        milliseconds = field.metadata.get("spark.watermarkDelayMs")
        if milliseconds is not None:
            return field.name, f"{int(milliseconds) / 1000:g} seconds"
    return None


def named(name: str) -> Column:
    """Return a column by its exact name: dots and blanks in it mean nothing."""
    return F.col(quoted(name))


def quoted(name: str) -> str:
    """Return the name of a column as SQL writes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def text_of(expression: object) -> str:
    """Return a column or an SQL text as messages write it."""
    return str(expression).removeprefix("Column<'").removesuffix("'>")


def condition(where: object) -> Expression:
    """Return a condition that is SQL text or a column, as an expression."""
    return Native(where) if isinstance(where, Column) else Sql(str(where))


def problem(error: PySparkException) -> str:
    """Return the complaint of Spark in one line."""
    return str(error.getMessage() or error).split(" SQLSTATE")[0].split("\n")[0]


def column(expression: Expression) -> Column:
    """Return an expression as a column that Spark evaluates."""
    match expression:
        case Name(name):
            return named(name)
        case Sql(text):
            return F.expr(text)
        case Native(native):
            assert isinstance(native, Column)  # checked where the aggregate was made
            return native
        case Where(condition, None):
            return F.when(column(condition), F.lit(1))
        case Where(condition, value):
            assert value is not None
            return F.when(column(condition), column(value))
        case NotNull(operands):
            present = F.lit(True)
            for operand in operands:
                present = present & column(operand).isNotNull()
            return present
        case Both(left, right):
            return column(left) & column(right)
        case Times(left, right):
            return column(left) * column(right)
        case AsDouble(operand):
            return column(operand).cast("double")
        case Hashed(operand):
            # Spark hashes null as well; a double holds 53 bits.
            hashed = F.pmod(F.xxhash64(column(operand)), F.lit(2**53)).cast("double")
            return F.when(column(operand).isNotNull(), hashed)
        case KeyOf(name, type_):
            nan, zero = F.lit(float("nan")).cast(type_), F.lit(0.0).cast(type_)
            return F.when(F.isnan(named(name)), nan).otherwise(named(name) + zero)
        case CastTo(operand, type_):
            return column(operand).cast(type_)
        case Lacking(operands, floating):
            lacking = F.lit(False)
            for operand in operands:
                lacking = lacking | column(operand).isNull()
                if operand in floating:
                    lacking = lacking | F.isnan(column(operand))
            return lacking
