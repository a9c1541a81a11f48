"""What parts of a network cost in a task: processor time, and what travels and is kept.

The figures are reported beside the answers, and nothing is decided by them: a micro-batch that is
repeated answers the same, and reports other times.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.operators.protocol import ChunkKey

#: What is reported of a part. ``shard`` is the shard that keeps the state; -1 on the map side.
PART_COSTS = pa.schema(
    [
        ("part", pa.string()),
        ("shard", pa.int64()),
        ("cpu_ns", pa.int64()),
        ("cells", pa.int64()),
        ("message_bytes", pa.int64()),
        ("state_bytes", pa.int64()),
    ]
)
MAP_SIDE = -1
#: The part that a shard's own state belongs to: the progress of the stream, and its version.
PROGRESS = "progress"


@dataclass
class PartMeter:
    """Adds up what parts cost in one task."""

    cpu_ns: dict[str, int] = field(default_factory=dict)
    cells: dict[str, int] = field(default_factory=dict)
    message_bytes: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def work(self, part: str) -> Iterator[None]:
        # The time of all threads of the process: Arrow computes in several.
        began = time.process_time_ns()
        try:
            yield
        finally:
            spent = time.process_time_ns() - began
            self.cpu_ns[part] = self.cpu_ns.get(part, 0) + spent

    def sent(self, part: str, cells: int, size: int) -> None:
        """Count a table of a part that travels."""
        self.cells[part] = self.cells.get(part, 0) + cells
        self.message_bytes[part] = self.message_bytes.get(part, 0) + size

    def table(
        self, shard: int = MAP_SIDE, state_bytes: Mapping[str, int] | None = None
    ) -> pa.Table:
        """Return what was measured as a table with a row for each part."""
        kept = state_bytes or {}
        parts = sorted({*self.cpu_ns, *self.cells, *kept})
        columns = (
            *(parts, [shard] * len(parts)),
            *([measured.get(part, 0) for part in parts] for measured in self._measured),
            [kept.get(part, 0) for part in parts],
        )
        arrays = [pa.array(c, t) for c, t in zip(columns, PART_COSTS.types, strict=True)]
        return pa.Table.from_arrays(arrays, schema=PART_COSTS)

    @property
    def _measured(self) -> Sequence[Mapping[str, int]]:
        return self.cpu_ns, self.cells, self.message_bytes


def bytes_by_part(sizes: Mapping[ChunkKey, int]) -> dict[str, int]:
    """Return the bytes of a shard's chunks by part; a chunk of a group begins with its name.

    >>> bytes_by_part({("w1/cells", 0): 30, ("w1/cells", 1): 12, ("births", 0): 5})
    {'w1': 42, 'progress': 5}
    """
    total: dict[str, int] = {}
    for (table, _), size in sizes.items():
        group, within, _ = table.partition("/")
        part = group if within else PROGRESS
        total[part] = total.get(part, 0) + size
    return total
