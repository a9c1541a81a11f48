"""Runs Spark's SQL over DataFrames without a name in its catalog; explains why it rejects one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from muntin.errors import MuntinError
from muntin.spark.columns import problem

_QUOTED = re.compile(r"`((?:[^`]|``)+)`")


class RejectedError(MuntinError, ValueError):
    """A query that Spark cannot analyse; :func:`rejection` has the details."""


@contextmanager
def unlogged() -> Iterator[None]:
    """Do not let PySpark log errors with their Java stack: they are raised anyway."""
    loggers = [
        PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")
    ]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


@dataclass(frozen=True)
class Rejection:
    """Why Spark rejects a query: a sentence, the name it cannot resolve, the names it proposes.

    ``fragment`` is the part of the query that it points at.
    """

    problem: str
    condition: str
    name: str | None
    proposals: tuple[str, ...]
    fragment: str | None


def select(spark: SparkSession, text: str, tables: Mapping[str, DataFrame]) -> DataFrame:
    """Return the result of a query; the names of ``tables`` occur nowhere else in it."""
    if tables:
        text = text.replace("{", "{{").replace("}", "}}")
        for name in tables:
            text = re.sub(rf"`?\b{re.escape(name)}\b`?", f"{{{name}}}", text)
    try:
        df = spark.sql(text, args=None, **tables)
        df.schema.fieldNames()  # Spark Connect analyses only here
    except PySparkException as error:
        raise RejectedError(problem(error)) from error
    return df


def stored_table(spark: SparkSession, name: str) -> DataFrame | None:
    """Return a table or view of Spark's catalog; None if there is none of this name."""
    try:
        df = spark.table(name)
        df.schema.fieldNames()  # Spark Connect analyses only here
    except PySparkException:
        return None
    return df


def with_arrival(df: DataFrame, name: str) -> DataFrame:
    """Return the rows with the time at which Spark reads them, one time per micro-batch."""
    return df.withColumn(name, F.current_timestamp())


def rejection(error: BaseException | None) -> Rejection | None:
    """Return why Spark rejected a query, if Spark caused the error."""
    while error is not None and not isinstance(error, PySparkException):
        error = error.__cause__
    if error is None:
        return None
    parameters = cast("Mapping[str, str]", error.getMessageParameters() or {})
    named = next((parameters[key] for key in _NAMING if parameters.get(key)), "")
    names = _QUOTED.findall(named)
    proposed = [_QUOTED.findall(name) for name in parameters.get("proposal", "").split(", ")]
    proposals = tuple(parts[-1] for parts in proposed if parts)
    condition = str(error.getCondition() or "")
    return Rejection(problem(error), condition, names[-1] if names else None, proposals, _at(error))


#: The parameters of Spark's messages that name what it cannot find.
_NAMING = ("objectName", "routineName", "relationName", "fieldName", "functionName")


def _at(error: PySparkException) -> str | None:
    """Return the part of the query that Spark points at."""
    try:
        contexts = error.getQueryContext() or []
        fragments = [str(context.fragment()) for context in contexts]
    except Exception:  # some kinds of context have no fragment, and raise
        return None
    return next((fragment for fragment in fragments if fragment.strip()), None)
