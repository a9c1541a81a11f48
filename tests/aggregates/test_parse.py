from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from muntin.aggregates.bind import parse_condition
from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse import Column, numbered, parse_column, placeholder
from muntin.errors import ExpressionError, MuntinError
from muntin.expressions.spark_expressions import Both, NotNull, Sql

A, B = placeholder(0), placeholder(1)


def call(
    function: str, *arguments: str, where: str | None = None, constant: object = None
) -> Aggregate:
    condition = None if where is None else Sql(where)
    options = () if constant is None else (constant,)
    return Aggregate(function, tuple(map(Sql, arguments)), condition, options=options)


def present(function: str, argument: str) -> Aggregate:
    return Aggregate(function, (Sql(argument),), NotNull((Sql(argument),)))


# -- one aggregate ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "aggregate"),
    [
        ("max(speed)", call("max", "speed")),
        ("MIN( speed )", call("min", "speed")),
        ("sum(a + b * 2)", call("sum", "a + b * 2")),
        ("avg(x)", call("avg", "x")),
        ("mean(x)", call("avg", "x")),
        ("std(x)", call("stddev_samp", "x")),
        ("stddev(x)", call("stddev_samp", "x")),
        ("stddev_samp(x)", call("stddev_samp", "x")),
        ("stddev_pop(x)", call("stddev_pop", "x")),
        ("variance(x)", call("var_samp", "x")),
        ("var_samp(x)", call("var_samp", "x")),
        ("var_pop(x)", call("var_pop", "x")),
        ("first(x)", call("first", "x")),
        ("first_value(x)", call("first", "x")),
        ("last(x)", call("last", "x")),
        ("last_value(x)", call("last", "x")),
        ("any(x > 1)", call("any", "x > 1")),
        ("some(x)", call("any", "x")),
        ("bool_or(x)", call("any", "x")),
        ("all(x > 1)", call("all", "x > 1")),
        ("every(x)", call("all", "x")),
        ("bool_and(x)", call("all", "x")),
        ("count_if(x > 1)", call("count_if", "x > 1")),
        ("weighted_avg(speed, volume)", call("weighted_avg", "speed", "volume")),
        ("median(x)", call("median", "x")),
        ("median((x))", call("median", "x")),
        ("percentile(x, 0.95)", call("quantile", "x", constant=0.95)),
        ("quantile(x + 1, 1)", call("quantile", "x + 1", constant=1.0)),
        ("percentile(x, 1e-3)", call("quantile", "x", constant=0.001)),
        ("percentile(x, (.5))", call("quantile", "x", constant=0.5)),
        ("PERCENTILE(x, array(0.5, 1))", call("quantile", "x", constant=(0.5, 1.0))),
        ("mode(x)", call("mode", "x")),
        ("mode(x, true)", call("mode", "x")),
        ("mode(x, FALSE)", call("mode", "x")),
        ("count(DISTINCT x)", call("count_distinct", "x")),
        ("COUNT(distinct (x))", call("count_distinct", "x")),
        ("count_distinct(x)", call("count_distinct", "x")),
        ("collect_list(x)", call("collect", "x")),
        ("array_agg(x)", call("collect", "x")),
        ("collect(x)", call("collect", "x")),
        ("collect_set(lower(x))", call("collect_set", "LOWER(x)")),
        ("heavy_hitters(x, 0.05)", call("heavy_hitters", "x", constant=0.05)),
        ("top_k(x, 5)", call("top_k", "x", constant=5)),
        ("count(*)", call("count")),
        ("count(1)", call("count")),
        ("count('x')", call("count")),
        ("count(speed)", call("count", "speed")),
        ("count(NULL)", call("count", "NULL")),
        ("max(case when b then c end)", call("max", "CASE WHEN b THEN c END")),
        ("max(`my col`)", call("max", "`my col`")),
        ("max(t.a)", call("max", "t.a")),
        ("max((a))", call("max", "a")),
        ("sum(ALL a)", call("sum", "a")),
        ("sum(a::double)", call("sum", "CAST(a AS DOUBLE)")),
        ("count_if(name LIKE ANY ('a%', 'b%'))", call("count_if", "name LIKE ANY ('a%', 'b%')")),
    ],
)
def test_an_aggregate(text: str, aggregate: Aggregate) -> None:
    assert parse_column(text, []) == Column(text, (aggregate,))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("max(a) AS hi", "hi"),
        ("max(a) hi", "hi"),
        ("max(a) as `my name`", "my name"),
        ("max(a) AS 'x'", "x"),
        ("  max(a)  ", "max(a)"),
        ("max(a) AS max", "max"),
        ("max(a) AS as", "as"),
        ("max(a) /* the highest */", "max(a) /* the highest */"),
    ],
)
def test_the_name_is_the_alias_or_the_text(text: str, name: str) -> None:
    assert parse_column(text, []) == Column(name, (call("max", "a"),))


@pytest.mark.parametrize(
    ("text", "aggregate"),
    [
        ("max(a) FILTER (WHERE b > 1)", call("max", "a", where="b > 1")),
        ("count(*) filter (where b)", call("count", where="b")),
        ("count(DISTINCT a) FILTER (WHERE b)", call("count_distinct", "a", where="b")),
        (
            "percentile(a, 0.5) FILTER (WHERE b > 1)",
            call("quantile", "a", where="b > 1", constant=0.5),
        ),
        ("collect_list(a) FILTER (WHERE b)", call("collect", "a", where="b")),
        (
            "weighted_avg(a, b) FILTER (WHERE c IN (1, 2))",
            call("weighted_avg", "a", "b", where="c IN (1, 2)"),
        ),
        ("first(x) IGNORE NULLS", present("first", "x")),
        ("first(x IGNORE NULLS)", present("first", "x")),
        ("first(x, true)", present("first", "x")),
        ("last_value(x, true)", present("last", "x")),
        ("first_value(x, true)", present("first", "x")),
        ("last(x) ignore nulls", present("last", "x")),
        ("last_value(x, TRUE)", present("last", "x")),
        ("first(x, false)", call("first", "x")),
        ("first(x) RESPECT NULLS", call("first", "x")),
        ("last(x RESPECT NULLS)", call("last", "x")),
        (
            "first(x) FILTER (WHERE b) IGNORE NULLS",
            Aggregate("first", (Sql("x"),), Both(Sql("b"), NotNull((Sql("x"),)))),
        ),
    ],
)
def test_which_rows_count(text: str, aggregate: Aggregate) -> None:
    assert parse_column(text, []) == Column(text, (aggregate,))


# -- expressions over aggregates -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "aggregates", "outer"),
    [
        (
            "max(speed) - min(speed)",
            (call("max", "speed"), call("min", "speed")),
            f"{A} - {B}",
        ),
        ("max(a) + max(a)", (call("max", "a"),), f"{A} + {A}"),
        ("max(a) / max(A)", (call("max", "a"), call("max", "A")), f"{A} / {B}"),
        ("count(*) + 1", (call("count"),), f"{A} + 1"),
        ("-max(a)", (call("max", "a"),), f"-{A}"),
        ("(max(a))", (call("max", "a"),), f"({A})"),
        ("NOT bool_or(x)", (call("any", "x"),), f"NOT {A}"),
        ("cast(sum(a) as int)", (call("sum", "a"),), f"CAST({A} AS INT)"),
        ("round(avg(a), 2)", (call("avg", "a"),), f"ROUND({A}, 2)"),
        (
            "case when count(*) > 10 then max(a) end",
            (call("count"), call("max", "a")),
            f"CASE WHEN {A} > 10 THEN {B} END",
        ),
        (
            "sum(a) FILTER (WHERE b) / sum(a)",
            (call("sum", "a", where="b"), call("sum", "a")),
            f"{A} / {B}",
        ),
        ("max(a) + seg", (call("max", "a"),), f"{A} + seg"),
        ("max(a) + SEG", (call("max", "a"),), f"{A} + SEG"),
        (
            "percentile(a, 0.75) - percentile(a, 0.25)",
            (call("quantile", "a", constant=0.75), call("quantile", "a", constant=0.25)),
            f"{A} - {B}",
        ),
        (
            "count(DISTINCT a) / count(a)",
            (call("count_distinct", "a"), call("count", "a")),
            f"{A} / {B}",
        ),
        ("sort_array(collect_list(a))", (call("collect", "a"),), f"SORT_ARRAY({A})"),
        ("coalesce(first(x) IGNORE NULLS, 0)", (present("first", "x"),), f"COALESCE({A}, 0)"),
        ("max(a) LIKE ANY ('a%', 'b%')", (call("max", "a"),), f"{A} LIKE ANY ('a%', 'b%')"),
    ],
)
def test_an_expression_over_aggregates(
    text: str, aggregates: tuple[Aggregate, ...], outer: str
) -> None:
    assert parse_column(f"{text} AS y", ["seg"]) == Column("y", aggregates, outer)


def test_a_long_expression_is_read_in_reasonable_time() -> None:
    column = parse_column(" + ".join(f"max(a{place})" for place in range(300)), [])
    assert len(column.aggregates) == 300


# -- what is refused -------------------------------------------------------------------------------


ONE = "write one expression, such as 'max(speed) AS hi'"
QUERY = "write an expression, not a query"
SUBQUERY = "a subquery cannot stand in an aggregate"
OVER = "OVER has no place here: the window is the one this is aggregated over"
DISTINCT = "DISTINCT stands in count(DISTINCT x), sum and avg, and in no other aggregate"
ORDER = "ORDER BY has no place here: first and last go by the stream's `on`"
NESTED = "an aggregate cannot stand inside another"
NULLS = "IGNORE NULLS and RESPECT NULLS belong to first and last"
PARAMETER = "a parameter cannot stand in an aggregate"
NONE = "there is no aggregate in it"
RESERVED = "column '{}' has a name that Muntin uses for itself; rename it"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ONE),
        ("   ", ONE),
        ("max(a), min(b)", ONE),
        ("max(a); DROP TABLE x", ONE),
        ("max(a) UNION SELECT 1", ONE),
        ("max(a) FROM t", QUERY),
        ("max(a) WHERE b", QUERY),
        ("max(a) GROUP BY b", QUERY),
        ("max(a) LIMIT 1", QUERY),
        ("(SELECT 1)", SUBQUERY),
        ("max((SELECT max(a) FROM t))", SUBQUERY),
        ("max(a) IN (SELECT 1)", SUBQUERY),
        ("exists(SELECT 1)", SUBQUERY),
        ("sum(a) FILTER (WHERE a IN (SELECT 1))", SUBQUERY),
        ("max(a) OVER ()", OVER),
        ("max(a) OVER (PARTITION BY b ORDER BY c)", OVER),
        ("max(DISTINCT a) + 1", DISTINCT),
        ("sum(DISTINCT a, b)", "sum(DISTINCT ...) takes 1 argument"),
        ("median(DISTINCT a)", DISTINCT),
        ("collect_list(DISTINCT a)", DISTINCT),
        ("count(DISTINCT max(DISTINCT a))", DISTINCT),
        ("count(DISTINCT (SELECT 1))", SUBQUERY),
        ("count(DISTINCT max(a))", NESTED),
        ("median(mode(a))", NESTED),
        ("collect_list(a) IGNORE NULLS", NULLS),
        ("max(a) + __muntin_aggregate_0", RESERVED.format("__muntin_aggregate_0")),
        ("max(__Muntin_aggregate_7)", RESERVED.format("__Muntin_aggregate_7")),
        ("max(a ORDER BY b)", ORDER),
        ("max(a) WITHIN GROUP (ORDER BY b)", ORDER),
        ("max(max(a))", NESTED),
        ("sum(a + count(*))", NESTED),
        (
            "max(a) FILTER (WHERE a IN (max(a), 2))",
            "around an aggregate in a condition 'a IN (max(a), 2)' cannot be used; "
            "+ - * / abs, comparisons, BETWEEN, IS NULL, AND, OR and NOT can",
        ),
        (
            "first(a) FILTER (WHERE a > avg(a))",
            "first cannot be part of a correlated aggregate; these can: count, sum, avg, "
            "var_samp, var_pop, stddev_samp, stddev_pop, min, max, any, all",
        ),
        (
            "max(a) FILTER (WHERE a > last(a))",
            "last cannot be part of a correlated aggregate; these can: count, sum, avg, "
            "var_samp, var_pop, stddev_samp, stddev_pop, min, max, any, all",
        ),
        ("max(a) FILTER (WHERE a > max(sum(a)))", NESTED),
        ("abs(a) FILTER (WHERE b > 1)", "FILTER belongs to an aggregate such as max(...)"),
        ("max(a) IGNORE NULLS", NULLS),
        ("count(*) IGNORE NULLS", NULLS),
        ("abs(a) RESPECT NULLS", NULLS),
        (":x + max(a)", PARAMETER),
        ("@x + max(a)", PARAMETER),
        ("max(a) AS (b, c)", "a result column has one name"),
        ("speed", NONE),
        ("*", NONE),
        ("abs(speed)", NONE),
        ("'max(a)'", NONE),
        ("regr_slope(a, b)", NONE),
        (
            "mex(speed)",
            f"{NONE}: mex is not an aggregate Muntin knows (did you mean 'max'?)",
        ),
        (
            "zzz(speed) AS y",
            f"{NONE}: zzz is not an aggregate Muntin knows",
        ),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_column(text, [])
    assert str(caught.value) == f"{problem}\n  {text}"
    assert caught.value.text == text


#   The caret is under the place of the mistake.
@pytest.mark.parametrize(
    "shown",
    [
        """
        this is not SQL that can be read: Expecting )
          max(a
              ^""",
        """
        this is not SQL that can be read: Invalid expression / Unexpected token
          max(a))
                ^""",
        """
        this is not SQL that can be read: Invalid expression / Unexpected token
          max(a) b c
                   ^""",
        """
        this is not SQL that can be read: Invalid expression / Unexpected token
          DISTINCT max(a)
          ^""",
        """
        this is not SQL that can be read: something is missing
          max(
             ^""",
        """
        the name after AS is missing
          max(a) AS
                   ^""",
        """
        column 'other' stands outside an aggregate and is not in `by`
          max(speed) + other
                       ^""",
        """
        max takes 1 argument
          1 + max(a, b)
              ^""",
        """
        count takes 1 argument
          count()
          ^""",
        """
        first takes 1 argument
          1 + first(a, b)
              ^""",
        """
        last takes 1 argument
          last_value(a, NOT true)
          ^""",
        """
        weighted_avg takes 2 arguments
          weighted_avg(a)
          ^""",
        """
        percentile takes 2 arguments
          percentile(a)
          ^""",
        """
        percentile takes 2 arguments
          percentile(a, 0.5, 2)
          ^""",
        """
        median takes 1 argument
          median(a, 0.5)
          ^""",
        """
        mode takes 1 argument
          mode(a, b)
          ^""",
        """
        share=1.5 cannot be used: it must be a number from 0 to 1, or a list of them
          percentile(a, 1.5)
                        ^""",
        """
        share='b' cannot be used: it must be a number from 0 to 1, or a list of them
          percentile(a, b)
                        ^""",
        """
        share=0 cannot be used: it must be a number above 0 and at most 1
          heavy_hitters(a, 0)
                           ^""",
        """
        k=-1 cannot be used: it must be a whole number from 1 up
          1 + top_k(a, -1)
                       ^""",
        """
        k='2 + 1' cannot be used: it must be a whole number from 1 up
          top_k(a, 2 + 1)
                   ^""",
        """
        count_distinct takes a column; count(*) counts rows
          count(DISTINCT *)
                         ^""",
        """
        sum takes a column; count(*) counts rows
          sum(*)
              ^""",
        """
        count takes a column; count(*) counts rows
          count(t.*)
                  ^""",
    ],
)
def test_the_place_is_marked(shown: str) -> None:
    message = "\n".join(line[8:] for line in shown.splitlines()[1:])
    text = message.splitlines()[1].strip()
    with pytest.raises(ExpressionError) as caught:
        parse_column(text, ["seg"])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    [
        "(" * 200 + "max(a)" + ")" * 200,
        "NOT " * 1000 + "any(a)",
        "abs(" * 300 + "max(a)" + ")" * 300,
    ],
)
def test_nesting_without_end(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"^it is nested too deeply to be read"):
        parse_column(text, [])
    with pytest.raises(ExpressionError, match=r"^it is nested too deeply to be read"):
        parse_condition(text)


# -- conditions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("speed>30", "speed > 30"),
        ("a and not b", "a AND NOT b"),
        ("lane = 1 -- the left one", "lane = 1 /* the left one */"),
        ("x BETWEEN 1 AND 2", "x BETWEEN 1 AND 2"),
        ("name LIKE ALL ('a%', '%b')", "name LIKE ALL ('a%', '%b')"),
        ("`a b` IS NULL", "`a b` IS NULL"),
    ],
)
def test_a_condition_is_written_out_again(text: str, written: str) -> None:
    assert parse_condition(text) == written


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a AS b", "a condition has no alias"),
        ("a, b", ONE),
        ("a FROM t", QUERY),
        ("a IN (SELECT 1)", SUBQUERY),
        ("a > 1; DROP TABLE x", ONE),
        ("max(a) > 1", "an aggregate cannot stand in a condition on rows"),
        ("row_number() OVER () = 1", OVER),
    ],
)
def test_what_is_no_condition(text: str, problem: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_condition(text)
    assert str(caught.value) == f"{problem}\n  {text}"


# -- anything at all -------------------------------------------------------------------------------


VOCABULARY = (
    "max min sum count first any all median percentile mode collect_list top_k ( ) ( ) , a b seg "
    "* + - / % = < > AS FILTER WHERE OVER "
    "DISTINCT SELECT FROM 'x' \"x\" ` ' \" 1 2.5 1e400 NULL TRUE IGNORE RESPECT NULLS CASE WHEN "
    "THEN END CAST INTERVAL DAY :: : . [ ] { } -> => ; -- /* */ in between and or not is like "
    "LATERAL VIEW explode array map struct if @ $ \\ ? ! ~ | & ^ # WITHIN GROUP ORDER BY LIMIT "
    "UNION WITH DATE TIMESTAMP EXTRACT TRIM SUBSTRING PIVOT VALUES TABLE TRANSFORM COLLATE SET"
)
WORDS = VOCABULARY.split(" ")
TEXTS = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=12).map("".join),
    st.lists(st.sampled_from(WORDS), max_size=8).map(lambda words: f"max({' '.join(words)})"),
    st.lists(st.sampled_from(WORDS), max_size=4).map(lambda words: f"top_k(a, {' '.join(words)})"),
)


@settings(max_examples=600)
@given(TEXTS)
@example("top_k(a, ²)")  # a digit that is no number
@example("map(LIMIT<SUBSTRINGSUBSTRINGisLATERAL")  # an IndexError inside the parser
def test_any_text_is_a_column_or_an_error_of_ours(text: str) -> None:
    try:
        column = parse_column(text, ["seg"])
    except MuntinError as error:
        assert text in str(error)
    else:
        assert column.aggregates
        if column.outer is not None:
            assert numbered(column.outer, 0) == column.outer
            again = parse_condition(column.outer)
            assert parse_condition(again) == again
    try:
        written = parse_condition(text)
    except MuntinError as error:
        assert text in str(error)
    else:
        assert isinstance(written, str)


def test_aggregates_are_numbered_and_nothing_else_is() -> None:
    column = parse_column(f"concat(max(a), '{A}', min(a), 'é', max(a), seg) AS y", ["seg"])
    assert column.outer == f"CONCAT({A}, '{A}', {B}, 'é', {A}, seg)"
    ninth, tenth = placeholder(9), placeholder(10)
    moved = f"CONCAT({ninth}, '{A}', {tenth}, 'é', {ninth}, seg)"
    assert numbered(column.outer, 9) == moved


def test_a_key_that_has_the_name_of_a_placeholder_is_refused() -> None:
    with pytest.raises(ExpressionError, match="'__muntin_aggregate_0' has a name that Muntin"):
        parse_column("max(a) + 1", ["__muntin_aggregate_0"])
