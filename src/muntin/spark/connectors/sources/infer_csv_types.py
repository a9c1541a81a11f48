"""Learning the columns of CSV files on this machine: every line is read, few are judged.

Spark learns columns by trying types on every value, in two passes; that took longer than the query.
Here Arrow reads the files once, and of texts that differ only in their digits one is kept for each
column, the greatest. What the kept ones are Spark says, so types are the ones it would find.
"""

from __future__ import annotations

import csv
import glob
import io
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructType
from pyspark.sql.utils import is_remote

#: Options under which a line has the same values to Arrow as to Spark.
_KNOWN = frozenset({"header", "sep", "nullValue"})
#: So many kinds of text are kept of a column; names have more, and one name says it all.
_MOST_KINDS = 500
_BLOCK = 4 * 2**20
#: The greatest text of each kind; a kind is a text with its digits as nines.
_Kinds = dict[str, str]


def learned(spark: SparkSession, path: str, options: Mapping[str, str]) -> StructType | None:
    """The columns of local files of CSV; None where only Spark can say."""
    files = _files(path)
    if is_remote() or not files or not {*options} <= _KNOWN or len(options.get("sep", ",")) != 1:
        return None
    try:
        first = _first_line(files[0])
        names = next(csv.reader([first], delimiter=options.get("sep", ",")))
        kinds: list[_Kinds] = [{} for _ in names]
        for file in files:
            _add(kinds, _values(file, len(names), options))
    except (pa.ArrowException, OSError, UnicodeDecodeError, StopIteration):
        return None  # no text, or compressed in a way that only Spark knows
    columns = _judged(spark, first, kinds, options)
    if len(columns) != len(kinds):
        return None
    for field, found in zip(columns, kinds, strict=True):
        if len(found) == _MOST_KINDS and field.dataType != StringType():
            return None  # what was not kept may be something else
    return columns


def _files(path: str) -> list[Path]:
    """The files that Spark would read; none if they lie in folders, whose names are columns."""
    found = [Path(one) for one in sorted(glob.glob(path))]  # noqa: PTH207
    if len(found) == 1 and found[0].is_dir():
        found = [one for one in sorted(found[0].iterdir()) if one.name[0] not in "._"]
    return found if all(one.is_file() for one in found) else []


def _first_line(file: Path) -> str:
    """The first line that is not empty."""
    with pa.input_stream(str(file)) as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8")
        return next(line for line in lines if line.strip()).rstrip("\r\n")


def _values(file: Path, width: int, options: Mapping[str, str]) -> Iterable[pa.RecordBatch]:
    """The values of a file as texts; lines with another number of them are no rows."""
    names = [str(place) for place in range(width)]
    header = options.get("header") == "true"
    batches: Iterable[pa.RecordBatch] = arrow_csv.open_csv(
        str(file),
        read_options=arrow_csv.ReadOptions(
            skip_rows=int(header), column_names=names, block_size=_BLOCK
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=options.get("sep", ","), invalid_row_handler=lambda _: "skip"
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            null_values=["", options.get("nullValue", "")],
        ),
    )
    return batches


def _add(kinds: list[_Kinds], batches: Iterable[pa.RecordBatch]) -> None:
    """Keep the greatest text of every kind; of numbers of one length it is the furthest out."""
    for batch in batches:
        for found, column in zip(kinds, batch.columns, strict=True):
            texts = pc.unique(column.drop_null())
            shapes = pc.replace_substring_regex(texts, "[0-9]", "9")
            greatest = pa.table({"kind": shapes, "text": texts}).group_by("kind")
            for row in greatest.aggregate([("text", "max")]).to_pylist():
                kind, text = row["kind"], row["text_max"]
                if kind in found or len(found) < _MOST_KINDS:
                    found[kind] = max(text, found.get(kind, ""))


def _judged(
    spark: SparkSession, first: str, kinds: list[_Kinds], options: Mapping[str, str]
) -> StructType:
    """What Spark makes of the texts that were kept, each in its column."""
    written = io.StringIO()
    writer = csv.writer(written, delimiter=options.get("sep", ","), lineterminator="\n")
    writer.writerows(zip_longest(*(found.values() for found in kinds), fillvalue=""))
    lines = written.getvalue().splitlines()
    if options.get("header") == "true":
        lines = [first, *lines]
    # Less to start up than createDataFrame, which has pickles and a worker's socket behind it.
    rows = spark.sql("SELECT explode(:lines) AS value", {"lines": lines})
    return spark.read.options(**options).option("inferSchema", "true").csv(rows).schema
