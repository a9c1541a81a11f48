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


def test_an_answer_is_shown_once(
    spark: SparkSession, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["line"] = spark.createDataFrame(LINE, "k STRING, x INT, v INT")
    sums = "SELECT window_end, sum(v) AS s FROM line [TUMBLING 5 WATTR x] ORDER BY window_end, s"
    assert shell.run_cell(f"%muntin --rows 1 {sums}").success
    shown = capsys.readouterr().out
    assert shown.count("window_end") == 1
    assert "only showing top 1 row" in shown
    assert shell.run_cell(f"%%muntin --name kept --rows 3\n{sums}").success
    assert shell.run_cell("other = %muntin SELECT 1 AS one").success
    assert shell.user_ns["kept"].columns == ["window_end", "s"]
    assert [row.one for row in shell.user_ns["other"].collect()] == [1]
    capsys.readouterr()
    assert shell.run_cell("spark_df = line.select('x')\nspark_df").success
    assert "DataFrame[x: int]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%%muntin --row 3\nSELECT 1", "its options are --rows 20 and --name variable"),
        ("%%muntin --rows no\nSELECT 1", "'--rows no' cannot be used"),
        ("%%muntin SELECT 1\nSELECT 1", "the SQL begins on the next line"),
    ],
)
def test_what_a_magic_does_not_take_is_refused(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], cell: str, says: str
) -> None:
    assert not shell.run_cell(cell).success
    assert says in capsys.readouterr().out


def test_a_magic_explains_itself(shell: InteractiveShell) -> None:
    for kind in ("cell", "line"):
        about = shell.find_magic("muntin", kind).__doc__
        assert "--rows 20" in about
        assert "SELECT" in about


def test_an_error_of_muntin_is_the_users_line_and_a_sentence(
    spark: SparkSession, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["line"] = spark.createDataFrame(LINE, "k STRING, x INT, v INT")
    wrong = "import muntin as mt\nw = mt.stream(line, on='x').tumbling('5 minuts')"
    assert not shell.run_cell(wrong).success
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line.strip()] == [
        "line 2",
        "    w = mt.stream(line, on='x').tumbling('5 minuts')",
        "        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        shown[-1],
    ]
    assert shown[-1].startswith("ArgumentError: length='5 minuts' cannot be used: ")


def test_an_error_in_a_worker_is_a_sentence_as_well(
    spark: SparkSession, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["tied"] = spark.createDataFrame([(1, 1), (1, 2)], "x INT, v INT")
    wrong = "import muntin as mt\nmt.stream(tied, 'x').frames(mt.threshold('v > 0')).df.collect()"
    assert not shell.run_cell(wrong).success
    shown = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert len(shown) == 4
    assert shown[1].strip().startswith("mt.stream(tied")
    assert shown[-1].startswith("TieError: there is more than one row at 1")
