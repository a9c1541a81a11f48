"""Kept rows of many micro-batches in one file, so that a stream of small ones has few files.

A merged file has the rows of consecutive micro-batches one after the other, and says in its schema
which they are, how many rows each has, and the progress of the stream in each. It is written whole
before the files of the single micro-batches go; a process that dies in between finds both, and
removes what is merged already.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from muntin.spark.exchange.whole_files import written_whole

#: The key of a file's schema under which its micro-batches are described.
ABOUT = b"muntin"
#: So many micro-batches become one file, fewer if they have so many bytes together.
TOGETHER = 64
_MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class RowsPlace:
    """Where the rows of a micro-batch are: all rows of a file, or a part of a merged one."""

    path: Path
    first: int = 0
    rows: int | None = None

    @property
    def merged(self) -> bool:
        """Whether other micro-batches are in the file as well."""
        return self.rows is not None

    def read(self) -> pa.Table:
        """Return the rows; the file stays mapped into memory for as long as they are used."""
        with pa.memory_map(str(self.path)) as source:
            table = pa.ipc.open_file(source).read_all().replace_schema_metadata(None)
        return table if self.rows is None else table.slice(self.first, self.rows)


def described(path: Path) -> Any:
    """Return what a file says of its micro-batches."""
    with pa.memory_map(str(path)) as source:
        return json.loads(pa.ipc.open_file(source).schema.metadata[ABOUT])


def merged_places(path: Path, about: Sequence[dict[str, Any]]) -> dict[int, RowsPlace]:
    """Return where the micro-batches of a merged file are."""
    places, first = {}, 0
    for part in about:
        places[part["micro_batch"]] = RowsPlace(path, first, part["kept"])
        first += part["kept"]
    return places


def groups_to_merge(places: Sequence[tuple[int, RowsPlace]]) -> Iterator[list[int]]:
    """Yield micro-batches that become one file; those at the end wait until they are enough."""
    group: list[int] = []
    size = 0
    for number, place in places:
        own = place.path.stat().st_size
        if group and (len(group) == TOGETHER or size + own > _MOST_BYTES):
            if len(group) > 1:
                yield group
            group, size = [], 0
        group.append(number)
        size += own
    if len(group) == TOGETHER:
        yield group


def merge(
    folder: Path, parts: Sequence[tuple[int, RowsPlace, dict[str, Any]]]
) -> dict[int, RowsPlace]:
    """Write the rows of micro-batches as one file; return where they are then.

    Args:
        folder: The folder of the new file.
        parts: Each micro-batch, where its rows are now, and what is noted of it.
    """
    first, last = parts[0][0], parts[-1][0]
    path = folder / f"{first:012d}-{last:012d}.arrow"
    tables = [place.read() for _, place, _ in parts]
    about = [
        {**noted, "micro_batch": number, "kept": table.num_rows}
        for (number, _, noted), table in zip(parts, tables, strict=True)
    ]
    schema = tables[0].schema.with_metadata({ABOUT: json.dumps(about).encode()})
    with written_whole(path) as unfinished, pa.ipc.new_file(str(unfinished), schema) as writer:
        for table in tables:
            writer.write_table(table.replace_schema_metadata(schema.metadata))
    return merged_places(path, about)
