"""Files as a source: what Spark reads of them, and what is known of them for an Arrow scan."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from muntin.spark.scan.parquet_files import footer_of
from muntin.spark.scan.parquet_types import CannotScan
from muntin.spark.scan.scan import PATH

#: The columns of Spark's source of binary files, of which only the path is read.
_BINARY = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_OWN = ("path", "modificationTime", "length", "content")
#: Footers that are read at once, because reading them is waiting.
_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class FileSource:
    """Files that can be read by Spark, as ``df``, or by workers that are given their names.

    :func:`muntin.parquet`, :func:`muntin.csv` and :func:`muntin.json` make it; ``mt.stream`` takes
    it like a DataFrame.

    Args:
        df: The rows, read by Spark.
        form: ``"parquet"``, ``"csv"`` or ``"json"``.
        path: Where the files are, as Spark is given it.
        options: How Spark is to list the files.
        only_spark: Why workers cannot read the files; None if they may be able to.
    """

    df: DataFrame
    form: str
    path: str
    options: Mapping[str, str] = field(default_factory=dict)
    only_spark: str | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.df.columns

    @property
    def schema(self) -> StructType:
        """The columns in Spark's types."""
        return self.df.schema

    @property
    def isStreaming(self) -> bool:  # noqa: N802  (as a DataFrame has it)
        """True if files that come are read as well."""
        return bool(self.df.isStreaming)

    @property
    def spark(self) -> SparkSession:
        """The session that reads the files."""
        return self.df.sparkSession

    @cached_property
    def partition(self) -> tuple[str, ...]:
        """The columns whose values are in the names of folders."""
        if not any("=" in part for path in self._paths for part in self._folders(path)):
            return ()
        listed = self.spark.read.format("binaryFile").options(**self.options).load(self.path)
        names = tuple(name for name in listed.columns if name not in _OWN)
        unknown = [name for name in names if name not in self.columns]
        if unknown or len(listed.columns) != len(names) + len(_OWN):
            raise CannotScan("folders have names that are no columns")
        return names

    @cached_property
    def files(self) -> pa.Table:
        """The files of a batch: their paths, and the values of the partition columns."""
        if not self.partition:
            return pa.table({PATH: pa.array(self._paths, pa.string())})
        reader = self.spark.read.format("binaryFile").options(**self.options)
        listed = reader.schema(self._binary_schema).load(self.path)
        return listed.select(PATH, *self.partition).toArrow().sort_by(PATH)

    @cached_property
    def footers(self) -> Mapping[str, pq.FileMetaData]:
        """The footers of the files of a batch, by their paths."""
        paths = self.files[PATH].to_pylist()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return dict(zip(paths, pool.map(footer_of, paths), strict=True))

    @cached_property
    def _paths(self) -> list[str]:
        """The files that there are, as Spark lists them."""
        listed = map(unquote, self.df.inputFiles())
        return sorted(path for path in listed if PurePosixPath(path).name[0] not in "_.")

    def _folders(self, path: str) -> tuple[str, ...]:
        """Return the folders of a file below the path of the source."""
        if self.options.get("recursiveFileLookup") == "true":
            return ()
        return PurePosixPath(path.partition(":")[2] or path).parts[_depth(self.path) : -1]

    @property
    def _binary_schema(self) -> str:
        fields = (self.schema[name] for name in self.partition)
        own = [f"`{f.name}` {f.dataType.simpleString()}" for f in fields]
        return ", ".join([_BINARY, *own])


def _depth(path: str) -> int:
    """Return how many parts an absolute path has; folders after them may be columns."""
    scheme, _, rest = path.partition(":")
    return len(PurePosixPath(rest).parts if rest else Path(scheme).absolute().parts)
