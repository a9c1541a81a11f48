"""``muntin run``: batches and streams, malformed rows, triggers, messages, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from muntin.cli.errors import Exit
from tests.cli.conftest import Muntin

ROWS = """ts,k,v
2026-03-03 00:00:00,a,1
2026-03-03 00:00:30,a,5
2026-03-03 00:01:00,b,2
oops
2026-03-03 00:02:10,a,seven
2026-03-03 00:02:20,b,4
"""
STREAM = """
CREATE STREAM readings FROM csv('{folder}/in', header => true)
  (ts TIMESTAMP, k STRING, v INT) ON ts BY k DISORDER SLACK '10 seconds';
"""
QUERY = """
SELECT k, window_end, sum(v) AS total FROM readings [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY k;
"""
TOTALS = [("a", "2026-03-03T00:01:00.000Z", 6), ("b", "2026-03-03T00:02:00.000Z", 2)]
LAST = ("b", "2026-03-03T00:03:00.000Z", 4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text(ROWS)
    return tmp_path


def sql(folder: Path, *texts: str) -> Path:
    path = folder / "q.sql"
    path.write_text("".join(texts).replace("{folder}", str(folder)))
    return path


def totals(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return sorted(((r["k"], r["window_end"], r["total"]) for r in rows), key=str)


def test_a_batch(muntin: Muntin, folder: Path) -> None:
    result = muntin("run", sql(folder, STREAM, QUERY))
    assert result.code == 0
    assert totals(result.rows) == [*TOTALS, LAST]
    assert "readings: 2 malformed rows; --dead-letter FOLDER keeps them" in result.err
    assert "  it does not have 3 values: oops" in result.err
    assert "  v: 'seven' is not INT" in result.err


def test_malformed_rows_are_kept(muntin: Muntin, folder: Path, spark: SparkSession) -> None:
    result = muntin("run", sql(folder, STREAM, QUERY), "--dead-letter", folder / "dead", "--json")
    (malformed,) = [line["malformed"] for line in result.messages if "malformed" in line]
    assert (malformed["source"], malformed["rows"]) == ("readings", 2)
    kept = spark.read.json(str(folder / "dead" / "readings")).collect()
    assert {row["raw"]: row["reason"] for row in kept} == {
        "oops": "it does not have 3 values",
        "2026-03-03 00:02:10,a,seven": "v: 'seven' is not INT",
    }


def test_what_a_batch_read_and_wrote(muntin: Muntin, folder: Path) -> None:
    """One row has no time and is refused, two rows are malformed, and there are three results."""
    (folder / "in" / "2.csv").write_text("ts,k,v\n,a,1\n")
    query = f"CREATE QUERY totals AS {QUERY.strip().rstrip(';')} INTO json('{{folder}}/out');"
    fired = "CREATE TRIGGER t ON totals DO command('true');"
    result = muntin("run", sql(folder, STREAM, query, fired), "--json")
    assert result.code == 0, result.err
    done = result.messages[-1]["done"]
    counts = {"rows": 5, "malformed": 2, "refused": 1, "late": 0}
    assert done["sources"] == {"readings": {**counts, "largest": "2026-03-03 00:02:20"}}
    assert done["written"] == {"totals": 3}
    assert {**done, **counts} == done
    assert done["rate"] > 0
    printed = muntin("run", sql(folder, STREAM, query)).err
    assert "at 2026-03-03 00:02:20  refused 1  malformed 2" in printed
    assert "totals: results 3" in printed


def test_a_stream_that_pauses_and_goes_on(
    muntin: Muntin, folder: Path, spark: SparkSession
) -> None:
    query = f"CREATE QUERY totals AS {QUERY.strip().rstrip(';')} INTO json('{{folder}}/out')"
    file, checkpoint = (
        sql(folder, STREAM, query, " LATE INTO json('{folder}/late');"),
        folder / "ck",
    )
    words = ["run", file, "--stream", "--once", "--checkpoint", checkpoint, "--json"]
    result = muntin(*words)
    assert result.code == 0
    counts = result.messages[-1]["done"]["counts"]["totals"]
    assert (counts["rows"], counts["results"], counts["malformed"]) == (4, 2, 2)
    assert counts["open"] == 1
    assert counts["complete"] == "2026-03-03 00:02:10+00:00"
    out = spark.read.json(str(folder / "out"))
    assert totals([row.asDict() for row in out.collect()]) == TOTALS
    # The first of these rows is late: its window was complete before.
    (folder / "in" / "2.csv").write_text(
        "ts,k,v\n2026-03-03 00:00:50,a,9\n2026-03-03 00:04:00,a,1\n"
    )
    counts = muntin(*words).messages[-1]["done"]["counts"]["totals"]
    assert (counts["rows"], counts["late"], counts["results"]) == (2, 1, 1)
    again = spark.read.json(str(folder / "out"))
    assert totals([row.asDict() for row in again.collect()]) == [*TOTALS, LAST]
    late = "ts TIMESTAMP, k STRING, v INT, reason STRING, lateness STRING"
    (row,) = spark.read.schema(late).json(str(folder / "late")).collect()
    assert (str(row["ts"]), row["k"], row["v"], row["reason"]) == (
        *("2026-03-03 00:00:50", "a", 9, "late"),
    )
    assert row["lateness"] == "INTERVAL '0 00:01:20' DAY TO SECOND"
    kept = spark.read.json(str(checkpoint / "malformed" / "readings"))
    assert kept.count() == 2


def test_a_simulated_stream_ends_by_itself(muntin: Muntin, folder: Path) -> None:
    text = """
    CREATE STREAM sales FROM simulate('retail', hours => 0.5, closed => 0, files => 2)
      ON ts BY store DISORDER SLACK '20 seconds';
    SELECT store, count(*) AS n FROM sales [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY store;
    """
    batch = muntin("run", sql(folder, text))
    stream = muntin("run", sql(folder, text), "--stream")
    assert stream.code == 0
    assert sorted(map(str, stream.rows)) == sorted(map(str, batch.rows))
    assert len(batch.rows) == 2


def test_a_stream_of_one_file_ends_with_it(muntin: Muntin, folder: Path) -> None:
    text = STREAM.replace("{folder}/in", "{folder}/in/1.csv")
    result = muntin("run", sql(folder, text, QUERY), "--stream")
    assert result.code == 0
    assert totals(result.rows) == [*TOTALS, LAST]
    result = muntin("run", sql(folder, text.replace("1.csv", "2.csv"), QUERY), "--stream")
    assert result.code == Exit.TEXT
    assert "there is no such file or folder" in result.err


def test_a_trigger_fires_for_every_row(muntin: Muntin, folder: Path) -> None:
    (folder / "fire.py").write_text(
        "import sys\nwith open(sys.argv[1], 'a') as f:\n    f.write(sys.stdin.read() + '\\n')\n"
    )
    import sys

    command = f"{sys.executable} {{folder}}/fire.py {{folder}}/fired"
    text = f"CREATE QUERY totals AS {QUERY.strip().rstrip(';')};"
    text += f"CREATE TRIGGER loud ON totals DO command('{command}');"
    result = muntin("run", sql(folder, STREAM, text))
    assert result.code == 0, result.err
    fired = [json.loads(line) for line in (folder / "fired").read_text().splitlines()]
    assert totals(fired) == [*TOTALS, LAST]


def test_a_trigger_inserts_into_a_table(muntin: Muntin, folder: Path, spark: SparkSession) -> None:
    text = f"""
    CREATE TABLE alerts FROM parquet('{{folder}}/alerts') (k STRING, total BIGINT);
    CREATE QUERY totals AS {QUERY.strip().rstrip(";")};
    CREATE TRIGGER keep ON totals DO insert('alerts');
    """
    assert muntin("run", sql(folder, STREAM, text)).code == 0
    assert spark.read.parquet(str(folder / "alerts")).count() == 3


def test_a_table_on_request(muntin: Muntin, folder: Path) -> None:
    result = muntin("run", sql(folder, STREAM, QUERY), "--format", "table", "--rows", "2")
    assert "select_1: 2 of more rows" in result.out
    assert "window_end" in result.out


def test_csv_on_request(muntin: Muntin, folder: Path) -> None:
    result = muntin("run", sql(folder, STREAM, QUERY), "--format", "csv")
    assert result.out.splitlines()[0] == "k,window_end,total"
    assert len(result.out.splitlines()) == 4


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (
            "\n\n\n\n\n\nSELECT k, sum(w) FROM readings [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY k",
            Exit.TEXT,
            ["line 10, column 15: there is no column w", "              ^"],
        ),
        (
            "SELCT 1;",
            Exit.TEXT,
            ["line 4, column 1: SELCT does not begin", "mean SELECT?"],
        ),
        ("CREATE QUERY q AS SELECT 1;", Exit.USAGE, ["has nothing to run: it needs a SELECT"]),
        (
            "CREATE QUERY q AS SELECT 1 AS x INTO jsn('out');",
            Exit.TEXT,
            ["line 4, column 38", "no such sink (did you mean 'json'?)"],
        ),
        (
            "CREATE TABLE t FROM csv('nowhere.csv'); SELECT * FROM t;",
            Exit.TEXT,
            ["line 4, column 21", "there is no such file or folder"],
        ),
        (
            "CREATE TRIGGER t ON q DO webhook('http://x');",
            Exit.TEXT,
            ["line 4", "there is no query q"],
        ),
    ],
)
def test_mistakes(muntin: Muntin, folder: Path, text: str, code: int, says: list[str]) -> None:
    result = muntin("run", sql(folder, STREAM, text))
    assert result.code == code
    for part in says:
        assert part in result.err


def test_a_stream_must_say_how_disordered_it_is(muntin: Muntin, folder: Path) -> None:
    text = STREAM.replace("DISORDER SLACK '10 seconds'", "")
    result = muntin("run", sql(folder, text, QUERY), "--stream")
    assert result.code == Exit.TEXT
    assert "disorder" in result.err.lower()


def test_what_spark_says_while_it_runs(muntin: Muntin, folder: Path) -> None:
    result = muntin("run", sql(folder, "SELECT 1 / (id - id) AS x FROM range(3);"))
    assert result.code == Exit.FAILED
    assert "Error: Spark failed: [DIVIDE_BY_ZERO] Division by zero." in result.err
    assert "Traceback" not in result.err
    assert "\tat " not in result.err


def test_errors_for_machines(folder: Path, spark: SparkSession) -> None:
    import subprocess
    import sys

    words = [sys.executable, "-m", "muntin.cli", "run", str(sql(folder, "SELCT 1")), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.TEXT
    assert json.loads(done.stderr)["kind"] == "SqlError"
