"""Spark's connector to Kafka for tests, as words for ``muntin``.

The one of the installed Spark is fetched by Spark itself. Where Maven Central does not have it, the
nearest releases that it has are put together; they are known to work with Spark 4.3.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from muntin.spark.connectors.packages import packages_for
from tests.servers.jars import fetch

_NEAREST = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
    "org.scala-lang.modules:scala-parallel-collections_2.13:1.2.0",
    "org.postgresql:postgresql:42.7.14",
)


def connector(folder: Path) -> list[str]:
    """The words that give a command the connector; skips where there is none to be had."""
    (ours,) = packages_for(["kafka"])
    why = fetch(ours, folder / "exact")
    if why is None:
        return []
    nearest = folder / "nearest"
    for package in _NEAREST:
        other = fetch(package, nearest, alone=True)
        if other is not None:
            pytest.skip(f"{why}, and {other}")
    jars = ",".join(str(path) for path in sorted(nearest.glob("*.jar")))
    return ["--conf", f"spark.jars={jars}", "--no-packages"]
