"""Lines of text as rows; each line is a JSON object or a line of CSV."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from muntin.spark.connectors.signature import Parameter
from muntin.spark.connectors.sources.malformed import (
    ORIGIN,
    ddl,
    keeping_raw,
    permissive,
    split_malformed,
)
from muntin.spark.connectors.sources.protocol import OpenedSource

#: The parameter of every source of lines for what a line is.
FORMAT = Parameter("format", str, "json", choices=("json", "csv"))
#: Options of Spark's readers of CSV and JSON that make sense for a line.
LINE_OPTIONS = (
    "sep",
    "quote",
    "escape",
    "nullValue",
    "nanValue",
    "timestampFormat",
    "timestampNTZFormat",
    "dateFormat",
    "ignoreLeadingWhiteSpace",
    "ignoreTrailingWhiteSpace",
    "allowSingleQuotes",
    "allowUnquotedFieldNames",
)


def csv_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a reader or writer of CSV; unless given, a doubled quote is a quote.

    So RFC 4180 has it. Spark's own default is a backslash before the quote.
    """
    return {"escape": options.get("quote", '"'), **options}


def rows_of_lines(
    lines: DataFrame, columns: StructType, form: str, options: Mapping[str, str]
) -> OpenedSource:
    """Return the rows of lines, which are in ``value``, with their :data:`ORIGIN`."""
    filled = lines.where(F.trim("value") != "")
    if form == "json":
        read = F.from_json("value", keeping_raw(columns), permissive(options))
    else:
        options = csv_options(options)
        read = F.from_csv("value", ddl(keeping_raw(columns)), permissive(options))
    struct = filled.select(read.alias("read"), F.col(ORIGIN).alias("from"))
    return split_malformed(struct.select("read.*", "from"), columns, form, options, F.col("from"))
