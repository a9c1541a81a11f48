"""Files: CSV, JSON lines and Parquet, compressed or not, one file or a folder that grows.

A table of Delta Lake is a folder of Parquet files; it can be read if its package is present.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from muntin.errors import ArgumentError, RequirementError
from muntin.spark.columns import problem
from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sources.csv_form import CsvForm
from muntin.spark.connectors.sources.first_file import form_of
from muntin.spark.connectors.sources.lines import LINE_OPTIONS, csv_options
from muntin.spark.connectors.sources.malformed import keeping_raw, permissive, split_malformed
from muntin.spark.connectors.sources.protocol import OpenedSource, SourceRequest
from muntin.spark.requirements import setting
from muntin.spark.scan.file_source import FileSource
from muntin.spark.scan.listing import FileListing

_PATH = Parameter("path", str, required=True)
#: How many new files a micro-batch reads; all of them by default.
_MAX_FILES = Parameter("max_files", int, positive=True)
CSV = Signature(
    "csv",
    (_PATH, Parameter("header", bool), _MAX_FILES),
    (*LINE_OPTIONS, "multiLine", "encoding", "comment", "pathGlobFilter", "recursiveFileLookup"),
)
JSON = Signature(
    "json",
    (_PATH, _MAX_FILES),
    (*LINE_OPTIONS, "multiLine", "encoding", "pathGlobFilter", "recursiveFileLookup"),
)
PARQUET = Signature("parquet", (_PATH, _MAX_FILES), ("pathGlobFilter", "recursiveFileLookup"))
#: ``s3://``, ``hdfs://``: only Spark can list what is there.
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
#: Why workers do not read files of some forms.
_REASONS = {
    "csv": "which lines of CSV are malformed is decided by Spark's own reader",
    "json": "which lines of JSON are malformed is decided by Spark's own reader",
}
#: Options that say how times are written; Spark then finds which columns have such times.
_TIMES = ("timestampFormat", "timestampNTZFormat", "dateFormat")
#: The folders that a sink of files makes.
SUBFOLDERS = "writer=*/batch=*"


def open_csv(request: SourceRequest) -> OpenedSource:
    """Open CSV; what no option says of its form is found in the first file."""
    given = _options(request)
    if request.bound.values["header"] is not None:
        given["header"] = "true" if request.bound.truth("header") else "false"
    form = None if _REMOTE.match(request.bound.text("path")) else _form(request, given)
    found = {} if form is None else dict(form.options)
    options = csv_options({"header": "false", **given, **found})
    opened = _text(request, "csv", options, None if form is None else form.schema)
    return replace(opened, found=found)


def _form(request: SourceRequest, given: dict[str, str]) -> CsvForm | None:
    """Return the form of the first file; of declared columns only the names matter."""
    schema = request.schema
    declared = None if schema is None else request.given_columns(schema).names
    return form_of(request.bound.text("path"), given, declared, request.kept)


def open_json(request: SourceRequest) -> OpenedSource:
    return _text(request, "json", _options(request))


def open_parquet(request: SourceRequest) -> OpenedSource:
    """Open Parquet, which knows its own columns and has no malformed lines."""
    options = _options(request)
    columns = _columns(request, "parquet", options)
    rows = _read(request, "parquet", columns, options)
    return OpenedSource(rows, over=_over(request), files=_files(request, rows, "parquet", options))


def _options(request: SourceRequest) -> dict[str, str]:
    """Return Spark's options; a sink's subfolders are no columns, and files beside them count."""
    options, path = request.bound.spark_options(), request.bound.text("path")
    sunk = not _REMOTE.match(path) and glob.glob(f"{path}/{SUBFOLDERS}")  # noqa: PTH207
    return {"recursiveFileLookup": "true", **options} if sunk else options


def _text(
    request: SourceRequest, form: str, options: dict[str, str], found: str | None = None
) -> OpenedSource:
    columns = _columns(request, form, options, found)
    read = _read(request, form, keeping_raw(columns), permissive(options))
    # Where a malformed line is read again, a header would be a line like others.
    again = {name: value for name, value in options.items() if name != "header"}
    opened = split_malformed(read, columns, form, again, F.col("_metadata.file_path"))
    files = _files(request, opened.df, form, options)
    return replace(opened, over=_over(request), files=files)


def _read(
    request: SourceRequest, form: str, columns: StructType, options: dict[str, str]
) -> DataFrame:
    path = request.bound.text("path")
    if not request.streaming:
        check_there(path)
        return _load(request, form, columns, options)
    more = _rate(request)
    reader = request.spark.readStream.format(form).schema(columns).options(**options, **more)
    return reader.load(_watched(path))


def _rate(request: SourceRequest) -> dict[str, str]:
    """Return how many files a micro-batch reads, as Spark's option."""
    limit = request.bound.values["max_files"]
    return {} if limit is None else {"maxFilesPerTrigger": str(limit)}


def _files(
    request: SourceRequest, rows: DataFrame, form: str, options: dict[str, str]
) -> FileSource:
    """Return the files that rows are read from."""
    path = request.bound.text("path")
    listing = FileListing(rows, path, options)
    if request.streaming:
        listing = FileListing(rows, _watched(path), {**options, **_rate(request)})
    return FileSource(rows, _REASONS.get(form), form=form, listing=listing)


def _load(
    request: SourceRequest, form: str, columns: StructType | None, options: dict[str, str]
) -> DataFrame:
    reader = request.spark.read.format(form).options(**options)
    try:
        return (reader if columns is None else reader.schema(columns)).load(
            request.bound.text("path")
        )
    except AnalysisException as error:
        path = request.bound.text("path")
        raise ArgumentError("path", path, f"Spark says: {problem(error)}") from error


def _columns(
    request: SourceRequest, form: str, options: dict[str, str], found: str | None = None
) -> StructType:
    """Return the columns of the given schema, else those that were found, else Spark's."""
    if request.schema is not None:
        return request.given_columns(request.schema)
    path = request.bound.text("path")
    if not _is_there(path):
        if request.streaming:
            return request.columns(f"there are no files in {path} yet to learn it from")
        check_there(path)
    if found is not None and not _says(options, _TIMES) and not _has_columns(path, options):
        return request.given_columns(found)
    columns = _inferred(request, form, options)
    kept = [field for field in columns if field.name != "_corrupt_record"]
    if not kept:
        return request.columns(f"none can be learned from {path}")
    return StructType(kept)


def _says(options: dict[str, str], names: tuple[str, ...]) -> bool:
    return any(name in options for name in names)


def _has_columns(path: str, options: dict[str, str]) -> bool:
    """Return whether the names of folders are columns, as in ``year=2026/a.csv``."""
    if "recursiveFileLookup" in options:
        return False
    return any("=" in folder.name for folder in Path(path).glob("*/")) if _is_plain(path) else False


def _is_plain(path: str) -> bool:
    return not glob.has_magic(path)


def _inferred(request: SourceRequest, form: str, options: dict[str, str]) -> StructType:
    """Return the columns that Spark finds in the files that are there."""
    infer = {**options, "inferSchema": "true"} if form == "csv" else options
    try:
        return _load(request, form, None, infer).schema
    except PySparkException as error:
        path = request.bound.text("path")
        raise ArgumentError("path", path, f"Spark says: {problem(error)}") from error


def check_there(path: str) -> None:
    """Raise if there is nothing at a path of this machine."""
    if not _is_there(path):
        raise ArgumentError("path", path, f"there is no such file or folder in {Path.cwd()}")


def _is_there(path: str) -> bool:
    # Spark's paths may have wildcards anywhere, which Path.glob does not take from the root.
    return bool(_REMOTE.match(path)) or bool(glob.glob(path))  # noqa: PTH207


def _watched(path: str) -> str:
    """Return what Spark can watch: a folder, made if it is missing, or a pattern for a file."""
    if _REMOTE.match(path) or glob.has_magic(path):
        return path
    if _is_file(path):
        place = Path(path)
        return str(place.with_name(f"[{place.name[0]}]{place.name[1:]}"))
    if Path(path).suffix:
        check_there(path)
    Path(path).mkdir(parents=True, exist_ok=True)
    return path


def _over(request: SourceRequest) -> Callable[[], bool] | None:
    """Return when a stream is over: one file when it is read, a folder never."""
    return (lambda: True) if _is_file(request.bound.text("path")) else None


def _is_file(path: str) -> bool:
    return not _REMOTE.match(path) and Path(path).is_file()


DELTA = Signature(
    "delta",
    (Parameter("path", str, required=True),),
    ("versionAsOf", "timestampAsOf", "ignoreChanges", "ignoreDeletes", "maxFilesPerTrigger"),
)
_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"


def open_delta(request: SourceRequest) -> OpenedSource:
    """Read a table as it is, or as a stream of what is added to it."""
    check_delta(request.spark)
    reader = request.spark.readStream if request.streaming else request.spark.read
    options = request.bound.spark_options()
    return OpenedSource(reader.format("delta").options(**options).load(request.bound.text("path")))


def check_delta(spark: SparkSession) -> None:
    """Raise unless the session was made with Delta Lake."""
    if _EXTENSION in setting(spark, "spark.sql.extensions", ""):
        return
    raise RequirementError(
        "this session has no Delta Lake; name a build of it for this Spark when the session is "
        "made:\nmuntin run --package io.delta:delta-spark_2.13:VERSION "
        f"--conf spark.sql.extensions={_EXTENSION} "
        "--conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"
    )
