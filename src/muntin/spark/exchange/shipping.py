"""Shipping: Muntin reaches the workers of a cluster without being installed there.

Files added to a session do not reach every worker of a stream. A function does, because PySpark
pickles nested functions by value. So every function that is sent to workers carries the package as
an archive, and loads it first. If the same Muntin, equal to the byte, is installed on the worker,
that one is used. Otherwise the archive is unpacked once per machine into a folder named by its
digest, where Numba can cache compiled code.

Arguments are sent as bytes inside the function, because reading them needs Muntin. PySpark's
pickler writes classes of a program or a notebook by value, so a user's own aggregate is sent too.
A worker keeps the arguments of the last queries, because a stream sends them with every task.
"""

from __future__ import annotations

import bz2
import gc
import hashlib
import io
import os
import pickle
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

Batches = Iterator[pa.RecordBatch]
#: The packages that are not sent, because no worker imports them: those above ``spark``, those for
#: tests, and the parts of ``spark`` that only a driver runs.
AT_HOME = (
    "cli",
    "engine",
    "parser",
    "planner",
    "reference",
    "server",
    "session",
    "simulate",
    "spark/api",
    "spark/connectors",
    "spark/explain",
    "spark/plot",
    "spark/queries",
    "spark/start",
    "spark/plan/worker_program",
    "specs/secrets",
    "testing",
)
#: How many queries a worker keeps arguments of.
_KEPT = 32
#: The state of a shard. As types, because the JVM would have to parse texts in every task.
_HEAD = StructType([StructField("value", StringType())])
_CHUNK_KEY = StructType(
    [
        StructField("name", StringType()),
        StructField("bucket", LongType()),
        StructField("part", IntegerType()),
    ]
)
_CHUNK = StructType([StructField("payload", BinaryType())])


@lru_cache(maxsize=1)
def package() -> tuple[str, bytes]:
    """Return the digest of the sources that workers import, and the sources as a zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in _sources():
            # A fixed date, so that equal sources make equal archives.
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content)
    # Every query and every task carries these bytes. Sources are similar to each other, so they
    # are half as large compressed together as compressed one by one.
    return digest(), bz2.compress(buffer.getvalue())


@lru_cache(maxsize=1)
def digest() -> str:
    """Return the digest of the sources; a worker needs only that, and no archive."""
    hashed = hashlib.sha256()
    for name, content in _sources():
        hashed.update(name.encode() + b"\0" + content)
    return hashed.hexdigest()[:16]


def _sources() -> Iterator[tuple[str, bytes]]:
    """Yield the files that workers import, by their names in the archive and in their order."""
    root = Path(__file__).resolve().parents[2]
    for path in sorted(_files(str(root), [f"{root}/{room}" for room in AT_HOME])):
        yield path.removeprefix(f"{root.parent}/"), Path(path).read_bytes()


def _files(folder: str, at_home: Sequence[str]) -> Iterator[str]:
    """Yield the source files below a folder, without the folders and modules at home."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.path.removesuffix(".py") in at_home:
                continue
            if entry.is_dir():
                yield from _files(entry.path, at_home)
            elif entry.name.endswith((".py", ".typed")):
                yield entry.path


def loader() -> Callable[[], None]:
    """Return a function that makes exactly this Muntin importable wherever it is called.

    The function must not refer to this module, because Muntin may be missing where it runs.
    """
    known, archive = package()

    def unpacked() -> str:
        import bz2 as compressed
        import os
        import stat
        import tempfile
        import zipfile as zip_files
        from io import BytesIO
        from pathlib import Path as Folder

        user = os.getuid()
        folder = Folder(tempfile.gettempdir()) / f"muntin-{user}-{known}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.stat(follow_symlinks=False)
        if found.st_uid != user or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o022:
            raise PermissionError(
                f"{folder} belongs to somebody else, or others can write; remove it"
            )
        with zip_files.ZipFile(BytesIO(compressed.decompress(archive))) as packed:
            # Check each file, because a cleaner of temporary folders may have deleted some of them.
            # Replace each file in one move, because other workers may be unpacking or importing it.
            for entry in packed.infolist():
                path = folder / entry.filename
                if path.is_file() and path.stat().st_size == entry.file_size:
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                handle, fresh = tempfile.mkstemp(dir=path.parent)
                with os.fdopen(handle, "wb") as file:
                    file.write(packed.read(entry))
                Folder(fresh).replace(path)
        return str(folder)

    def load() -> None:
        import importlib
        import sys

        # A worker serves many calls, each with a copy of this function. Hashing the sources costs
        # more than most calls, so a worker does it once and notes the digest in `sys`. A module of
        # Muntin cannot hold the note, because it is not decided yet which Muntin is imported.
        if getattr(sys, "_muntin_loaded", None) == known:
            return
        try:
            installed = importlib.import_module("muntin.spark.exchange.shipping").digest()
        except (ImportError, AttributeError):  # there is none, or an older one
            installed = None
        if installed != known:
            for name in [name for name in sys.modules if name.split(".")[0] == "muntin"]:
                del sys.modules[name]
            sys.path.insert(0, unpacked())
            importlib.invalidate_caches()
        sys._muntin_loaded = known  # type: ignore[attr-defined]

    return load


class KeptArguments:
    """The unpickled arguments of a worker's function, and how often they were used."""

    def __init__(self, packed: bytes) -> None:
        self.values: tuple[Any, ...] = pickle.loads(packed)
        self.uses = 0

    @classmethod
    @lru_cache(maxsize=_KEPT)
    def of(cls, packed: bytes) -> KeptArguments:
        """Return the same arguments for the same bytes."""
        return cls(packed)

    def use(self) -> tuple[Any, ...]:
        """Return the arguments.

        PySpark collects garbage after every task, which takes longer than a small task, because it
        looks at every object of every module. At the second use all modules are imported and the
        garbage of the first is gone. What is there then stays, so later collections leave it out.
        It is done for few queries, as a worker may serve many, of which nothing should stay.
        """
        self.uses += 1
        if self.uses == 2 and KeptArguments.of.cache_info().misses <= _KEPT:
            gc.freeze()
        return self.values


def shipped(module: str, function: str, *arguments: object) -> Callable[[Batches], Batches]:
    """Return a function over Arrow batches that runs ``module.function(arguments..., batches)``."""
    load = loader()
    packed: bytes = cloudpickle.dumps(arguments)  # type: ignore[no-untyped-call]
    here = __name__

    def call(batches: Batches) -> Batches:
        import importlib

        load()
        kept = importlib.import_module(here).KeptArguments.of(packed).use()
        run = getattr(importlib.import_module(module), function)
        yield from run(*kept, batches)

    return call


def shipped_processor(module: str, function: str, *arguments: object) -> StatefulProcessor:
    """Return a stateful processor that runs ``function(arguments..., head, chunks, shard, rows)``.

    ``init`` uses only PySpark, because the driver-side worker that calls it never gets shipped
    files.
    """
    load = loader()
    packed: bytes = cloudpickle.dumps(arguments)  # type: ignore[no-untyped-call]
    here, head, chunk_key, chunk = __name__, _HEAD, _CHUNK_KEY, _CHUNK

    class Shards(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.head = handle.getValueState("head", head)
            self.chunks = handle.getMapState("chunks", chunk_key, chunk)

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            import importlib

            load()
            kept = importlib.import_module(here).KeptArguments.of(packed).use()
            run = getattr(importlib.import_module(module), function)
            yield from run(*kept, self.head, self.chunks, key[0], rows)

        def close(self) -> None:
            pass

    return Shards()
