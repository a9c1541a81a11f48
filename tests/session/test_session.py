"""Statements that create, show and drop; sources are opened once, when first needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.parser.parse import parse_query
from muntin.parser.statements import ConnectorCall
from muntin.session.session import SqlSession
from tests.session.tables import LINE


@dataclass
class Opened:
    """Opens every source as the same rows, and remembers the sources it opened."""

    calls: list[tuple[str, str | None, bool]] = field(default_factory=list)

    def __call__(
        self, spark: SparkSession, call: ConnectorCall, schema: str | None, streaming: bool
    ) -> DataFrame:
        self.calls.append((str(call), schema, streaming))
        return spark.createDataFrame(LINE, "k STRING, x INT, v INT")


CREATE = """
CREATE STREAM line FROM csv('line.csv', header => true) (k STRING, x INT, v INT) ON x BY k;
CREATE TABLE names FROM json('names.json');
CREATE QUERY sums AS SELECT k, window_end AS e, sum(v) AS s FROM line [TUMBLING 5] GROUP BY k;
CREATE TRIGGER page ON sums DO webhook('http://127.0.0.1/x');
"""


@pytest.fixture
def session(spark: SparkSession) -> SqlSession:
    made = SqlSession(spark, open_source=Opened())
    made.sql(CREATE)
    return made


def lines(df: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in df.collect()]


def test_nothing_is_opened_before_it_is_needed(session: SqlSession) -> None:
    assert session.open_source == Opened()


def test_a_clause_leaves_out_the_schedule_of_its_stream(spark: SparkSession) -> None:
    session = SqlSession(spark, open_source=Opened())
    session.sql(CREATE.replace("ON x BY k;", "ON x BY k SCHEDULE 1;", 1))
    framing = "SELECT k, frame_start, n FROM line [FRAME BOUNDARY k{}]"
    plain = SqlSession(spark, open_source=Opened())
    plain.sql(CREATE)
    expected = sorted(map(str, lines(plain.sql(framing.format("")))))
    assert sorted(map(str, lines(session.sql(framing.format(" SCHEDULE NONE"))))) == expected
    assert sorted(map(str, lines(session.sql(framing.format(""))))) != expected


def test_a_density_needs_no_schedule(spark: SparkSession) -> None:
    session, plain = (SqlSession(spark, open_source=Opened()) for _ in range(2))
    session.sql(CREATE.replace("ON x BY k;", "ON x BY k SCHEDULE 1;", 1))
    plain.sql(CREATE)
    framing = "SELECT k, frame_start, n FROM line [FRAME DENSITY count(*) >= 2 PER 3]"
    expected = sorted(map(str, lines(plain.sql(framing))))
    assert sorted(map(str, lines(session.sql(framing)))) == expected
    assert expected


def test_a_query_reads_streams_tables_and_queries_by_name(session: SqlSession) -> None:
    found = session.sql("SELECT max(s) FROM sums [TUMBLING 100 WATTR e]")
    assert lines(found) == [(11,)]
    session.sql("SELECT count(*) FROM line [TUMBLING 100]")
    assert session.open_source == Opened(
        [("csv('line.csv', header => True)", "k STRING, x INT, v INT", False)]
    )


def test_show_says_what_there_is(session: SqlSession) -> None:
    assert lines(session.sql("SHOW STREAMS")) == [
        (
            "line",
            "CREATE STREAM line FROM csv('line.csv', header => True) (k STRING, x INT, v INT) "
            "ON x BY k",
        )
    ]
    assert [name for name, _ in lines(session.sql("SHOW TABLES"))] == ["names"]
    assert [name for name, _ in lines(session.sql("SHOW QUERIES"))] == ["sums"]
    assert [name for name, _ in lines(session.sql("SHOW TRIGGERS"))] == ["page"]


def test_drop_forgets(session: SqlSession) -> None:
    assert lines(session.sql("DROP QUERY sums")) == [("dropped query sums, and its trigger page",)]
    assert lines(session.sql("SHOW TRIGGERS")) == []
    assert lines(session.sql("DROP QUERY IF EXISTS sums")) == [("there was no query sums",)]
    with pytest.raises(mt.SqlError, match="there is no query sums"):
        session.sql("DROP QUERY sums")
    with pytest.raises(mt.SqlError, match=r"did you mean line\?"):
        session.sql("DROP STREAM lime")
    assert lines(session.sql("SHOW QUERIES")) == []


def test_secrets_are_not_shown(spark: SparkSession) -> None:
    session = SqlSession(spark)
    session.sql("""
    CREATE TABLE t FROM postgres('t', 'postgresql://h/d', 'me', 'hunter2');
    CREATE QUERY q AS SELECT 1 AS x INTO postgres('q', url => 'u', password => 'hunter2')
      LATE INTO kafka('late', servers => 's', `kafka.ssl.key.password` => 'hunter2');
    CREATE TRIGGER page ON q DO webhook('http://me:hunter2@x', token => 'hunter2');
    """)
    for what in ("TABLES", "QUERIES", "TRIGGERS"):
        ((_, shown),) = lines(session.sql(f"SHOW {what}"))
        assert "***" in shown
        assert "hunter2" not in shown


@pytest.mark.parametrize("name", ["../../x", "a/b", ".hidden", "a:b", "x*"])
def test_a_name_that_is_no_folder_is_refused(session: SqlSession, name: str) -> None:
    for made in (
        f"CREATE QUERY `{name}` AS SELECT 1 AS x",
        f"CREATE TABLE `{name}` FROM json('x')",
        f"CREATE TRIGGER `{name}` ON sums DO command('true')",
    ):
        with pytest.raises(mt.SqlError, match="cannot be a name: it becomes a folder"):
            session.sql(made)
    session.sql("CREATE QUERY `slow segments-2` AS SELECT 1 AS x")


def test_the_name_of_a_query_without_one_is_refused(session: SqlSession) -> None:
    with pytest.raises(mt.SqlError, match="queries without one are called select_1, select_2"):
        session.sql("CREATE QUERY Select_1 AS SELECT 1 AS x")


def test_the_plans_behind_a_query_are_its_own(session: SqlSession) -> None:
    session.sql("SELECT min(v) FROM line [TUMBLING 3]")
    (read, own) = session.answer(
        parse_query("SELECT max(s) FROM sums [TUMBLING 100 WATTR e]")
    ).running_plans
    assert "sum(v)" in str(read.explanation)
    assert "max(s)" in str(own.explanation)


def test_a_query_reads_what_its_names_stand_for_now(session: SqlSession) -> None:
    text = "SELECT count(*) FROM sums"
    assert lines(session.sql(text)) == [(4,)]
    session.sql("DROP STREAM line; CREATE STREAM line FROM csv('other.csv') ON x")
    session.sql(text)
    assert isinstance(session.open_source, Opened)
    assert [call for call, _, _ in session.open_source.calls] == [
        "csv('line.csv', header => True)",
        "csv('other.csv')",
    ]


def test_creating_says_what_was_done(spark: SparkSession) -> None:
    assert lines(mt.sql("CREATE QUERY one AS SELECT 1 AS x")) == [("created query one",)]


def test_the_last_statement_answers(spark: SparkSession) -> None:
    assert lines(mt.sql("CREATE QUERY one AS SELECT 1 AS x; SELECT x + 1 FROM one;")) == [(2,)]


def test_a_text_without_statements_is_an_error(spark: SparkSession) -> None:
    with pytest.raises(mt.SqlError, match="there is no statement"):
        mt.sql("-- nothing\n;")


def test_what_is_no_table_is_refused(spark: SparkSession) -> None:
    with pytest.raises(mt.ArgumentError, match=r"t=\[1\] cannot be used: it must be a Spark"):
        mt.sql("SELECT 1 FROM t", t=[1])


def test_a_query_that_reads_itself_is_refused(session: SqlSession) -> None:
    session.sql("CREATE QUERY a AS SELECT * FROM b; CREATE QUERY b AS SELECT * FROM a")
    with pytest.raises(mt.SqlError, match=r"line 1, column 14: the query a reads itself"):
        session.sql("SELECT * FROM a")


def test_explain_draws_a_graph(session: SqlSession) -> None:
    (row,) = session.sql(
        "EXPLAIN (FORMAT svg) SELECT k, sum(v) AS s FROM line [TUMBLING 5]"
    ).collect()
    root = ElementTree.fromstring(row.plan)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"line", "tumbling", "Spark SQL", "results"} <= set(texts)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) == 4


def test_explain_of_a_query_by_its_name(session: SqlSession) -> None:
    (row,) = session.sql("EXPLAIN QUERY sums").collect()
    assert row.plan.splitlines()[:3] == [
        "relation    line, a batch",
        "operator    WindowOperator",
        "window      RANGE 5 SLIDE 5 WATTR x  [CF]",
    ]
