"""Rows as files: a folder of CSV, JSON lines or Parquet.

Everybody who writes to a folder has a subfolder there, and every micro-batch one in that:
``writer=slow-3f2a9c1b/batch=17``. It is written over when it is repeated, so that nothing is
doubled, and nothing that another query or another run of a stream wrote is touched. A batch is
micro-batch 0 of its query, whichever run it is: it replaces what it wrote before.
"""

from __future__ import annotations

from urllib.parse import quote

from pyspark.sql import DataFrame

from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sinks.protocol import Sink, SinkRequest

_PATH = Parameter("path", str, required=True)
_SHARED = ("compression", "timestampFormat", "timestampNTZFormat", "dateFormat")
CSV = Signature(
    "csv",
    (_PATH, Parameter("header", bool, True)),
    (*_SHARED, "sep", "quote", "escape", "nullValue", "encoding"),
)
JSON = Signature("json", (_PATH,), (*_SHARED, "encoding", "ignoreNullFields"))
PARQUET = Signature("parquet", (_PATH,), ("compression",))


def to_files(sending: SinkRequest) -> Sink:
    """A function that writes micro-batches in the form that the sink is named for."""
    bound = sending.bound
    form, options = bound.name, bound.spark_options()
    folder = f"{bound.text('path')}/{subfolder(sending)}"
    if form == "csv":
        options["header"] = "true" if bound.truth("header") else "false"

    def put(rows: DataFrame, number: int) -> None:
        writer = rows.write.format(form).mode("overwrite").options(**options)
        writer.save(f"{folder}/batch={number}")

    return put


def subfolder(sending: SinkRequest) -> str:
    """Where somebody writes; escaped as Spark escapes the values of partitions."""
    name = quote(sending.query, safe=" ")
    return f"writer={name}" if sending.batch else f"writer={name}-{sending.run[:8]}"
