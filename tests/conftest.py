"""The ``driver`` fixture: a test that takes it runs on reference, batch and stream."""

from __future__ import annotations

from functools import partial

import pytest

from tests.drivers.drivers import Driver, by_batch, by_reference, by_stream


@pytest.fixture(params=["reference", "batch", "stream"])
def driver(request: pytest.FixtureRequest) -> Driver:
    if request.param == "reference":
        return by_reference
    spark = request.getfixturevalue("spark")
    return partial(by_batch if request.param == "batch" else by_stream, spark)
