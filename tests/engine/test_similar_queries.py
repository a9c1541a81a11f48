"""A query that is planned with the help of one of its shape has the plan that it has alone."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.plan_query import plan_parsed, plan_query
from muntin.engine.planning import similar_queries
from muntin.engine.planning.similar_queries import SimilarQueries
from muntin.spark.queries.many_queries import NetworkStream
from tests.engine.pool import COLUMNS, TEXTS

#: Each has the shape of the one before it, or it is planned in full.
ALIKE = (
    "SELECT * FROM s WHERE speed < 3",
    "SELECT * FROM s WHERE s.lane IN (1, 2) OR Speed > 7.25",
    "SELECT * FROM s",
    "SELECT t.lane FROM s AS t WHERE t.speed < 3",
    "SELECT speed + 1.5 AS x FROM s WHERE lane = 1",
    "SELECT speed + 1.25 AS x FROM s WHERE lane = 1",
    "SELECT station, avg(speed) AS a FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY station",
    "SELECT station, avg(speed) AS a FROM s [RANGE 1 HOUR SLIDE 1 SECOND] WHERE lane < 2.5 "
    "GROUP BY station",
    "SELECT station, avg(speed) AS a FROM s [RANGE 7 SECONDS SLIDE 9 SECONDS] WHERE s.volume > 1 "
    "AND station <> 'x' GROUP BY station",
    "SELECT station, avg(speed) AS a FROM s [RANGE 7 SECONDS SLIDE 9 SECONDS] "
    "GROUP BY station HAVING avg(speed) > 3",
    "SELECT station, avg(speed) AS a FROM s [RANGE 8 SECONDS SLIDE 9 SECONDS] "
    "GROUP BY station HAVING avg(speed) > 3",
    "SELECT station, avg(speed) AS a FROM s [RANGE 8 SECONDS SLIDE 9 SECONDS] "
    "GROUP BY station HAVING avg(speed) > 4",
    "SELECT lane, window_end, count(*) AS n FROM s [TUMBLING 8 SECONDS] GROUP BY lane",
    "SELECT lane, window_end, count(*) AS n FROM s [TUMBLING 9 SECONDS] WHERE lane = 1 "
    "GROUP BY lane",
    "SELECT max(speed) AS m FROM s [RANGE 8 SECONDS SLIDE 2 SECONDS ORIGIN '2026-01-01'] "
    "WHERE lane = 1",
    "SELECT max(speed) AS m FROM s [RANGE 6 SECONDS SLIDE 4 SECONDS ORIGIN '2026-01-01'] "
    "WHERE lane = 2",
    "SELECT max(speed) AS m FROM s [RANGE 6 SECONDS SLIDE 4 SECONDS ORIGIN '2026-02-01'] "
    "WHERE lane = 2",
    *TEXTS,
    *TEXTS,
)
#: Each is refused, with the same words whether one of its shape was planned or not.
REFUSED = (
    "SELECT * FROM s WHERE spede < 3",
    "SELECT * FROM s WHERE speed + 1",
    "SELECT * FROM s WHERE max(speed) > 1",
    "SELECT station, avg(speed) AS a FROM s [RANGE 0 SECONDS SLIDE 5 SECONDS] GROUP BY station",
    "SELECT station, avg(speed) AS a FROM s [RANGE 5 SLIDE 5] GROUP BY station",
    "SELECT station, avg(speed) AS a FROM s [RANGE 1 HOUR SLIDE 1 SECOND] WHERE avg(speed) < 2 "
    "GROUP BY station",
    "SELECT station, avg(speed) AS a FROM s [RANGE 1 HOUR SLIDE 1 SECOND] WHERE a < 2 "
    "GROUP BY station",
    "SELECT station, avg(speed) AS a FROM s [RANGE 1 HOUR SLIDE 1 SECOND] WHERE u.lane < 2 "
    "GROUP BY station",
)


@pytest.fixture(scope="module")
def stream(spark: SparkSession) -> NetworkStream:
    df = spark.createDataFrame([], COLUMNS)
    return NetworkStream(mt.stream(df, "ts", "station", mt.slack("4 seconds")), tuple(df.columns))


def test_plans_are_those_of_each_query_alone(
    stream: NetworkStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_full = []

    def planned(query, streams, beyond=None):
        in_full.append(query.text)
        return plan_parsed(query, streams, beyond)

    monkeypatch.setattr(similar_queries, "plan_parsed", planned)
    similar = SimilarQueries({"s": stream.planning}, stream.axis)
    for text in ALIKE:
        found = similar.plan(text)
        expected = plan_query(text, {"s": (stream.planning, stream.axis)})
        assert found.program == expected.program, text
        assert repr(found.program) == repr(expected.program), text
        assert (found.text, found.columns, found.order) == (text, expected.columns, expected.order)
        assert (found.finish is None) == (expected.finish is None)
    again = [place for place, text in enumerate(ALIKE[:17]) if text not in in_full]
    assert again == [1, 2, 7, 8, 10, 13, 15]


def test_refusals_are_those_of_each_query_alone(stream: NetworkStream) -> None:
    similar = SimilarQueries({"s": stream.planning}, stream.axis)
    for text in ALIKE[:9]:
        similar.plan(text)
    for text in REFUSED:
        with pytest.raises(Exception) as found:
            similar.plan(text)
        with pytest.raises(type(found.value)) as expected:
            plan_query(text, {"s": (stream.planning, stream.axis)})
        assert str(found.value) == str(expected.value)


def test_the_oldest_shapes_are_forgotten(
    stream: NetworkStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similar_queries, "_MOST_SHAPES", 2)
    similar = SimilarQueries({"s": stream.planning}, stream.axis)
    for name in ("lane", "speed", "volume"):
        similar.plan(f"SELECT {name} FROM s")
    assert len(similar._shapes) == 2
