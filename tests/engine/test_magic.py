"""The notebook magic, without a notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from tests.engine.tables import LINE


class Shell:
    """What the magic uses of a notebook."""

    def __init__(self, **names: Any) -> None:
        self.user_ns: dict[str, Any] = names
        self.magics: dict[tuple[str, str], Callable[[str, str], Any]] = {}

    def register_magic_function(
        self, func: Callable[[str, str], Any], magic_kind: str, magic_name: str
    ) -> None:
        self.magics[magic_kind, magic_name] = func


def test_a_cell_is_sql_over_the_notebooks_variables(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(line=spark.createDataFrame(LINE, "k STRING, x INT, v INT"), number=3)
    mt.load_ipython_extension(shell)
    run = shell.magics["cell", "muntin"]
    run("", "CREATE QUERY sums AS SELECT sum(v) AS s FROM line [TUMBLING 5 WATTR x]")
    run("biggest", "SELECT max(s) AS m FROM sums")
    assert [row.m for row in shell.user_ns["biggest"].collect()] == [18]
    assert "|18 |" in capsys.readouterr().out
