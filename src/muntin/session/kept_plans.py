"""The plans of queries beside their checkpoints, so that another query is refused at once.

The state has the fingerprint of its plan as well, and compares it with the first rows that come. A
query that was changed while nothing comes would wait, and look as if it were right.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from muntin.errors import CheckpointError
from muntin.spark.api.plan import Plan
from muntin.spark.exchange.fingerprint import Fingerprint


def check_same(place: Path, checkpoint: Path, name: str, plans: Sequence[Plan]) -> None:
    """Raise if a checkpoint is of other plans; keep these in ``place`` if it is not.

    Args:
        place: The file of the query's plans.
        checkpoint: The checkpoint of the query; without it everything begins anew.
        name: The query.
        plans: The plans that are to run.
    """
    current = [plan.parts.fingerprint for plan in plans]
    if place.is_file() and checkpoint.is_dir():
        stored = json.loads(place.read_text())
        if len(stored) != len(current):
            raise CheckpointError(
                f"the checkpoint of {name} belongs to another query: it has {len(stored)} windows "
                f"or joins, and this one {len(current)}; use another --checkpoint or the old query"
            )
        for before, now in zip(stored, current, strict=True):
            _compare(name, before, now)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps([fingerprint.stored for fingerprint in current]))


def _compare(name: str, before: dict[str, str], now: Fingerprint) -> None:
    try:
        now.check(before)
    except CheckpointError as error:
        text = str(error).replace("a new checkpointLocation", "another --checkpoint")
        raise CheckpointError(f"query {name}: {text}") from None
