"""Rows as files: a folder of CSV, JSON lines or Parquet, or a table of Delta Lake.

Every writer has a subfolder of the folder, and every micro-batch one in that:
``writer=slow-3f2a9c1b/batch=17``. A repeated micro-batch is written over, so that nothing is
doubled, and files of another query or another run of a stream are never touched. A batch is
micro-batch 0 of its query in every run: it replaces what it wrote before. A table of Delta Lake
remembers the micro-batches of a query by itself.
"""

from __future__ import annotations

from urllib.parse import quote

from pyspark.sql import DataFrame

from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sinks.protocol import Sink, SinkRequest
from muntin.spark.connectors.sources.files import check_delta
from muntin.spark.connectors.sources.lines import csv_options

_PATH = Parameter("path", str, required=True)
_SHARED = ("compression", "timestampFormat", "timestampNTZFormat", "dateFormat")
CSV = Signature(
    "csv",
    (_PATH, Parameter("header", bool, True)),
    (*_SHARED, "sep", "quote", "escape", "nullValue", "encoding"),
)
JSON = Signature("json", (_PATH,), (*_SHARED, "encoding", "ignoreNullFields"))
PARQUET = Signature("parquet", (_PATH,), ("compression",))


def to_files(request: SinkRequest) -> Sink:
    """Return a sink that writes micro-batches in the format that it is named after."""
    bound = request.bound
    form, options = bound.name, bound.spark_options()
    folder = f"{bound.text('path')}/{subfolder(request)}"
    if form == "csv":
        options = csv_options(options)
        options["header"] = "true" if bound.truth("header") else "false"

    def put(rows: DataFrame, number: int) -> None:
        writer = rows.write.format(form).mode("overwrite").options(**options)
        writer.save(f"{folder}/batch={number}")

    return put


def subfolder(request: SinkRequest) -> str:
    """Return the subfolder of a writer, escaped as Spark escapes the values of partitions."""
    name = quote(request.query, safe=" ")
    return f"writer={name}" if request.batch else f"writer={name}-{request.run[:8]}"


DELTA = Signature("delta", (Parameter("path", str, required=True),), ("mergeSchema",))


def to_delta(request: SinkRequest) -> Sink:
    """Return a sink that appends rows, once for each micro-batch."""
    check_delta(request.spark)

    def put(rows: DataFrame, number: int) -> None:
        writer = rows.write.format("delta").mode("append")
        writer = writer.options(**request.bound.spark_options())
        writer = writer.option("txnAppId", request.writer).option("txnVersion", number)
        writer.save(request.bound.text("path"))

    return put
