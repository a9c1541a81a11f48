"""An engine from a second process: the same methods, the same answers, and refused what is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.client import EngineClient, RemoteQuery, RemoteSinks, RemoteTap
from muntin.engine.costs.tap_handle import TapHandle
from muntin.engine.handle import QueryHandle
from muntin.engine.sinks.query_sinks import QuerySinks
from muntin.errors import EngineError
from tests.cli.processes import environment
from tests.engine.line_rows import CREATE, SUMS, write_rows

#: What another process does with the engine; it prints a line of JSON for every step.
PROGRAM = """
import json, sys
import muntin as mt

def say(value):
    print(json.dumps(value, default=str), flush=True)

engine = mt.connect(sys.argv[1])
tap = engine.tap("line", rows=2)
say(engine.pid)
query = engine.register("big", "SELECT x FROM line WHERE v > 9", owner="bob", tags=["t"])
active = query.wait(300)
say([active.query, active.generation, active.filled, active.how, active.punctuation])
engine.process_available()
say(query.results()["x"].to_pylist())
say([(record.name, record.owner, record.tags, record.status) for record in engine.queries()])
say([query.counts.used, "big" in engine, "nix" in engine, query.explain().split("\\n")[0]])
newest = engine["sums"].latest().to_pylist()[-1:]
say(engine["sums"].invoke().to_pylist()[-1:] == newest)
seen = engine.preview("SELECT x FROM line WHERE x > 3").keep("seen")
staged = engine["seen"].stage("SELECT x FROM line WHERE x > 4")
say([seen.name, staged.wait(300).generation, engine["seen"].discard().id == seen.id])
engine["seen"].drop().wait(300)
network = engine.network()["line"]
say([part["queries"] for part in network])
query.sinks.add("note", "command('true')")
say([(status.record.call.name, status.stopped) for status in query.sinks.status()])
say(query.sinks.letters("note"))
query.sinks.drop("note")
say(query.pause().wait(300).micro_batch > active.micro_batch)
say(query.status)
say(query.resume().wait(300).generation)
say(query.change("SELECT x, v FROM line WHERE v > 10").wait(300).generation)
say(query.results(-1, generation=1)["x"].to_pylist())
for ask in (lambda: engine["nix"], lambda: engine.sql("PAUSE QUERY bg"), engine.stop):
    try:
        ask()
    except mt.MuntinError as error:
        say([type(error).__name__, str(error).split("\\n")[0]])
query.drop().wait(300)
say(query.status)
say(engine.sql("SHOW QUERIES")["name"].to_pylist())
cost, text = engine["sums"].cost, engine["sums"].record.text
say([cost.used, network.svg[:4], engine.costs()["query"].to_pylist(), tap.rows().num_rows])
added = engine.would_add(text)
say([list(added.shared_with), added.state_bytes, str(added) == engine.explain(text)])
say([engine.demand("line").queries, engine.tap_by_id(tap.id).about, engine.taps() == []])
"""


def test_a_second_process_uses_an_engine(spark: SparkSession, tmp_path: Path) -> None:
    rows, home = tmp_path / "rows", tmp_path / "home"
    write_rows(rows, "first", range(12))
    with mt.Engine(spark, home) as engine:
        engine.sql(f"{CREATE.format(rows=rows)}; CREATE QUERY sums OWNER 'ada' AS {SUMS}")
        engine.start()
        engine.process_available()
        engine.serve()
        words = [sys.executable, "-c", PROGRAM, str(home)]
        with subprocess.Popen(
            words, env=environment(), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            said = (json.loads(line) for line in process.stdout)
            assert next(said) == int((home / "lock").read_text())
            assert next(said) == ["big", 1, "nothing", "in place", 10]
            write_rows(rows, "second", range(12, 15))
            rest = list(said)
        assert process.returncode == 0
        assert "big" not in engine
    with pytest.raises(EngineError, match="no engine runs in"):
        mt.connect(home)
    assert rest[1:3] == [
        [["sums", "ada", [], "active"], ["big", "bob", ["t"], "active"]],
        [rest[2][0], True, False, "query big, generation 1 (active)"],
    ]
    assert rest[3:6] == [True, ["seen", 1, True], [["sums"], ["big"]]]
    assert rest[6] in ([], [["note", None]])
    assert rest[7:11] == [[], True, "paused", 1]
    assert rest[11] == 2
    assert rest[13:] == [
        ["UnknownQueryError", "there is no query 'nix'"],
        ["SqlError", "line 1, column 1: there is no query bg"],
        [
            "EngineError",
            "this engine is a part of another program, which started it with mt.Engine; "
            "end the program",
        ],
        "dropped",
        ["sums"],
        [15, "<svg", ["sums"], 2],
        [["sums"], 0, True],
        [["sums"], "rows of line", True],
    ]


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_a_remote_query_has_the_methods_of_a_handle() -> None:
    assert public(QueryHandle) <= public(RemoteQuery)
    assert public(QuerySinks) - {"registry", "deliveries", "next"} <= public(RemoteSinks)


def test_a_remote_tap_has_the_methods_of_a_tap() -> None:
    assert public(TapHandle) <= public(RemoteTap)


def test_a_client_has_the_methods_of_an_engine() -> None:
    """Except those that need the session of Spark, or the engine's own objects."""
    here = {"check", "folder", "handle", "registry", "serve", "spark", "start", "stream"}
    here |= {"stream_of", "restore_streams", "deliveries", "remove_tap", "declared"}
    assert public(mt.Engine) - public(EngineClient) <= here
