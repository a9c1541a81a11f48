"""Queries are compared with the same plans as Python calls; shards are tested elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.drivers.streams import partitions


@pytest.fixture(scope="module", autouse=True)
def one_partition(spark: SparkSession) -> Iterator[None]:
    with partitions(spark, 1):
        yield
