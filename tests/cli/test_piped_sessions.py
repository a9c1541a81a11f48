"""Statements that are piped into ``muntin sql``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from muntin.cli.main import main
from tests.cli.processes import CommandResult


def piped(text: str, *words: str) -> CommandResult:
    result = CliRunner().invoke(main, [*words], input=text)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return CommandResult(result.exit_code, result.stdout, result.stderr)


@pytest.mark.parametrize(
    ("bad", "code", "message"),
    [
        ("SELECT nothing;", 3, "there is no column nothing"),
        ("SELECT (1;", 3, "( is never closed"),
        ("SELECT 1 / 0 AS q;", 1, "DIVIDE_BY_ZERO"),
        (".read nothing.sql", 2, "nothing.sql: No such file"),
    ],
)
def test_a_piped_session_ends_with_its_first_error(
    spark: SparkSession, bad: str, code: int, message: str
) -> None:
    done = piped(f"SELECT 1\n\nAS one;\n{bad}\nSELECT 2 AS two;\n", "sql")
    assert done.code == code
    assert done.rows == [{"one": 1}]
    assert message in done.err
    assert not [line for line in done.err.splitlines() if line.startswith(("{", "Traceback"))]


def test_commands_of_a_session(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("SELECT 1 AS one;")
    text = f"""
        .output {tmp_path}/rows.csv
        SELECT 'a, b' AS k, NULL AS n;
        .output
        .read {tmp_path}/a.sql
        SET format = csv;
        SELECT true AS ok;
        SET rows = 1;
        SET format = table;
        SELECT * FROM VALUES (named_struct('a', 1, 'b', CAST(NULL AS INT))), (NULL) AS t(s);
        SHOW FUNCTIONS approx_c;
        .exit
        SELECT 1 AS never;
    """
    done = piped("\n".join(line.strip() for line in text.splitlines()), "sql")
    assert done.code == 0, done.err
    assert (tmp_path / "rows.csv").read_text() == 'k,n\n"a, b",\n'
    assert done.out.startswith('{"one":1}\nok\ntrue\n')
    assert "1 of more rows" in done.out
    assert "{a: 1, b: NULL}" in done.out
    assert "approx_count_distinct" in done.out
    assert "never" not in done.out
