"""A Spark session for programs on a terminal: it starts quickly and prints nothing."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from muntin.errors import ArgumentError, RequirementError
from muntin.spark.requirements import NEEDED, configure

#: The default settings of every session.
DEFAULTS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    **NEEDED,
    # Most runs end before the second compiler of the JVM would pay off.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
#: Only for sessions on this machine: elsewhere Muntin may not be installed.
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
        """Return all settings by name; those in ``conf`` win."""
        local = self.master.startswith("local[") or self.master == "local"
        settings = {**DEFAULTS, **(_LOCAL if local else {})}
        if local:
            settings["spark.sql.shuffle.partitions"] = str(os.cpu_count() or 2)
        if self.packages:
            named = [*filter(None, [self.conf.get("spark.jars.packages")]), *self.packages]
            return {**settings, **self.conf, "spark.jars.packages": ",".join(named)}
        return {**settings, **self.conf}


def start(settings: SessionSettings) -> SparkSession:
    """Start Spark, or raise what is missing for it.

    The output of the Java process and the workers goes to a file, so that only the program writes
    to the terminal.
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


def local_session(
    conf: Mapping[str, str] | None = None, *, zone: str = "UTC", log: str | Path | None = None
) -> SparkSession:
    """Return a Spark session on this machine that has all that Muntin needs.

    It starts quickly and writes nothing to the terminal. A session that runs already is returned
    as it is, with what :func:`muntin.configure` sets.

    Args:
        conf: More settings of Spark; they win over Muntin's.
        zone: The time zone in which times are shown and days begin.
        log: A file for Spark's log.

    >>> spark = mt.local_session(zone="Europe/Berlin")  # doctest: +SKIP
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return configure(running)
    if not zone:
        raise ArgumentError("zone", zone, "it is the name of a time zone such as 'Europe/Berlin'")
    given = {name: str(value) for name, value in ({} if conf is None else conf).items()}
    settings = {"spark.sql.session.timeZone": zone, **given}
    return start(SessionSettings(conf=settings, log=None if log is None else Path(log)))


def keep_quiet() -> None:
    """Turn off what PySpark logs of errors as JSON: the error itself is printed, with its place."""
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def warm(spark: SparkSession) -> None:
    """Start a worker while the program goes on; its imports are what the first rows wait for."""

    def row() -> None:
        # A quicker program ends the session in the middle of this.
        with suppress(Exception):
            spark.range(1).mapInArrow(lambda batches: batches, "id BIGINT").collect()

    threading.Thread(target=row, name="warming", daemon=True).start()


def _missing(settings: SessionSettings, complaint: str) -> RequirementError:
    reason = _last_error(settings.log)
    if settings.packages:
        return RequirementError(
            f"Spark did not start; it needed {', '.join(settings.packages)} and perhaps could not "
            f"fetch that ({reason or complaint}); name another version with --package"
        )
    return RequirementError(f"Spark did not start ({reason or complaint}); run: muntin doctor")


def _last_error(log: Path | None) -> str:
    """Return why the Java process ended, from its log; empty if that is not known."""
    if log is None or not log.is_file():
        return ""
    lines = log.read_text(errors="replace").splitlines()
    errors = [line.strip() for line in lines if "unresolved dependency" in line or "rror" in line]
    return errors[-1] if errors else ""


@contextmanager
def _errors_to(log: Path | None) -> Iterator[None]:
    """Send the errors of processes started in this context to a file, not those of this one."""
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
