"""Early answers of the engine's queries: in memory over random rows, then on a real stream."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.engine import Engine
from muntin.errors import ArgumentError
from muntin.operators.shared.program import QueryProgram
from tests.engine.in_memory import MemoryStream
from tests.engine.line_rows import write_rows
from tests.engine.pool import Pool, planned, rows_of_a_task, table_of
from tests.thorough import examples

ABOUT = ("change", "final", "complete")


@pytest.fixture(scope="module")
def pool(spark: SparkSession) -> Pool:
    return planned(spark)


def plain(rows: list[dict[str, Any]]) -> list[str]:
    shown = [{name: value for name, value in row.items() if name not in ABOUT} for row in rows]
    return sorted(map(repr, shown))


class Applied:
    """The table that the changes of a query make."""

    def __init__(self, program: QueryProgram) -> None:
        self.identity = (*program.newest.keys, *program.newest.bounds)
        self.rows: dict[tuple[str, ...], dict[str, Any]] = {}
        self.final: Counter[tuple[str, ...]] = Counter()

    def apply(self, changes: pa.Table | None) -> None:
        for row in [] if changes is None else changes.to_pylist():
            key = tuple(repr(row[name]) for name in self.identity)
            assert (key in self.rows) == (row["change"] in "u-"), row
            assert row["final"] or not row["complete"]
            if row["change"] == "-":
                del self.rows[key]
            else:
                self.rows[key] = row
                self.final[key] += row["final"]


@examples(1200)
@given(
    st.integers(0, 7),
    st.lists(st.lists(rows_of_a_task, min_size=1, max_size=2), min_size=1, max_size=4),
    st.sampled_from([1, 3]),
)
def test_changes_make_the_answer_over_the_rows_so_far(
    pool: Pool, choice: int, batches: list[list[list[tuple]]], shards: int
) -> None:
    """After each micro-batch they make what the same query reports of a stream that ends there."""
    changes, final = (program.numbered(1) for program in pool.early[choice])
    tables = [
        [table_of(pool.schema, task, place * 5) for task in tasks]
        for place, tasks in enumerate(batches)
    ]
    early, applied = MemoryStream(pool.rule, shards), Applied(changes)
    usual: list[dict[str, Any]] = []
    ends = MemoryStream(pool.rule, shards)
    for place, rows in enumerate(tables):
        last = place == len(tables) - 1
        done = early.run(rows, [changes], ended=last)
        if done.failed:  # rows that tie stop frames
            return
        applied.apply(done.answers.get(1))
        ended = MemoryStream(pool.rule, shards)
        exact: list[dict[str, Any]] = []
        for number, part in enumerate(tables[: place + 1]):
            answered = ended.run(part, [final], ended=number == place)
            if answered.failed:
                return
            exact += answered.answers[1].to_pylist() if 1 in answered.answers else []
        assert plain([*applied.rows.values()]) == plain(exact)
        answered = ends.run(rows, [final], ended=last)
        usual += answered.answers[1].to_pylist() if 1 in answered.answers else []
    finals = [row for key, row in applied.rows.items() if applied.final[key]]
    assert plain(finals) == plain(usual)
    # At the end all that was not withdrawn is final, and nothing was final twice.
    assert all(applied.final[key] == 1 for key in applied.rows)
    assert max(applied.final.values(), default=0) <= 1
    assert all(not names for names in _tables(early))


def _tables(stream: MemoryStream) -> list[list[str]]:
    """Return the tables about early answers that are left in each shard."""
    return [[name for name, _ in state.chunks if "early:" in name] for state in stream.states]


def test_a_paused_query_withdraws_what_closed_meanwhile(pool: Pool) -> None:
    changes = pool.early[2][0].numbered(1)  # tumbling windows of 6 seconds, by lane
    stream, applied = MemoryStream(pool.rule, 1), Applied(changes)

    def run(second: int, program: QueryProgram) -> list[tuple[str, int, bool]]:
        row = (0, "a", 1, 31.0, second, False)
        done = stream.run([table_of(pool.schema, [row], second)], [program])
        applied.apply(done.answers.get(1))
        answers = done.answers[1].to_pylist() if 1 in done.answers else []
        return sorted((row["change"], row["e"].second, row["final"]) for row in answers)

    assert run(0, changes) == [("+", 6, False)]
    assert run(7, replace(changes, paused=True)) == []
    assert run(13, replace(changes, paused=True)) == []
    # The window up to 6 closed while the query was paused, so its answer is not made up.
    assert run(14, changes) == [("+", 12, False), ("+", 18, False), ("-", 6, False)]


def answers(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.select(names).to_pylist()]


def applied(table: pa.Table, *identity: str) -> dict[tuple[Any, ...], Any]:
    """Return what changes make of an empty table: the sum of each key and window."""
    rows: dict[tuple[Any, ...], Any] = {}
    for row in table.to_pylist():
        key = tuple(row[name] for name in identity)
        assert (key in rows) == (row["change"] in "u-")
        if row["change"] == "-":
            del rows[key]
        else:
            rows[key] = row["s"]
    return rows


CREATE = (
    "CREATE STREAM line FROM json('{rows}') (k STRING, x INT, v INT) ON x BY k DISORDER SLACK 1 "
    "KEEP 1000"
)
SUMS = "SELECT k, window_end, sum(v) AS s FROM line [TUMBLING 5] GROUP BY k HAVING sum(v) < {limit}"
COLUMNS = ("k", "window_end", "s", "change", "final", "complete")


def news(query: Any, known: list[int]) -> list[tuple[Any, ...]]:
    """Return the answers after those that are known, and note the newest micro-batch."""
    table = query.results(after=known[-1])
    known += table["micro_batch"].to_pylist()
    return sorted(answers(table, *COLUMNS))


def test_a_query_reports_early_is_revised_and_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    rows, home = tmp_path / "rows", tmp_path / "home"
    write_rows(rows, "0", range(7))
    known = [-1]
    with Engine(spark, home) as engine:
        engine.sql(CREATE.format(rows=rows))
        early = engine.register("early", SUMS.format(limit=13), emit="early")
        slow = engine.sql(
            "CREATE QUERY slow EMIT EARLY EVERY 100 AS SELECT k, window_end, avg(v) AS s "
            "FROM line [TUMBLING 1000] GROUP BY k"
        )
        assert slow.to_pylist() == [{"done": "created query slow"}]
        engine.start()
        engine.process_available()
        assert news(early, known) == [
            ("a", 5, 6, "+", True, True),
            ("a", 10, 6, "+", False, False),
            ("b", 5, 4, "+", True, True),
            ("b", 10, 5, "+", False, False),
        ]
        write_rows(rows, "1", range(7, 9))
        engine.process_available()
        # The sum of a is not below 13 any more.
        assert news(early, known) == [
            ("a", 10, 6, "-", False, False),
            ("b", 10, 12, "u", False, False),
        ]
        assert sorted(answers(early.invoke(), *COLUMNS[:3])) == [
            ("a", 5, 6),
            ("b", 5, 4),
            ("b", 10, 12),
        ]
        assert "reported: early" in early.explain()
        slowly = applied(engine["slow"].results(), "k", "window_end")
        assert slowly == {("a", 1000): 3.0, ("b", 1000): 3.0}  # of the first micro-batch
    with Engine(spark, home) as engine:
        engine.start()
        engine.process_available()
        early = engine["early"]
        assert news(early, known) == []
        write_rows(rows, "2", range(9, 12))
        engine.process_available()
        assert news(early, known) == [
            ("a", 15, 10, "+", False, False),
            ("b", 10, 12, "-", False, False),
            ("b", 15, 11, "+", False, False),
        ]
        later = engine.register("later", SUMS.format(limit=13), emit="early", start="history")
        engine.process_available()
        assert later.wait().filled == "rows"
        both = [applied(query.results(), "k", "window_end") for query in (early, later)]
        assert both[0] == both[1]
        early.change(SUMS.format(limit=1000)).wait()
        engine.process_available()
        assert sorted(answers(early.results(), *COLUMNS[:5])) == [
            ("a", 15, 10, "+", False),
            ("b", 15, 11, "+", False),
        ]
        engine.end("line")
        engine.process_available()
        final = early.results()
        final = final.filter(final["final"])
        assert sorted(answers(final, *COLUMNS[:5])) == [
            ("a", 15, 10, "u", True),
            ("b", 15, 11, "u", True),
        ]


def test_queries_without_early_answers_are_refused_by_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = tmp_path / "rows"
    write_rows(rows, "0", range(7))
    with Engine(spark, tmp_path / "home") as engine:
        engine.sql(CREATE.format(rows=rows))

        def refused(text: str, reason: str, **given: Any) -> None:
            with pytest.raises(ArgumentError, match=reason):
                engine.register("q", text, emit="early", **given)

        refused("SELECT k, x FROM line", "answers each row once, when it comes")
        refused("SELECT sum(v) AS s, window_end FROM line [TUMBLING 5] GROUP BY k", "leaves out k")
        refused("SELECT k, sum(v) AS s FROM line [TUMBLING 5] GROUP BY k", "leaves out window_end")
        refused(
            "SELECT k, window_end, sum(v) AS change FROM line [TUMBLING 5] GROUP BY k",
            "it selects a column change",
        )
        refused(
            "SELECT k, window_end, soundex(k) AS c, sum(v) AS s FROM line [TUMBLING 5] GROUP BY k",
            "Spark evaluates its select list",
        )
        refused(
            "SELECT k, window_end, count(*) AS n FROM line [RANGE 5 SLIDE 1 TUPLE] GROUP BY k",
            "rows that tie may end several windows",
        )
        refused(
            "SELECT k, frame_start, count(*) AS n FROM line [FRAME THRESHOLD v < 5] FILL line AS f",
            "unfilled",
        )
        refused(SUMS.format(limit=1), "early answers are made in every micro-batch", answer="lazy")
        refused(SUMS.format(limit=1), "no column is an average", confidence=0.9)
        with pytest.raises(mt.SqlError, match="add emit='early'"):
            engine.sql(f"CREATE QUERY q EVERY 5 AS {SUMS.format(limit=1)}")


def test_intervals_are_selected_beside_their_averages(spark: SparkSession, tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    write_rows(rows, "0", range(4))
    text = "SELECT k, window_end, avg(v) AS m FROM line [TUMBLING 5] GROUP BY k"
    with Engine(spark, tmp_path / "home") as engine:
        engine.sql(CREATE.format(rows=rows))
        means = engine.register("means", text, emit="early", confidence=0.5)
        engine.start()
        engine.process_available()
        (a, b) = sorted(means.results().to_pylist(), key=lambda row: str(row["k"]))
        # The values of a are 0 and 2: mean 1, and s / sqrt(n) is 1.
        assert (a["m"], round(a["m_low"], 4), round(a["m_high"], 4)) == (1.0, 0.3255, 1.6745)
        assert (b["m"], round(b["m_high"], 4)) == (2.0, 2.6745)
