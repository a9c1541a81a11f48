"""Control rows, which say that a running stream is complete up to a point, or over.

A control folder is a second, tiny source of the same exchange. A row written to it starts a
micro-batch by itself and reaches every shard. A heartbeat is another: it brings the clock as rows,
so that what it causes is in the checkpoint's log and happens again when a micro-batch is repeated.
This file also checks that a disorder suits a DataFrame, its keys and its control rows.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import reduce
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types

from muntin.errors import ArgumentError, UnknownColumnError
from muntin.spark.columns import column, condition, problem, progressing, to_arrow
from muntin.spark.exchange.messages import KEY_PUNCTUATION
from muntin.specs.axis import Domain
from muntin.specs.disorder import Disorder, Each, PerKey, Punctuated, disorder_or_none
from muntin.specs.heartbeat import Heartbeat
from muntin.specs.lengths import LengthLike

_SCHEMA = "kind STRING, value STRING"
_CONTROLS = "it is mt.control(...) or mt.heartbeat(...), or a list of both"
_CLOCK, _PUNCTUATES = "muntin.clock", "muntin.punctuates"
#: ``s3://``, ``hdfs://``, ``dbfs:/``; one letter is a drive.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def control(spark: SparkSession, folder: str | Path) -> DataFrame:
    """Return the rows that :func:`end` and :func:`punctuate` write to a folder, as a stream.

    Give it to ``mt.stream(..., control=...)``. The folder must be one that this process can
    write and the cluster can read.
    """
    _local(folder).mkdir(parents=True, exist_ok=True)
    return spark.readStream.schema(_SCHEMA).json(str(folder))


def end(folder: str | Path) -> None:
    """Write that a stream is over: every window that holds a row is reported."""
    _write(folder, {"kind": "end", "value": None})


def wake(folder: str | Path) -> None:
    """Let a stream run a micro-batch even if no row comes; the folder is made if it is missing."""
    _local(folder).mkdir(parents=True, exist_ok=True)
    _write(folder, {"kind": "none", "value": None})


def punctuate(folder: str | Path, value: object, key: object = None) -> None:
    """Write that no more rows below ``value`` will come, of any key or of one.

    A stream takes punctuation for one key if its disorder has progress for each key:
    ``mt.per_key(...)``, or ``mt.punctuated(key=True)`` where it comes from outside alone. What a
    stream cannot take is ignored there, and counted in the query's progress under
    ``control_refused``.

    Args:
        folder: The folder that was given to :func:`control`.
        value: A value of ``on``: a number, or a time.
        key: The key that it is for: a value of the ``by`` column, or a list with one for each of
            several columns; a list of None is the null key.
    """
    text = str(value)
    if isinstance(value, bool) or not (_is_moment(text) or _is_number(text)):
        raise ArgumentError(
            "value", value, "it must be a finite number or a time such as '2026-01-01 08:00:00'"
        )
    if key is None:
        _write(folder, {"kind": "punctuation", "value": text})
    else:
        _write(folder, key_punctuation(text, key))


def key_punctuation(value: object, key: object) -> dict[str, object]:
    """Return the control row that punctuates one key."""
    parts = list(key) if isinstance(key, list | tuple) else [key]
    told = json.dumps({"value": str(value), "key": [_key_text(part) for part in parts]})
    return {"kind": KEY_PUNCTUATION, "value": told}


def _key_text(part: object) -> str | None:
    """Return a part of a key as text that a worker reads; raise if it cannot be one."""
    match part:
        case None | str():
            return part
        case bool():
            return str(part).lower()
        case int() | float() | Decimal():
            return str(part)
        case date():
            return part.isoformat()
    expected = "it is a text, a number, a boolean, a date or a time, or a list of such values"
    raise ArgumentError("key", part, expected)


def heartbeat(
    spark: SparkSession,
    every: LengthLike = "5 seconds",
    behind: LengthLike = "30 seconds",
    *,
    punctuate: bool = True,
) -> DataFrame:
    """Return control rows made by the clock, for streams that go silent.

    Give it to ``mt.stream(..., control=...)``, alone or in a list with ``mt.control(...)``.

    Args:
        spark: The session.
        every: How often, in whole seconds. Spark's ``rate`` source, from which the rows come,
            looks at the clock once a second; a trigger of the query makes it less often.
        behind: How far behind the clock the stream may be: every row of the heartbeat is a
            punctuation that long ago. Only for a timestamp ``on`` with zone.
        punctuate: False brings the clock alone, which is what ``mt.clock(...)`` needs, and suits
            every kind of ``on``.
    """
    beat = Heartbeat(every, behind)
    now = F.col("timestamp")
    rows = [F.struct(F.lit("clock").alias("kind"), _text(now).alias("value"))]
    if punctuate:
        before = now - F.expr(f"INTERVAL {beat.behind_micros} MICROSECONDS")
        rows.append(F.struct(F.lit("punctuation").alias("kind"), _text(before).alias("value")))
    beats = spark.readStream.format("rate").option("rowsPerSecond", 1).load()
    control = beats.where(F.col("value") % beat.seconds == 0).select(
        F.explode(F.array(*rows)).alias("r")
    )
    return marked(control.select("r.kind", "r.value"), punctuates=punctuate)


def marked(control: DataFrame, *, punctuates: bool) -> DataFrame:
    """Mark control rows that bring a clock, by the metadata of a column."""
    metadata = {_CLOCK: True, _PUNCTUATES: punctuates}
    return control.select(F.col("kind").alias("kind", metadata=metadata), "value")


def brings_clock(control: DataFrame) -> bool:
    """True if control rows bring the time of a clock."""
    return bool(control.schema["kind"].metadata.get(_CLOCK))


def punctuates_by_clock(control: DataFrame) -> bool:
    """True if control rows are punctuations made by a clock."""
    return bool(control.schema["kind"].metadata.get(_PUNCTUATES))


def checked_disorder(disorder: object, df: DataFrame, by: Sequence[str]) -> Disorder | None:
    """Return the disorder of this DataFrame; raise if it cannot have it."""
    rule = disorder_or_none(disorder)
    if rule is None:
        return None
    rule = rule.resolved(df.columns)
    match rule:
        case PerKey() | Punctuated(key=True) if not by:
            raise ArgumentError(
                "disorder", str(rule), "a punctuation for each key needs keys: by='sensor'"
            )
        case Punctuated(where=where):
            _check_condition(where, df)
        case Each(columns=columns):
            for name in columns:
                if name not in df.columns:
                    raise UnknownColumnError("each", name, df.columns)
                to_arrow(df.schema[name].dataType, f"each={name!r}")
    return rule


def _check_condition(where: object, df: DataFrame) -> None:
    if not isinstance(where, str | Column):
        raise ArgumentError("where", where, "it is SQL text or a PySpark column")
    try:
        type_ = df.select(column(condition(where))).schema[0].dataType
    except PySparkException as error:
        complaint = f"Spark cannot evaluate it: {problem(error)}"
        raise ArgumentError("where", where, complaint) from error
    if not isinstance(type_, spark_types.BooleanType):
        expected = f"it must be a condition, and has type {type_.simpleString()}"
        raise ArgumentError("where", where, expected)


def checked_control(
    control: DataFrame | Sequence[DataFrame] | None, df: DataFrame, on: str
) -> tuple[DataFrame | None, bool]:
    """Return the control rows of one source or several, and whether a clock is among them."""
    if isinstance(control, str | Path):
        raise ArgumentError(
            "control", str(control), f"for this folder it is mt.control(spark, {str(control)!r})"
        )
    if control is not None and not isinstance(control, DataFrame | Sequence):
        raise ArgumentError("control", control, _CONTROLS)
    sources = [control] if isinstance(control, DataFrame) else list(control or ())
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
    union = reduce(DataFrame.unionByName, sources) if sources else None
    return union, any(brings_clock(source) for source in sources)


def _text(moment: Column) -> Column:
    """Return a moment with its offset, so that it does not go back when summer time ends."""
    return F.date_format(moment, "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")


def _write(folder: str | Path, row: dict[str, object]) -> None:
    target = _local(folder)
    if not target.is_dir():
        raise ArgumentError("folder", str(folder), "it must be the folder given to mt.control")
    name = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.json"
    hidden = target / f".{name}"
    hidden.write_text(json.dumps(row) + "\n")
    hidden.replace(target / name)  # Spark never sees half a file


def _local(folder: str | Path) -> Path:
    """Return a folder that this process can write to; raise if it cannot."""
    scheme = _SCHEME.match(str(folder))
    if scheme is None:
        return Path(folder)
    path = str(folder)[len("file:") :]
    if scheme.group(1).lower() != "file" or re.match("//[^/]", path):
        raise ArgumentError(
            "folder",
            str(folder),
            "control rows are written by this process, so it must be a folder of this machine or "
            "one that is mounted on it",
        )
    return Path("/" + path.lstrip("/"))


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False
