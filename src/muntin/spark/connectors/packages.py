"""The Maven packages that sources and sinks need. Nothing here imports PySpark.

Spark fetches packages when a session starts, so they must be known before.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from muntin.errors import RequirementError

#: The driver of PostgreSQL; any version of it works with any Spark.
_POSTGRES = "org.postgresql:postgresql:42.7.14"
#: The jar of PySpark that has Scala's version in its name.
_CORE = "spark-core_"


def packages_for(names: Iterable[str], chosen: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the packages that sources and sinks of these names need, and the ``chosen`` ones.

    A chosen package replaces ours if it is another version of it:

    >>> packages_for(["csv", "postgres"], ["org.postgresql:postgresql:42.7.9"])
    ('org.postgresql:postgresql:42.7.9',)
    >>> packages_for(["csv"])
    ()
    """
    needed = [package for name in sorted(set(names)) for package in _package(name)]
    replaced = {_artifact(package) for package in chosen}
    return (*(p for p in needed if _artifact(p) not in replaced), *chosen)


def _package(name: str) -> list[str]:
    if name == "kafka":
        return [f"org.apache.spark:spark-sql-kafka-0-10_{scala_version()}:{version('pyspark')}"]
    return [_POSTGRES] if name == "postgres" else []


def _artifact(package: str) -> str:
    return package.rpartition(":")[0]


def scala_version() -> str:
    """Return Scala's version of the installed Spark, as in the names of packages: ``2.13``."""
    for jar in jars_folder().glob(f"{_CORE}*.jar"):
        return jar.name.removeprefix(_CORE).partition("-")[0]
    raise RequirementError(
        f"{jars_folder()} has no {_CORE}*.jar, so this PySpark comes without Spark; "
        "install pyspark, not pyspark-client"
    )


def jars_folder() -> Path:
    """Return the folder in which PySpark keeps Spark."""
    pyspark = importlib.util.find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        raise RequirementError("PySpark is not installed; run: pip install 'pyspark>=4.3,<4.4'")
    return Path(pyspark.origin).parent / "jars"
