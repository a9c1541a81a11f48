"""The rows of a freeway and what people ask of it, for any length of time: the same in every run.

Rows arrive disordered, some later than the stream waits for. Queries of every kind come, change
and go. A command may be given again after a crash, so each of them names the query that it is for.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.engine.desk.desk_cases import ZERO
from tests.engine.desk.kinds import KINDS

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("station", pa.string()),
        ("lane", pa.int32()),
        ("speed", pa.float64()),
        ("volume", pa.int64()),
    ]
)
#: How the queries begin, as often as it stands here.
_BEGINNINGS = ("now",) * 6 + ("history", "history", "value", "until", "preview")
#: What happens to queries that are there.
_EVENTS = ("change", "change", "pause", "resume", "resume", "stage", "apply", "discard")
#: Seconds that a row is late by: most are in time, and the stream waits for four.
_LATE = (0, 0, 0, 1, 2, 3, 3.5, 12)


@dataclass(frozen=True)
class Asked:
    """A command: what it does, to which query, with which text, and a time of the stream."""

    kind: str
    name: str
    text: str = ""
    at: datetime = ZERO


@dataclass(frozen=True)
class Script:
    """So many steps of some seconds, each a file of rows with the commands before it.

    ``live`` is how many queries are there at a time, and ``kinds`` of which kinds they are.
    """

    seed: int
    steps: int
    seconds: int
    queries: int
    live: int
    kinds: Sequence[str] = tuple(KINDS)

    @cached_property
    def files(self) -> list[list[dict[str, Any]]]:
        """The rows of each step, in the order of their arrival."""
        chance = random.Random(self.seed)
        arrived: list[list[dict[str, Any]]] = [[] for _ in range(self.steps)]
        speed = dict.fromkeys("abc", 40.0)
        for second in range(self.steps * self.seconds):
            for number, station in enumerate("abc"):
                if chance.random() < 0.3:
                    continue
                jam = 15 * (second // 40 % 3 == number)
                speed[station] = min(70.0, max(0.0, speed[station] + chance.uniform(-8, 8)))
                moment = second + number / 1000
                row = {
                    "ts": ZERO + timedelta(seconds=moment),
                    "station": station,
                    "lane": chance.choice([0, 1, 2, None]),
                    "speed": None if chance.random() < 0.05 else max(0.0, speed[station] - jam),
                    "volume": chance.choice([None, *range(-5, 6)]),
                }
                place = int((moment + chance.choice(_LATE)) // self.seconds)
                arrived[min(place, self.steps - 1)].append(row)
        for rows in arrived:
            chance.shuffle(rows)
        return arrived

    @cached_property
    def commands(self) -> list[list[Asked]]:
        """The commands of each step; some are refused, such as resuming what is not paused."""
        chance = random.Random(self.seed + 1)
        texts = [text for kind in self.kinds for text in KINDS[kind]]
        steps, live, made = [], list[str](), 0
        last = max(1, self.steps * 9 // 10)
        for step in range(self.steps):
            now = ZERO + timedelta(seconds=step * self.seconds)
            asked = []
            while made < min(self.queries, (step + 1) * self.queries / last):
                at = now + timedelta(seconds=chance.randint(-30, 30))
                name, kind = f"query {made}", chance.choice(_BEGINNINGS)
                # Every text comes before one comes again.
                asked.append(Asked(kind, name, texts[(self.seed + made * 7) % len(texts)], at))
                live += [name] if kind != "preview" else []
                made += 1
            if live and chance.random() < 0.6:
                kind, name = chance.choice(_EVENTS), chance.choice(live)
                asked.append(Asked(kind, name, chance.choice(texts)))
            while len(live) > self.live:
                asked.append(Asked("drop", live.pop(chance.randrange(self.live // 2))))
            steps.append(asked)
        return steps

    def write(self, folder: Path, step: int) -> None:
        """Write the file of a step, whole; what is there stays."""
        folder.mkdir(exist_ok=True)
        path = folder / f"{step:05d}.parquet"
        if path.exists():
            return
        hidden = folder / f".{path.name}"
        pq.write_table(pa.Table.from_pylist(self.files[step], SCHEMA), hidden)
        # Spark reads files in the order in which they were changed.
        os.utime(hidden, (1_700_000_000 + step,) * 2)
        hidden.replace(path)
