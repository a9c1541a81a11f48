"""A service over a real engine, one for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.server.app import create_app
from muntin.server.http_server import HttpServer
from muntin.server.service import Service
from tests.engine.line_rows import SUMS, write_rows
from tests.server.http_client import HttpClient

CREATE = (
    "CREATE STREAM line FROM json('{rows}') (k STRING, x INT, v INT) ON x BY k DISORDER SLACK 1 "
    "KEEP 1000"
)


@dataclass(frozen=True)
class Desk:
    """A service, its engine, and the folder of rows that its stream follows."""

    service: Service
    rows: Path
    http: HttpClient

    @property
    def engine(self) -> mt.Engine:
        return self.service.engine

    def write(self, name: str, first: int, last: int) -> None:
        """Add rows, and wait until they are committed."""
        write_rows(self.rows, name, range(first, last))
        self.engine.process_available()


@pytest.fixture(scope="package")
def desk(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("service")
    rows = folder / "rows"
    write_rows(rows, "first", range(12))
    with mt.Engine(spark, folder / "home") as engine:
        query = f"CREATE QUERY sums OWNER 'ada' TAGS ('t') AS {SUMS}"
        engine.sql(f"{CREATE.format(rows=rows)}; {query}")
        engine.start()
        engine.process_available()
        service = Service(engine)
        with HttpServer(create_app(service)) as server:
            yield Desk(service, rows, HttpClient(server.port))
            service.close()
