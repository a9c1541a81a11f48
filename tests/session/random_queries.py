"""Random queries that Muntin and DuckDB both can answer: each as the text of one and the other.

A window of Muntin is a join with the ends of windows in DuckDB; a frame is an island of rows, and
so is a session.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hypothesis import strategies as st

#: k, x, v, w, d: a key with quotes and nulls, the column of windows, values and times with nulls.
SCHEMA = "k STRING, x INT, v INT, w DOUBLE, d TIMESTAMP_NTZ"
COLUMNS = 6
KEYS = ("a", "it's", "it", None)
_NEW_YEAR = datetime(2026, 1, 1)

Row = tuple[str | None, int, int | None, float | None, datetime | None]
rows = st.lists(
    st.tuples(
        st.sampled_from(KEYS),
        st.integers(-12, 30),
        st.none() | st.integers(-9, 9),
        st.none() | st.integers(-8, 8).map(lambda n: n / 4),
        st.none() | st.integers(-90, 90).map(lambda n: _NEW_YEAR + timedelta(minutes=20 * n)),
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
            "CASE k WHEN 'a' THEN v > 0 ELSE v IS NULL END",
            "k LIKE '%t%' OR k LIKE 'a'",
            "nullif(v, 3) IS NULL",
            "year(d) = 2025",
            "extract(HOUR FROM d) < 9",
            "date_trunc('day', d) < TIMESTAMP '2026-01-01 00:00:00'",
            "day(d) = 1 AND minute(d) = 20",
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
    [
        *("v", "x", "v + x", "abs(v)", "CASE WHEN w > 0 THEN v ELSE x END", "coalesce(v, -1)"),
        *("nullif(v, 0)", "greatest(v, x)", "length(k)", "CAST(extract(HOUR FROM d) AS INT)"),
    ]
)
_FILTERS = st.just("") | st.builds(" FILTER (WHERE {})".format, conditions)
#: Aggregates with whole results; an average is one of thousandths.
_AGGREGATES = st.one_of(
    st.builds("count(*){}".format, _FILTERS),
    st.builds("count({}){}".format, _VALUES, _FILTERS),
    st.builds("count(DISTINCT {})".format, _VALUES | st.sampled_from(["k", "w", "d"])),
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
    st.sampled_from(
        [
            *("k", "v", "v % 3", "CASE WHEN v > 2 THEN 'high' ELSE 'low' END", "k IS NULL"),
            *("date_trunc('day', d)", "extract(HOUR FROM d) < 12"),
        ]
    ),
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


def _timed(range_: int, slide: int) -> _Relation:
    """Return windows of hours; days of the epoch and of this year begin alike."""
    clause = f"t [RANGE {range_} HOURS SLIDE {slide} HOURS WATTR d]"
    ends = f"TIMESTAMP '2026-01-01' + INTERVAL 1 HOUR * (unnest(range(-80, 80)) * {slide})"
    start = f"window_end - INTERVAL {range_} HOUR"
    joined = f"t JOIN (SELECT {ends} AS window_end) ON d >= {start} AND d < window_end"
    rows = f"(SELECT t.*, {start} AS window_start, window_end FROM {joined})"
    return _Relation(clause, rows, _WINDOW)


windows = st.one_of(
    st.builds(_tumbling, st.integers(1, 9)),
    st.builds(_timed, st.integers(1, 9), st.sampled_from([1, 2, 3, 4, 6])),
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


@st.composite
def sequenced(draw: st.DrawFn) -> RandomQuery:
    """Draw a query over windows that go by rows: sessions, rows, every row, landmarks."""
    where = draw(st.just("") | st.builds(" WHERE {}".format, conditions))
    aggregates = draw(st.lists(_AGGREGATES, min_size=1, max_size=3))
    having = draw(st.just("") | st.builds(" HAVING {}".format, _HAVINGS))
    kind = draw(st.sampled_from([_session, _ranked, _every_row, _since_a_landmark]))
    clause, rows = kind(draw(st.integers(1, 7)), draw(st.integers(1, 5)), where)
    items = ["k", "window_start", "window_end", *aggregates]
    groups = "GROUP BY k, window_start, window_end"
    return RandomQuery(
        _wrapped(items, f"FROM u [{clause} PATTR k]{where} GROUP BY k, window_end{having}"),
        _wrapped(items, f"FROM {rows} {groups}{having}"),
    )


def _session(gap: int, _: int, where: str) -> tuple[str, str]:
    """A session begins where the row before is farther away than the gap."""
    by = "OVER (PARTITION BY k ORDER BY x)"
    marked = f"(SELECT *, coalesce(x - lag(x) {by} > {gap}, true) AS first FROM u{where})"
    numbered = f"(SELECT *, sum(CAST(first AS INT)) {by} AS session FROM {marked})"
    of = "OVER (PARTITION BY k, session)"
    bounds = f"min(x) {of} AS window_start, max(x) {of} + {gap} AS window_end"
    return f"SESSION GAP {gap} WATTR x", f"(SELECT *, {bounds} FROM {numbered})"


def _ranked(range_: int, slide: int, where: str) -> tuple[str, str]:
    """Window w has the ranks below (w + 1) * slide, and not more of them than its range."""
    rank = "row_number() OVER (PARTITION BY k ORDER BY x) - 1 AS place"
    ends = f"(SELECT unnest(range(1, 70)) * {slide} AS window_end)"
    start = f"greatest(0, window_end - {range_})"
    ranked = f"(SELECT *, {rank} FROM u{where})"
    joined = f"{ranked} JOIN {ends} ON place >= {start} AND place < window_end"
    clause = f"RANGE {range_} ROWS SLIDE {slide} ROWS WATTR x"
    return clause, f"(SELECT *, {start} AS window_start FROM {joined})"


def _every_row(range_: int, every: int, where: str) -> tuple[str, str]:
    """A window ends at every n-th row of a key, and reaches back from it."""
    rank = "row_number() OVER (PARTITION BY k ORDER BY x) AS place"
    ends = f"(SELECT k AS ends_of, x AS window_end, {rank} FROM u{where})"
    near = f"x > window_end - {range_} AND x <= window_end AND place % {every} = 0"
    joined = f"(SELECT * FROM u{where}) JOIN {ends} ON k IS NOT DISTINCT FROM ends_of AND {near}"
    clause = f"RANGE {range_} SLIDE {every} ROWS WATTR x"
    return clause, f"(SELECT *, window_end - {range_} AS window_start FROM {joined})"


def _since_a_landmark(slide: int, origin: int, where: str) -> tuple[str, str]:
    """All windows begin at the landmark; the last is the first that ends beyond all rows."""
    ends = f"(SELECT {origin} + unnest(range(1, 70)) * {slide} AS window_end)"
    last = f"(SELECT max(x) FROM u{where}) >= window_end - {slide}"
    chosen = f"(SELECT * FROM u{where}) JOIN {ends} ON x >= {origin} AND x < window_end AND {last}"
    clause = f"LANDMARK {origin} SLIDE {slide} WATTR x"
    return clause, f"(SELECT *, {origin} AS window_start FROM {chosen})"


@st.composite
def joined(draw: st.DrawFn) -> RandomQuery:
    """Draw a join of two streams: as close as that, or as of the time; a null key is a key."""
    where = draw(st.just("") | st.sampled_from([" WHERE x % 2 = 0", " WHERE v > 0"]))
    far = draw(st.integers(0, 6))
    direction = draw(st.sampled_from(["backward", "forward"]))
    near = f"r.x <= l.x AND r.x >= l.x - {far}"
    if direction == "forward":
        near = f"r.x >= l.x AND r.x <= l.x + {far}"
    sides = "stream(t, on => x, by => k), stream(u, on => x, by => k)"
    same = "r.k IS NOT DISTINCT FROM l.k"
    items = ["k", "x", "v", "right_x", "right_v"]
    own = ["l.k", "l.x", "l.v", "r.x", "r.v"]
    rows = f"(SELECT * FROM t{where}) AS l"
    if draw(st.booleans()):
        how = draw(st.sampled_from(["inner", "left"]))
        asked = f"join({sides}, within => {far}, direction => {direction}, how => {how})"
        answered = f"{rows} {how} JOIN u AS r ON {same} AND {near}"
    else:
        asked = f"asof({sides}, tolerance => {far}, direction => {direction})"
        best = "max" if direction == "backward" else "min"
        found = f"(SELECT {best}(r.x) FROM u AS r WHERE {same} AND {near})"
        answered = f"(SELECT *, {found} AS at FROM {rows}) AS l LEFT JOIN u AS r"
        answered += f" ON {same} AND r.x = l.at"
    return RandomQuery(_wrapped(items, f"FROM {asked}{where}"), _wrapped(own, f"FROM {answered}"))


def _wrapped(items: list[str], rest: str) -> str:
    """Return a query whose columns are texts, padded to one number of columns."""
    named = ", ".join(f"{item} AS c{n}" for n, item in enumerate(items))
    texts = [f"CAST(c{n} AS VARCHAR(50)) AS c{n}" for n in range(len(items))]
    texts += [f"CAST(NULL AS VARCHAR(50)) AS c{n}" for n in range(len(items), COLUMNS)]
    return f"SELECT {', '.join(texts)} FROM (SELECT {named} {rest}) AS q"
