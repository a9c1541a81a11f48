"""Fetching the packages of sources and sinks into a running session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from muntin.errors import RequirementError
from muntin.spark.connectors.packages import packages_for
from muntin.spark.connectors.sources.postgres import first_line


@dataclass
class FetchedPackages:
    """The packages of a session; ``chosen`` are those that it was started with."""

    spark: SparkSession
    chosen: tuple[str, ...] = ()
    _fetched: set[str] = field(default_factory=set)

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return the packages that sources and sinks of these names need and that are missing."""
        needed = packages_for(names, self.chosen)
        return [p for p in needed if p not in self.chosen and p not in self._fetched]

    def fetch(self, package: str) -> None:
        """Let Spark fetch a package with everything that it needs."""
        try:
            self.spark.sql(f"ADD JAR ivy://{package}")
        except (PySparkException, Py4JJavaError) as error:
            raise RequirementError(
                f"{package} could not be fetched ({first_line(error)}); name another version when "
                "you start: muntin sql --package GROUP:ARTIFACT:VERSION, or bring the jars: muntin "
                "sql --no-packages --conf spark.jars=a.jar,b.jar"
            ) from error
        self._fetched.add(package)
