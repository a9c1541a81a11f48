"""``muntin check`` and ``muntin explain``: nothing is run, and messages show their places."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from muntin.cli.errors import Exit
from tests.cli.conftest import Muntin
from tests.cli.processes import environment

GOOD = """CREATE STREAM traffic FROM kafka('cars', servers => 'nowhere:1')
  (ts TIMESTAMP, station STRING, speed DOUBLE) ON ts BY station DISORDER SLACK '1 minute';
CREATE QUERY slow AS
SELECT station, frame_start FROM traffic [FRAME THRESHOLD speed < 45 LASTING 10 MINUTES]
INTO postgres('slow', url => 'postgresql://nowhere/db');
SELECT station, max(speed) AS hi FROM traffic [RANGE 5 MINUTES SLIDE 1 MINUTE] GROUP BY station;
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "q.sql"
    path.write_text(text)
    return path


def test_nothing_is_wrong_and_nothing_is_opened(muntin: Muntin, tmp_path: Path) -> None:
    result = muntin("check", written(tmp_path, GOOD), "--stream")
    assert result.code == 0, result.err
    assert "q.sql: 3 statements, nothing wrong" in result.out


#: Runs the command, and fails if that imported Spark.
WITHOUT_SPARK = """
import sys
from muntin.cli.main import main
code = main(sys.argv[1:], standalone_mode=False)
print("pyspark" in sys.modules)
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("text", "code", "printed"),
    [
        (GOOD, 0, "q.sql: 3 statements, the syntax is right"),
        (GOOD.replace("speed < 45", "sped < 45"), 0, "3 statements"),  # columns are not looked at
        ("SELECT x FROM t [TUMBLNG 5];", Exit.TEXT, "line 1, column 18"),
    ],
)
def test_the_syntax_alone_is_checked_without_spark(
    tmp_path: Path, text: str, code: int, printed: str
) -> None:
    words = [sys.executable, "-c", WITHOUT_SPARK, "check", "--syntax"]
    ended = subprocess.run(
        [*words, str(written(tmp_path, text))],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout.splitlines()[-1:]) == (code, ["False"])
    assert printed in ended.stdout + ended.stderr


def test_every_statement_is_looked_at(muntin: Muntin, tmp_path: Path) -> None:
    """There are mistakes in lines 4 and 6; the second is found although there is a first."""
    text = GOOD.replace("speed < 45", "sped < 45").replace("max(speed)", "mx(speed)")
    result = muntin("check", written(tmp_path, text), "--json")
    assert result.code == Exit.TEXT
    assert [(row["line"], row["column"]) for row in result.rows] == [(4, 59), (6, 17)]
    assert "speed" in result.rows[0]["error"]


def test_a_text_that_cannot_be_read_is_reported_in_the_same_shape(
    muntin: Muntin, tmp_path: Path
) -> None:
    wrong = muntin("check", written(tmp_path, GOOD.replace("max(speed)", "mx(speed)")), "--json")
    unreadable = muntin("check", written(tmp_path, "\nSELECT x FROM t [TUMBLNG 5];"), "--json")
    assert unreadable.code == Exit.TEXT
    assert unreadable.err == ""
    ((one,), (other,)) = (unreadable.rows, wrong.rows)
    assert (one["line"], one["column"], one["kind"]) == (2, 18, "SqlError")
    assert {*one} == {*other}


def test_errors_are_json_with_the_option_json(muntin: Muntin, tmp_path: Path) -> None:
    file = written(tmp_path, "SELECT x FROM t [TUMBLNG 5];")
    (message,) = muntin("explain", file, "--json").messages
    assert (message["line"], message["column"], message["kind"]) == (1, 18, "SqlError")
    # A query with the name --json is not the option --json.
    assert muntin("explain", file, "--query=--json").err.startswith("Error: line 1")


def test_a_source_that_there_is_not(muntin: Muntin, tmp_path: Path) -> None:
    result = muntin("check", written(tmp_path, GOOD.replace("kafka(", "kafak(")))
    assert result.code == Exit.TEXT
    assert "line 1, column 28" in result.err
    assert "no such source (did you mean 'kafka'?)" in result.err


def test_explain(muntin: Muntin, tmp_path: Path) -> None:
    result = muntin("explain", written(tmp_path, GOOD), "--stream")
    assert result.code == 0, result.err
    assert "slow\n" in result.out
    assert "select_1\n" in result.out
    assert "RANGE 5 minutes SLIDE 1 minute" in result.out


def test_explain_as_a_picture(muntin: Muntin, tmp_path: Path) -> None:
    picture = tmp_path / "plan.svg"
    file = written(tmp_path, GOOD)
    result = muntin("explain", file, "--stream", "--query", "select_1", "--output", picture)
    assert result.code == 0, result.err
    assert picture.read_text().lstrip().startswith("<svg")
    result = muntin("explain", file, "--output", picture)
    assert result.code == Exit.USAGE
    assert "choose with --query among slow, select_1" in result.err


def test_explain_a_query_that_there_is_not(muntin: Muntin, tmp_path: Path) -> None:
    result = muntin("explain", written(tmp_path, GOOD), "--query", "slo")
    assert result.code == Exit.TEXT
    assert "there is no such query (did you mean 'slow'?)" in result.err
