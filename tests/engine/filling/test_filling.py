"""New queries are filled from panes on real streams, at once, and equal those always there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.errors import ArgumentError
from tests.engine.test_engine import Readings, expected, plain, windows


def test_queries_are_filled_from_panes_at_once(spark: SparkSession, tmp_path: Path) -> None:
    readings = Readings(tmp_path / "readings")
    with mt.Engine(spark, tmp_path / "desk") as engine:
        source = (readings.stream(spark), "ts", "station", mt.slack("5 seconds"))
        engine.stream("traffic", *source, keep="10 minutes", grain="10 seconds")
        engine.stream("bare", *source)
        always = engine.register("always", windows(20, 10))
        long = engine.register("long", windows(60, 10))
        engine.register("live", windows(40, 10).replace("traffic", "bare"))
        engine.start()
        for part in range(3):
            readings.put(part * 30, 30)
            engine.process_available()
        later = engine.register("later", windows(20, 10), start="history")
        few = engine.register("few", windows(20, 10, "WHERE lane < 9"), start="history")
        changed = long.change(windows(30, 10))
        shorter = windows(30, 10).replace("traffic", "bare")
        inserted = engine.register("inserted", shorter, start="history")
        with pytest.raises(ArgumentError, match="those of live lack panes so far back"):
            engine.register("longer", windows(50, 10).replace("traffic", "bare"), start="history")
        engine.process_available()
        begun = later.wait()
        filled = [handle.wait().filled for handle in (later, few, changed, inserted)]
        assert filled == ["panes", "rows", "panes", "panes"]
        # All of the past is in the first micro-batch that has the query.
        assert later.results()["micro_batch"].to_pylist()[:1] == [begun.micro_batch]
        assert plain(later.results()) == plain(always.results()) == plain(few.results())
        assert "filled from: the base panes" in later.explain()
        assert "kept rows, because panes do not cover it: those of base panes lack the same" in (
            few.explain()
        )
        assert "filled from: the panes of long" in changed.explain()
        readings.put(90, 60)
        for name in ("traffic", "bare"):
            engine.process_available()
            engine.end(name)
        engine.process_available()
        assert plain(later.results()) == plain(always.results()) == plain(few.results())
        # Also the one that was filled from rows shares panes now.
        (part,) = [part for part in engine.network()["traffic"] if "few" in part["queries"]]
        assert {*part["queries"]} == {"always", "long", "later", "few"}
        # Each window is answered by one generation, and none is left out.
        both = plain(long.results(generation=1), "complete"), plain(changed.results(), "complete")
        end = min(row[1] for row in both[1])
        wide, narrow = (expected(spark, readings, windows(size, 10)) for size in (60, 30))
        assert both[0] == [row for row in wide if row[1] < end]
        assert both[1] == [row for row in narrow if row[1] >= end]
        answered = plain(inserted.results(), "complete")
        assert answered == [row for row in narrow if row[1] >= answered[0][1]]
        assert answered[0][1] == both[1][0][1]
        stopped = {
            str(row["window_end"])[14:19]
            for row in inserted.results().to_pylist()
            if not row["complete"]
        }
        assert stopped <= {"02:30", "02:40", "02:50"}
