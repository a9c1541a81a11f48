"""The files of a source: which there are, their footers, and their names as a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, reduce
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from muntin.spark.scan.named_files import PATH, SHARE, SHARES
from muntin.spark.scan.parquet_files import footer_of
from muntin.spark.scan.parquet_types import CannotScan

#: The columns of Spark's source of binary files; if no contents are selected, none are read.
_BINARY = "path STRING, modificationTime TIMESTAMP_LTZ, length BIGINT, content BINARY"
_OWN = ("path", "modificationTime", "length", "content")
#: Footers that are read at once, because reading them is waiting.
_AT_ONCE = 16
#: A file of a stream that has more bytes is shared by tasks. Reading less takes less time than
#: another task does.
SHARED_BYTES = 8 * 2**20


@dataclass(frozen=True, eq=False)
class FileListing:
    """Where the files of a source are, and what Spark lists there.

    Args:
        rows: All rows of the files, read by Spark.
        path: Where the files are, as Spark is given it.
        options: How Spark is to list the files.
    """

    rows: DataFrame
    path: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def schema(self) -> StructType:
        """The columns of the files in Spark's types."""
        return self.rows.schema

    @property
    def spark(self) -> SparkSession:
        """The session that lists the files."""
        return self.rows.sparkSession

    @cached_property
    def partition(self) -> tuple[str, ...]:
        """The columns whose values are in the names of folders."""
        if not any("=" in part for path in self._paths for part in self._folders(path)):
            return ()
        listed = self.spark.read.format("binaryFile").options(**self.options).load(self.path)
        names = tuple(name for name in listed.columns if name not in _OWN)
        unknown = [name for name in names if name not in self.rows.columns]
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
        return footers_of(self.files[PATH].to_pylist())

    @cached_property
    def there(self) -> list[str]:
        """The files of a stream that are there already, in the order of their names."""
        listed = self.spark.read.format("binaryFile").schema(_BINARY).options(**self._any_folder)
        try:
            return sorted(map(unquote, listed.load(self.path).inputFiles()))
        except AnalysisException:  # there is nothing at the path yet
            return []

    def named(self, shares: int) -> DataFrame:
        """Return the names of the files of a stream, a row for each share that a task reads.

        Shares are branches of one union over one source, because a shuffle would cost every
        micro-batch several times as much as it spreads.
        """
        wanted = F.least(F.lit(shares), F.ceil(F.col("length") / SHARED_BYTES))
        files = self._names.select(PATH, F.greatest(F.lit(1), wanted).cast("int").alias(SHARES))
        branches = [files.withColumn(SHARE, F.lit(share)) for share in range(shares)]
        first, *others = branches
        more = [branch.where(F.col(SHARES) > F.col(SHARE)) for branch in others]
        return reduce(DataFrame.unionByName, more, first)

    @cached_property
    def _names(self) -> DataFrame:
        """The names of the files of a stream: one source, however many inputs read it."""
        reader = self.spark.readStream.format("binaryFile").schema(_BINARY)
        return reader.options(**self._any_folder).load(self.path).select(PATH, "length")

    @property
    def _any_folder(self) -> dict[str, str]:
        """Options for Spark not to find columns in folders, which workers do."""
        return {**self.options, "recursiveFileLookup": "true"}

    @cached_property
    def _paths(self) -> list[str]:
        """The files that there are, as Spark lists them."""
        listed = map(unquote, self.rows.inputFiles())
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


def footers_of(paths: Sequence[str]) -> dict[str, pq.FileMetaData]:
    """Return the footers of files, by their paths."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(paths, pool.map(footer_of, paths), strict=True))


def _depth(path: str) -> int:
    """Return how many parts an absolute path has; folders after them may be columns."""
    scheme, _, rest = path.partition(":")
    return len(PurePosixPath(rest).parts if rest else Path(scheme).absolute().parts)
