"""What ``DESCRIBE`` and ``SHOW FUNCTIONS`` answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from muntin.parser.statements import CreateStream, Show
from muntin.parser.table_functions import JOIN_FUNCTIONS, WINDOW_FUNCTIONS
from muntin.planner.aggregates import known_aggregates
from muntin.session.catalog import Declared
from muntin.session.safe.spark_functions import ALLOWED
from muntin.spark.columns import DataFrame, SparkSession

if TYPE_CHECKING:
    from muntin.session.safe.safe_mode import SafeMode


def described(
    spark: SparkSession, rows: DataFrame, declared: Declared | None, found: Mapping[str, str]
) -> DataFrame:
    """Return a row for each column, and one for each option that was found in the first file."""
    lines = [
        (field.name, _spelled(field.dataType.simpleString()), _role(field.name, declared))
        for field in rows.schema
    ]
    lines += [(option, value, "found in the first file") for option, value in found.items()]
    return spark.createDataFrame(lines, "name STRING, type STRING, role STRING")


def _spelled(type_: str) -> str:
    """Return a type as it is written in SQL; names of fields in it stay as they are."""
    return type_ if "<" in type_ else type_.upper()


def _role(name: str, declared: Declared | None) -> str | None:
    if not isinstance(declared, CreateStream):
        return None
    if name.casefold() == declared.on.casefold():
        return "ON"
    return "BY" if name.casefold() in {key.casefold() for key in declared.by} else None


def functions(
    spark: SparkSession, asked: Show, safe: SafeMode | None, own: Mapping[str, object]
) -> DataFrame:
    """Return the functions that a query can call, with what each is for."""
    like = "" if asked.like is None else asked.like.casefold().strip("%*")
    rows = sorted({row for row in _functions(spark, safe, own) if like in row[0].casefold()})
    return spark.createDataFrame(rows, "name STRING, kind STRING")


def _functions(
    spark: SparkSession, safe: SafeMode | None, own: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    ours = known_aggregates()
    yield from ((name, "aggregate of windows, frames and fills") for name in ours)
    yield from ((name, "your own") for name in own)
    yield from ((name, "in FROM: windows, frames or a fill") for name in WINDOW_FUNCTIONS)
    yield from ((name, "in FROM: two relations that meet") for name in JOIN_FUNCTIONS)
    sparks = (row[0] for row in spark.sql("SHOW FUNCTIONS").collect()) if safe is None else ALLOWED
    known = {*ours, *own, *WINDOW_FUNCTIONS, *JOIN_FUNCTIONS}
    yield from ((name, "of Spark") for name in sparks if name not in known)
