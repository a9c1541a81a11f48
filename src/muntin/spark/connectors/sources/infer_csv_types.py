"""Inferring the column types of CSV files on this machine: every line is read, few are tried.

Spark infers types by trying them on every value, in two passes; that took longer than the query.
Here Arrow reads the files once. Of the texts of a column that differ only in their digits, the
greatest one is kept. Spark infers types from the kept texts, so they are the ones it would find.
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
_KNOWN = frozenset({"header", "sep", "nullValue", "escape"})
#: How many kinds of text are kept per column; a column of names has more, and one name is enough.
_MOST_KINDS = 500
_BLOCK = 4 * 2**20
#: The greatest text of each kind; a kind is a text with its digits as nines.
_Kinds = dict[str, str]


def infer_columns(spark: SparkSession, path: str, options: Mapping[str, str]) -> StructType | None:
    """Return the columns of local CSV files; None if only Spark can infer them."""
    files = _files(path)
    if is_remote() or not files or not {*options} <= _KNOWN or len(options.get("sep", ",")) != 1:
        return None
    if options.get("escape", '"') != '"':
        return None
    try:
        first = _first_line(files[0])
        names = next(csv.reader([first], delimiter=options.get("sep", ",")))
        kinds: list[_Kinds] = [{} for _ in names]
        for file in files:
            _add(kinds, _values(file, len(names), options))
    except (pa.ArrowException, OSError, UnicodeDecodeError, StopIteration):
        return None  # not text, or compressed in a way that only Spark knows
    columns = _inferred(spark, first, kinds, options)
    if len(columns) != len(kinds):
        return None
    for field, texts in zip(columns, kinds, strict=True):
        if len(texts) == _MOST_KINDS and field.dataType != StringType():
            return None  # a text that was not kept may have another type
    return columns


def _files(path: str) -> list[Path]:
    """Return the files that Spark would read; none if they are in folders, which are columns."""
    files = [Path(match) for match in sorted(glob.glob(path))]  # noqa: PTH207
    if len(files) == 1 and files[0].is_dir():
        files = [file for file in sorted(files[0].iterdir()) if file.name[0] not in "._"]
    return files if all(file.is_file() for file in files) else []


def _first_line(file: Path) -> str:
    """Return the first line that is not empty."""
    with pa.input_stream(str(file)) as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8")
        return next(line for line in lines if line.strip()).rstrip("\r\n")


def _values(file: Path, width: int, options: Mapping[str, str]) -> Iterable[pa.RecordBatch]:
    """Read the values of a file as texts, without lines that have another number of values."""
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
    """Keep the greatest text of every kind; of numbers of one length that is the largest."""
    for batch in batches:
        for kept, column in zip(kinds, batch.columns, strict=True):
            texts = pc.unique(column.drop_null())
            shapes = pc.replace_substring_regex(texts, "[0-9]", "9")
            greatest = pa.table({"kind": shapes, "text": texts}).group_by("kind")
            for row in greatest.aggregate([("text", "max")]).to_pylist():
                kind, text = row["kind"], row["text_max"]
                if kind in kept or len(kept) < _MOST_KINDS:
                    kept[kind] = max(text, kept.get(kind, ""))


def _inferred(
    spark: SparkSession, first: str, kinds: list[_Kinds], options: Mapping[str, str]
) -> StructType:
    """Return the columns that Spark infers from the texts that were kept."""
    written = io.StringIO()
    writer = csv.writer(written, delimiter=options.get("sep", ","), lineterminator="\n")
    writer.writerows(zip_longest(*(texts.values() for texts in kinds), fillvalue=""))
    lines = written.getvalue().splitlines()
    if options.get("header") == "true":
        lines = [first, *lines]
    # Starts faster than createDataFrame, which needs pickles and a worker's socket.
    rows = spark.sql("SELECT explode(:lines) AS value", {"lines": lines})
    return spark.read.options(**options).option("inferSchema", "true").csv(rows).schema
