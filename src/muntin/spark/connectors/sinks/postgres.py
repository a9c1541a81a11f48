"""Rows to a table of PostgreSQL, each micro-batch once.

Spark writes the partitions of a micro-batch one by one, and a failure in between would leave some
of them. So Spark writes to a table beside the target; then one transaction moves the rows over and
notes that the micro-batch is done. A micro-batch that is noted already is not moved again.
"""

from __future__ import annotations

import hashlib

from pyspark.sql import DataFrame

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

POSTGRES = Signature("postgres", (Parameter("table", str, required=True), *PLACE), ("batchsize",))
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
    driver()  # raises now if it is missing, and not after the first micro-batch

    def put(rows: DataFrame, number: int) -> None:
        rows.write.format("jdbc").mode("overwrite").options(**options).save()
        names = ", ".join(identifier(name) for name in rows.columns)
        with database.transaction() as transaction:
            transaction.run(_MAKE_DONE)
            if _is_new(transaction, [table, request.writer, number]):
                copied = f"(LIKE {quoted(stage)})"
                transaction.run(f"CREATE TABLE IF NOT EXISTS {target} {copied}")
                moved = f"SELECT {names} FROM {quoted(stage)}"
                transaction.run(f"INSERT INTO {target} ({names}) {moved}")
            transaction.run(f"DROP TABLE {quoted(stage)}")

    return put


def _is_new(transaction: Transaction, values: list[object]) -> bool:
    """Note a micro-batch; return whether it was not noted before."""
    noted = f"INSERT INTO {DONE} (target, writer, batch) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
    return transaction.run(noted, values) == 1


def _stage(table: str, writer: str) -> str:
    """Return the name of a writer's own table; PostgreSQL cuts names at 63 bytes."""
    digest = hashlib.sha256(f"{table}\0{writer}".encode()).hexdigest()[:16]
    schema, dot, _ = table.rpartition(".")
    return f"{schema}{dot}muntin_stage_{digest}"
