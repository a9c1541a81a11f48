"""Starting Spark for a command, with what the sources and sinks of a text need."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from muntin.cli.options import SparkOptions
from muntin.cli.progress import CommandProgress

if TYPE_CHECKING:
    from muntin.spark.types import SparkSession

#: Java's process is begun within this time; else nothing is forked here.
_FORK_SECONDS = 2


@contextmanager
def session(
    options: SparkOptions, progress: CommandProgress, names: Iterable[str] = ()
) -> Iterator[SparkSession]:
    """A session that ends with the command; ``names`` are those of sources and sinks.

    Where one runs already, in a notebook or a test, it is used and goes on.
    """
    from muntin.spark.connectors.packages import packages_for

    packages = packages_for(names if options.fetches else (), options.packages)
    if (running := _running()) is not None:
        yield running
        return
    with tempfile.TemporaryDirectory(prefix="muntin-") as folder:
        with progress.during("Starting Spark"):
            from muntin.spark.start.session import SessionSettings, start, warm

            _import_after_fork("muntin.session.pipeline")
            log = options.log or Path(folder) / "spark.log"
            conf = {"spark.sql.warehouse.dir": f"{folder}/warehouse", **options.conf}
            spark = start(SessionSettings(options.master, conf, packages, log))
            warm(spark)
        try:
            yield spark
        finally:
            spark.stop()


def _import_after_fork(module: str) -> None:
    """Import what every command needs next, while Java starts.

    Not before Java's process was forked: modules that take part in forks, and are imported in the
    middle of one, would let go of locks that they never took.
    """
    forked = threading.Event()
    os.register_at_fork(after_in_parent=forked.set)

    def load() -> None:
        forked.wait(_FORK_SECONDS)
        import_module(module)

    threading.Thread(target=load, name="importing").start()


def _running() -> SparkSession | None:
    """The session of this process; one that has never imported PySpark has none."""
    if "pyspark" not in sys.modules:
        return None
    from muntin.spark.types import SparkSession

    return SparkSession.getActiveSession()
