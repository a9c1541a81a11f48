"""Rows as files: a folder of CSV, JSON lines or Parquet.

Every micro-batch has a subfolder of its own, ``batch=17``, which is written over when it is
repeated, so that nothing is doubled. A batch is micro-batch 0.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from muntin.spark.calls import Parameter, Signature
from muntin.spark.sinks.sending import Put, Sending

_PATH = Parameter("path", str, required=True)
_SHARED = ("compression", "timestampFormat", "timestampNTZFormat", "dateFormat")
CSV = Signature(
    "csv",
    (_PATH, Parameter("header", bool, True)),
    (*_SHARED, "sep", "quote", "escape", "nullValue", "encoding"),
)
JSON = Signature("json", (_PATH,), (*_SHARED, "encoding", "ignoreNullFields"))
PARQUET = Signature("parquet", (_PATH,), ("compression",))


def to_files(sending: Sending) -> Put:
    """A function that writes micro-batches in the form that the sink is named for."""
    bound = sending.bound
    form, path, options = bound.name, bound.text("path"), bound.spark_options()
    if form == "csv":
        options["header"] = "true" if bound.truth("header") else "false"

    def put(rows: DataFrame, number: int) -> None:
        writer = rows.write.format(form).mode("overwrite").options(**options)
        writer.save(f"{path}/batch={number}")

    return put
