"""Whether a disorder suits a DataFrame, its keys and its control rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import types as spark_types

from muntin.errors import ArgumentError, UnknownColumnError
from muntin.spark.api.control import brings_clock, punctuates_by_clock
from muntin.spark.columns import condition, problem
from muntin.spark.types import progressing, to_arrow
from muntin.specs.axis import Domain
from muntin.specs.disorder import Disorder, Each, PerKey, Punctuated, disorder_or_none

_CONTROLS = "it is mt.control(...) or mt.heartbeat(...), or a list of both"


def checked_disorder(given: object, df: DataFrame, by: Sequence[str]) -> Disorder | None:
    """The disorder for this DataFrame, or an error that says why it cannot have it."""
    disorder = disorder_or_none(given)
    if disorder is None:
        return None
    disorder = disorder.resolved(df.columns)
    match disorder:
        case PerKey() | Punctuated(key=True) if not by:
            raise ArgumentError(
                "disorder", str(disorder), "a punctuation for each key needs keys: by='sensor'"
            )
        case Punctuated(where=where):
            _check_condition(where, df)
        case Each(columns=columns):
            for name in columns:
                if name not in df.columns:
                    raise UnknownColumnError("each", name, df.columns)
                to_arrow(df.schema[name].dataType, f"each={name!r}")
    return disorder


def _check_condition(where: object, df: DataFrame) -> None:
    if not isinstance(where, str | Column):
        raise ArgumentError("where", where, "it is SQL text or a PySpark column")
    try:
        type_ = df.select(condition(where)).schema[0].dataType
    except PySparkException as error:
        complaint = f"Spark cannot evaluate it: {problem(error)}"
        raise ArgumentError("where", where, complaint) from error
    if not isinstance(type_, spark_types.BooleanType):
        expected = f"it must be a condition, and has type {type_.simpleString()}"
        raise ArgumentError("where", where, expected)


def checked_control(
    given: DataFrame | Sequence[DataFrame] | None, df: DataFrame, on: str
) -> tuple[DataFrame | None, bool]:
    """The control rows of one source or several, and whether a clock is among them."""
    if isinstance(given, str | Path):
        raise ArgumentError(
            "control", str(given), f"for this folder it is mt.control(spark, {str(given)!r})"
        )
    if given is not None and not isinstance(given, DataFrame | Sequence):
        raise ArgumentError("control", given, _CONTROLS)
    sources = [given] if isinstance(given, DataFrame) else list(given or ())
    for source in sources:
        if getattr(source, "columns", None) != ["kind", "value"]:
            raise ArgumentError("control", source, _CONTROLS)
        domain, _ = progressing(df.schema[on].dataType, on)
        if punctuates_by_clock(source) and domain is not Domain.TIMESTAMP:
            raise ArgumentError(
                "control",
                "mt.heartbeat(...)",
                f"a heartbeat punctuates timestamps and on={on!r} is a {domain} column; for the "
                "clock alone use mt.heartbeat(..., punctuate=False)",
            )
    union = reduce(lambda one, other: one.unionByName(other), sources) if sources else None
    return union, any(brings_clock(source) for source in sources)


def check_clock(disorder: Disorder | None, clock: bool) -> None:
    """Refuse a rule that waits for a clock which never comes."""
    if disorder is not None and disorder.needs_clock and not clock:
        raise ArgumentError(
            "disorder",
            str(disorder),
            "nothing tells the stream the time; add control=mt.heartbeat(spark, every='5 seconds', "
            "punctuate=False), or control=[mt.control(...), mt.heartbeat(...)]",
        )
