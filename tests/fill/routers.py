"""The router example of the frames paper: frames of high loss, and the routing messages in them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame

import muntin as mt

Row = dict[str, Any]
START = datetime(2026, 1, 5, 8)
LOSS = "ts TIMESTAMP, router STRING, loss_rate DOUBLE"
BGP = "at TIMESTAMP, router_id STRING, kind STRING"


def minute(n: float) -> datetime:
    return START + timedelta(minutes=n)


#: Router A loses much from 08:10 to 08:20, router B from 08:30 to 08:33, which is too short.
LOSSES = [
    {"ts": minute(n), "router": router, "loss_rate": 0.5 if bad[0] <= n <= bad[1] else 0.1}
    for n in range(40)
    for router, bad in (("A", (10, 20)), ("B", (30, 33)))
]
#: A message every 25 seconds, to B and A in turn.
MESSAGES = [
    {
        "at": minute(n * 5 / 12),
        "router_id": "BA"[n % 2],
        "kind": "update" if n % 3 else "keepalive",
    }
    for n in range(96)
]


def high_loss(df: DataFrame, **options: Any) -> mt.Frames:
    stream = mt.stream(df, on="ts", by="router", **options)
    return stream.frames(mt.threshold("loss_rate > 0.3"), min_duration="5 minutes")


def plain(df: DataFrame) -> list[Row]:
    return [row.asDict() for row in df.collect()]


def inside(low: float, high: float, router: str | None = "A") -> list[Row]:
    return [
        row
        for row in MESSAGES
        if router in (None, row["router_id"]) and minute(low) <= row["at"] <= minute(high)
    ]
