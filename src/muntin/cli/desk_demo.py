"""``muntin demo desk``: a page over a simulated freeway, with the questions of six people."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from muntin.cli.commands.serve import check_served, serve_until_stopped
from muntin.cli.options import SparkOptions
from muntin.cli.progress import CommandProgress
from muntin.simulate.file_feed import FileFeed, Storm
from muntin.simulate.freeway import Freeway

if TYPE_CHECKING:
    from muntin.engine.engine import Engine

#: From the middle of the morning's rush hour on; a file has the readings of a minute.
_HOURS, _STATIONS, _PIECES = 6, 8, 360
_START_HOUR = 7
#: Seconds between two files, and the pieces of the storm: from the second minute on.
_EVERY = 2.0
_STORM = Storm(first=60, end=180, times=3)
_LOOPBACK = "127.0.0.1"


def serve_desk(
    text: str, spark_options: SparkOptions, *, port: int, browser: bool, minutes: float | None
) -> None:
    """Serve the desk until Ctrl-C, or for some minutes."""
    from muntin.cli.spark_session import session

    check_served(_LOOPBACK, None)
    progress = CommandProgress()
    with (
        tempfile.TemporaryDirectory(prefix="muntin-desk-") as name,
        session(spark_options, progress, workers=True) as spark,
    ):
        from muntin.engine.engine import Engine
        from muntin.engine.sql import run_statements
        from muntin.spark.connectors.sources.open_files import parquet
        from muntin.specs.disorder import slack

        folder = Path(name)
        feed = opened_feed(folder / "readings")
        with Engine(spark, folder / "home") as engine:
            rows = parquet(spark, str(folder / "readings"), streaming=True)
            engine.stream(
                "traffic", rows, on="ts", by="station", disorder=slack("1 minute"), keep="12 hours"
            )
            run_statements(engine, text)
            engine.start()
            feed.start()
            try:
                _serve(engine, progress, port, browser, minutes)
            finally:
                feed.close()


def opened_feed(folder: Path) -> FileFeed:
    """Return the readings of a morning, as files that will arrive in a folder."""
    day = Freeway().start.replace(hour=_START_HOUR)
    freeway = Freeway(hours=_HOURS, start=day, stations=_STATIONS, very_late=0.001)
    return FileFeed(list(freeway.batches(_PIECES)), folder, _EVERY, _STORM)


def _serve(
    engine: Engine, progress: CommandProgress, port: int, browser: bool, minutes: float | None
) -> None:
    arguments = {
        **{"host": _LOOPBACK, "port": port, "token_file": None, "root": None, "names": ()},
        "subscribers": 100,
    }

    def opened(address: str) -> None:
        if browser:
            webbrowser.open(address)
        if minutes is not None:
            # As Ctrl-C does.
            timer = threading.Timer(60 * minutes, os.kill, (os.getpid(), signal.SIGINT))
            timer.daemon = True
            timer.start()

    serve_until_stopped(engine, arguments, progress, opened)
