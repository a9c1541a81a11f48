"""One Spark session for the whole run: starting it costs more than most tests."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from pyspark.sql import SparkSession

from tests.sessions import configured, warm

# Workers must find the same packages as this process, also when no virtualenv is activated.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

# PySpark hands timestamps to Python in the zone of the process.
os.environ["TZ"] = "UTC"
time.tzset()

#: The same examples in every run; `make soak` has more of them (tests/thorough.py).
for profile in ("muntin", "soak"):
    settings.register_profile(
        profile,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
# A failing example is not made smaller: `scripts/mutate.py` asks only whether there is one.
settings.register_profile(
    "unshrunk", settings.get_profile("muntin"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile("muntin")


#: Folders whose files take long.
LONG = tuple(
    f"tests/{name}/"
    for name in (
        *("cli", "drivers", "session", "properties", "examples", "benchmarks", "frames", "fill"),
        *("join", "resample", "rows", "disorder", "connectors", "expressions", "aggregates"),
    )
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: processes that share the files end together if the last ones are short."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = warm(configured(SparkSession.builder.master("local[2]"))).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module", autouse=True)
def no_views_left() -> Iterator[None]:
    """Tests share the session, not its views: a later file must find no table of an earlier one."""
    yield
    session = SparkSession.getActiveSession()
    if session is not None:
        for table in session.catalog.listTables():
            if table.isTemporary:
                session.catalog.dropTempView(table.name)
