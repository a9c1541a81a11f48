"""Row expressions, compared with Spark's results for the same text."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from muntin.errors import CannotEvaluate, RowError
from muntin.expressions.row_expression import Errors, RowExpression, compile_row_expression
from muntin.spark.columns import to_arrow
from tests.expressions.row_tables import TYPES, Both, Expressions, extreme_table, same

ROWS = 60
TABLE = extreme_table(ROWS, seed=1)

#: Texts that Muntin evaluates, and that do not fail for any row of the table.
TEXTS = r"""
-- Columns and constants
y
K
`x`
st.num
ST.Name
1
-1
1.50
0.05
1e3
'a'
3000000000
99999999999999999999
-2147483648
1L
1.5D
TRUE
DATE '2026-03-29'
TIMESTAMP '2026-03-29 12:00:00'
100Y
7S
-- Precedence
y + 1 * 2
NOT b = TRUE
b OR b AND NOT b
+y
NOT y IS NULL
y BETWEEN 0 AND 2 AND b
y = 1 = b
y - 1 - 2
x / 2 / 2
-- Arithmetic
d + 1
d * 2
d - w
d * d
i * 2.5
i DIV 7
k DIV 3
d DIV 2
-f
-x
-d
abs(x)
abs(d)
i % 7
mod(k, 10)
f - 0.1
-- Hashes
xxhash64(s)
xxhash64(y, h, i, k, f, x, d, s, b, day, ts, tn)
xxhash64(concat(s, 'twenty-three characters', s), i)
xxhash64(concat(s, 'exactly thirty-two characters!!!', s))
xxhash64(concat(s, 'eleven more', s), 1, 'a', st.name)
-- Casts
CAST(d AS INT)
CAST(h AS FLOAT)
CAST(k AS DOUBLE)
CAST(x AS FLOAT)
CAST(d AS DOUBLE)
CAST(w AS DOUBLE)
CAST(b AS INT)
CAST(b AS DOUBLE)
CAST(x AS BOOLEAN)
CAST(d AS BOOLEAN)
CAST(k AS STRING)
CAST(b AS STRING)
CAST(ts AS DATE)
CAST(day AS TIMESTAMP)
CAST(tn AS TIMESTAMP)
date(tn)
CAST(ts AS TIMESTAMP_NTZ)
CAST(ts AS BIGINT)
CAST(y AS DECIMAL(38,30))
i::bigint
int(y)
CAST(NULL AS INT)
-- Comparisons
x = x
x > f
x < 0.1
f = 0.1
f < 1
k = x
k > 9007199254740992.0D
k < 99999999999999999999
-99999999999999999999 >= k
i BETWEEN -1 AND 99999999999999999999.5
k = 99999999999999999999
d = w
d > i
i >= 1.5
x <=> NULL
i <=> y
s < 'b'
s = s
b > FALSE
day > '2026-03-28'
ts >= '2026-03-29'
tn < TIMESTAMP_NTZ '2026-03-29 02:30:00'
ts = day
tn > day
ts > tn
i > '5'
day = DATE '2026-03-29'
s IN ('a', 'B')
i IN (1, 2.5, NULL)
k IN (1, 9007199254740992D)
s NOT IN ('a', NULL)
b IN (TRUE)
x IN (1.5, 0)
f IN (0.1D, 1.5)
day IN (DATE '2026-03-29', NULL)
x BETWEEN -1 AND 1
-- Logic
b AND NULL
b OR NULL
NOT b
!b
b IS TRUE
b IS NOT FALSE
isnull(x)
x IS NOT NULL
isnotnull(s)
b AND i > 0 OR s = 'a'
i IS DISTINCT FROM y
isnan(x)
isnan(f)
-- Choices
coalesce(y, k, 0)
nvl(x, 0)
nvl2(b, i, d)
ifnull(s, 'none')
nullif(i, 7)
nullif(i, 1.5)
if(b, y, 2.5)
if(b, NULL, x)
CASE WHEN b THEN 1 ELSE 2.5 END
CASE i WHEN 1 THEN 'one' WHEN 7 THEN 'seven' END
CASE WHEN b THEN f ELSE i END
least(i, x)
greatest(f, x, 1)
least(d, w, y)
greatest(s, 'b')
least(ts, day)
least(b, TRUE)
CASE WHEN b THEN NULL ELSE day END
coalesce(ts, day)
-- Rounding
floor(d)
ceil(d)
floor(i)
round(x)
round(f)
round(d)
round(i)
sqrt(x)
sqrt(i)
ceil(w)
floor(w)
round(w)
ceil(y)
-- Text
upper(s)
lower(s)
trim(s)
ltrim(s)
rtrim(s)
length(s)
s || 'x'
concat(s, '-', s)
s LIKE 'a%'
s LIKE '%_b'
s LIKE 'a\_b'
s NOT LIKE 'a'
-- Times
year(ts)
month(ts)
day(ts)
hour(ts)
minute(ts)
second(ts)
quarter(ts)
year(day)
hour(tn)
day(tn)
dayofmonth(day)
hour(day)
extract(hour FROM ts)
to_date(ts)
ts + INTERVAL 1 DAY
ts - INTERVAL 90 MINUTES
tn + INTERVAL 2 HOURS
day + INTERVAL 1 DAY
ts - ts
tn - TIMESTAMP_NTZ '2026-03-29 00:00:00'
day - day
timestampdiff(MINUTE, ts, TIMESTAMP '2026-03-29 12:00:00')
datediff(day, DATE '2026-01-01')
-x % 7 + 1
- -x
"""
#: Texts that fail for some rows, and the same with functions that return null there.
FAILING = {
    "i + 1": "try_add(i, 1)",
    "k * 2": "try_multiply(k, 2)",
    "y - h": "try_subtract(y, h)",
    "x / i": "try_divide(x, i)",
    "i / k": "try_divide(i, k)",
    "d / 3": "try_divide(d, 3)",
    "d / w": "try_divide(d, w)",
    "w / d": "try_divide(w, d)",
    "d % i": "try_mod(d, i)",
    "f % x": "try_mod(f, x)",
    "f + f": "try_add(f, f)",
    "f * 3": "try_multiply(f, 3)",
    "f * f": "try_multiply(f, f)",
    "CAST(x AS INT)": "try_cast(x AS INT)",
    "CAST(f AS BIGINT)": "try_cast(f AS BIGINT)",
    "CAST(x AS TINYINT)": "try_cast(x AS TINYINT)",
    "CAST(w AS SMALLINT)": "try_cast(w AS SMALLINT)",
    "CAST(k AS INT)": "try_cast(k AS INT)",
    "CAST(k AS DECIMAL(12,3))": "try_cast(k AS DECIMAL(12,3))",
    "CAST(w AS DECIMAL(12,3))": "try_cast(w AS DECIMAL(12,3))",
    "CAST(s AS INT)": "try_cast(s AS INT)",
    "CAST(s AS BOOLEAN)": "try_cast(s AS BOOLEAN)",
    "floor(x)": "CASE WHEN abs(x) < 1e18 THEN floor(x) END",
}
_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
EVALUATED = [
    *(same(text) for text in TEXTS.splitlines() if text and not text.startswith("--")),
    *(same(f"date_trunc('{unit}', {time})") for unit in _UNITS for time in ("ts", "day", "tn")),
    *(Both(raising, trying) for raising, trying in FAILING.items()),
]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark_rows(spark)


def spark_rows(spark: SparkSession) -> DataFrame:
    clock = col("tn").cast("timestamp_ntz")  # Spark reads a timestamp without a zone as a moment
    return spark.createDataFrame(TABLE).withColumn("tn", clock).coalesce(1).cache()


@pytest.fixture(params=["UTC", "Europe/Berlin", "+05:30"])
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    spark.conf.set("spark.sql.session.timeZone", request.param)
    try:
        yield request.param
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def _compiled(text: str, zone: str, errors: Errors = "null") -> RowExpression:
    return compile_row_expression(text, TYPES, zone=zone, errors=errors)


def _differences(rows: DataFrame, texts: Sequence[Both], zone: str) -> list[object]:
    expressions = [_compiled(text.raising, zone) for text in texts]
    asked = rows.selectExpr(*(f"{text.trying} AS c{n}" for n, text in enumerate(texts)))
    expected = asked.toArrow()
    given = TABLE
    wrong: list[object] = []
    for place, (text, expression) in enumerate(zip(texts, expressions, strict=True)):
        type_ = to_arrow(asked.schema[place].dataType, text.raising)
        if type_ != expression.type:
            wrong.append((text.raising, "type", expression.type, type_))
            continue
        ours = _plain(expression.evaluate(given))
        theirs = _plain(expected.column(place).cast(type_))
        rows_differ = [n for n in range(ROWS) if ours[n] != theirs[n]]
        if rows_differ:
            n = rows_differ[0]
            values = {name: given.column(name)[n].as_py() for name in expression.columns}
            wrong.append((text.raising, len(rows_differ), values, ours[n], theirs[n]))
    return wrong


def _plain(column: pa.ChunkedArray | pa.Array) -> list[str]:
    """Return texts that differ if values do: also 0.0 and -0.0, and moments at one clock time."""
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    return [repr(value) for value in column.to_pylist()]


def test_texts_are_evaluated_as_spark_evaluates_them(rows: DataFrame, zone: str) -> None:
    assert not _differences(rows, EVALUATED, zone)


def test_random_expressions_are_evaluated_as_spark_evaluates_them(rows: DataFrame) -> None:
    drawn = Expressions(seed=7)
    texts = [drawn.condition(3) for _ in range(150)] + [drawn.number(3) for _ in range(150)]
    evaluated = [text for text in texts if _is_evaluated(text)]
    assert len(evaluated) > len(texts) // 2
    assert not _differences(rows, evaluated, "UTC")


def _is_evaluated(text: Both) -> bool:
    try:
        _compiled(text.raising, "UTC")
    except CannotEvaluate:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    [
        *("rand()", "i[0]", "nothing + 1", "st", "count(i)", "CAST(x AS STRING)", "round(x, 2)"),
        *("exp(x)", "ln(x)", "pow(x, 2)", "CAST(x AS DECIMAL(10,2))", "CAST(i AS FLOAT)"),
        *("i + 1 + k", "s + 1", "NULL = NULL", "CAST(s AS TIMESTAMP)", "w * w", "1 +"),
    ],
)
def test_what_is_not_known_to_be_as_in_spark_is_left_to_spark(text: str) -> None:
    with pytest.raises(CannotEvaluate, match="left to Spark"):
        _compiled(text, "UTC")


def test_a_name_of_several_columns_is_refused() -> None:
    with pytest.raises(CannotEvaluate, match="several columns"):
        compile_row_expression("A", {"a": pa.int32(), "A": pa.int32()}, zone="UTC", errors="null")


@pytest.mark.parametrize("text", ["i + 1", "x / i", "CAST(s AS INT)", "abs(y)", "-i"])
def test_a_row_that_fails_raises_an_error_that_names_the_expression(text: str) -> None:
    with pytest.raises(RowError) as raised:
        _compiled(text, "UTC", "raise").evaluate(TABLE)
    assert text in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "CASE WHEN i = 0 THEN NULL ELSE x / i END",
        "i <> 0 AND x / i > 1",
        "i = 0 OR x / i > 1",
        "if(k > 100 OR k < -100, 0, k * 2)",
        "NULL + i / 0",
        "coalesce(0, i / 0)",
        "try_cast(s AS INT)",
        "0 IN (0, i / 0)",
    ],
)
def test_a_part_that_is_not_reached_does_not_fail(text: str) -> None:
    raising, trying = _compiled(text, "UTC", "raise"), _compiled(text, "UTC", "null")
    assert _plain(raising.evaluate(TABLE)) == _plain(trying.evaluate(TABLE))


def test_an_expression_can_be_pickled_and_takes_tables_of_any_length() -> None:
    expression = pickle.loads(pickle.dumps(_compiled("i + 1 > 2 AND s <> 'a'", "UTC")))
    whole = _plain(expression.evaluate(TABLE))
    parts = [TABLE.slice(start, 1) for start in range(ROWS)]
    assert [_plain(expression.evaluate(part))[0] for part in parts] == whole
    assert len(expression.evaluate(TABLE.slice(0, 0))) == 0
    assert expression.columns == ("i", "s")


@pytest.mark.parametrize(("word", "value"), [("AND", 3.0), ("OR", -1.0)])
def test_a_thousand_conditions_follow_each_other(word: str, value: float) -> None:
    """Evaluated as two of them are; the last decides."""
    parts = [f"v {'>' if word == 'AND' else '<'} {-n - 2}" for n in range(1000)]
    last = "v > 2" if word == "AND" else "v < 0"
    types = {"v": pa.float64()}
    expression = _compiled_of(f" {word} ".join([*parts, last]), types)
    rows = pa.table({"v": [value, 1.0, None]}).cast(pa.schema(list(types.items())))
    assert expression.evaluate(rows).to_pylist() == [True, False, None]


def _compiled_of(text: str, types: dict[str, pa.DataType]) -> RowExpression:
    return compile_row_expression(text, types, zone="UTC", errors="null")
