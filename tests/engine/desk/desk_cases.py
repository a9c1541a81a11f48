"""Random commands over a random stream: what a desk of people might ask of it, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import hypothesis.strategies as st

import muntin as mt
from tests.engine.desk.kinds import KINDS

ZERO = datetime(2026, 1, 1, tzinfo=UTC)
#: How far a micro-batch is after the one before.
STEP = 6
#: The disorders of streams; ``True`` if such a stream can keep rows.
DISORDERS: dict[str, tuple[Any, bool]] = {
    "slack": (lambda: mt.slack("4 seconds"), True),
    "ordered": (lambda: mt.ordered(), True),
    "rows": (lambda: mt.slack(rows=3), True),
    "marked": (lambda: mt.punctuated("lane = 2"), True),
    "consistent": (lambda: mt.slack("4 seconds", late="consistent"), True),
    "per key, waiting": (lambda: mt.per_key("4 seconds"), False),
    "per key": (lambda: mt.per_key("4 seconds", idle=mt.follow("10 seconds")), False),
}
COMMANDS = (
    *("register", "register", "register", "history", "value", "until", "preview"),
    *("change", "pause", "resume", "drop", "stage", "apply", "discard"),
)
#: A command, the kind and the number of a query's text, which query it is for, and a value.
Command = tuple[str, str, int, int, int]
Row = tuple[int, str, int | None, float | None, int | None, bool]


@dataclass(frozen=True)
class Moment:
    """A micro-batch: the commands before it, the rows of each task, and what befalls it."""

    commands: Sequence[Command]
    tasks: Sequence[Sequence[Row]]
    event: str = "nothing"


@dataclass(frozen=True)
class DeskCase:
    """A stream and its commands; ``end`` is the micro-batch at whose end the stream ends."""

    disorder: str
    moments: Sequence[Moment]
    shards: int
    keep: bool
    end: int


_rows = st.tuples(
    st.integers(-7, 6),
    st.sampled_from("abc"),
    st.sampled_from([0, 1, 2, None]),
    st.sampled_from([None, 0.0, -0.0, 5.5, 12.0, 24.9, 25.0, 31.0, 60.0, float("nan")]),
    # Two of the largest are too much for a sum, which stops that query.
    st.sampled_from([None, *range(-5, 6), *range(-5, 6), 2**62]),
    st.sampled_from([False] * 9 + [True]),
)
_commands = st.tuples(
    st.sampled_from(COMMANDS),
    st.sampled_from(sorted(KINDS)),
    st.integers(0, 3),
    st.integers(0, 20),
    st.integers(-3, 30),
)
_moments = st.builds(
    Moment,
    st.lists(_commands, max_size=3),
    st.lists(st.lists(_rows, max_size=5), min_size=1, max_size=2),
    st.sampled_from(["nothing"] * 4 + ["repeated", "restarted"]),
)


@st.composite
def desk_cases(draw: st.DrawFn) -> DeskCase:
    """Draw a stream with its commands."""
    disorder = draw(st.sampled_from(sorted(DISORDERS)))
    moments = draw(st.lists(_moments, min_size=2, max_size=6))
    end = draw(st.sampled_from([len(moments) - 1] * 3 + [len(moments) - 2, len(moments)]))
    keep = DISORDERS[disorder][1] and draw(st.booleans())
    return DeskCase(disorder, moments, draw(st.sampled_from([1, 3])), keep, end)


def rows_of(rows: Sequence[Row], place: int) -> list[dict[str, Any]]:
    """Return the rows of a task around the time of a micro-batch; some have no time."""
    return [
        {
            "ts": None if lost else ZERO + timedelta(seconds=place * STEP + offset),
            "station": station,
            "lane": lane,
            "speed": speed,
            "volume": volume,
        }
        for offset, station, lane, speed, volume, lost in rows
    ]
