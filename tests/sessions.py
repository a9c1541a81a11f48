"""The Spark that tests run on, in the test process or in a program of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

#: What Python processes of Spark find beside their own packages.
WORKERS = Path(__file__).with_name("workers")
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # The usual manager of checkpoints starts a process for every file to ask whether it is a link,
    # and a second file with a checksum stands beside each.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
#: Tests end before the second compiler of the JVM, and threads for garbage, would pay; room from
#: the start saves the first collections (and with one compiler there is little room for code, which
#: is then thrown away and compiled again); the classes of Spark need not be verified.
JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms600m -Xmn350m -XX:MetaspaceSize=512m "
    "-XX:ReservedCodeCacheSize=240m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    "-Djdk.lang.Process.launchMechanism=VFORK"
)
#: For sessions with a JVM of their own.
LOCAL = {
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.extraJavaOptions": JAVA,
    "spark.driver.memory": "3g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def configured(builder: Any, *, partitions: int = 2, remote: bool = False) -> Any:
    """A builder of sessions with the settings that every test relies on."""
    own = {} if remote else LOCAL
    for name, value in {**SETTINGS, **own, "spark.sql.shuffle.partitions": partitions}.items():
        builder = builder.config(name, value)
    return builder


def warm(builder: Any) -> Any:
    """The same with workers that have Muntin in memory when they are forked."""
    paths = [str(WORKERS), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    return builder.config("spark.python.daemon.module", "warm_daemon")
