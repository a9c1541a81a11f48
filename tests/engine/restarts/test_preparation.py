"""What Spark prepares for a query: which parts, by which names, and NULL where one would raise."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import muntin as mt
from muntin.engine.plan_query import PlannedQuery, plan_query
from muntin.engine.planning.preparation import without_errors
from muntin.engine.planning.prepared_columns import PreparedColumns
from muntin.errors import MuntinError
from muntin.expressions.spark_expressions import Sql
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.prepared_column import PreparedColumn
from muntin.spark.columns import column
from muntin.spark.queries.many_queries import NetworkStream

COLUMNS = "x INT, word STRING, v DOUBLE, n INT"


@pytest.fixture(scope="module")
def stream(spark: SparkSession) -> NetworkStream:
    source = mt.stream(spark.createDataFrame([], COLUMNS), "x", "word", mt.slack(4))
    return NetworkStream(source, ("x", "word", "v"), name="s")


def planned(stream: NetworkStream, text: str) -> PlannedQuery:
    (own,) = stream.inputs
    return plan_query(text, {"s": (own.planning, stream.axis)}, {"s": own.planning_beyond})


def prepared(stream: NetworkStream, text: str) -> set[str]:
    program = planned(stream, text).program
    assert from_json(to_json(program)) == program
    return {str(made.expression).lower() for made in program.prepared}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT x, word FROM s WHERE v > 3", set()),
        ("SELECT x FROM s WHERE soundex(word) = 'A'", {"soundex(word) = 'a'"}),
        ("SELECT x, soundex(word) AS c FROM s WHERE v > 3", {"soundex(word)"}),
        ("SELECT x, n FROM s WHERE v > 3", {"n"}),
        ("SELECT n, sum(v) AS t, count(*) AS c FROM s [TUMBLING 5] GROUP BY n", {"n"}),
        (
            "SELECT word, max(soundex(word)) AS m FROM s [TUMBLING 5] GROUP BY word",
            {"soundex(word)"},
        ),
        ("SELECT frame_start FROM s [FRAME THRESHOLD sha(word) > 'b']", {"sha(word) > 'b'"}),
        ("SELECT x FROM s WHERE soundex(word) = 'A' AND n > 1", {"soundex(word) = 'a' and n > 1"}),
        (
            "SELECT x FROM s WHERE soundex(CAST(CAST(word AS INT) AS STRING)) > ''",
            {"soundex(try_cast(try_cast(word as int) as string)) > ''"},
        ),
    ],
)
def test_only_what_workers_cannot_is_prepared(
    stream: NetworkStream, text: str, expected: set[str]
) -> None:
    assert prepared(stream, text) == expected


@pytest.mark.parametrize("text", ["SELECT * FROM s WHERE n > 1", "SELECT no_function(v) FROM s"])
def test_what_nobody_can_evaluate_or_carry_is_refused_as_before(
    stream: NetworkStream, text: str
) -> None:
    (own,) = stream.inputs
    with pytest.raises(MuntinError) as plainly:
        plan_query(text, {"s": (own.planning, stream.axis)})
    with pytest.raises(type(plainly.value)) as found:
        planned(stream, text)
    assert str(found.value) == str(plainly.value)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "CAST(word AS INT) + 1",
            "x DIV n",
            "x % n",
            "v / n",
            "x * 2147483647",
            "-x - 2147483647",
        ),
        *("element_at(array(word), x)", "to_date(word, 'yyyy-MM-dd')", "to_timestamp(word)"),
        *("CASE WHEN x > 0 THEN v / n END", "word :: DATE", "x + CAST(word AS INT) > 3"),
    ],
)
def test_prepared_expressions_are_null_where_they_would_raise(
    spark: SparkSession, text: str
) -> None:
    rows = spark.createDataFrame([(5, "no", 1.0, 0)], COLUMNS)
    with pytest.raises(PySparkException):
        rows.select(column(Sql(text))).collect()
    made = rows.select(column(without_errors(Sql(text))).alias("made"))
    assert made.collect() == [(None,)]
    assert made.schema["made"].dataType == rows.select(column(Sql(text))).schema.fields[0].dataType


def test_columns_of_the_next_plan_are_those_of_programs_and_of_what_is_commanded(
    stream: NetworkStream,
) -> None:
    one, two, three = (
        planned(stream, f"SELECT x FROM s WHERE soundex(word) = '{letter}'").program
        for letter in "ABC"
    )
    began = PreparedColumns().renewed([to_json(one)], {})
    assert began.running == set(one.prepared)
    assert not began.lacking
    began.want(two.prepared)
    assert began.lacking
    assert began.lacks(two.prepared)
    after = began.renewed([to_json(one)], {7: to_json(three)})  # two is about to be logged
    assert after.running == {*one.prepared, *two.prepared, *three.prepared}
    assert (after.empty, after.withheld) == (set(three.prepared), {7})
    assert after.lacks(three.prepared)  # NULL, until somebody wants it
    last = after.renewed([to_json(replace(two, member=3))], {})
    assert last.running == set(two.prepared)


def test_equal_expressions_have_one_name() -> None:
    made = [PreparedColumn.evaluated(0, Sql(text), pa.string()) for text in ("sha(a)", "sha(a)")]
    assert made[0] == made[1]
    assert made[0].name != PreparedColumn.evaluated(0, Sql("sha(b)"), pa.string()).name
    assert made[0].is_evaluated
    assert not PreparedColumn.carried(0, "a", pa.string()).is_evaluated
