"""The Spark that tests run on, in the test process or in a program of its own."""

from __future__ import annotations

from typing import Any

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
#: For sessions with a JVM of their own.
LOCAL = {
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
