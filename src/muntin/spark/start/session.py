"""A Spark session for programs that are started from a terminal: quick to start, and quiet."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from muntin.errors import RequirementError
from muntin.spark.requirements import PROVIDER, ROCKSDB

#: What every session has unless it is told otherwise.
DEFAULTS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    PROVIDER: ROCKSDB,
    # Most runs end before the second compiler of the JVM would pay.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
#: Only for sessions whose driver is the whole cluster: elsewhere Muntin may not be installed.
_LOCAL: Mapping[str, str] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.python.daemon.module": "muntin.spark.start.worker_daemon",
}


@dataclass(frozen=True)
class SessionSettings:
    """How a session is made."""

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    packages: Sequence[str] = ()
    log: Path | None = None

    def all(self) -> dict[str, str]:
        """Every setting by its name; what was given wins."""
        local = self.master.startswith("local[") or self.master == "local"
        made = {**DEFAULTS, **(_LOCAL if local else {})}
        if local:
            made["spark.sql.shuffle.partitions"] = str(os.cpu_count() or 2)
        if self.packages:
            named = [*filter(None, [self.conf.get("spark.jars.packages")]), *self.packages]
            return {**made, **self.conf, "spark.jars.packages": ",".join(named)}
        return {**made, **self.conf}


def start(settings: SessionSettings) -> SparkSession:
    """Start Spark, or say what is missing for it.

    What the Java process and the workers have to say goes to a file, so that the terminal is left
    to the program.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("muntin").master(settings.master)
    for name, value in settings.all().items():
        builder = builder.config(name, value)
    with _errors_to(settings.log):
        try:
            spark = builder.getOrCreate()
        except PySparkException as error:
            raise _missing(settings, str(error).split("\n")[0]) from error
    spark.sparkContext.setLogLevel("WARN" if settings.log else "OFF")
    return spark


def warm(spark: SparkSession) -> None:
    """Have a worker started while the program goes on; its imports are what first rows wait for."""

    def row() -> None:
        # A program that is quicker than this ends the session in the middle of it.
        with suppress(Exception):
            spark.range(1).mapInArrow(lambda batches: batches, "id BIGINT").collect()

    threading.Thread(target=row, name="warming", daemon=True).start()


def _missing(settings: SessionSettings, complaint: str) -> RequirementError:
    said = _last_words(settings.log)
    if settings.packages:
        return RequirementError(
            f"Spark did not start; it needed {', '.join(settings.packages)} and perhaps could not "
            f"fetch that ({said or complaint}); name another version with --package"
        )
    return RequirementError(f"Spark did not start ({said or complaint}); run: muntin doctor")


def _last_words(log: Path | None) -> str:
    """What the Java process said of why it ended."""
    if log is None or not log.is_file():
        return ""
    lines = log.read_text(errors="replace").splitlines()
    found = [line.strip() for line in lines if "unresolved dependency" in line or "rror" in line]
    return found[-1] if found else ""


@contextmanager
def _errors_to(log: Path | None) -> Iterator[None]:
    """Processes that are started in here write their errors to a file; this one does not."""
    if log is None:
        yield
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    own = sys.stderr
    try:
        with os.fdopen(os.dup(kept), "w", buffering=1) as sys.stderr:
            yield
    finally:
        sys.stderr = own
        os.dup2(kept, 2)
        os.close(kept)
