"""Runs ``muntin`` in this process, on the Spark session of the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from muntin.cli.main import main
from tests.cli.processes import CommandResult

Muntin = Callable[..., CommandResult]


@pytest.fixture
def muntin(spark: SparkSession) -> Muntin:
    def call(*words: str | Path) -> CommandResult:
        result = CliRunner().invoke(main, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return CommandResult(result.exit_code, result.stdout, result.stderr)

    return call
