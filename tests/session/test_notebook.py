"""The notebook magic, in IPython."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.profiledir import ProfileDir
from pyspark.sql import SparkSession

from tests.session.tables import LINE


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[InteractiveShell]:
    """Return an IPython session that writes nothing outside its folder."""
    profile = ProfileDir.create_profile_dir(str(tmp_path / "profile"))
    made = InteractiveShell(profile_dir=profile)
    made.run_line_magic("load_ext", "muntin")
    yield made
    made.history_manager.end_session()
    made.restore_sys_module_state()


def test_a_cell_is_sql_over_the_notebooks_variables(
    spark: SparkSession, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns |= {"line": spark.createDataFrame(LINE, "k STRING, x INT, v INT"), "number": 3}
    create = "CREATE QUERY sums AS SELECT sum(v) AS s FROM line [TUMBLING 5 WATTR x]"
    assert shell.run_cell(f"%%muntin\n{create}").success
    assert shell.run_cell("%%muntin biggest\nSELECT max(s) AS m FROM sums").success
    assert [row.m for row in shell.user_ns["biggest"].collect()] == [18]
    assert "|18 |" in capsys.readouterr().out


def test_a_mistake_is_shown_with_its_place(
    spark: SparkSession, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["line"] = spark.createDataFrame(LINE, "k STRING, x INT, v INT")
    made = shell.run_cell("%%muntin\nSELECT max(w) FROM line [TUMBLING 5 WATTR x]")
    assert not made.success
    assert "line 1, column 12: there is no column w" in capsys.readouterr().out
