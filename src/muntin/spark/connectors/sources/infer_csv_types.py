"""Inferring the column types of CSV files on this machine: every line is read, few are tried.

Spark infers types by trying them on every value, in two passes; that took longer than the query.
Here Arrow reads the files once. Of the texts of a column that differ only in their digits, the
greatest one is kept. Spark infers types from the kept texts, so they are the ones it would find.
"""

from __future__ import annotations

import csv
import glob
import io
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)
from pyspark.sql.utils import is_remote

#: Options under which a line has the same values to Arrow as to Spark.
_KNOWN = frozenset({"header", "sep", "nullValue", "escape"})
#: How many kinds of text are kept per column; a column of names has more, and one name is enough.
_MOST_KINDS = 500
_BLOCK = 4 * 2**20
#: So many lines of texts are tried one by one, without a job of Spark.
_MOST_LINES = 32
#: Types of numbers; a column of several has the first of them.
_NUMBERS = (DoubleType(), LongType(), IntegerType())
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
    names = _plain_names(first, len(kinds), options)
    types = None if names is None else _types(spark, kinds, options)
    if names is not None and types is not None:
        return StructType([StructField(*column) for column in zip(names, types, strict=True)])
    lines = _lines(kinds, options)
    if options.get("header") == "true":
        lines = [first, *lines]
    # Starts faster than createDataFrame, which needs pickles and a worker's socket.
    rows = spark.sql("SELECT explode(:lines) AS value", {"lines": lines})
    return spark.read.options(**options).option("inferSchema", "true").csv(rows).schema


def _lines(kinds: Sequence[_Kinds], options: Mapping[str, str]) -> list[str]:
    """Write texts as lines of CSV; a column with fewer texts than others is empty at the end."""
    written = io.StringIO()
    writer = csv.writer(written, delimiter=options.get("sep", ","), lineterminator="\n")
    writer.writerows(zip_longest(*(texts.values() for texts in kinds), fillvalue=""))
    return written.getvalue().splitlines()


def _plain_names(first: str, width: int, options: Mapping[str, str]) -> list[str] | None:
    """Return the names of the columns; None if Spark would change one of them."""
    if options.get("header") != "true":
        return [f"_c{place}" for place in range(width)]
    names = first.split(options.get("sep", ","))
    plain = all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in names)
    different = len({name.lower() for name in names}) == len(names) == width
    return names if plain and different and options.get("nullValue") not in names else None


def _types(
    spark: SparkSession, kinds: Sequence[_Kinds], options: Mapping[str, str]
) -> list[DataType] | None:
    """Return the types of columns without a job of Spark; None if it takes one.

    ``from_csv`` finds the type of a constant line when it is analysed.
    """
    few = [dict(itertools.islice(texts.items(), _MOST_LINES)) for texts in kinds]
    lines = _lines(few, options)
    if len(lines) != max(map(len, few)):
        return None  # a text has several lines
    if not lines:
        return [StringType() for _ in kinds]
    given = {name: value for name, value in options.items() if name != "header"}
    pairs = ", ".join(f"'{name}', :{name}" for name in given)
    settings = f", map({pairs})" if given else ""
    calls = [f"from_csv('', schema_of_csv(:line{place}{settings}))" for place in range(len(lines))]
    arguments = {f"line{place}": line for place, line in enumerate(lines)}
    found = spark.sql(f"SELECT {', '.join(calls)}", {**given, **arguments}).schema
    of_lines = [[field.dataType for field in line.dataType] for line in found]  # type: ignore[attr-defined]
    if any(len(types) != len(kinds) for types in of_lines):
        return None
    common = [
        _common({types[place] for types in of_lines[: len(texts)]}, whole=len(texts) == len(all_))
        for place, (texts, all_) in enumerate(zip(few, kinds, strict=True))
    ]
    return None if None in common else cast(list[DataType], common)


def _common(types: set[DataType], *, whole: bool) -> DataType | None:
    """Return the type of a column whose texts have some types; None if only Spark knows.

    Unless these are the types of the ``whole`` column, only a text among them decides.
    """
    if StringType() in types or not types:
        return StringType()
    if not whole:
        return None
    if len(types) == 1:
        return next(iter(types))
    for place, widest in enumerate(_NUMBERS):
        if widest in types and types <= set(_NUMBERS[place:]):
            return widest
    return None
