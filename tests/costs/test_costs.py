"""What queries cost and share, what one would add, taps and demand, on a stream that runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.costs.network_graph import StreamNetwork
from muntin.errors import ArgumentError, EngineError, UnknownQueryError
from tests.engine.line_rows import CREATE, SUMS, write_rows

TWO = (
    "SELECT k, window_end, sum(v) AS s FROM line [RANGE 10 SLIDE 5] WHERE v < 8 GROUP BY k",
    "SELECT x, v FROM line WHERE v >= 9",
)
QUERIES = {"totals": SUMS, "low": TWO[0], "high": TWO[1]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("costs")
    write_rows(folder / "rows", "first", range(12))
    return folder


def content(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    written: bytes = sink.getvalue().to_pybytes()
    return written


def declared(engine: mt.Engine, folder: Path) -> None:
    engine.sql(CREATE.format(rows=folder / "rows"))
    for name, text in QUERIES.items():
        engine.register(name, text)


@pytest.fixture(scope="module")
def answers(spark: SparkSession, folder: Path) -> dict[str, bytes]:
    """The answers of an engine without taps."""
    with mt.Engine(spark, folder / "plain") as engine:
        declared(engine, folder)
        engine.start()
        engine.process_available()
        return {name: content(engine[name].results()) for name in QUERIES}


@pytest.fixture(scope="module")
def engine(spark: SparkSession, folder: Path, answers: dict[str, bytes]) -> Iterator[mt.Engine]:
    """An engine that has read twelve rows with three queries, and has taps on them."""
    with mt.Engine(spark, folder / "home", memory="100 MB") as engine:
        declared(engine, folder)
        engine.tap("low", rows=3)
        engine.tap("line", where="v > 4 AND k = 'a'", rows=4)
        engine.tap("low", at="cells", rows=50)
        engine.tap("totals", at="answers", rows=2)
        engine.tap("high", at="answers")
        engine.start()
        engine.process_available()
        yield engine


def test_a_query_has_its_cost(engine: mt.Engine) -> None:
    cost = engine["low"].cost
    assert (cost.rows, cost.used, cost.late, cost.refused) == (12, 8, 0, 0)
    assert cost.selectivity == pytest.approx(8 / 12)
    assert (cost.runs_as, cost.shared_with) == ("windows over shared panes", ("totals",))
    both = engine["totals"].cost
    assert (both.used, both.answers) == (12, 4)
    # What is shared has one cost, and each query half of its time.
    assert both.cpu_seconds == cost.cpu_seconds > 0
    assert both.state_bytes == cost.state_bytes > 0
    assert both.message_bytes == cost.message_bytes > 0
    assert both.answer_bytes > 0
    chosen = engine["high"].cost
    assert (chosen.used, chosen.answers, chosen.state_bytes) == (3, 3, 0)
    assert chosen.message_bytes > 0
    table = engine.costs()
    assert table["query"].to_pylist() == ["totals", "low", "high"]
    assert table["used"].to_pylist() == [12, 8, 3]
    assert "used 8 of 12 rows (66.7%), dropped 0" in engine["low"].explain()


def test_show_queries_has_the_costs(engine: mt.Engine) -> None:
    rows = {row["name"]: row for row in engine.sql("SHOW QUERIES").to_pylist()}
    assert list(rows) == ["totals", "low", "high"], "taps are no queries"
    assert rows["low"]["shared_with"] == ["totals"]
    assert (rows["low"]["rows"], rows["low"]["used"], rows["low"]["late"]) == (12, 8, 0)
    assert rows["low"]["state_bytes"] == engine["low"].cost.state_bytes
    (stream,) = engine.sql("SHOW STREAMS").to_pylist()
    assert (stream["rows"], stream["queries"]) == (12, 3)
    assert 0 < stream["state_bytes"] < stream["estimated_bytes"] == engine.estimated_bytes()


def test_what_a_query_would_add_is_said_before_it_is_there(engine: mt.Engine) -> None:
    same = engine.would_add(TWO[0])
    assert (same.shared_with, same.same_predicate) == (("low", "totals"), ("low",))
    assert (same.new_edges, same.new_accumulators, same.state_bytes) == ((), 0, 0)
    other = engine.would_add(
        "SELECT k, window_end, max(v) AS s FROM line [RANGE 30 SLIDE 3] WHERE v > 2 GROUP BY k"
    )
    assert (other.same_predicate, other.new_edges) == ((), ("every 3",))
    assert other.new_accumulators > 0 and other.state_bytes > 0 and other.fits
    single = engine.would_add("SELECT k, frame_start FROM line [FRAME THRESHOLD v < 3]")
    assert (single.runs_as, single.shared_with) == ("an operator of its own", ())
    chosen = engine.would_add("SELECT x FROM line")
    assert (chosen.runs_as, chosen.shared_with) == ("rows chosen", ("high",))
    assert (chosen.same_predicate, chosen.state_bytes) == (None, 0)
    text = engine.explain(TWO[0])
    assert "would run as: windows over shared panes, shared with low, totals" in text
    assert "rows that it takes: low take the same" in text
    assert engine.sql(f"EXPLAIN {TWO[0]}")["plan"].to_pylist() == [text]
    created = f"EXPLAIN CREATE QUERY more UNTIL 9 AS {TWO[0]}"
    assert "a new predicate" in engine.sql(created)["plan"][0].as_py()
    assert [record.name for record in engine.queries()] == [*QUERIES]
    with pytest.raises(UnknownQueryError):
        engine.explain("nobody")
    with pytest.raises(mt.SqlError, match="draws the network of a query that the engine has"):
        engine.sql(f"EXPLAIN (FORMAT svg) {TWO[0]}")
    assert engine.sql("EXPLAIN (FORMAT svg) QUERY low")["plan"][0].as_py().startswith("<svg")


def test_what_does_not_fit_into_memory_is_refused_by_name(engine: mt.Engine) -> None:
    long = "SELECT k, window_end, max(v) AS s FROM line [RANGE 90000 SLIDE 1] GROUP BY k"
    assert not engine.would_add(long).fits
    assert "it would be refused" in engine.explain(long)
    refused = r"the state of long does not fit into memory=100 MB: .* it would add .* GB"
    with pytest.raises(EngineError, match=refused):
        engine.register("long", long)
    with pytest.raises(EngineError, match="the state of totals does not fit"):
        engine.change("totals", long)
    with pytest.raises(EngineError, match="the state of a preview does not fit"):
        engine.preview(long)
    assert engine["totals"].generation == 1
    assert "long" not in engine


def test_the_network_is_boxes_and_arrows(engine: mt.Engine) -> None:
    network = engine.network()["line"]
    assert [part["queries"] for part in network] == [["low", "totals"], ["high"]]
    ends = {arrow.end: (arrow.start, arrow.rows) for arrow in network.arrows}
    (shared,) = [box for box in network.boxes if box.title == "windows over shared panes"]
    assert ends[shared.id] == ("source", 12)
    assert ends["query:low"] == (shared.id, engine["low"].counts.answers)
    assert ends["query:high"] == ("part:chosen", 3)
    assert network.box("source").figures == {"rows": 12}
    again = StreamNetwork.of_json(network.json)
    assert again == network and again.svg == network.svg
    for name in QUERIES:
        assert f">{name}</text>" in network.svg


def test_taps_copy_some_rows_and_go(engine: mt.Engine) -> None:
    ids = [f"q{number}" for number in range(4, 9)]
    rows, stream, cells, answers, chosen = (engine.tap_by_id(id) for id in ids)
    assert not rows.open
    copied = rows.rows()
    assert copied.column_names == ["k", "x", "v", "micro_batch"]
    assert copied.num_rows == 3 and max(copied["v"].to_pylist()) < 8
    assert stream.open, "only three rows meet the condition"
    assert sorted(stream.rows()["v"].to_pylist()) == [6, 8, 10]
    found = cells.rows()
    assert {tuple(sorted(members)) for members in found["members"].to_pylist()} == {
        ("low", "totals")
    }
    assert answers.wait().num_rows == 2
    assert answers.rows().column_names == ["k", "window_end", "s", "complete", "micro_batch"]
    assert sorted(chosen.rows()["v"].to_pylist()) == [9, 10, 11]
    assert {tap.id for tap in engine.taps()} == {stream.id, cells.id, chosen.id}
    boxes = {box.id: box.figures for box in engine.network()["line"].boxes}
    assert boxes[f"tap:{stream.id}"] == {"rows": 3, "most": 4}
    stream.remove()
    engine.process_available()
    assert not stream.open and stream.rows().num_rows == 3
    for done in (lambda: engine.change(cells.id, SUMS), lambda: engine.handle(cells.id).keep("c")):
        with pytest.raises(EngineError, match="is a tap and cannot be"):
            done()


@pytest.mark.parametrize(
    ("words", "error", "match"),
    [
        ({"on": "high", "at": "cells"}, ArgumentError, "only chooses rows, and has no cells"),
        ({"on": "line", "at": "answers"}, ArgumentError, "name a query for its answers"),
        ({"on": "low", "at": "top"}, ArgumentError, "it is rows, cells, answers"),
        ({"on": "low", "rows": 0}, ArgumentError, "a tap copies 1 to 10,000 rows"),
        ({"on": "low", "at": "cells", "where": "v > 1"}, ArgumentError, "for taps on rows"),
        ({"on": "low", "where": "x +"}, mt.MuntinError, "x +"),
        ({"on": "nobody"}, UnknownQueryError, "nobody"),
    ],
)
def test_a_tap_that_cannot_be_is_refused(
    engine: mt.Engine, words: dict[str, object], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        engine.tap(**words)  # type: ignore[arg-type]


def test_demand_is_what_somebody_needs(engine: mt.Engine) -> None:
    demand = engine.demand("line")
    assert (demand.queries, demand.columns) == (("totals", "low", "high"), ("k", "x", "v"))
    assert demand.alternatives == ({},), "totals needs all rows"
    assert (demand.granularity, demand.until, demand.asleep) == (None, None, False)


def test_costs_and_taps_change_no_answer(engine: mt.Engine, answers: dict[str, bytes]) -> None:
    for name in QUERIES:
        assert content(engine[name].results()) == answers[name]
