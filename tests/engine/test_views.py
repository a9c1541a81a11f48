"""A query that reads another one answers as the two written as one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.plan_query import plan_query
from muntin.engine.planning.views import plan_reader, reader_planner
from muntin.errors import EngineError
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.network import StreamRule
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.view_rows import ViewRows
from muntin.parser.parse import parse_query
from muntin.spark.plan.worker_program import carried_schema
from muntin.spark.queries.many_queries import NetworkStream
from muntin.specs.disorder import Disorder
from tests.engine.in_memory import MemoryStream
from tests.engine.line_rows import CREATE, write_rows
from tests.engine.pool import COLUMNS, plain, rows_of_a_task, table_of
from tests.thorough import examples

VIEW = (
    "SELECT station, ts AS at, speed * 2 AS twice, lane AS place, volume FROM s "
    "WHERE speed < 40 OR lane = 1"
)
OF_VIEW = "SELECT at, station, twice / place AS share, volume FROM v WHERE place < 2"
IN_VIEW = "speed < 40 OR lane = 1"
#: Queries over the view, and the same written as one over the stream.
PAIRS = (
    (
        "SELECT station, window_end, sum(twice) AS t, count(*) AS n "
        "FROM v [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE place < 2 GROUP BY station",
        "SELECT station, window_end, sum(speed * 2) AS t, count(*) AS n "
        "FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] "
        f"WHERE ({IN_VIEW}) AND lane < 2 GROUP BY station",
    ),
    (
        "SELECT place, window_end, max(volume) AS t FROM v [RANGE 6 SECONDS SLIDE 6 SECONDS] "
        "GROUP BY place",
        "SELECT lane AS place, window_end, max(volume) AS t "
        f"FROM s [RANGE 6 SECONDS SLIDE 6 SECONDS] WHERE {IN_VIEW} GROUP BY lane",
    ),
    (
        "SELECT station, frame_start, frame_end, count(*) AS n FROM v [FRAME THRESHOLD twice < 50]",
        "SELECT station, frame_start, frame_end, count(*) AS n "
        f"FROM s [FRAME THRESHOLD speed * 2 < 50] WHERE {IN_VIEW}",
    ),
    (
        "SELECT at, twice + place AS sum FROM v WHERE twice > 10",
        f"SELECT ts AS at, speed * 2 + lane AS sum FROM s WHERE ({IN_VIEW}) AND speed * 2 > 10",
    ),
)
READS_BOTH = (
    "SELECT station, window_end, sum(share) AS t, count(*) AS n "
    "FROM w [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY station",
    "SELECT station, window_end, sum(speed * 2 / lane) AS t, count(*) AS n "
    "FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] "
    f"WHERE ({IN_VIEW}) AND lane < 2 GROUP BY station",
)


@dataclass(frozen=True)
class Read:
    """Programs over a view, each with the same as one query; the rule of the stream."""

    rule: StreamRule
    schema: object
    view: QueryProgram
    pairs: tuple[tuple[QueryProgram, QueryProgram], ...]


def as_view(program: QueryProgram) -> ViewRows:
    assert program.answers is not None
    return ViewRows(program.answers.columns, program.inputs[0].predicate, program.view)


@pytest.fixture(scope="module")
def read(spark: SparkSession) -> Read:
    df = spark.createDataFrame([], COLUMNS)
    stream = NetworkStream(mt.stream(df, "ts", "station", mt.slack("4 seconds")), tuple(df.columns))

    def direct(text: str) -> QueryProgram:
        return plan_query(text, {"s": (stream.planning, stream.axis)}).program

    def reading(text: str, name: str, view: QueryProgram) -> QueryProgram:
        rows = as_view(view)
        planner = reader_planner(name, rows, stream.planning, stream.axis)
        planned = plan_reader(parse_query(text), rows, planner).program
        again: QueryProgram = from_json(to_json(planned))
        assert again == planned
        return again

    view = direct(VIEW)
    of_view = reading(OF_VIEW, "v", view)
    pairs = [(reading(text, "v", view), direct(one)) for text, one in PAIRS]
    pairs.append((reading(READS_BOTH[0], "w", of_view), direct(READS_BOTH[1])))
    return Read(from_json(stream.rule), carried_schema(stream.planning), view, tuple(pairs))


batch = st.lists(rows_of_a_task, min_size=1, max_size=2)


@examples(200)
@given(st.lists(batch, min_size=2, max_size=5), st.sampled_from([1, 3]))
def test_a_reader_of_a_view_answers_as_one_query(read: Read, batches: list, shards: int) -> None:
    together = MemoryStream(read.rule, shards)
    alone = [MemoryStream(read.rule, shards) for _ in read.pairs]
    live = {*range(len(read.pairs))}
    for number, tasks in enumerate(batches):
        rows = [table_of(read.schema, task, number * 6) for task in tasks]
        ended = number == len(batches) - 1
        programs = [read.view.numbered(1)]
        programs += [read.pairs[place][0].numbered(place + 10) for place in sorted(live)]
        done = together.run(rows, programs, ended=ended)
        for place in sorted(live):
            expected = alone[place].run(rows, [read.pairs[place][1].numbered(1)], ended=ended)
            member = place + 10
            assert (member in done.failed) == (1 in expected.failed)
            if 1 in expected.failed:
                live.discard(place)
                continue
            assert (member in done.answers) == (1 in expected.answers)
            if 1 in expected.answers:
                assert plain(done.answers[member]) == plain(expected.answers[1])
            assert done.used.get(member, 0) == expected.used.get(1, 0)
    together.run([table_of(read.schema, [], 0)], [])
    assert [state.chunks for state in together.states] == [{}] * shards


@pytest.mark.parametrize(
    "disorder", [mt.punctuated("lane = 2"), mt.each("lane", "4 seconds")], ids=str
)
def test_a_view_may_leave_out_what_punctuates_its_stream(
    spark: SparkSession, disorder: Disorder
) -> None:
    df = spark.createDataFrame([], COLUMNS)
    stream = NetworkStream(mt.stream(df, "ts", "station", disorder), tuple(df.columns))
    declared = {"s": (stream.planning, stream.axis)}
    text = "SELECT station, window_end, count(*) AS n, max(speed) AS m FROM {} [TUMBLING 5 SECONDS]"
    text += " GROUP BY station"
    view = plan_query("SELECT ts, station, speed FROM s", declared).program
    planner = reader_planner("v", as_view(view), stream.planning, stream.axis)
    query = parse_query(text.format("v"))
    reader = plan_reader(query, as_view(view), planner).program.numbered(1)
    direct = plan_query(text.format("s"), declared).program.numbered(2)
    schema = carried_schema(stream.planning)
    running = MemoryStream(from_json(stream.rule), 1)
    answered = 0
    for place in range(4):
        rows = [(n - 3, "ab"[n % 2], n % 3, float(n), n, False) for n in range(7)]
        done = running.run([table_of(schema, rows, place * 6)], [reader, direct], ended=place == 3)
        assert not done.failed
        assert (1 in done.answers) == (2 in done.answers)
        if 1 in done.answers:
            assert plain(done.answers[1]) == plain(done.answers[2])
            answered += done.answers[1].num_rows
    assert answered > 6


def test_readers_of_one_view_share_panes(read: Read) -> None:
    from muntin.operators.shared.network import QueryNetwork

    reader, direct = read.pairs[0]
    programs = [p.numbered(n) for n, p in enumerate((reader, reader, direct, direct))]
    groups = QueryNetwork(read.rule, tuple(programs)).groups.values()
    assert sorted(sorted(group.members) for group in groups) == [[0, 1], [2, 3]]
    assert replace(reader, view=None) != reader


def test_queries_read_a_view_of_a_running_engine(spark: SparkSession, tmp_path: Path) -> None:
    rows, home = tmp_path / "rows", tmp_path / "home"
    write_rows(rows, "1", range(12))
    sums = "SELECT k, window_end, sum(w) AS s FROM large [TUMBLING 5] GROUP BY k"
    with mt.Engine(spark, home) as engine:
        engine.sql(f"{CREATE.format(rows=rows)} KEEP 1000")
        large = engine.register("large", "SELECT x, k, v * 10 AS w FROM line WHERE v > 2")
        totals = engine.register("totals", sums)
        windows = engine.register(
            "windows", "SELECT k, window_end, count(*) AS n FROM line [TUMBLING 5] GROUP BY k"
        )
        narrow = engine.register("narrow", "SELECT x, v FROM line")
        with pytest.raises(EngineError, match="windows makes windows or frames"):
            engine.register("q", "SELECT k FROM windows")
        with pytest.raises(EngineError, match="narrow does not select k as it is"):
            engine.register("q", "SELECT x FROM narrow")
        for refused in (large.drop, lambda: large.change("SELECT x, k, v AS w FROM line")):
            with pytest.raises(EngineError, match="while other queries read it: totals"):
                refused()
        engine.start()
        engine.process_available()
        answers = [("a", 5, 40), ("a", 10, 140), ("b", 5, 30), ("b", 10, 210)]

        def plain_sums(table: object) -> list[tuple[object, ...]]:
            return sorted((r["k"], r["window_end"], r["s"]) for r in table.to_pylist())

        assert plain_sums(totals.results()) == answers
        # The same from history, asked once, and as of a value of the stream.
        later = engine.register("later", sums, start="history")
        engine.process_available()
        assert plain_sums(later.results()) == answers
        assert plain_sums(engine.ask(sums)) == answers
        past = sums.replace("FROM large", "FROM large AS OF 6")
        assert plain_sums(engine.sql(past)) == [answers[0], answers[2]]
        bounded = engine.register("bounded", sums, start="4", until=9)
        engine.process_available()
        # The windows that end at 10 lack the rows from 9 on, so they are no answers.
        assert plain_sums(bounded.results()) == [("a", 5, 40)]
        for reader in (totals, later, bounded):
            reader.drop()
        large.drop()
        windows.drop()
        narrow.drop()
    with mt.Engine(spark, home) as engine:
        engine.start()
        assert plain_sums(engine[totals.id].results()) == answers  # the view is gone
