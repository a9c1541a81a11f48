"""Rows to a table of PostgreSQL, each micro-batch once.

Spark writes the partitions of a micro-batch one by one, and a failure in between would leave some
of them. So Spark writes to a table beside the target; then one transaction moves the rows over and
notes that the micro-batch is done. A micro-batch that is noted already is not moved again.

With ``key`` a row replaces that with the same key, and an early answer that is withdrawn is
deleted, so that the table has what is the answer now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame

from muntin.errors import ArgumentError
from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sinks.protocol import Sink, SinkRequest
from muntin.spark.connectors.sources.postgres import (
    PLACE,
    Database,
    Transaction,
    driver,
    identifier,
    quoted,
)
from muntin.specs.emission import CHANGE

POSTGRES = Signature(
    "postgres",
    (Parameter("table", str, required=True), *PLACE, Parameter("key", str)),
    ("batchsize",),
)
#: The table in which finished micro-batches are noted, by target and writer.
DONE = '"muntin_batches"'
_MAKE_DONE = (
    f"CREATE TABLE IF NOT EXISTS {DONE} (target TEXT, writer TEXT, batch BIGINT, "
    "PRIMARY KEY (target, writer, batch))"
)


def to_postgres(request: SinkRequest) -> Sink:
    """Return a sink that moves rows to the table, which is made if it is missing."""
    database, table = Database.of(request.bound), request.bound.text("table")
    target, stage = quoted(table), _stage(table, request.writer)
    options = {**request.bound.spark_options(), **database.options(stage)}
    key = _key_columns(request.bound.maybe("key"))
    driver()  # raises now if it is missing, and not after the first micro-batch

    def put(rows: DataFrame, number: int) -> None:
        rows.write.format("jdbc").mode("overwrite").options(**options).save()
        with database.transaction() as transaction:
            transaction.run(_MAKE_DONE)
            if _is_new(transaction, [table, request.writer, number]):
                copied = f"(LIKE {quoted(stage)})"
                transaction.run(f"CREATE TABLE IF NOT EXISTS {target} {copied}")
                move(transaction, target, quoted(stage), key, rows.columns)
            transaction.run(f"DROP TABLE {quoted(stage)}")

    return put


def _key_columns(key: str | None) -> tuple[str, ...]:
    """Return the columns of a key: ``"station, window_end"``."""
    return () if key is None else tuple(name.strip() for name in key.split(",") if name.strip())


def move(
    transaction: Transaction, target: str, stage: str, key: Sequence[str], columns: Sequence[str]
) -> None:
    """Move the rows of a table to another; with a key they replace those with the same.

    Rows that are changes of early answers are not moved if they say that an answer is withdrawn.
    """
    names = ", ".join(map(identifier, columns))
    there = ""
    if key:
        for statement in _replacing(target, stage, key, columns):
            transaction.run(statement)
        there = f" WHERE {identifier(CHANGE)} <> '-'" if CHANGE in columns else ""
    transaction.run(f"INSERT INTO {target} ({names}) SELECT {names} FROM {stage}{there}")


def _replacing(
    target: str, stage: str, key: Sequence[str], columns: Sequence[str]
) -> Iterator[str]:
    """Yield what removes the rows that others with the same key replace."""
    unknown = [name for name in key if name not in columns]
    if unknown:
        raise ArgumentError("key", unknown[0], f"the columns are {', '.join(columns)}")
    names = [identifier(name) for name in key]
    digest = hashlib.sha256(f"{target} {names}".encode()).hexdigest()[:16]
    index = identifier(f"muntin_key_{digest}")
    yield f"CREATE INDEX IF NOT EXISTS {index} ON {target} ({', '.join(names)})"
    equal = " AND ".join(f"t.{name} = s.{name}" for name in names)
    yield f"DELETE FROM {target} t USING {stage} s WHERE {equal}"
    # Null is a key like any other, and equality does not find it.
    null = " OR ".join(f"s.{name} IS NULL" for name in names)
    same = " AND ".join(f"t.{name} IS NOT DISTINCT FROM s.{name}" for name in names)
    yield f"DELETE FROM {target} t USING {stage} s WHERE ({null}) AND {same}"


def _is_new(transaction: Transaction, values: list[object]) -> bool:
    """Note a micro-batch; return whether it was not noted before."""
    noted = f"INSERT INTO {DONE} (target, writer, batch) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
    return transaction.run(noted, values) == 1


def _stage(table: str, writer: str) -> str:
    """Return the name of a writer's own table; PostgreSQL cuts names at 63 bytes."""
    digest = hashlib.sha256(f"{table}\0{writer}".encode()).hexdigest()[:16]
    schema, dot, _ = table.rpartition(".")
    return f"{schema}{dot}muntin_stage_{digest}"
