"""A stream of the engine with several inputs: queries read, join and fill them while it runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.errors import ArgumentError, EngineError
from muntin.parser.errors import SqlError

SALES, PRICES = "x INT, store STRING, amount DOUBLE", "y INT, shop STRING, price DOUBLE"
ASOF = "SELECT x, store, amount, price FROM asof(sales, prices, tolerance => 6)"
PAIRS = "SELECT x, y, store, price FROM join(sales, prices, within => 2)"
FILLED = (
    "SELECT store, frame_start, frame_end, count(f.price) AS n, max(f.price) AS hi "
    "FROM sales [FRAME THRESHOLD amount < 25] FILL prices AS f"
)
OWN_FILL = (
    "SELECT store, frame_start, sum(f.amount) AS total "
    "FROM sales [FRAME THRESHOLD amount < 25] FILL sales AS f"
)
WINDOWS = "SELECT shop, window_end, max(price) AS hi FROM prices [TUMBLING 10] GROUP BY shop"
CHEAP = "SELECT y, price FROM prices WHERE price < 3"
TEXTS = {"asof": ASOF, "pairs": PAIRS, "filled": FILLED, "own": OWN_FILL, "windows": WINDOWS}


class Input:
    """Files of rows that an input of a stream reads one by one."""

    def __init__(self, folder: Path, schema: str) -> None:
        self.folder, self.schema = folder, schema
        self.names = [column.split()[0] for column in schema.split(", ")]
        folder.mkdir()

    def put(self, places: Iterable[int]) -> None:
        rows = [
            dict(zip(self.names, (x, "ab"[x // 2 % 2], float(x * 7 % 40)), strict=True))
            for x in places
        ]
        path = self.folder / f"{len(list(self.folder.iterdir())):04d}.json"
        hidden = path.with_name(f".{path.name}")
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        moment = 1_700_000_000 + int(path.stem)
        os.utime(hidden, (moment, moment))
        hidden.replace(path)

    def stream(self, spark: SparkSession) -> DataFrame:
        return spark.readStream.schema(self.schema).json(str(self.folder))

    def batch(self, spark: SparkSession, on: str, by: str) -> mt.Stream:
        return mt.stream(spark.read.schema(self.schema).json(str(self.folder)), on=on, by=by)


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Input, Input]:
    return Input(tmp_path / "sales", SALES), Input(tmp_path / "prices", PRICES)


def declared(spark: SparkSession, folder: Path, inputs: tuple[Input, Input]) -> mt.Engine:
    engine = mt.Engine(spark, folder / "desk")
    sales, prices = inputs
    engine.stream(
        "stores",
        {"sales": sales.stream(spark), "prices": prices.stream(spark)},
        on={"sales": "x", "prices": "y"},
        by={"sales": "store", "prices": "shop"},
        disorder={"sales": mt.slack(4), "prices": mt.ordered()},
    )
    return engine


def plain(table: pa.Table, *without: str) -> list[tuple[object, ...]]:
    kept = [name for name in table.column_names if name not in {"micro_batch", *without}]
    return sorted((tuple(row.values()) for row in table.select(kept).to_pylist()), key=repr)


def expected(
    spark: SparkSession, inputs: tuple[Input, Input], text: str
) -> list[tuple[object, ...]]:
    """The answers of the same query over all rows, as a batch."""
    sales, prices = inputs
    tables = {"sales": sales.batch(spark, "x", "store"), "prices": prices.batch(spark, "y", "shop")}
    return plain(mt.sql(text, **tables).toArrow())


def test_joins_fills_and_windows_come_and_go_over_two_inputs(
    spark: SparkSession, tmp_path: Path, inputs: tuple[Input, Input]
) -> None:
    sales, prices = inputs
    sales.put(range(0, 20))
    prices.put(range(0, 20, 3))
    engine = declared(spark, tmp_path, inputs)
    queries = {name: engine.register(name, text) for name, text in TEXTS.items()}
    engine.start()
    engine.process_available()
    run = engine.stream_of("stores").query
    assert run is not None
    run_id = run.runId
    assert {name: query.status for name, query in queries.items()} == dict.fromkeys(TEXTS, "active")
    later = engine.register("later", PAIRS)
    cheap = engine.register("cheap", CHEAP)
    queries["windows"].pause()
    engine.process_available()
    since = later.wait().micro_batch
    prices.put(range(21, 40, 3))
    sales.put(range(20, 40))
    engine.process_available()
    queries["windows"].resume()
    cheap.change(CHEAP.replace("3", "10"))
    engine.process_available()
    kinds = {part["kind"]: part["queries"] for part in engine.network()["stores"]}
    assert kinds["windows over shared panes"] == ["windows"]
    assert kinds["rows chosen"] == ["cheap"]
    assert "over stores" in queries["asof"].explain()

    # A new process on the home: the inputs are declared again, and all goes on.
    engine.stop()
    engine = declared(spark, tmp_path, inputs)
    engine.start()
    sales.put(range(40, 60))
    prices.put(range(42, 60, 3))
    engine.process_available()
    engine.end("stores")
    engine.process_available()
    for name in ("asof", "pairs", "filled", "own"):
        assert plain(engine[name].results(), "complete") == expected(spark, inputs, TEXTS[name])
    # Pairs of rows that both came while the later query ran are those of the first one.
    after = plain(engine["pairs"].results(after=since), "complete")
    assert set(plain(engine["later"].results(), "complete")) <= set(after)
    assert {row["complete"] for row in engine["later"].results().to_pylist()} == {True}
    assert plain(engine["cheap"].results(), "complete") == [
        (y, float(y * 7 % 40)) for y in range(42, 60, 3) if y * 7 % 40 < 10
    ]
    ends = {row["window_end"] for row in engine["windows"].results().to_pylist()}
    assert ends == {10, 40, 50, 60}  # those of 20 and 30 closed during the pause
    last = engine["filled"].results().to_pylist()[-1]
    assert last["frame_end"] <= 60
    assert engine.stream_of("stores").query is not None and run_id is not None
    engine.stop()


def test_what_cannot_be_joined_or_kept_is_refused(
    spark: SparkSession, tmp_path: Path, inputs: tuple[Input, Input]
) -> None:
    sales, prices = inputs
    with mt.Engine(spark, tmp_path / "apart") as engine:
        engine.stream("sales", sales.stream(spark), "x", "store", mt.ordered())
        engine.stream("prices", prices.stream(spark), "y", "shop", mt.ordered())
        apart = "sales and prices, which were declared apart; a join needs a stream that is"
        with pytest.raises(EngineError, match=apart):
            engine.register("pairs", PAIRS)
    with declared(spark, tmp_path, inputs) as engine:
        with pytest.raises(EngineError, match="several inputs; a query reads them by name: "):
            engine.register("all", "SELECT * FROM stores")
        with pytest.raises(EngineError, match="the query reads rents; the streams of the engine"):
            engine.register("other", "SELECT * FROM rents")
        with pytest.raises(EngineError, match="the state of this query would grow for ever"):
            engine.register("ahead", "SELECT x FROM asof(sales, prices, direction => 'forward')")
        with pytest.raises(mt.SqlError, match="grow for ever: a join of two streams remembers"):
            engine.register("spark", "SELECT x FROM sales JOIN prices ON store = shop")
        with pytest.raises(ArgumentError, match="the engine has a stream stores that is read by"):
            engine.stream("prices", prices.stream(spark), "y", "shop", mt.ordered())
        both = {"one": sales.stream(spark), "two": prices.stream(spark)}
        with pytest.raises(ArgumentError, match=r"several inputs \(one, two\) are not kept yet"):
            engine.stream("kept", both, {"one": "x", "two": "y"}, None, mt.ordered(), keep=5)
        with pytest.raises(ArgumentError, match=r"on=.three.*the inputs are one, two"):
            engine.stream("kept", both, {"three": "x"}, None, mt.ordered())
        with pytest.raises(ArgumentError, match="it names no column of two"):
            engine.stream("kept", both, {"one": "x"}, None, mt.ordered())
        with pytest.raises(ArgumentError, match="several inputs are at least two"):
            engine.stream("kept", {"one": both["one"]}, "x", None, mt.ordered())
    otherwise = {"on": {"sales": "x", "prices": "y"}, "by": {"sales": "store"}}
    with (
        mt.Engine(spark, tmp_path / "desk") as engine,
        pytest.raises(EngineError, match="stream of prices on y; by shop there, on y; by nothing"),
    ):
        both = {"sales": sales.stream(spark), "prices": prices.stream(spark)}
        engine.stream("stores", both, disorder=mt.slack(4), **otherwise)


def test_a_stream_with_several_inputs_is_created_in_sql(
    spark: SparkSession, tmp_path: Path, inputs: tuple[Input, Input]
) -> None:
    sales, prices = inputs
    sales.put(range(0, 20))
    prices.put(range(0, 20, 3))
    created = (
        f"CREATE STREAM stores (sales AS json('{sales.folder}') ({SALES}) ON x BY store, "
        f"prices AS json('{prices.folder}') ({PRICES}) ON y BY shop) DISORDER ORDERED"
    )
    with mt.Engine(spark, tmp_path / "desk") as engine:
        engine.sql(f"{created}; CREATE QUERY pairs AS {PAIRS}")
        engine.start()
        engine.process_available()
        engine.end("stores")
        engine.process_available()
        assert plain(engine["pairs"].results(), "complete") == expected(spark, inputs, PAIRS)
        (row,) = engine.sql("SHOW STREAMS").to_pylist()
        assert (row["name"], row["queries"]) == ("stores", 1)
        assert row["statement"].startswith("CREATE STREAM stores (sales AS json(")
    with mt.Engine(spark, tmp_path / "desk") as again:
        again.start()
        assert again.stream_of("stores").inputs == ("sales", "prices")
    with pytest.raises(SqlError, match="several inputs of a stream are for an engine"):
        mt.sql(created)
