"""Every clause of SQL with every property: the windows of the Python call, or both are refused.

A clause that is read right is planned as the call of Python that it stands for, whose step function
the other matrices compare with the reference. So a cell here compares what both ask for.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.errors import MuntinError
from muntin.parser.errors import SqlError
from muntin.parser.frame_clause import FRAME_ARGUMENTS
from muntin.parser.parse import parse_query
from muntin.planner.relations import Scope
from muntin.planner.window_plans import filled, segmented
from muntin.spark.api.segments import Filled
from tests.matrix import test_frame_properties as frames

Row = dict[str, Any]
SCHEMA = "at INT, k STRING, m INT, v DOUBLE, i BIGINT, s STRING, b BOOLEAN, until INT, tie INT, "
SCHEMA += "t TIMESTAMP, n TIMESTAMP_NTZ"
#: A clause, the method that it stands for, and the arguments of that method.
WINDOWS: dict[str, tuple[str, Row]] = {
    "RANGE 7 SLIDE 3 WATTR at": ("window", {"range": 7, "slide": 3}),
    "RANGE 2 SLIDE 5 RATTR at SATTR at": ("window", {"range": 2, "slide": 5}),
    "TUMBLING 4 WATTR at": ("tumbling", {"length": 4}),
    "RANGE 5 SLIDE 3 RATTR at SATTR m": ("window", {"range": 5, "slide": 3, "slide_on": "m"}),
    "RANGE 3 ROWS SLIDE 2 ROWS WATTR at": ("rows", {"range": 3, "slide": 2}),
    "ROWS 3 WATTR at": ("rows", {"range": 3}),
    "TUMBLING 3 ROWS WATTR at": ("rows", {"range": 3, "slide": 3}),
    "RANGE 3 SLIDE 2 WATTR rank(at)": ("rows", {"range": 3, "slide": 2}),
    "RANGE 3 SLIDE 2 WATTR row-num": ("rows", {"range": 3, "slide": 2, "order": "arrival"}),
    "RANGE 5 WATTR at": ("by_tuple", {"range": 5}),
    "RANGE 5 SLIDE 3 ROWS WATTR at": ("by_tuple", {"range": 5, "every": 3}),
    "RANGE 5 SLIDE 3 RATTR at SATTR row-num": (
        "by_tuple",
        {"range": 5, "every": 3, "order": "arrival"},
    ),
    "LANDMARK 0 SLIDE 4 WATTR at": ("landmark", {"origin": 0, "slide": 4}),
    "LANDMARK SLIDE 4 WATTR at": ("landmark", {"slide": 4}),
    "LANDMARK 0, 7 SLIDE 3 WATTR at": ("landmark", {"origin": [0, 7], "slide": 3}),
    "LANDMARK 0, 7 WATTR at": ("landmark", {"origin": [0, 7]}),
    "LANDMARK WHERE b SLIDE 3 WATTR at": ("landmark", {"start": "b", "slide": 3}),
    "LANDMARK WHERE b WATTR at": ("landmark", {"start": "b"}),
    "LATCH 4 WATTR at": ("latch", {"every": 4}),
    "SESSION GAP 2 WATTR at": ("session", {"gap": 2}),
}
#: The words of a property, and its arguments.
OF_WINDOWS: dict[str, Row] = {
    "": {},
    "ORIGIN 1": {"origin": 1},
    "UNFINISHED DROP": {"unfinished": "drop"},
    "UNFINISHED FLAG": {"unfinished": "flag"},
    "WITHIN 2": {"within": 2},
    "TIEBREAK tie, m": {"tiebreak": ["tie", "m"]},
    "PREFIX 'w_'": {"prefix": "w_"},
}
#: SQL of the kinds of frames, as in the matrix of frames.
FRAMES: dict[str, tuple[str, Any]] = {
    "threshold": ("THRESHOLD b", mt.threshold("b")),
    "boundary": ("BOUNDARY s", mt.boundary("s")),
    "boundary by steps": ("BOUNDARY v EVERY 1.5", mt.boundary("v", every="1.5")),
    "boundary of times": ("BOUNDARY t EVERY 90 MINUTES", mt.boundary("t", every="90 minutes")),
    "delta": ("DELTA v SIZE 1", mt.delta("v", 1)),
    "delta of times": ("DELTA n SIZE 90 MINUTES", mt.delta("n", "90 minutes")),
    "delta minimal": ("DELTA v SIZE 1 MINIMAL", mt.delta("v", 1, span="minimal")),
    "delta with start": (
        "DELTA v SIZE 1 AGAINST FIRST START WHEN (s = 'a') RESTART CONTINUE",
        mt.delta("v", 1, "first", start="s = 'a'", restart="continue"),
    ),
    "measure": ("AGGREGATE sum(i) <= 4", mt.aggregate("sum(i) <= 4")),
    "measure minimal": ("AGGREGATE sum(i) >= 4", mt.aggregate("sum(i) >= 4")),
    "measure with start": (
        "AGGREGATE sum(i) >= 4 START WHEN (s = 'a') RESTART CLOSE",
        mt.aggregate("sum(i) >= 4", start="s = 'a'", restart="close"),
    ),
    "condition": (
        "AGGREGATE max(v) - min(v) > 2 AND count(*) >= 2",
        mt.aggregate("max(v) - min(v) > 2 AND count(*) >= 2"),
    ),
    "trend": ("TREND i INCREASING LOOSE", mt.trend("i", "increasing", strict=False)),
    "trend of any direction": ("TREND i", mt.trend("i")),
    "between": ("BETWEEN (b) AND (s = 'a')", mt.between("b", "s = 'a'")),
    "density": ("DENSITY count(*) >= 2 PER 4", mt.density("count(*) >= 2", per=4)),
    "cluster": ("DENSITY P 0.4 RATE 0.5 PER 4", mt.density(p=0.4, rate=0.5, per=4)),
    "cluster with weights": (
        "DENSITY P 0.4 RATE 0.5 PER 4 WEIGHT i",
        mt.density(p=0.4, rate=0.5, per=4, weight="i"),
    ),
    "region": ("REGION b ALONG i PREFER ALL", mt.region("b", along="i", prefer="all")),
    "pattern": (
        "PATTERN (x+ y?) DEFINE x AS i > prev.i, y AS s = 'a'",
        mt.pattern("x+ y?", x="i > prev.i", y="s = 'a'"),
    ),
}
#: The words for the properties of the matrix of frames.
OF_FRAMES: dict[str, str] = {
    "nothing": "",
    "min_count": "HOLDING 2 ROWS",
    "max_count": "HOLDING AT MOST 4 ROWS",
    "min_duration": "LASTING 3",
    "max_duration": "LASTING AT MOST 9",
    "cut": "CUT HOLDING AT MOST 3 ROWS",
    "advancing": "SCHEME ADVANCING",
    "unconstrained": "SCHEME UNCONSTRAINED",
    "adjacent": "SCHEME ADJACENT 2",
    "cover": "SCHEME COVER",
    "longest": "LONGEST",
    "fragments": "FRAGMENTS 2",
    "satisfy": "MISSING SATISFY",
    "carry": "MISSING CARRY",
    "bridge": f"MISSING WHERE {next(iter(frames.BRIDGES))}",
    "liberal": "BOUNDS LIBERAL",
    "first": "TIES FIRST BY tie",
    "combined": "TIES MAX",
    "until_next": "READINGS UNTIL NEXT",
    "interval": "READINGS UNTIL until",
    "schedule": "SCHEDULE 2",
    "forget": "FORGET AFTER 4",
}
#: Kinds in which properties meet each other.
TELLING = ("threshold", "delta minimal")
OF_FILLS: dict[str, Row] = {
    "": {},
    "BEFORE 2": {"before": 2},
    "AFTER 3": {"after": 3},
    "SHRINK 1": {"shrink": 1},
    "SHIFT -4": {"shift": -4},
    "SHIFT -4, 2": {"shift": [-4, 2]},
    "EMPTY DROP": {"empty": "drop"},
    "MATCHING (k = s)": {"key": {"k": "s"}},
    "MATCHING NONE": {"key": ()},
    "ALONG v": {"along": "v"},
    "WHERE b": {"where": "b"},
}


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], SCHEMA)


def test_every_property_has_its_words() -> None:
    assert set(OF_FRAMES) == set(frames.PROPERTIES)
    assert set(FRAMES) >= set(frames.EXAMPLES) - {"pattern of two rows"}
    given = {name for options in frames.PROPERTIES.values() for name in options}
    assert given == {argument.name for argument in FRAME_ARGUMENTS} - {
        "on",
        "by",
        "disorder",
        "prefix",
    }


def asked(df: DataFrame, bracket: str, group: tuple[str, ...] = ()) -> Any:
    """Return the windows or frames that a clause asks for, or None if it is refused."""
    text = f"SELECT count(*) AS n FROM t [{bracket}]"
    try:
        query = parse_query(text)
        (windowing,) = query.windowings.values()
        schedule = windowing.arguments.get("schedule")
        by = windowing.by or ()
        source = mt.stream(df, windowing.on or "at", by, schedule=schedule)
        return segmented(query, windowing, source, group, Scope.of(df.sparkSession, {}, {}))
    except SqlError as refusal:
        assert len(str(refusal).split()) >= 8, refusal
        return None


def called(df: DataFrame, method: str, arguments: Row) -> Any:
    """Return the windows of a call of Python, or None if it is refused."""
    arguments = dict(arguments)
    try:
        source = mt.stream(df, "at", "k", schedule=arguments.pop("schedule", None))
        return getattr(source, method)(**arguments)
    except TypeError as error:
        assert "unexpected keyword argument" in str(error)
        return None
    except MuntinError:
        return None


def same(one: Any, other: Any, cell: str) -> None:
    assert (one is None) == (other is None), (cell, one, other)
    if one is None:
        return
    assert (one.bare.spec, one.prefix) == (other.bare.spec, other.prefix), cell
    assert one.source.by == other.source.by
    if isinstance(one, mt.Windowed):
        assert one.unfinished == other.unfinished, cell
        details = [(w.details.group, w.details.tiebreak) for w in (one, other)]
        assert details[0] == details[1], cell
        assert (one.details.starts is None) == (other.details.starts is None), cell
    assert one.bare.identity == other.bare.identity, cell


@pytest.mark.parametrize("clause", WINDOWS)
def test_windows(rows: DataFrame, clause: str) -> None:
    method, own = WINDOWS[clause]
    for first, second in itertools.combinations_with_replacement(OF_WINDOWS, 2):
        one, other = OF_WINDOWS[first], OF_WINDOWS[second]
        if first != second and set(one) & set(other):
            continue
        options = one | other
        words = first if first == second else f"{first} {second}"
        twice = set(options) & set(own)  # a landmark and an origin
        python = None if twice else called(rows, method, own | options)
        same(asked(rows, f"{clause} {words} PATTR k"), python, f"{clause} {words}")


@pytest.mark.parametrize("kind", FRAMES)
def test_frames(rows: DataFrame, kind: str) -> None:
    words, spec = FRAMES[kind]
    for first, second in itertools.combinations_with_replacement(OF_FRAMES, 2):
        if kind not in TELLING and "nothing" not in (first, second):
            continue
        one, other = frames.PROPERTIES[first], frames.PROPERTIES[second]
        if first != second and set(one) & set(other):
            continue
        needed = {"max_duration": 12} if "cluster" in kind else {}
        both = "LASTING AT MOST 12" if needed and "max_duration" not in one | other else ""
        order = (second, first) if kind == TELLING[0] else (first, second)
        given = " ".join(dict.fromkeys([*(OF_FRAMES[name] for name in order), both]))
        python = called(rows, "frames", {"kind": spec} | needed | one | other)
        same(asked(rows, f"FRAME {words} {given} WATTR at PATTR k"), python, f"{kind} {given}")


def filled_in_sql(df: DataFrame, bracket: str, words: str) -> Filled | None:
    text = f"SELECT count(*) AS n FROM t [{bracket}] FILL u ON at {words}"
    scope = Scope.of(df.sparkSession, {"u": df}, {})
    try:
        query = parse_query(text)
        (windowing,) = query.windowings.values()
        segments = segmented(query, windowing, mt.stream(df, "at", "k"), (), scope)
        return filled(query, windowing.fills[0], segments, scope)
    except SqlError as refusal:
        assert len(str(refusal).split()) >= 8, refusal
        return None


@pytest.mark.parametrize(
    "bracket",
    ["TUMBLING 4 WATTR at", "FRAME THRESHOLD b WATTR at", "FRAME REGION b ALONG i WATTR at"],
)
def test_fills(rows: DataFrame, bracket: str) -> None:
    for first, second in itertools.combinations_with_replacement(OF_FILLS, 2):
        one, other = OF_FILLS[first], OF_FILLS[second]
        if (first != second and set(one) & set(other)) or "WHERE" in first:
            continue
        segments = asked(rows, f"{bracket} PATTR k")
        words = first if first == second else f"{first} {second}"
        try:
            python = segments.fill(rows, on="at", **one, **(other if first != second else {}))
        except MuntinError:
            python = None
        read = filled_in_sql(rows, bracket, words)
        assert (read is None) == (python is None), words
        if read is not None and python is not None:
            assert read.filling == python.filling, words
            assert (read.matches, read.along) == (python.matches, python.along), words
            assert read.source.by == python.source.by, words
            assert (read.where, python.where) in ((None, None), ("b", "b")), words
