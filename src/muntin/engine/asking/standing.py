"""Answers that shards report because somebody asked: the newest of all shards are the answer."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from muntin.engine.registry_records import QueryRecord
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.asking.newest import CERTAIN_IN


def newest_answers(
    answers: Mapping[int, pa.Table], live: Mapping[int, QueryRecord], micro_batch: int
) -> dict[int, pa.Table]:
    """Return the answers of a micro-batch; of those that were asked for, only the newest."""
    return {
        member: from_json(live[member].program).newest.of(_all_certain(table, micro_batch))
        if member in live and CERTAIN_IN in table.column_names
        else table
        for member, table in answers.items()
    }


def _all_certain(answers: pa.Table, micro_batch: int) -> pa.Table:
    """Return answers of all shards; a shard in which none stood reports those of now alone."""
    place = answers.schema.get_field_index(CERTAIN_IN)
    return answers.set_column(place, CERTAIN_IN, pc.fill_null(answers[CERTAIN_IN], micro_batch))
