"""Change any one argument of a public operator: the fingerprint of its checkpoint differs.

Every argument of every operator is listed. It either changes the fingerprint, so that the run is
refused, or it may change, because what is kept does not depend on it. No query runs here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.spark.plan.plan_arguments import arguments

ROWS = "ts TIMESTAMP, n BIGINT, x BIGINT, k STRING, g STRING, v DOUBLE, w DOUBLE, until BIGINT"
FRAMES = "k STRING, g STRING, begin BIGINT, stop BIGINT, last BIGINT, lo INT, hi INT"


@dataclass(frozen=True)
class May:
    """A changed argument that the fingerprint does not depend on."""

    change: Any


@dataclass(frozen=True)
class Native:
    """A PySpark column, which cannot be made before there is a session."""

    text: str


class Mine(mt.OwnAggregate):
    """The greatest value times a factor."""

    partials = (pa.float64(),)

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def result(self, types: Any) -> pa.DataType:
        return pa.float64()


class Dropping(mt.FramingFunction):
    columns = ("v",)

    def __init__(self, by: float) -> None:
        self.by = by


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    return spark.readStream.schema(ROWS).parquet(str(tmp_path_factory.mktemp("rows")))


@pytest.fixture(scope="module")
def stored(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    return spark.readStream.schema(FRAMES).parquet(str(tmp_path_factory.mktemp("frames")))


def stream(df: DataFrame, **options: Any) -> mt.Stream:
    return mt.stream(**{"df": df, "on": "n", "by": "k", "disorder": mt.slack(5), **options})


def fingerprint(made: Any) -> Mapping[str, str]:
    """Return the fingerprint of what an operator returns."""
    if isinstance(made, mt.Windowed | mt.Filled):
        made = made.plan("sum(v) AS total")
    elif isinstance(made, mt.Frames):
        made = made.plan()
    stored: Mapping[str, str] = made.parts.fingerprint.stored
    return stored


@dataclass(frozen=True)
class Operator:
    """A public operator: how it is called, with which arguments, and each of them changed.

    ``also`` has further changes, with the arguments that have to change together.
    """

    call: Callable[..., Any]
    given: Mapping[str, Any]
    changed: Mapping[str, Any]
    also: tuple[Mapping[str, Any], ...] = field(default=())


def method(name: str) -> Callable[..., Any]:
    return lambda rows, **given: getattr(stream(rows), name)(**_ready(rows, given))


def _ready(rows: DataFrame, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with the other stream in them."""
    return {
        name: stream(rows, **value) if name in ("other", "at") else value
        for name, value in given.items()
    }


def filled(rows: DataFrame, **given: Any) -> Any:
    frames = stream(rows, by=("k", "g")).frames(mt.threshold("v > 3"))
    return frames.fill(**_ready(rows, given))


def filled_region(rows: DataFrame, **given: Any) -> Any:
    return stream(rows).frames(mt.region("v > 3", along="x")).fill(stream(rows), **given)


def kind(made: Callable[..., Any]) -> Callable[..., Any]:
    return lambda rows, **given: stream(rows).frames(made(**given), max_duration=100)


WINDOWED: Mapping[str, Any] = {"unfinished": "drop", "prefix": May("mt_")}
JOINED: Mapping[str, Any] = {
    "other": {"on": "x"},
    "on": May("n"),
    "key": "g",
    "where": "left.v > right.v",
    "limit": May("1 MB"),
    "prefix": May("r_"),
}
OPERATORS: dict[str, Operator] = {
    "stream": Operator(
        lambda rows, **given: stream(rows, **given).frames(mt.threshold("v > 3")),
        {},
        {
            "df": May(None),
            "on": "x",
            "by": "g",
            "disorder": mt.per_key(5),
            "control": May(None),
            "shards": 3,
            "functions": May({"mine": Mine(2)}),
            "schedule": 10,
        },
        (
            {"disorder": May(mt.slack(7))},
            {"disorder": May(mt.slack(5, late="consistent"))},
            {"disorder": mt.each("g", 5)},
            {"by": ("k", "g")},
        ),
    ),
    "window": Operator(
        method("window"),
        {"range": 20, "slide": 10},
        {"range": 30, "slide": 5, "origin": 3, "slide_on": "x", "group": None, **WINDOWED},
        ({"slide_on": "x", "group": "g"},),
    ),
    "tumbling": Operator(
        method("tumbling"), {"length": 20}, {"length": 30, "origin": 3, **WINDOWED}
    ),
    "landmark": Operator(
        method("landmark"),
        {"slide": 10, "origin": 0},
        {"slide": 20, "origin": 1, "start": None, **WINDOWED},
        (
            {"origin": [0, 5]},
            {"origin": "first"},
            {"origin": None, "start": "v > 3"},
            {"origin": None, "start": "v > 4"},
        ),
    ),
    "latch": Operator(method("latch"), {"every": 20}, {"every": 30, "origin": 3, **WINDOWED}),
    "rows": Operator(
        method("rows"),
        {"range": 20, "slide": 10},
        {
            "range": 30,
            "slide": 5,
            "group": "g",
            "within": 100,
            "order": "arrival",
            "tiebreak": "x",
            "min_rows": 3,
            "forget": 500,
            **WINDOWED,
        },
        ({"tiebreak": ["x", "v"]}, {"tiebreak": "v"}),
    ),
    "by_tuple": Operator(
        method("by_tuple"),
        {"range": 20},
        {"range": 30, "every": 2, "group": "g", "order": "arrival", "prefix": May("mt_")},
    ),
    "session": Operator(
        method("session"), {"gap": 5}, {"gap": 6, "prefix": May("mt_")}, ({"gap": Native("x")},)
    ),
    "frames": Operator(
        method("frames"),
        {"kind": mt.threshold("v > 3"), "max_count": 50},
        {
            "kind": mt.threshold("v > 4"),
            "min_duration": 3,
            "max_duration": 9,
            "min_count": 3,
            "max_count": 60,
            "cut": True,
            "scheme": None,
            "longest": None,
            "fragments": None,
            "missing": "satisfy",
            "bounds": "liberal",
            "ties": None,
            "tie_order": None,
            "readings": "until_next",
            "until": None,
            "forget": 500,
            "prefix": May("mt_"),
        },
        (
            {"fragments": 5, "max_count": None},
            {"fragments": 6, "max_count": None},
            {"ties": "first", "tie_order": "x"},
            {"ties": "first", "tie_order": "v"},
            {"ties": "last", "tie_order": "v"},
            {"readings": "interval", "until": "until"},
            {"missing": "prev.v > 1"},
            {"missing": "prev.v > 2"},
            {"ties": {"v": "max"}},
            {"ties": {"v": "min"}},
            {"kind": mt.aggregate("count(*) >= 3"), "scheme": "advancing", "max_count": None},
            {"kind": mt.aggregate("count(*) >= 3"), "scheme": mt.adjacent(3), "max_count": None},
        ),
    ),
    "threshold": Operator(kind(mt.threshold), {"where": "v > 3"}, {"where": "v > 4"}),
    "boundary": Operator(
        kind(mt.boundary),
        {"value": "v"},
        {"value": "w", "every": 5},
        ({"value": "ts", "every": "1 hour"}, {"value": "ts", "every": "2 hours"}),
    ),
    "delta": Operator(
        kind(mt.delta),
        {"value": "v", "size": 5, "start": "w > 1"},
        {
            "value": "w",
            "size": 6,
            "against": "first",
            "span": "minimal",
            "start": "w > 2",
            "restart": "continue",
        },
    ),
    "trend": Operator(
        kind(mt.trend),
        {"value": "v", "direction": "increasing"},
        {"value": "w", "direction": "decreasing", "strict": False},
    ),
    "between": Operator(
        kind(mt.between),
        {"start": "v > 3", "end": "v < 1"},
        {"start": "v > 4", "end": "v < 2", "inclusive": "start"},
    ),
    "region": Operator(
        kind(mt.region),
        {"where": "v > 3", "along": "x"},
        {"where": "v > 4", "along": "w", "min_extent": 2, "prefer": "widest"},
    ),
    "density": Operator(
        kind(mt.density),
        {"condition": "count(*) >= 3", "per": 10},
        {
            "condition": "count(*) >= 4",
            "per": 20,
            "p": None,
            "rate": None,
            "weight": None,
            "functions": May({"mine": Mine(2)}),
        },
        (
            {"condition": None, "p": 0.05, "rate": 0.1, "weight": "x"},
            {"condition": None, "p": 0.05, "rate": 0.1, "weight": "x + 1"},
            {"condition": None, "p": 0.05, "rate": 0.1},
            {"condition": None, "p": 0.04, "rate": 0.1},
            {"condition": None, "p": 0.05, "rate": 0.2},
        ),
    ),
    "aggregate": Operator(
        kind(mt.aggregate),
        {"condition": "sum(v) >= 3", "start": "w > 1"},
        {
            "condition": "sum(v) >= 4",
            "span": "maximal",
            "start": "w > 2",
            "restart": "continue",
            "functions": May({"mine": Mine(2)}),
        },
        (
            {"condition": "mine(v) >= 3", "functions": {"mine": Mine(2)}},
            {"condition": "mine(v) >= 3", "functions": {"mine": Mine(3)}},
        ),
    ),
    "own": Operator(kind(lambda by: Dropping(by)), {"by": 10.0}, {"by": 5.0}),
    "fill": Operator(
        filled,
        {"other": {}, "key": {"k": "k"}},
        {
            "other": {"on": "x"},
            "on": None,
            "key": {"g": "k"},
            "before": 1,
            "after": 1,
            "shrink": 1,
            "shift": -10,
            "where": "w > 1",
            "empty": May("drop"),
            "along": None,
        },
        (
            {"key": {"k": "g"}},
            {"key": ()},
            {"shift": [-10, -20]},
            {"where": "w > 2"},
            {"where": Native("w > 3")},
            {"other": {"disorder": mt.each("g", 5)}},
        ),
    ),
    "fill of a region": Operator(filled_region, {"along": "x"}, {"along": "until"}),
    "join": Operator(
        method("join"),
        {"other": {}, "within": 5},
        {"within": 6, "how": "left", "direction": "forward", **JOINED},
        ({"where": "left.v < right.v"},),
    ),
    "zipper": Operator(
        method("zipper"),
        {"other": {}, "every": 5},
        {"every": 6, "origin": 1, "how": "inner", **JOINED},
    ),
    "asof": Operator(
        method("asof"),
        {"other": {}},
        {
            **{name: JOINED[name] for name in ("other", "on", "key", "prefix")},
            "tolerance": 6,
            "direction": "nearest",
            "exact": False,
            "tiebreak": "x",
        },
        ({"tiebreak": "w"}, {"tiebreak": ["x", "w"]}),
    ),
    "resample": Operator(
        method("resample"),
        {"every": 5},
        {
            "every": 6,
            "how": "previous",
            "at": None,
            "origin": 2,
            "max_gap": 9,
            "columns": "v",
            "tiebreak": "x",
            "within": None,
            "schema": None,
            "prefix": May("mt_"),
        },
        (
            {"every": None, "at": {}},
            {"tiebreak": "w"},
            {"columns": ["v", "w"]},
            {"how": ["avg(v) AS mean"], "within": 3},
            {"how": ["avg(v) AS mean"], "within": 4},
            {"how": ["max(v) AS mean"], "within": 4},
            {"how": len, "within": 3, "schema": "v DOUBLE"},
            {"how": len, "within": 3, "schema": "v BIGINT"},
        ),
    ),
}
#: Arguments that mean something only beside another one; ``also`` changes them together.
BESIDE_OTHERS = {
    ("window", "group"),
    ("landmark", "start"),
    ("frames", "fragments"),
    ("frames", "scheme"),
    ("frames", "longest"),  # a stream without control rows does not end
    ("frames", "ties"),
    ("frames", "tie_order"),
    ("frames", "until"),
    ("fill", "on"),  # of a described stream it is that stream's own
    ("fill", "along"),
    ("density", "p"),
    ("density", "rate"),
    ("density", "weight"),
    ("resample", "at"),
    ("resample", "within"),
    ("resample", "schema"),
    ("stream", "df"),
    ("stream", "control"),
}
SIGNATURES: dict[str, Callable[..., Any]] = {
    "stream": mt.stream,
    "fill": mt.Frames.fill,
    **{
        name: getattr(mt.Stream, name)
        for name in OPERATORS
        if name != "stream" and hasattr(mt.Stream, name)
    },
    **{
        name: getattr(mt, name)
        for name in (
            "threshold",
            "boundary",
            "delta",
            "trend",
            "between",
            "region",
            "density",
            "aggregate",
        )
    },
}


def changes(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every change of an operator's arguments, with a text that says which it is."""
    operator = OPERATORS[name]
    for argument, change in operator.changed.items():
        if (name, argument) not in BESIDE_OTHERS:
            yield argument, {argument: change}
    for together in operator.also:
        yield str(together), dict(together)


def ready(change: Any) -> Any:
    if isinstance(change, Native):
        return F.expr(change.text)
    return change.change if isinstance(change, May) else change


@pytest.mark.parametrize("name", OPERATORS)
def test_any_changed_argument_is_in_the_fingerprint(rows: DataFrame, name: str) -> None:
    operator = OPERATORS[name]
    given = dict(operator.given)
    seen = {"as given": fingerprint(operator.call(rows, **given))}
    assert fingerprint(operator.call(rows, **given)) == seen["as given"]
    for text, together in changes(name):
        may = any(isinstance(change, May) for change in together.values())
        changed = {argument: ready(change) for argument, change in together.items()}
        found = fingerprint(operator.call(rows, **{**given, **changed}))
        if may:
            assert found == seen["as given"], text
        else:
            # Not only another one than that given: all changes differ from each other.
            assert all(found != other for other in seen.values()), text
            seen[text] = found


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_argument_is_tried(name: str) -> None:
    """A new argument needs a line in OPERATORS: it changes the fingerprint, or it may change."""
    parameters = {*inspect.signature(SIGNATURES[name]).parameters} - {"self"}
    assert {*OPERATORS[name].changed} == parameters


def test_every_operator_is_tried() -> None:
    inherited = ("check_other", "check_run", "check_windowed", "shard_count", "shown_lines")
    methods = {
        name
        for name, value in inspect.getmembers(mt.Stream, callable)
        if not name.startswith("_") and name not in inherited
    }
    assert methods - {"lookup"} <= {*OPERATORS}  # a lookup keeps nothing


def test_stored_frames(stored: DataFrame, rows: DataFrame) -> None:
    def found(**given: Any) -> Mapping[str, str]:
        along = {"along": "x"} if "along" in given else {}
        usual = {"by": "k", "start": "begin", "end": "stop", "disorder": mt.slack(5)}
        frames = mt.frames(stored, **{**usual, **given})
        return fingerprint(frames.fill(stream(rows), **along))  # type: ignore[arg-type]

    plain = found()
    for changed in (
        {"by": "g"},
        {"start": "last"},
        {"end": "last"},
        {"bounds": "[)"},
        {"along": ("lo", "hi")},
        {"disorder": mt.per_key(5)},
        {"shards": 3},
    ):
        assert found(**changed) != plain, changed
    assert found(prefix="mt_") == plain
    assert found(disorder=mt.slack(6)) == plain
    assert {*inspect.signature(mt.frames).parameters} == {
        *("df", "by", "start", "end", "bounds", "along", "disorder", "control", "shards", "prefix")
    }


def test_by_is_not_group(rows: DataFrame) -> None:
    ranked = stream(rows, by=("k", "g")).rows(range=3)
    grouped = stream(rows, by="k").rows(range=3, group="g")
    assert fingerprint(ranked) != fingerprint(grouped)


def test_names_of_results_may_change(rows: DataFrame) -> None:
    windows = stream(rows).window(20, 10)
    plain = fingerprint(windows.plan("sum(v) AS total", "max(w) AS hi"))
    assert fingerprint(windows.plan("sum(v)", mt.max("w").alias("top"))) == plain
    assert fingerprint(windows.plan("sum(v) + max(w) AS both")) == plain
    assert fingerprint(windows.plan("SUM( v ) AS total", "max(w) AS hi")) == plain
    assert fingerprint(windows.plan("sum(v) AS total", "max(v) AS hi")) != plain


@contextmanager
def session_zone(spark: SparkSession, zone: str) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")


def by_time(rows: DataFrame, **options: Any) -> mt.Stream:
    return mt.stream(rows, "ts", "k", mt.slack("5 seconds"), **options)


#: What follows the days of a time zone, and what does not.
ZONED: dict[str, tuple[Callable[[DataFrame], Any], bool]] = {
    "window": (lambda rows: by_time(rows).window("1 day", "1 day"), True),
    "window of minutes": (lambda rows: by_time(rows).window("1 hour", "1 minute"), False),
    "latch": (lambda rows: by_time(rows).latch("1 day"), True),
    "landmark": (lambda rows: by_time(rows).landmark("1 day", "2026-01-01"), True),
    "landmarks": (lambda rows: by_time(rows).landmark(origin=["2026-01-01"]), True),
    "slide on": (
        lambda rows: stream(rows).window(range=20, slide="1 day", slide_on="ts"),
        True,
    ),
    "rows": (lambda rows: by_time(rows).rows(3), False),
    "schedule": (lambda rows: by_time(rows, schedule="1 day").frames(mt.threshold("v > 3")), True),
    "boundary": (
        lambda rows: stream(rows).frames(mt.boundary("ts", every="1 day")),
        True,
    ),
    "boundary of minutes": (
        lambda rows: stream(rows).frames(mt.boundary("ts", every="1 minute")),
        False,
    ),
    "landmark at the first row": (lambda rows: by_time(rows).landmark("1 day", "first"), False),
    "resample": (lambda rows: by_time(rows).resample("1 day"), True),
    "resample of minutes": (lambda rows: by_time(rows).resample("1 minute"), False),
    "resample by aggregates": (
        lambda rows: by_time(rows).resample("1 day", ["avg(v) AS m"], within="1 hour"),
        True,
    ),
    "zipper": (lambda rows: by_time(rows).zipper(by_time(rows), "1 day"), True),
    "zipper of minutes": (lambda rows: by_time(rows).zipper(by_time(rows), "1 minute"), False),
    "filled window": (lambda rows: by_time(rows).tumbling("1 day").fill(by_time(rows)), True),
    "asof": (lambda rows: by_time(rows).asof(by_time(rows), "1 day"), False),
    "join": (lambda rows: by_time(rows).join(by_time(rows), "1 day"), False),
}


@pytest.mark.parametrize("name", ZONED)
def test_the_zone_is_in_it_where_days_are_followed(
    spark: SparkSession, rows: DataFrame, name: str
) -> None:
    made, follows = ZONED[name]

    def found(zone: str) -> Mapping[str, str]:
        with session_zone(spark, zone):
            return fingerprint(made(rows))

    here, there = found("Europe/Berlin"), found("America/New_York")
    assert (here != there) == follows


def test_nobody_leaves_out_a_type() -> None:
    with pytest.raises(TypeError, match="no text for object"):
        list(arguments({"new": object()}))
