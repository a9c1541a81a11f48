"""Files: CSV, JSON lines and Parquet, compressed or not, one file or a folder that grows."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from muntin.errors import ArgumentError
from muntin.spark.columns import problem
from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sources.infer_csv_types import learned
from muntin.spark.connectors.sources.lines import LINE_OPTIONS
from muntin.spark.connectors.sources.malformed import keeping_raw, permissive, told_apart
from muntin.spark.connectors.sources.protocol import OpenedSource, SourceRequest

_PATH = Parameter("path", str, required=True)
#: How many new files a micro-batch takes; all of them unless it is said.
_MAX_FILES = Parameter("max_files", int, positive=True)
CSV = Signature(
    "csv",
    (_PATH, Parameter("header", bool, False), _MAX_FILES),
    (*LINE_OPTIONS, "multiLine", "encoding", "comment", "pathGlobFilter", "recursiveFileLookup"),
)
JSON = Signature(
    "json",
    (_PATH, _MAX_FILES),
    (*LINE_OPTIONS, "multiLine", "encoding", "pathGlobFilter", "recursiveFileLookup"),
)
PARQUET = Signature("parquet", (_PATH, _MAX_FILES), ("pathGlobFilter", "recursiveFileLookup"))
#: ``s3://``, ``hdfs://``: what lies there only Spark can say.
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
#: What a sink makes in a folder.
SUBFOLDERS = "writer=*/batch=*"


def open_csv(reading: SourceRequest) -> OpenedSource:
    header = {"header": "true" if reading.bound.truth("header") else "false"}
    return _text(reading, "csv", {**_options(reading), **header})


def open_json(reading: SourceRequest) -> OpenedSource:
    return _text(reading, "json", _options(reading))


def open_parquet(reading: SourceRequest) -> OpenedSource:
    """Parquet knows its own columns and cannot be malformed line by line."""
    options = _options(reading)
    columns = _columns(reading, "parquet", options)
    return OpenedSource(_read(reading, "parquet", columns, options), over=_over(reading))


def _options(reading: SourceRequest) -> dict[str, str]:
    """What Spark is told; the subfolders of a sink are no columns, and files beside them count."""
    options, path = reading.bound.spark_options(), reading.bound.text("path")
    sunk = not _REMOTE.match(path) and glob.glob(f"{path}/{SUBFOLDERS}")  # noqa: PTH207
    return {"recursiveFileLookup": "true", **options} if sunk else options


def _text(reading: SourceRequest, form: str, options: dict[str, str]) -> OpenedSource:
    columns = _columns(reading, form, options)
    read = _read(reading, form, keeping_raw(columns), permissive(options))
    # A header is a line like others where a malformed one is looked at again.
    again = {name: value for name, value in options.items() if name != "header"}
    opened = told_apart(read, columns, form, again, F.col("_metadata.file_path"))
    return replace(opened, over=_over(reading))


def _read(
    reading: SourceRequest, form: str, columns: StructType, options: dict[str, str]
) -> DataFrame:
    path, limit = reading.bound.text("path"), reading.bound.values["max_files"]
    if not reading.streaming:
        check_there(path)
        return _load(reading, form, columns, options)
    more = {} if limit is None else {"maxFilesPerTrigger": str(limit)}
    reader = reading.spark.readStream.format(form).schema(columns).options(**options, **more)
    return reader.load(_watched(path))


def _load(
    reading: SourceRequest, form: str, columns: StructType | None, options: dict[str, str]
) -> DataFrame:
    reader = reading.spark.read.format(form).options(**options)
    try:
        return (reader if columns is None else reader.schema(columns)).load(
            reading.bound.text("path")
        )
    except AnalysisException as error:
        path = reading.bound.text("path")
        raise ArgumentError("path", path, f"Spark says: {problem(error)}") from error


def _columns(reading: SourceRequest, form: str, options: dict[str, str]) -> StructType:
    """The schema that was given, or that of the files that are there."""
    if reading.schema is not None:
        return reading.given_columns(reading.schema)
    path = reading.bound.text("path")
    if not _is_there(path):
        if reading.streaming:
            return reading.columns(f"there are no files in {path} yet to learn it from")
        check_there(path)
    columns = _learned(reading, form, options)
    kept = [field for field in columns if field.name != "_corrupt_record"]
    if not kept:
        return reading.columns(f"none can be learned from {path}")
    return StructType(kept)


def _learned(reading: SourceRequest, form: str, options: dict[str, str]) -> StructType:
    """The columns of the files that are there."""
    path = reading.bound.text("path")
    found = None
    if form == "csv" and not _REMOTE.match(path):
        found = learned(reading.spark, path, options)
    infer = {**options, "inferSchema": "true"} if form == "csv" else options
    try:
        return found or _load(reading, form, None, infer).schema
    except PySparkException as error:
        raise ArgumentError("path", path, f"Spark says: {problem(error)}") from error


def check_there(path: str) -> None:
    """Refuse a path of this machine at which there is nothing."""
    if not _is_there(path):
        raise ArgumentError("path", path, f"there is no such file or folder in {Path.cwd()}")


def _is_there(path: str) -> bool:
    # Spark's paths may have wildcards anywhere, which Path.glob does not read from the root.
    return bool(_REMOTE.match(path)) or bool(glob.glob(path))  # noqa: PTH207


def _watched(path: str) -> str:
    """Spark watches folders: one that is not there yet is made, and a file is made a pattern."""
    if _REMOTE.match(path) or glob.has_magic(path):
        return path
    if _is_file(path):
        place = Path(path)
        return str(place.with_name(f"[{place.name[0]}]{place.name[1:]}"))
    if Path(path).suffix:
        check_there(path)
    Path(path).mkdir(parents=True, exist_ok=True)
    return path


def _over(reading: SourceRequest) -> Callable[[], bool] | None:
    """A stream of one file is over when that has been read; of a folder more may always come."""
    return (lambda: True) if _is_file(reading.bound.text("path")) else None


def _is_file(path: str) -> bool:
    return not _REMOTE.match(path) and Path(path).is_file()
