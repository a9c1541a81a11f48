"""Taps at a commit: none logs more rows than it copies at most, and a full one goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from muntin.engine.registry_records import TAP, QueryRecord
from muntin.engine.result_log import ResultLog
from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.program import Tap


def tap_in(record: QueryRecord) -> Tap:
    """Return what a tap of the registry copies."""
    tap: Tap | None = from_json(record.program).tap
    assert tap is not None  # only asked of taps
    return tap


def without_surplus(
    log: ResultLog,
    answers: Mapping[int, pa.Table],
    live: Mapping[int, QueryRecord],
    member: Callable[[int], QueryRecord],
) -> tuple[dict[int, pa.Table], list[QueryRecord]]:
    """Return answers in which no tap has too many rows, and the taps that are full with them.

    A tap that was dropped copies rows until a version without it is in force; ``member`` returns
    its record.
    """
    bounded, full = dict(answers), []
    for number, table in answers.items():
        record = live.get(number) or member(number)
        if record.emit != TAP:
            continue
        most = tap_in(record).most
        copied = log.read([number]).num_rows
        bounded[number] = table.slice(0, max(0, most - copied))
        if number in live and copied + table.num_rows >= most:
            full.append(record)
    return bounded, full
