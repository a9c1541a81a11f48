"""Starting Spark for a command, with the packages that its sources and sinks need.

Which sources and sinks a text names, and whether it streams, is known before Spark starts.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from muntin.cli.options import SparkOptions
from muntin.cli.progress import CommandProgress
from muntin.parser.statements import (
    ConnectorCall,
    CreateInputs,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateTrigger,
    Query,
    Select,
    Statement,
)

if TYPE_CHECKING:
    from muntin.spark.columns import SparkSession

#: Seconds within which the process of Java is forked, if at all.
_FORK_SECONDS = 2
#: Sources that may never end, so that they are read as streams.
_ENDLESS = frozenset({"stdin", "socket"})
_QUERIES = CreateQuery | Select


@contextmanager
def session(
    options: SparkOptions,
    progress: CommandProgress,
    names: Iterable[str] = (),
    *,
    workers: bool = False,
) -> Iterator[SparkSession]:
    """Start a session that ends with the command; ``names`` are those of sources and sinks.

    ``workers`` says that rows will go through Python, so that a worker starts ahead of them.

    A session that runs already, in a notebook or a test, is used and not stopped.
    """
    from muntin.spark.connectors.packages import packages_for

    packages = packages_for(names if options.fetches else (), options.packages)
    if (running := _running()) is not None:
        yield running
        return
    with tempfile.TemporaryDirectory(prefix="muntin-") as folder:
        with progress.during("Starting Spark"):
            from muntin.spark.start.spark_session import (
                SessionSettings,
                keep_quiet,
                start,
                warm,
            )

            if not options.verbose:
                keep_quiet()

            _import_after_fork("muntin.session.pipeline")
            log = options.log or (None if options.verbose else Path(folder) / "spark.log")
            conf = {"spark.sql.warehouse.dir": f"{folder}/warehouse", **options.conf}
            spark = start(SessionSettings(options.master, conf, packages, log))
            if options.verbose:
                spark.sparkContext.setLogLevel("WARN")
            if workers:
                warm(spark)
        try:
            yield spark
        finally:
            spark.stop()


def _import_after_fork(module: str) -> None:
    """Import what every command needs next, while Java starts.

    The import begins after the process of Java is forked: a module that takes part in forks and is
    imported in the middle of one would release locks that it never took.
    """
    forked = threading.Event()
    os.register_at_fork(after_in_parent=forked.set)

    def load() -> None:
        forked.wait(_FORK_SECONDS)
        import_module(module)

    threading.Thread(target=load, name="importing").start()


def _running() -> SparkSession | None:
    """Return the session of this process; without PySpark imported there is none."""
    if "pyspark" not in sys.modules:
        return None
    from muntin.spark.columns import SparkSession

    return SparkSession.getActiveSession()


def called(statements: Sequence[Statement]) -> set[str]:
    """Return the names of the sources, sinks and actions of a text."""
    return {call.name.lower() for call in _calls(statements)}


def streams(statements: Sequence[Statement]) -> bool:
    """Return whether a text reads a source that may never end."""
    streams = [statement for statement in statements if isinstance(statement, CreateStream)]
    several = (statement for statement in statements if isinstance(statement, CreateInputs))
    streams += (own for statement in several for own in statement.inputs)
    return any(stream.source.name.lower() in _ENDLESS for stream in streams)


def windowed(statements: Sequence[Statement]) -> bool:
    """Return whether a text has queries with windows or joins, whose rows go through Python."""
    queries = (statement.query for statement in statements if isinstance(statement, _QUERIES))
    return any(query.windowings or query.alignments for query in queries)


def _calls(statements: Sequence[Statement]) -> Iterator[ConnectorCall]:
    for statement in statements:
        query = getattr(statement, "query", getattr(statement, "target", None))
        if isinstance(query, Query):
            yield from query.sources.values()
        match statement:
            case CreateStream(source=call) | CreateTable(source=call):
                yield call
            case CreateInputs(inputs=inputs):
                yield from (own.source for own in inputs)
            case CreateQuery(into=into, late=late):
                yield from (call for call in (into, late) if call is not None)
            case CreateTrigger(action=call):
                yield call
