"""Expressions of aggregates as Spark columns, evaluated natively before the exchange."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (the name every Spark program uses)

from muntin.expressions.spark_expressions import (
    AsDouble,
    Both,
    Expression,
    Hashed,
    Name,
    Native,
    NotNull,
    Sql,
    Times,
    Where,
)


def named(name: str) -> Column:
    """Return a column by its exact name: dots and blanks in it mean nothing."""
    return F.col("`" + name.replace("`", "``") + "`")


def text_of(expression: object) -> str:
    """Return a column or an SQL text as messages write it."""
    return str(expression).removeprefix("Column<'").removesuffix("'>")


def condition(where: object) -> Column:
    """Return a condition that is SQL text or a column, as a column."""
    return where if isinstance(where, Column) else F.expr(str(where))


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
