"""Answers that shards report because somebody asked: the newest of all shards are the answer."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from muntin.engine.registry_records import QueryRecord
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.asking.newest import CERTAIN_IN


def newest_answers(
    answers: Mapping[int, pa.Table], live: Mapping[int, QueryRecord]
) -> dict[int, pa.Table]:
    """Return the answers of a micro-batch; of those that were asked for, only the newest."""
    return {
        member: from_json(live[member].program).newest.of(table)
        if member in live and CERTAIN_IN in table.column_names
        else table
        for member, table in answers.items()
    }
