"""The counts of a micro-batch: each shard reports its own, and the query's progress has them all.

A shard's counts are a line of JSON in one column. Spark collects the lines into the progress as one
text (``observe``), and whoever reads the progress adds them up. A sum in Spark for each count would
be planned anew in every micro-batch and compiled in every task, which took longer than the windows
of a small micro-batch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from muntin.operators.protocol import REASONS

#: Counts that every shard reports in every micro-batch.
COUNTS = (
    "rows_in",
    "rows_used",
    "rows_refused",
    *REASONS,
    "rows_between",
    "punctuations",
    "control_refused",
    "evicted",
    "results",
    "state_bytes_written",
)
#: Numbers that each shard reports after a micro-batch: how much is open and, for the first input,
#: the largest tick and the tick up to which it is complete.
GAUGES = ("open", "largest", "reached")
COLUMN = "counts"


def line(counts: Mapping[str, int | None]) -> str:
    """Return the counts of a shard as text, without counts of nothing and unknown numbers.

    >>> line({"late": 0, "results": 3, "open": 0, "largest": None})
    '{"results": 3, "open": 0}'
    """
    known = {name: count for name, count in counts.items() if count is not None}
    return json.dumps({name: count for name, count in known.items() if count or name in GAUGES})


def counted(tagged: DataFrame, name: str) -> DataFrame:
    """Return the same DataFrame; its counts are in the progress of the query under ``name``."""
    return tagged.observe(name, F.concat_ws("\n", F.collect_list(COLUMN)).alias(COLUMN))


def counts_of(lines: str) -> dict[str, int | None]:
    r"""Return the counts of all shards of a micro-batch.

    >>> shards = "\n".join(
    ...     [line({"late": 2, "largest": 9, "reached": 5}), line({"late": 1, "reached": 4})]
    ... )
    >>> counts = counts_of(shards)
    >>> [counts[name] for name in ("late", "results", "open", "largest", "reached")]
    [3, 0, 0, 9, 4]
    """
    shards = [json.loads(text) for text in lines.splitlines()]
    counts: dict[str, int | None] = {
        name: sum(shard.get(name, 0) for shard in shards) for name in (*COUNTS, "open")
    }
    for name, combine in (("largest", max), ("reached", min)):
        known = [shard[name] for shard in shards if name in shard]
        counts[name] = combine(known) if known else None
    return counts


def observed(row: Row) -> dict[str, int | None]:
    """Return the counts of a micro-batch from the query's progress.

    Spark Connect returns the values and their schema instead of a row.
    """
    fields = row.asDict()
    lines = fields["values"][0] if set(fields) == {"values", "schema"} else fields[COLUMN]
    return counts_of(lines or "")
