"""Pictures of frames: the contents of charts and files, and the messages."""

from __future__ import annotations

import importlib.util
import itertools
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.formatters import DisplayFormatter
from pyspark.sql import DataFrame, Row, SparkSession

import muntin as mt
from muntin.spark.plot import chart as chart_module
from muntin.spark.plot import data as data_module
from muntin.spark.plot.frames import read_by
from muntin.spark.plot.windows import lines_of
from muntin.testing import replay
from tests.drivers.streams import play

START = datetime(2026, 3, 3, 6)
#: Above 5 from 2 to 3 and from 6 to 8.
VALUES = [1.0, 2.0, 6.0, 7.0, 1.0, None, 8.0, 9.0, 8.5, 2.0]


@pytest.fixture(scope="module")
def line(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([*enumerate(VALUES)], "n INT, x DOUBLE").cache()


@pytest.fixture(scope="module")
def sensors(spark: SparkSession) -> DataFrame:
    rows = [
        (room, START + timedelta(minutes=n), value)
        for room in ("a", "b", None)
        for n, value in enumerate(VALUES)
    ]
    return spark.createDataFrame(rows, "room STRING, ts TIMESTAMP, x DOUBLE").cache()


def high(df: DataFrame, **properties: Any) -> mt.Frames:
    return mt.stream(df, on="n").frames(mt.threshold("x > 5"), **properties)


@pytest.fixture(scope="module")
def found(line: DataFrame) -> list[Row]:
    """Return the two frames of the line, for tests of drawing and not of finding them."""
    return high(line).df.collect()


def layers(chart: Any) -> list[list[dict[str, Any]]]:
    """Return the data of each layer of a chart of one key."""
    # Altair checks a whole chart against its schema each time; files and notebooks are checked.
    spec = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
    sets = spec.get("datasets", {})
    found = [layer["data"] for layer in spec["layer"]]
    return [data["values"] if "values" in data else sets[data["name"]] for data in found]


def with_data(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the charts of several keys, each with the data that they share."""
    return [{**chart, "datasets": spec.get("datasets", {})} for chart in spec["vconcat"]]


def stretches(rows: list[dict[str, Any]]) -> list[tuple[float, float, str]]:
    return [(row["start"], row["end"], row["label"]) for row in rows]


def test_the_series_with_its_frames(line: DataFrame) -> None:
    """
    1 2 6 7 1 . 8 9 8 2
        [0]     [-1-]
    """
    chart = high(line).plot("x")
    shades, series, bars, labels = layers(chart)
    assert stretches(shades) == stretches(bars) == stretches(labels) == [(2, 3, "0"), (6, 8, "1")]
    assert [(row["x"], row["value"]) for row in series] == [*enumerate(VALUES)]
    spec = chart.to_dict()
    assert spec["title"]["text"] == "threshold(x > 5)"
    assert [spec["width"], spec["height"]] == [720, 180]
    drawn = spec["layer"][1]
    assert drawn["mark"]["type"] == "line"
    assert drawn["encoding"]["x"]["type"] == "quantitative"
    assert drawn["encoding"]["x"]["title"] == "n"
    assert drawn["encoding"]["y"]["title"] == "x"
    assert drawn["encoding"]["x"]["scale"]["domain"] == [0, 9]
    tooltip = spec["layer"][0]["encoding"]["tooltip"]
    assert [told["title"] for told in tooltip] == high(line).df.columns
    assert [shades[1][told["field"]] for told in tooltip] == ["1", "6", "8", "3", "0", "final"]


def test_what_is_drawn_may_be_computed(line: DataFrame, found: list[Row]) -> None:
    size = {"width": 300, "height": 50}
    chart = high(line).plot("coalesce(10 * x, -1)", frames=found, title="Ten times", **size)
    spec = chart.to_dict()
    assert [row["value"] for row in layers(chart)[1]][4:7] == [10.0, -1.0, 80.0]
    assert (spec["title"]["text"], spec["width"], spec["height"]) == ("Ten times", 300, 50)
    assert spec["layer"][1]["encoding"]["y"]["title"] == "coalesce(10 * x, -1)"


def test_times_are_those_of_the_session(spark: SparkSession, sensors: DataFrame) -> None:
    frames = mt.stream(sensors, on="ts", by="room").frames(mt.threshold("x > 5"))
    collected, pandas = frames.df.collect(), frames.df.toPandas()
    first = sensors.where("room = 'a'").selectExpr("min(cast(ts AS timestamp_ntz)) AS t").collect()
    minutes = (first[0].t - datetime(1970, 1, 1)).total_seconds() / 60
    for found in (frames.df, collected, pandas):
        chart = frames.plot("x", key="a", frames=found)
        shades, series, *_ = layers(chart)
        assert [row["x"] / 60_000 - minutes for row in series] == [*range(10)]
        assert [shade["start"] / 60_000 - minutes for shade in shades] == [2, 6]
        x = chart.to_dict()["layer"][0]["encoding"]["x"]
        assert (x["type"], x["scale"]["type"]) == ("temporal", "utc")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        shades = layers(frames.plot("x", key="a", frames=collected))[0]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert shades[0]["start"] / 60_000 - minutes == 2 + 330


def test_a_date_and_a_decimal(spark: SparkSession, line: DataFrame) -> None:
    days = line.selectExpr(
        "date_add(DATE'2026-01-01', n) AS d", "cast(n / 2 AS DECIMAL(9, 3)) AS e", "x"
    )
    by_day = mt.stream(days, on="d").frames(mt.threshold("x > 5")).plot("x")
    assert by_day.to_dict()["layer"][0]["encoding"]["x"]["type"] == "temporal"
    day = 24 * 3600 * 1000
    assert [(s["end"] - s["start"]) / day for s in layers(by_day)[0]] == [1, 2]
    by_number = mt.stream(days, on="e").frames(mt.threshold("x > 5")).plot("x")
    assert stretches(layers(by_number)[0]) == [(1.0, 1.5, "0"), (3.0, 4.0, "1")]


def test_several_keys_are_below_each_other(sensors: DataFrame) -> None:
    frames = mt.stream(sensors, on="ts", by="room").frames(mt.threshold("x > 5"))
    found = frames.df.collect()
    spec = frames.plot("x", frames=found).to_dict()
    titles = [chart["title"]["text"] for chart in spec["vconcat"]]
    assert titles == ["null", "a", "b"]
    assert spec["title"]["subtitle"] == []
    domains = [chart["layer"][1]["encoding"]["y"]["scale"]["domain"] for chart in spec["vconcat"]]
    assert domains == [[1.0, 9.0]] * 3
    one = frames.plot("x", frames=found, key="b").to_dict()
    assert one["title"]["text"] == "threshold(x > 5) · b"
    some = frames.plot("x", frames=found, key=["b", None]).to_dict()
    assert [chart["title"]["text"] for chart in some["vconcat"]] == ["b", "null"]


def test_keys_with_frames_come_first_and_the_rest_is_mentioned(spark: SparkSession) -> None:
    rows = [(key, n, 9 if key == 7 and n else 1) for key in range(9) for n in range(3)]
    df = spark.createDataFrame(rows, "k INT, n INT, x INT")
    frames = mt.stream(df, on="n", by="k").frames(mt.threshold("x > 5"))
    spec = frames.plot("x", limit=3).to_dict()
    assert [chart["title"]["text"] for chart in spec["vconcat"]] == ["0", "1", "7"]
    assert spec["title"]["subtitle"] == [
        "3 of the keys, those with frames first; others with key= or limit="
    ]


def test_a_key_of_two_columns(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1, 0, 9), ("b", 2, 0, 9)], "s STRING, k INT, n INT, x INT")
    frames = mt.stream(df, on="n", by=["s", "k"]).frames(mt.threshold("x > 5"))
    spec = frames.plot("x", key=("b", 2)).to_dict()
    assert spec["title"]["text"] == "threshold(x > 5) · b, 2"
    with pytest.raises(mt.ArgumentError, match="tuple of s, k, or a list of such tuples"):
        frames.plot("x", key="a")


def test_frames_that_overlap_lie_in_lanes(line: DataFrame) -> None:
    frames = mt.stream(line, on="n").frames(mt.aggregate("sum(x) >= 10"), scheme="unconstrained")
    ends = [3, 3, 3, 6, 6, 7, 7, 8]  # as they are where a null counts as 1
    found = [
        {"frame_id": n, "frame_start": n, "frame_end": end, "status": "final"}
        for n, end in enumerate(ends)
    ]
    shades = layers(frames.plot("x", frames=found))[0]
    assert len(shades) > 3
    for place, one in enumerate(shades):
        for other in shades[:place]:
            apart = other["end"] <= one["start"]
            assert apart or one["top"] != other["top"]


def test_labels_leave_room_for_each_other(spark: SparkSession) -> None:
    df = spark.range(600).selectExpr("id AS n", "id % 2 = 0 AS even")
    shades = layers(mt.stream(df, on="n").frames(mt.threshold("even")).plot("even"))[0]
    written = [shade["start"] * 720 / 599 for shade in shades if shade["label"]]
    assert len(shades) == 300
    assert 10 < len(written) < 100
    assert min(b - a for a, b in itertools.pairwise(written)) > 12


def test_a_label_of_your_own(line: DataFrame) -> None:
    frames = high(line)
    found = frames.agg("max(x) AS top").collect()
    shades = layers(frames.plot("x", frames=found, label="top"))[0]
    assert [shade["label"] for shade in shades] == ["7.0", "9.0"]


def test_of_fragments_the_newest_is_drawn(spark: SparkSession, line: DataFrame) -> None:
    frames = high(line, fragments=1)
    assert frames.df.count() > 2
    shades = layers(frames.plot("x"))[0]
    assert [(s["start"], s["end"], s["partial"]) for s in shades] == [(2, 3, False), (6, 8, False)]
    still_open = mt.stream(line, on="n").frames(mt.between(start="x > 7", end="x < 0"))
    shades = layers(still_open.plot("x"))[0]
    assert [(s["start"], s["end"], s["partial"]) for s in shades] == [(6, 9, True)]


def test_text_is_drawn_in_steps(spark: SparkSession) -> None:
    df = spark.createDataFrame([*enumerate("aabbba")], "n INT, state STRING")
    spec = mt.stream(df, on="n").frames(mt.boundary("state")).plot(frames=[]).to_dict()
    series = spec["layer"][1]
    assert series["encoding"]["y"]["type"] == "nominal"
    assert series["encoding"]["y"]["scale"]["domain"] == ["a", "b"]
    assert series["mark"]["interpolate"] == "step-after"


def test_a_long_series_is_thinned_to_its_outline(spark: SparkSession) -> None:
    df = spark.range(50_000).selectExpr(
        "id AS n", "CASE id WHEN 31234 THEN 99.0 WHEN 41234 THEN -99.0 ELSE sin(id / 999) END AS x"
    )
    frames = mt.stream(df, on="n").frames(mt.threshold("x > 0.9"))
    series = layers(frames.plot("x", frames=[], width=100))[1]
    assert len(series) <= 400
    assert {"x": 31234.0, "value": 99.0} in series
    assert {"x": 41234.0, "value": -99.0} in series
    assert [series[0]["x"], series[-1]["x"]] == [0, 49_999]
    places = [row["x"] for row in series]
    assert places == sorted(places)


def test_rows_that_tie_are_drawn_as_the_framing_takes_them(spark: SparkSession) -> None:
    rows = [(0, 1, 4), (0, 9, 6), (1, 7, 1), (1, 8, 2)]
    df = spark.createDataFrame(rows, "n INT, x INT, y INT")
    frames = mt.stream(df, on="n").frames(mt.threshold("x > 6"), ties={"x": "mean", "y": "sum"})
    shades, series, *_ = layers(frames.plot("x"))
    assert stretches(shades) == [(1, 1, "0")]
    assert [(row["x"], row["value"]) for row in series] == [(0, 5.0), (1, 7.5)]
    assert [row["value"] for row in layers(frames.plot("y", frames=[]))[1]] == [10.0, 3.0]


def test_values_that_json_does_not_know(spark: SparkSession) -> None:
    values = [1.0, float("nan"), float("inf"), None]
    df = spark.createDataFrame([*enumerate(values)], "n INT, x DOUBLE")
    chart = mt.stream(df, on="n").frames(mt.threshold("n > 0")).plot("x", frames=[])
    assert [row["value"] for row in layers(chart)[1]] == [1.0, None, None, None]
    assert "NaN" not in chart.to_json()


def test_regions_are_rectangles_on_a_map(spark: SparkSession) -> None:
    """Slow at mileposts 1 and 2 from 3 to 5."""
    rows = [
        (n, float(mile), 20.0 if mile in (1, 2) and 3 <= n <= 5 else 60.0)
        for n in range(8)
        for mile in range(4)
    ]
    df = spark.createDataFrame(rows, "n INT, mile DOUBLE, speed DOUBLE")
    frames = mt.stream(df, on="n").frames(mt.region("speed < 30", along="mile"))
    bounds = {"frame_start": 3, "frame_end": 5, "along_start": 1.0, "along_end": 2.0}
    chart = frames.plot(frames=[{"frame_id": 0, "status": "final", **bounds}])
    cells, edges, *_ = layers(chart)
    assert len(cells) == 32
    assert [(e["start"], e["end"], e["low"], e["high"]) for e in edges] == [(2.5, 5.5, 0.5, 2.5)]
    slow = [(c["start"], c["low"]) for c in cells if c["value"] == 20.0]
    assert sorted(slow) == [(n - 0.5, mile - 0.5) for n in (3, 4, 5) for mile in (1, 2)]
    assert chart.to_dict()["layer"][0]["encoding"]["y"]["title"] == "mile"


def test_nothing_to_draw(spark: SparkSession, line: DataFrame) -> None:
    empty = spark.createDataFrame([], "n INT, x DOUBLE")
    assert layers(high(empty).plot("x")) == [[], [], [], []]
    none = high(line).df.limit(0).toPandas()
    assert layers(high(empty).plot("x", frames=none, rows=pd.DataFrame())) == [[], [], [], []]
    shades, series, *_ = layers(high(empty).plot("x", frames=[], rows=[{"n": 1, "x": 2.0}]))
    assert (shades, series) == ([], [{"x": 1.0, "value": 2.0}])


def test_a_collected_stream(spark: SparkSession) -> None:
    rows = [{"n": n, "x": value} for n, value in enumerate(VALUES)]
    played = replay(spark, [rows[:4], rows[4:]], "n INT, x DOUBLE")
    try:
        frames = played.stream(on="n", disorder=mt.slack(1)).frames(mt.threshold("x > 5"))
        with pytest.raises(mt.ArgumentError, match=r"frames=None .*frames=\.\.\., rows=\.\.\."):
            frames.plot("x")
        with pytest.raises(mt.ArgumentError, match="rows=None cannot be used: a stream"):
            frames.plot("x", frames=[])
        with pytest.raises(mt.ArgumentError, match="it is a stream; write it, then read"):
            frames.plot("x", frames=frames.df, rows=rows)
        found = play(frames.plan()).results
        shades, series, *_ = layers(frames.plot("x", frames=found, rows=rows))
    finally:
        played.remove()
    assert stretches(shades) == [(2, 3, "0"), (6, 8, "1")]
    assert len(series) == 10


def test_names_with_a_prefix(line: DataFrame) -> None:
    assert stretches(layers(high(line, prefix="mt_").plot("x"))[0]) == [(2, 3, "0"), (6, 8, "1")]


def test_files(line: DataFrame, tmp_path: Path) -> None:
    frames = high(line)
    found = frames.df.collect()
    png, svg, html = (tmp_path / f"frames.{suffix}" for suffix in ("png", "svg", "html"))
    frames.plot("x", path=png, frames=found)
    frames.plot("x", path=str(svg), frames=found)
    frames.plot("x", path=html, frames=found)
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    text = svg.read_text()
    assert text.startswith("<svg")
    assert "threshold(x &gt; 5)" in text
    page = html.read_text()
    assert "threshold(x > 5)" in page
    assert 'src="http' not in page


@pytest.mark.parametrize("name", ["frames.pdf", "frames", "frames.PNG.txt"])
def test_another_suffix_is_refused(line: DataFrame, name: str) -> None:
    with pytest.raises(mt.ArgumentError, match=r"it must end in \.png, \.svg, \.html"):
        high(line).plot("x", path=name)


@pytest.mark.parametrize(
    ("package", "path"), [("altair", None), ("altair", "a.png"), ("vl_convert", "a.png")]
)
def test_without_altair_the_line_to_paste_is_said(
    line: DataFrame, monkeypatch: pytest.MonkeyPatch, package: str, path: str | None
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else real(name)
    )
    with pytest.raises(mt.RequirementError, match=r"run: pip install 'muntin\[plot\]'"):
        high(line).plot("x", path=path)


def test_arguments_that_do_not_suit(line: DataFrame, sensors: DataFrame) -> None:
    frames = high(line)
    keyed = mt.stream(sensors, on="ts", by="room").frames(mt.threshold("x > 5"))
    with pytest.raises(mt.UnknownColumnError, match="value='y' is not a column"):
        frames.plot("y")
    with pytest.raises(mt.ArgumentError, match="value='x \\+ y' cannot be used"):
        frames.plot("x + y")
    with pytest.raises(mt.ArgumentError, match="it is a column, SQL text or a PySpark column"):
        frames.plot(3)
    with pytest.raises(mt.UnsupportedTypeError, match="is timestamp, but only a number, a boolean"):
        keyed.plot("ts")
    with pytest.raises(mt.UnknownColumnError, match="label='mean' is not a column"):
        frames.plot("x", label="mean")
    with pytest.raises(mt.ArgumentError, match="has no `by`, so it has no keys"):
        frames.plot("x", key="a")
    with pytest.raises(mt.ArgumentError, match="key='z' cannot be used: no row has it"):
        keyed.plot("x", key="z", frames=[])
    with pytest.raises(mt.ArgumentError, match="a list of values of room"):
        keyed.plot("x", key=[])
    for name in ("width", "height", "limit"):
        with pytest.raises(mt.ArgumentError, match=f"{name}=0 cannot be used: it must be a whole"):
            frames.plot("x", **{name: 0})  # type: ignore[arg-type]
    with pytest.raises(mt.ArgumentError, match="a pandas DataFrame or a list of rows"):
        frames.plot("x", frames=3)
    with pytest.raises(mt.UnknownColumnError, match="frames='frame_start' is not a column"):
        frames.plot("x", frames=line)


def test_more_frames_than_can_be_drawn(
    line: DataFrame, found: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chart_module, "MOST_DRAWN", 1)
    chart = high(line).plot("x", frames=found)
    assert stretches(layers(chart)[0]) == [(2, 3, "0")]
    assert chart.to_dict()["title"]["subtitle"] == ["the first 1 of 2 frames"]
    monkeypatch.setattr(data_module, "MOST_FRAMES", 1)
    with pytest.raises(mt.ArgumentError, match="more than 1 of them; choose fewer rows"):
        high(line).plot("x", frames=found)


def test_of_many_keys_those_drawn_are_chosen_first(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(key, n, 9 if n % 2 else 1) for key in range(5) for n in range(4)]
    df = spark.createDataFrame(rows, "k INT, n INT, x INT")
    frames = mt.stream(df, on="n", by="k").frames(mt.threshold("x > 5"))
    found = frames.df.collect()
    assert len(found) == 10
    monkeypatch.setattr(data_module, "MOST_FRAMES", 6)
    spec = frames.plot(frames=found, limit=2).to_dict()
    assert [chart["title"]["text"] for chart in spec["vconcat"]] == ["0", "1"]
    assert [len(layers(chart)[0]) for chart in with_data(spec)] == [2, 2]
    assert spec["title"]["subtitle"] == [
        "2 of the keys, those with frames first; others with key= or limit="
    ]
    with pytest.raises(mt.ArgumentError, match="choose a smaller limit= or fewer keys with key="):
        frames.plot(frames=found, limit=4)


def test_a_key_may_be_anything(spark: SparkSession) -> None:
    """Bytes and NaN, which Python could not look up."""
    keys = [b"a", b"b", None]
    numbers = [float("nan"), 1.5, None]
    rows = [(keys[k], numbers[k], n, 9.0) for k in range(3) for n in range(2)]
    df = spark.createDataFrame(rows, "b BINARY, f DOUBLE, n INT, x DOUBLE")
    frames = mt.stream(df, on="n", by=["b", "f"]).frames(mt.threshold("x > 5"))
    found = frames.df.collect()
    spec = frames.plot(frames=found).to_dict()
    titles = [chart["title"]["text"] for chart in spec["vconcat"]]
    assert titles == ["null, null", "b'a', nan", "b'b', 1.5"]
    assert [[len(data) for data in layers(chart)] for chart in with_data(spec)] == [
        [1, 2, 1, 1]
    ] * 3
    one = frames.plot(frames=found, key=(bytearray(b"a"), float("nan")))
    assert [len(data) for data in layers(one)] == [1, 2, 1, 1]


def test_collected_by_pandas(spark: SparkSession) -> None:
    """Nulls turned whole numbers into doubles, and text that is all null has no type."""
    rows = [(None, None, 0, 9), (None, None, 1, None), (None, None, 2, 8)]
    df = spark.createDataFrame(rows, "s STRING, k INT, n INT, x INT")
    frames = mt.stream(df, on="n", by=["s", "k"]).frames(mt.threshold("x > 5"))
    pandas = frames.agg("max(x) AS top", "first(s) AS note").toPandas()
    spec = frames.plot(frames=pandas, rows=df.toPandas(), label="top").to_dict()
    assert spec["title"]["text"] == "threshold(x > 5) · null, null"
    shades, series, *_ = layers(spec)
    assert stretches(shades) == [(0, 0, "9"), (2, 2, "8")]
    assert [row["value"] for row in series] == [9.0, None, 8.0]
    doubles = df.toPandas().assign(x=[1.5, float("nan"), 2.5])
    series = layers(frames.plot(frames=pandas, rows=doubles))[1]
    assert [row["value"] for row in series] == [1.5, None, 2.5]


def test_a_long_series_keeps_its_gaps(spark: SparkSession) -> None:
    """
    ---- .. ----
    """
    df = spark.range(6000).selectExpr(
        "id AS n", "CASE WHEN id % 2 = 0 OR id BETWEEN 2000 AND 2999 THEN NULL ELSE 1.0 END AS x"
    )
    frames = mt.stream(df, on="n").frames(mt.threshold("x > 0"))
    series = layers(frames.plot(frames=[], width=60))[1]
    assert len(series) < 240
    gaps = [row["x"] for row in series if row["value"] is None]
    assert gaps == [2000 + 100 * part for part in range(10)]


@pytest.mark.parametrize(
    ("kind", "drawn"),
    [
        (mt.threshold("x > 5"), "x"),
        (mt.threshold("5 < x AND x < abs(-9)"), "x"),
        (mt.threshold("a name"), "a name"),
        (mt.threshold("`a name` > 3"), "a name"),
        (mt.boundary("s"), "s"),
        (mt.boundary("x * 2", every=1.0), "x * 2"),
        (mt.delta("x", 3), "x"),
        (mt.trend("x", "increasing"), "x"),
        (mt.aggregate("sum(x) >= 10"), "x"),
        (mt.density("sum(x) > 3", per=2), "x"),
        (mt.between(start="s = 'a'", end="s = 'b'"), "s"),
        (mt.region("x < 3", along="n"), "x"),
    ],
)
def test_what_a_kind_reads_is_drawn(kind: Any, drawn: str) -> None:
    assert read_by(kind, ["n", "x", "s", "a name"]) == drawn


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (mt.threshold("x > y"), "threshold(x > y) reads x and y; name what to draw: frames.plot("),
        (mt.aggregate("count(*) > 3"), "does not say which column it reads; name what to draw"),
        (mt.aggregate("weighted_avg(x, y) > 3"), "reads x and y"),
        (mt.density(p=0.05, rate=2, per=10), "does not say which column it reads"),
        (mt.between(start="s = 'a'", end="x > 3"), "reads s and x"),
    ],
)
def test_what_is_drawn_must_be_named_otherwise(kind: Any, says: str) -> None:
    with pytest.raises(mt.ArgumentError) as refused:
        read_by(kind, ["n", "x", "y", "s"])
    assert says in str(refused.value)
    assert "value=None cannot be used" in str(refused.value)


def test_a_notebook_shows_the_chart(line: DataFrame, found: list[Row]) -> None:
    chart = high(line).plot(frames=found)
    bundle = chart._repr_mimebundle_(None, None)
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    shown = [text for mime, text in data.items() if "vegalite" in mime or mime == "text/html"]
    assert any("threshold(x > 5)" in json.dumps(text) for text in shown)
    formatted, _ = DisplayFormatter().format(chart)
    assert formatted.keys() == data.keys() | {"text/plain"}


def test_windows_are_drawn_at_times_of_the_session(spark: SparkSession) -> None:
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        ends = "TIMESTAMP '2026-11-01 14:30:00' AS window_end, 1 AS n"
        lines = lines_of(spark.sql(f"SELECT {ends}"), None, [])
        drawn = datetime(2026, 11, 1, 14, 30, tzinfo=UTC).timestamp() * 1000
        assert [point["x"] for point in lines.points()] == [drawn]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def drawn(chart: dict[str, Any]) -> list[dict[str, Any]]:
    """The points of a chart."""
    (points,) = chart["datasets"].values()
    return points


def test_windows_and_fills_draw_themselves(line: DataFrame, tmp_path: Path) -> None:
    windows = mt.stream(line, on="n").tumbling(3, prefix="w_")
    picture = tmp_path / "windows.svg"
    chart = windows.plot("count(*) AS rows", "max(x) AS hi", value="hi", path=picture).to_dict()
    assert picture.read_text().startswith("<svg")
    assert chart["encoding"]["x"]["title"] == "w_window_end"
    found = {row.w_window_end: row.hi for row in windows.agg("max(x) AS hi").collect()}
    assert {point["x"]: point["y"] for point in drawn(chart)} == found
    bars = high(line).fill(line).plot("count(*) AS rows", height=90).to_dict()
    marks = [(point["start"], point["x"]) for point in drawn(bars)]
    assert sorted(marks) == sorted((r.frame_start, r.frame_end) for r in high(line).df.collect())
    assert bars["encoding"]["y"]["title"] == "rows"


def test_a_stream_is_drawn_from_what_was_written(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").load()
    windows = mt.stream(rate, "timestamp", disorder=mt.ordered()).tumbling("1 minute")
    with pytest.raises(mt.ArgumentError, match="a stream cannot be drawn while it runs"):
        windows.plot("count(*) AS n")
    written = spark.sql("SELECT TIMESTAMP '2026-01-01 00:01:00' AS window_end, 3L AS n")
    assert [point["y"] for point in drawn(windows.plot(rows=written).to_dict())] == [3]
