"""Random queries that Muntin and DuckDB both can answer: each as the text of one and the other.

A window of Muntin is a join with the ends of windows in DuckDB; a frame is an island of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

#: k, x, v, w: a key with quotes and nulls, the column of windows, values with nulls.
SCHEMA = "k STRING, x INT, v INT, w DOUBLE"
COLUMNS = 6
KEYS = ("a", "it's", "it", None)

Row = tuple[str | None, int, int | None, float | None]
rows = st.lists(
    st.tuples(
        st.sampled_from(KEYS),
        st.integers(-12, 30),
        st.none() | st.integers(-9, 9),
        st.none() | st.integers(-8, 8).map(lambda n: n / 4),
    ),
    min_size=25,
    max_size=50,
)

_NUMBERS = st.integers(-4, 6).map(str)
#: Conditions on a row that both databases read alike.
_ATOMS = st.one_of(
    st.builds("v {} {}".format, st.sampled_from(["<", "<=", "=", "<>", ">", ">="]), _NUMBERS),
    st.builds("w {} {}".format, st.sampled_from(["<", ">="]), _NUMBERS),
    st.builds("v BETWEEN {0} AND {0} + {1}".format, _NUMBERS, st.integers(0, 4)),
    st.builds("x % {} = 1".format, st.integers(2, 4)),
    st.sampled_from(
        [
            "k = 'it''s'",
            "k <> 'it''s'",
            "k IN ('a', 'it')",
            "k NOT IN ('a', 'it''s')",
            "k LIKE 'it_s'",
            "k IS NULL",
            "v IS NOT NULL",
            "v IS DISTINCT FROM 3",
            "coalesce(v, w, 0) > 0",
            "CASE WHEN v > 2 THEN w < 1 WHEN k = 'a' THEN true END",
        ]
    ),
)
conditions = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=3,
)
#: Whole numbers of a row.
_VALUES = st.sampled_from(
    ["v", "x", "v + x", "abs(v)", "CASE WHEN w > 0 THEN v ELSE x END", "coalesce(v, -1)"]
)
_FILTERS = st.just("") | st.builds(" FILTER (WHERE {})".format, conditions)
#: Aggregates with whole results; an average is one of thousandths.
_AGGREGATES = st.one_of(
    st.builds("count(*){}".format, _FILTERS),
    st.builds("count({}){}".format, _VALUES, _FILTERS),
    st.builds("count(DISTINCT {})".format, _VALUES),
    st.builds("CAST(sum({}){} AS BIGINT)".format, _VALUES, _FILTERS),
    st.builds("CAST(floor(sum(w){} * 4) AS BIGINT)".format, _FILTERS),
    st.builds("{}({}){}".format, st.sampled_from(["min", "max"]), _VALUES, _FILTERS),
    st.builds("CAST(floor(avg({}){} * 1000) AS BIGINT)".format, _VALUES, _FILTERS),
    st.builds("{}({})".format, st.sampled_from(["bool_or", "bool_and"]), conditions),
)
_OF_AGGREGATES = st.one_of(
    _AGGREGATES,
    st.builds("max({0}) - min({0})".format, _VALUES),
    st.builds(
        "CASE WHEN count(*) > 2 THEN {} ELSE -1 END".format, st.sampled_from(["max(v)", "1"])
    ),
    st.builds("coalesce({}, -7)".format, st.just("max(v)")),
)
_HAVINGS = st.one_of(
    st.just("count(*) > 1"),
    st.just("max(v) IS NOT NULL AND min(v) < 3"),
    st.builds("sum({}) > {}".format, _VALUES, _NUMBERS),
    st.just("count(*) > (SELECT min(v) FROM t WHERE v > 0)"),
)
_GROUPS = st.lists(
    st.sampled_from(["k", "v", "v % 3", "CASE WHEN v > 2 THEN 'high' ELSE 'low' END", "k IS NULL"]),
    max_size=2,
    unique=True,
)


@dataclass(frozen=True)
class RandomQuery:
    """A query of at most six columns, all of them texts, as Muntin and DuckDB read it."""

    muntin: str
    duckdb: str


@dataclass(frozen=True)
class _Relation:
    """Windows or frames: the relation of each database, and the columns of a result's place."""

    muntin: str
    duckdb: str
    place: tuple[str, ...]


def _tumbling(length: int) -> _Relation:
    return _Relation(f"t [TUMBLING {length} WATTR x]", _windows(length, length), _WINDOW)


def _sliding(range_: int, slide: int) -> _Relation:
    clause = f"t [RANGE {range_} SLIDE {slide} WATTR x]"
    return _Relation(clause, _windows(range_, slide), _WINDOW)


_WINDOW = ("window_start", "window_end")


def _windows(range_: int, slide: int) -> str:
    """Return rows with their windows: a window ends at a multiple of the slide."""
    ends = f"(SELECT unnest(range(-60, 90)) * {slide} AS window_end)"
    joined = f"t JOIN {ends} ON x >= window_end - {range_} AND x < window_end"
    return f"(SELECT t.*, window_end - {range_} AS window_start, window_end FROM {joined})"


windows = st.one_of(
    st.builds(_tumbling, st.integers(1, 9)),
    st.builds(_sliding, st.integers(1, 12), st.integers(1, 7)),
)


@st.composite
def windowed(draw: st.DrawFn) -> RandomQuery:
    """Draw a query over tumbling or sliding windows: groups, or rows with their windows."""
    relation = draw(windows)
    where = draw(st.just("") | st.builds(" WHERE {}".format, conditions))
    groups = draw(_GROUPS)
    aggregates = draw(st.lists(_OF_AGGREGATES, max_size=2))
    having = draw(st.just("") | st.builds(" HAVING {}".format, _HAVINGS))
    place = list(draw(st.sampled_from([relation.place, relation.place[1:], ()])))
    if not aggregates and not groups and not having:
        items = [*place, "k", "v"]
        return RandomQuery(
            _wrapped(items, f"FROM {relation.muntin}{where}"),
            _wrapped(items, f"FROM {relation.duckdb}{where}"),
        )
    items = [*groups, *place, *aggregates] or ["1"]
    own = f"GROUP BY {', '.join(groups)}" if groups else ""
    own = own if draw(st.booleans()) or not own else f"{own}, window_end"
    if not groups and not aggregates and not draw(st.booleans()):
        own = "GROUP BY window_end"
    other = ", ".join([*groups, "window_start", "window_end"])
    return RandomQuery(
        _wrapped(items, f"FROM {relation.muntin}{where} {own}{having}"),
        _wrapped(items, f"FROM {relation.duckdb}{where} GROUP BY {other}{having}"),
    )


@st.composite
def framed(draw: st.DrawFn) -> RandomQuery:
    """Draw a query over threshold frames: their bounds, and aggregates of their rows."""
    condition = draw(conditions)
    aggregates = draw(st.lists(_AGGREGATES, max_size=3))
    where = draw(st.just("") | st.builds(" WHERE {}".format, conditions))
    having = draw(st.just("") | st.builds(" HAVING {}".format, st.just("count(*) > 1")))
    items = ["k", "frame_start", *aggregates]
    bounds = ["k", "min(x)", *aggregates]
    frames = f"[FRAME THRESHOLD {condition} WATTR x PATTR k]"
    numbered = "row_number() OVER (PARTITION BY k ORDER BY x)"
    held = f"(SELECT *, coalesce({condition}, false) AS held, {numbered} AS place FROM u{where})"
    within = "row_number() OVER (PARTITION BY k ORDER BY x)"
    islands = f"(SELECT *, place - {within} AS island FROM {held} WHERE held)"
    return RandomQuery(
        _wrapped(items, f"FROM u {frames}{where}{having}"),
        _wrapped(bounds, f"FROM {islands} GROUP BY k, island{having}"),
    )


def _wrapped(items: list[str], rest: str) -> str:
    """Return a query whose columns are texts, padded to one number of columns."""
    named = ", ".join(f"{item} AS c{n}" for n, item in enumerate(items))
    texts = [f"CAST(c{n} AS VARCHAR(50)) AS c{n}" for n in range(len(items))]
    texts += [f"CAST(NULL AS VARCHAR(50)) AS c{n}" for n in range(len(items), COLUMNS)]
    return f"SELECT {', '.join(texts)} FROM (SELECT {named} {rest}) AS q"
