"""Queries of every kind that the engine runs, over rows ``ts, station, lane, speed, volume``."""

from __future__ import annotations

_SLIDING = "FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS]"
_FRAME = "SELECT station, frame_start, frame_end, count(*) AS n, max(speed) AS hi FROM s"

#: The queries of each kind. A kind has one operator, or one way to share.
KINDS: dict[str, tuple[str, ...]] = {
    "filter": (
        "SELECT ts, station, speed * 2 AS twice FROM s WHERE speed < 30 OR lane = 1",
        "SELECT * FROM s WHERE station IN ('a', 'c') AND speed IS NOT NULL",
        "SELECT ts, volume FROM s",
        "SELECT station, lane FROM s WHERE NOT (speed < 25 AND lane > 0)",
    ),
    "sliding": (
        f"SELECT station, window_end, avg(speed) AS a, count(*) AS n {_SLIDING} "
        "WHERE lane < 2 GROUP BY station",
        "SELECT station, window_end, sum(volume) AS v FROM s [RANGE 7 SECONDS SLIDE 3 SECONDS] "
        "WHERE speed BETWEEN 10 AND 40 GROUP BY station",
        "SELECT window_end, count(*) AS n, min(volume) AS m "
        "FROM s [RANGE 4 SECONDS SLIDE 8 SECONDS]",
        "SELECT window_end, count(*) AS n FROM s [RANGE 12 SECONDS SLIDE 4 SECONDS "
        "ORIGIN '2026-01-01 00:00:01']",
    ),
    "tumbling": (
        "SELECT station, window_start, max(speed) - min(speed) AS v FROM s [TUMBLING 5 SECONDS] "
        "GROUP BY station",
        "SELECT lane, station, window_end, sum(volume) AS v FROM s [TUMBLING 6 SECONDS] "
        "WHERE volume > -3 GROUP BY lane, station",
    ),
    "another GROUP BY": (
        "SELECT lane, window_start, min(speed) AS v FROM s [RANGE 6 SECONDS SLIDE 6 SECONDS] "
        "GROUP BY lane",
        "SELECT lane, window_end, count(*) AS n FROM s [SESSION GAP 4 SECONDS] GROUP BY lane",
        "SELECT lane, frame_start, frame_end, count(*) AS n "
        "FROM s [FRAME THRESHOLD speed < 25 PATTR lane]",
    ),
    "HAVING": (
        f"SELECT station, window_end, max(speed) AS v {_SLIDING} GROUP BY station "
        "HAVING count(*) > 1",
    ),
    "DISTINCT": (
        f"SELECT station, window_end, count(DISTINCT lane) AS n, count(DISTINCT speed) AS m "
        f"{_SLIDING} GROUP BY station",
    ),
    "first and last": (
        f"SELECT station, window_end, first(speed) AS f, last(lane) AS l, max(station) AS m "
        f"{_SLIDING} GROUP BY station",
    ),
    "moments": (
        f"SELECT window_end, stddev(speed) AS s, var_pop(volume) AS v {_SLIDING} WHERE lane = 0",
    ),
    "holistic": (
        f"SELECT station, window_end, median(speed) AS m, quantile(volume, 0.25) AS q, "
        f"mode(lane) AS o {_SLIDING} GROUP BY station",
    ),
    "sketch": (
        f"SELECT window_end, approx_count_distinct(volume) AS n {_SLIDING} WHERE speed > 5",
    ),
    "correlated": (
        f"SELECT station, window_end, count(*) FILTER (WHERE speed >= avg(speed)) AS n "
        f"{_SLIDING} GROUP BY station",
    ),
    "condition of an aggregate": (
        f"SELECT station, window_end, sum(volume) FILTER (WHERE lane = 1) AS n "
        f"{_SLIDING} GROUP BY station",
    ),
    "landmark": (
        "SELECT station, window_end, sum(speed) AS v "
        "FROM s [LANDMARK '2026-01-01' SLIDE 5 SECONDS] GROUP BY station",
        "SELECT station, window_end, count(*) AS n FROM s [LANDMARK FIRST SLIDE 5 SECONDS] "
        "GROUP BY station",
        "SELECT station, window_end, count(*) AS n "
        "FROM s [LANDMARK WHERE speed > 50 SLIDE 5 SECONDS] GROUP BY station",
    ),
    "latch": (
        "SELECT station, window_end, sum(volume) AS n FROM s [LATCH 5 SECONDS] GROUP BY station",
    ),
    "rows": (
        "SELECT station, window_end, on_end, sum(volume) AS v FROM s [ROWS 3 SLIDE 2] "
        "GROUP BY station",
        "SELECT station, count(*) AS n, sum(volume) AS v FROM s [ROWS 3] WHERE lane < 2 "
        "GROUP BY station",
        "SELECT station, count(*) AS n, last(speed) AS v "
        "FROM s [RANGE 3 ROWS SLIDE 2 ROWS WATTR row-num] GROUP BY station",
        "SELECT station, count(*) AS n "
        "FROM s [RANGE 3 ROWS SLIDE 2 ROWS WATTR rank(ts) PATTR station WITHIN 10 SECONDS] "
        "GROUP BY station",
    ),
    "by tuple": (
        "SELECT station, window_end, count(*) AS n FROM s [RANGE 5 SECONDS SLIDE 1 TUPLE] "
        "GROUP BY station",
        "SELECT station, window_end, count(*) AS n "
        "FROM s [RANGE 6 SECONDS RATTR ts SLIDE 2 ROWS SATTR rank(ts)] GROUP BY station",
    ),
    "slide on": (
        "SELECT station, window_end, count(*) AS n "
        "FROM s [RANGE 6 SECONDS RATTR ts SLIDE 2 SATTR volume] GROUP BY station",
    ),
    "session": (
        "SELECT station, window_start, window_end, count(*) AS n FROM s [SESSION GAP 4 SECONDS] "
        "WHERE speed > 5 GROUP BY station",
    ),
    "threshold": (
        f"{_FRAME} [FRAME THRESHOLD speed < 25]",
        f"{_FRAME} [FRAME THRESHOLD speed < 25 LASTING 4 SECONDS] WHERE lane < 2",
    ),
    "boundary": (f"{_FRAME} [FRAME BOUNDARY lane]", f"{_FRAME} [FRAME BOUNDARY speed EVERY 10]"),
    "delta": (
        f"{_FRAME} [FRAME DELTA speed SIZE 10]",
        f"{_FRAME} [FRAME DELTA speed SIZE 10 AGAINST RANGE MAXIMAL]",
    ),
    "aggregate": (
        f"{_FRAME} [FRAME AGGREGATE count(*) >= 3]",
        f"{_FRAME} [FRAME AGGREGATE sum(speed) <= 60 MAXIMAL]",
    ),
    "trend": (f"{_FRAME} [FRAME TREND speed INCREASING]",),
    "between": (f"{_FRAME} [FRAME BETWEEN (lane = 1) AND (lane = 0)]",),
    "density": (f"{_FRAME} [FRAME DENSITY count(*) >= 2 PER 4 SECONDS]",),
    "region": (
        "SELECT lane, frame_start, frame_end, n "
        "FROM s [FRAME REGION speed < 30 ALONG volume PATTR lane]",
    ),
    "pattern": (
        f"{_FRAME} [FRAME PATTERN (up+ down) DEFINE up AS speed > prev.speed, "
        "down AS speed < prev.speed]",
    ),
    "fragments": (f"{_FRAME} [FRAME THRESHOLD speed < 25 FRAGMENTS 4 SECONDS]",),
    "filled": (
        "SELECT station, frame_start, count(*) AS n FROM s [FRAME THRESHOLD speed < 25] "
        "FILL s AS filling",
        "SELECT station, frame_start, count(f.speed) AS n FROM s [FRAME THRESHOLD speed < 25] "
        "FILL s AS f SHIFT -5 SECONDS EMPTY DROP",
        "SELECT station, window_end, count(f.speed) AS n FROM s [TUMBLING 5 SECONDS] "
        "FILL s AS f BEFORE 5 SECONDS",
    ),
    "resample": ("SELECT ts, station, speed FROM resample(s, every => INTERVAL '2' SECONDS)",),
    "as-of": ("SELECT * FROM asof(s, s)",),
}

#: What the engine refuses, and a part of the sentence that it says.
REFUSED: dict[str, str] = {
    "SELECT DISTINCT station FROM s": "DISTINCT remembers every row",
    "SELECT count(*) AS n FROM s": "an aggregate outside of windows is never complete",
    "SELECT DISTINCT station, n FROM (SELECT station, window_end, count(*) AS n "
    "FROM s [TUMBLING 5 SECONDS] GROUP BY station)": "DISTINCT remembers every row",
    "SELECT DISTINCT station, n FROM (SELECT station, window_end, count(*) AS n "
    "FROM s [TUMBLING 5 SECONDS] GROUP BY station) WITH UNBOUNDED STATE": (
        "DISTINCT remembers every row, and the engine lets Spark see the results of one"
    ),
    "SELECT station, max(n) AS m FROM (SELECT station, window_end, count(*) AS n "
    "FROM s [TUMBLING 5 SECONDS] GROUP BY station) GROUP BY station": (
        "an aggregate outside of windows is never complete"
    ),
    f"SELECT window_end, count(*) AS n {_SLIDING} LIMIT 3": "LIMIT n PER WINDOW chooses among",
    "SELECT lane % 2 AS side, window_end, count(*) AS n FROM s [TUMBLING 5 SECONDS] "
    "GROUP BY lane % 2": "Spark computes a group before windows are made",
    "SELECT station, sum(speed) OVER (ORDER BY ts) AS x FROM s": "no window functions on streams",
    f"SELECT window_end, percentile_approx(speed, 0.5) AS p {_SLIDING}": (
        "an aggregate of Spark's, which Muntin does not compute"
    ),
    f"SELECT window_end, collect_list(lane) AS c {_SLIDING}": "which Muntin does not carry",
    f"SELECT window_end, top_k(lane, 2) AS c {_SLIDING}": "which Muntin does not carry",
}
#: What it refuses under a punctuation for each key without one of the whole stream.
REFUSED_BY_KEY: dict[str, str] = {
    "SELECT lane, window_end, count(*) AS n FROM s [SESSION GAP 4 SECONDS] GROUP BY lane": (
        "waits for punctuation of the whole stream"
    ),
    "SELECT lane, station, window_end, count(*) AS n FROM s [TUMBLING 5 SECONDS] "
    "GROUP BY lane, station": "waits for punctuation of the whole stream",
    f"SELECT station, window_end, count(*) AS n {_SLIDING} GROUP BY station "
    "ORDER BY n LIMIT 1 PER WINDOW": "PER WINDOW compares the keys of a window",
}
