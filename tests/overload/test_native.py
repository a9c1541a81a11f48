"""Rows that are shed before any query sees them: which, how many, and what answers say of it."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

import muntin as mt
from muntin.cli.main import main
from muntin.engine.commit import StreamProgress
from muntin.engine.overload.shedder import with_rate
from muntin.errors import ArgumentError, EngineError
from muntin.operators.shared.overload.expected_share import expected_shares, with_shares
from muntin.operators.shared.program import COMPLETENESS, COMPLETENESS_BY
from muntin.spark.scan.row_sample import RowSample, sampled_places
from muntin.specs.overload import OverloadDecision

TOLERANT = {"share": [(1, 1), (0.1, 0)]}
CLOCK = itertools.count(1_700_000_000)
FIRST = -(2**63)


# The sample


@pytest.mark.parametrize("kept", [0.02, 0.3, 0.9])
def test_a_sample_keeps_its_share_whatever_the_file(kept: float) -> None:
    rows = pa.table({"x": range(50_000)})
    for path, group in (("a.parquet", 0), ("a.parquet", 1), ("b.parquet", 0)):
        sample = RowSample(kept)
        found = sample.of(rows, path, group, 0)
        assert abs(found.num_rows / 50_000 - kept) < 0.01
        assert sample.shed == 50_000 - found.num_rows


def test_a_row_is_kept_or_not_however_the_file_is_read() -> None:
    whole = sampled_places(7, 0, 1000, 0.4)
    parts = [sampled_places(7, first, 100, 0.4) for first in range(0, 1000, 100)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert np.all(sampled_places(7, 0, 1000, 0.2) <= whole)  # a larger rate keeps them all
    assert not np.array_equal(whole, sampled_places(8, 0, 1000, 0.4))


def test_without_a_rate_every_row_is_kept() -> None:
    rows = pa.table({"x": range(10)})
    assert RowSample(1.0).of(rows, "a", 0, 0) is rows


# The rates


def test_a_lower_rate_counts_from_the_punctuation_on_and_a_higher_one_from_the_largest() -> None:
    now = StreamProgress(largest=100, reached=90)
    lower = with_rate((), 1.0, 0.4, now)
    assert lower == ((90, 0.4),)
    assert with_rate(lower, 0.4, 1.0, StreamProgress(largest=200, reached=190)) == (
        *lower,
        (200, 1.0),
    )
    # Shed again before all rows of the time without a rate have come.
    both = ((90, 0.4), (200, 1.0))
    again = with_rate(both, 1.0, 0.5, StreamProgress(largest=205, reached=195))
    assert again == ((90, 0.4), (195, 0.5))


def test_rates_of_long_ago_are_the_least_of_them() -> None:
    rates: tuple[tuple[int, float], ...] = ()
    for tick in range(100):
        rate = 1.0 if tick % 2 else 0.5
        rates = with_rate(rates, 1.5 - rate, rate, StreamProgress(largest=tick, reached=tick))
    assert len(rates) == 32
    assert rates[0] == (FIRST, 0.5)
    assert rates[-1] == (99, 1.0)


def test_without_punctuation_a_rate_counts_from_the_beginning() -> None:
    rates = with_rate((), 1.0, 0.5, StreamProgress())
    assert rates == ((FIRST, 0.5),)
    assert expected_shares(rates, np.array([-5]), np.array([5])).tolist() == [0.5]


def test_what_is_counted_is_a_share_of_what_is_expected() -> None:
    made = pa.table({COMPLETENESS: [0.5, 1.0], COMPLETENESS_BY: ["count", "count"]})
    shares = with_shares(made, np.array([0.5, 1.0]))
    assert shares.to_pydict() == {COMPLETENESS: [0.25, 1.0], COMPLETENESS_BY: ["rate", "count"]}


def test_a_query_that_needs_more_holds_the_rate_up() -> None:
    decision = OverloadDecision(kept=0.2)
    assert decision.pinned({1: "q1"}, 0.1).kept == 0.2
    assert decision.pinned({1: "q1"}, 1.0).is_none


# On Spark


def put(folder: Path, first: int, count: int) -> None:
    """Write rows from ``x = first`` on, of two keys; one row group has 1,000 rows."""
    folder.mkdir(exist_ok=True)
    x = np.arange(first, first + count)
    path = folder / f"{first:08d}.parquet"
    hidden = path.with_name(f".{path.name}")  # a stream that runs sees it when it is whole
    pq.write_table(pa.table({"x": x, "k": x % 2, "v": x % 7}), hidden, row_group_size=1000)
    os.utime(hidden, (moment := next(CLOCK), moment))
    hidden.replace(path)


def opened(spark: SparkSession, folder: Path, home: Path) -> mt.Engine:
    engine = mt.Engine(spark, home)
    source = mt.parquet(spark, str(folder), streaming=True)
    engine.stream("line", source, on="x", by="k", disorder=mt.slack(0), shards=2)
    return engine


def test_shed_rows_are_counted_and_answers_say_how_much_they_have(
    spark: SparkSession, tmp_path: Path
) -> None:
    put(tmp_path / "rows", 0, 20_000)
    text = "SELECT k, window_end, count(*) AS n FROM line [RANGE 2000 SLIDE 2000]"
    with opened(spark, tmp_path / "rows", tmp_path / "home") as engine:
        engine.register("counted", text, qos=TOLERANT)
        engine.register("chosen", "SELECT x FROM line WHERE v = 3", qos=TOLERANT)
        engine.start()
        engine.process_available()
        before = engine["counted"].results()
        assert COMPLETENESS not in before.column_names

        decision = OverloadDecision(kept=0.3, rates=((19_999, 0.3),))
        stream = engine.stream_of("line")
        stream.shedder.control = stream.shedder.of(decision).control
        engine.decide(stream, decision)
        engine.process_available()
        put(tmp_path / "rows", 20_000, 20_000)
        engine.process_available()
        engine.end("line")
        engine.process_available()

        counts = engine["counted"].counts
        assert counts.used + counts.shed == 40_000
        assert 13_000 < counts.shed < 15_000
        assert [*counts.shed_by] == ["native: the engine stopped while rows were shed"]
        after = engine["counted"].results().slice(before.num_rows).to_pylist()
        late = [row for row in after if row["window_end"] > 22_000]
        assert len(late) == 18
        for row in late:
            # The last window reaches a little beyond the last row that was shed.
            assert row[COMPLETENESS] == pytest.approx(0.3, abs=0.01)
            assert row[COMPLETENESS_BY] == "rate"
            assert not row["complete"]
            assert abs(row["n"] / row[COMPLETENESS] - 1000) < 250
        chosen = engine["chosen"].results().to_pylist()
        assert {row[COMPLETENESS] for row in chosen if row["x"] >= 20_000} == {0.3}


def test_a_query_without_tolerance_stops_native_shedding(
    spark: SparkSession, tmp_path: Path
) -> None:
    put(tmp_path / "rows", 0, 4_000)
    with opened(spark, tmp_path / "rows", tmp_path / "home") as engine:
        stream = engine.stream_of("line")
        engine.register("some", "SELECT x FROM line WHERE v = 1", qos=TOLERANT)
        engine.register("all", "SELECT x FROM line WHERE v = 3")
        stream.shedder.control = stream.shedder.of(OverloadDecision(kept=0.2)).control
        engine.decide(stream, OverloadDecision(kept=0.2, rates=((0, 0.2),)))
        engine.start()
        engine.process_available()
        assert engine["all"].results().num_rows == sum(x % 7 == 3 for x in range(4_000))
        assert engine["all"].counts.shed == 0
        assert engine.registry.decision("line").kept == 1.0


def test_sizing_is_of_what_was_measured(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "rows", 0, 1_000)
    with opened(spark, tmp_path / "rows", tmp_path / "home") as engine:
        # Whatever else this machine does, its answers are in time.
        patient = {**TOLERANT, "delay": [("1 hour", 1), ("2 hours", 0)]}
        engine.register("q", "SELECT x FROM line WHERE v = 3", qos=patient)
        engine.start()
        engine.serve()
        with pytest.raises(EngineError, match="micro-batches with rows since the engine started"):
            engine.sizing({"line": 5})
        for batch in range(1, 6):
            put(tmp_path / "rows", batch * 100_000, 20_000 * batch)
            engine.process_available()
        client = mt.connect(tmp_path / "home")
        sizing = client.sizing({"line": "1/min"})["line"]
        assert (sizing.verdict, sizing.give_up) == ("fits", ())
        assert sizing.queries[0].rows_out == pytest.approx(1 / 60 / 7, rel=0.1)
        assert 0 < sizing.queries[0].share < 1
        too_much = engine.sizing({"line": sizing.capacity * 3})["line"]
        assert too_much.verdict == "does not fit"
        assert too_much.give_up[0].startswith("keep 27% of the rows: all queries tolerate it")
        assert "line" in engine.sizing()
        with pytest.raises(ArgumentError, match="rows a second"):
            client.sizing({"line": "fast"})

        (quality,) = client.quality()
        assert quality["query"] == "q"
        assert [graph["about"] for graph in quality["graphs"]] == ["delay", "share"]
        assert quality["graphs"][0]["now"] > 0
        assert quality["graphs"][1]["worth"] == 1
        assert client.overload()["line"] == {"kept": 1.0, "steps": [], "why": None, "native": None}
        assert [spent["unit"] for spent in client.spent()] == ["seconds"]

        file = tmp_path / "q.sql"
        file.write_text("SELECT 1")
        words = ["check", str(file), "--syntax", "--home", str(tmp_path / "home"), "--rates"]
        fits = CliRunner().invoke(main, [*words, "line=1/min"])
        assert (fits.exit_code, fits.output.splitlines()[0]) == (
            0,
            "line at 0 rows a second: fits",
        )
        assert CliRunner().invoke(main, [*words, "line=1e9"]).exit_code != 0
        wide = CliRunner().invoke(main, [*words, "line=9,999,999,999/s"])
        assert (wide.exit_code, "does not fit" in wide.output) == (3, True)


def test_graphs_that_cannot_be_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "rows", 0, 100)
    with opened(spark, tmp_path / "rows", tmp_path / "home") as engine:
        engine.start(trigger={"processingTime": "2 seconds"})
        with pytest.raises(ArgumentError, match=r"cannot come within 1 seconds: .* 2 seconds"):
            engine.register("q", "SELECT x FROM line", qos={"delay": [(1, 1), (5, 0)]})
        with pytest.raises(ArgumentError, match=r"speed is no numeric column .* x, k, v"):
            engine.register("q", "SELECT x FROM line", qos={"value": ("speed", [(0, 1)])})
        engine.sql("CREATE QUERY q AS SELECT x FROM line WITH QOS (SHARE 1 1, 0.5 0.9, 0.1 0)")
        assert engine["q"].qos == mt.Qos(share=[(1, 1), (0.5, 0.9), (0.1, 0)])
        engine["q"].change("SELECT x, k FROM line")
        assert engine["q"].qos is not None
        assert "share 0 " in engine["q"].explain()
        engine.register("w", "SELECT x FROM line", qos={"value": ("v", [(0, 2), (6, 0)])})
        engine.budget(100, query="w", policy="value")
        decided = engine.registry.decision("line").queries[engine["w"].id]
        assert decided.policy == mt.Policy("value", "v", [(0, 1), (6, 0)])
        with pytest.raises(ArgumentError, match="a column and a graph"):
            engine.budget(100, query="q", policy="value")
