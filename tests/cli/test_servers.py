"""Real servers: from files to Kafka, from Kafka to PostgreSQL, from PostgreSQL to results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import SMALL, Commands, commands
from tests.servers.broker import broker
from tests.servers.connector import connector
from tests.servers.database import Database, database

ROWS = [
    {"ts": "2026-03-03T00:00:00Z", "k": "a", "v": 1},
    {"ts": "2026-03-03T00:00:30Z", "k": "a", "v": 5},
    {"ts": "2026-03-03T00:01:10Z", "k": "b", "v": 2},
    {"ts": "2026-03-03T00:02:20Z", "k": "b", "v": 4},
]
COLUMNS = "(ts TIMESTAMP, k STRING, v INT)"
WINDOWS = """
SELECT k, window_end, sum(v) AS total FROM readings [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY k
"""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker(tmp_path_factory.mktemp("broker")) as address:
        yield address


@pytest.fixture(scope="module")
def postgres() -> Iterator[Database]:
    with database() as running:
        yield running


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Start a process for commands, whose Spark has the Kafka connector and PostgreSQL's driver."""
    with commands([*SMALL, *connector(tmp_path_factory.mktemp("connector"))]) as started:
        yield started


def place(postgres: Database) -> str:
    return f"url => '{postgres.url}', user => '{postgres.user}', password => '{postgres.password}'"


@pytest.mark.timeout(900)
def test_files_to_kafka_to_postgres(
    servers: str, postgres: Database, connected: Commands, tmp_path: Path
) -> None:
    lines = [*map(json.dumps, ROWS), "not json"]
    (tmp_path / "rows.json").write_text("\n".join(lines))
    there = tmp_path / "there.sql"
    there.write_text(
        f"""
        CREATE TABLE rows FROM json('{tmp_path}/rows.json') {COLUMNS};
        CREATE TABLE raw FROM csv('{tmp_path}/rows.json', sep => '|', quote => '~') (line STRING);
        CREATE QUERY send AS SELECT * FROM rows INTO kafka('t', servers => '{servers}', key => 'k');
        CREATE QUERY spoil AS SELECT line AS nonsense FROM raw WHERE line = 'not json'
          INTO kafka('t', servers => '{servers}', format => 'csv');
        """
    )
    done = connected.call("run", there)
    assert done.code == 0, done.err
    on = tmp_path / "on.sql"
    on.write_text(
        f"""
        CREATE STREAM readings FROM kafka('t', servers => '{servers}') {COLUMNS}
          ON ts BY k DISORDER SLACK '10 seconds';
        CREATE QUERY totals AS {WINDOWS} INTO postgres('totals', {place(postgres)});
        """
    )
    words = ["run", on, "--stream", "--once", "--checkpoint", tmp_path / "ck", "--json"]
    done = connected.call(*words)
    assert done.code == 0, done.err
    counts = done.messages[-1]["done"]["counts"]["totals"]
    assert (counts["rows"], counts["results"], counts["malformed"]) == (4, 2, 1)
    expected = ["a|6", "b|2"]
    assert postgres.ask("SELECT k, total FROM totals ORDER BY k") == expected
    # This is the state if the process died after it wrote the rows and before Spark's commit.
    for commit in (tmp_path / "ck" / "checkpoints" / "totals" / "commits").iterdir():
        commit.unlink()
    done = connected.call(*words)
    assert done.code == 0, done.err
    assert postgres.ask("SELECT k, total FROM totals ORDER BY k") == expected
    dead = [p.read_text() for p in (tmp_path / "ck" / "malformed").rglob("*.json")]
    assert '"raw":"not json"' in "".join(dead)
    assert '"origin":"t/' in "".join(dead)


def test_a_stored_table_is_joined(postgres: Database, connected: Commands, tmp_path: Path) -> None:
    postgres.ask("CREATE TABLE names (k TEXT, name TEXT)")
    postgres.ask("INSERT INTO names VALUES ('a', 'Ada'), ('b', 'Bela')")
    (tmp_path / "rows.json").write_text("\n".join(map(json.dumps, ROWS)))
    file = tmp_path / "q.sql"
    file.write_text(
        f"""
        CREATE STREAM readings FROM json('{tmp_path}/rows.json') {COLUMNS} ON ts BY k;
        CREATE TABLE names FROM postgres('names', {place(postgres)});
        CREATE QUERY totals AS {WINDOWS};
        SELECT name, total FROM totals JOIN names USING (k) ORDER BY name, total;
        """
    )
    done = connected.call("run", file)
    assert done.code == 0, done.err
    assert done.rows == [
        {"name": "Ada", "total": 6},
        {"name": "Bela", "total": 2},
        {"name": "Bela", "total": 4},
    ]
