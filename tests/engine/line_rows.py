"""A folder of JSON files with rows ``k, x, v``, which a stream of the tests follows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

CREATE = (
    "CREATE STREAM line FROM json('{rows}') (k STRING, x INT, v INT) ON x BY k DISORDER SLACK 1"
)
SUMS = "SELECT k, window_end, sum(v) AS s FROM line [TUMBLING 5] GROUP BY k"


def write_rows(folder: Path, name: str, values: Iterable[int]) -> None:
    """Add a file whole: keys a and b by turns, ``v`` equal to ``x``."""
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"k": "ab"[x % 2], "x": x, "v": x}) for x in values]
    unfinished = folder / f".{name}"
    unfinished.write_text("\n".join(lines) + "\n")
    unfinished.rename(folder / f"{name}.json")


def sums(rows: Iterable[dict[str, object]]) -> list[tuple[object, ...]]:
    return sorted((row["k"], row["window_end"], row["s"]) for row in rows)
