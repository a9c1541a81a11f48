"""Kept rows: what a stream carried in its last micro-batches, for queries that ask about the past.

The rows of a micro-batch are one Arrow file, written when the micro-batch is committed, so history
and the live stream meet at a number; the files of many micro-batches are merged later. With the
rows is the progress of the stream before and after, so that a run over history sees the same rows
late as the stream did.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from muntin.engine.retention.merged_rows import (
    ABOUT,
    TOGETHER,
    RowsPlace,
    described,
    groups_to_merge,
    merge,
    merged_places,
)
from muntin.operators.protocol import Punctuation
from muntin.spark.exchange.whole_files import UNFINISHED, written_whole

_SUFFIX = ".arrow"


@dataclass(frozen=True)
class KeptProgress:
    """The progress of a stream in a micro-batch, in ticks.

    ``before`` and ``after`` are its punctuation, ``largest_before`` and ``largest`` its largest
    tick. ``over`` is true if the stream had ended before, ``ended`` if it has ended by the end.
    """

    before: int | None
    after: int | None
    largest_before: int | None
    largest: int | None
    over: bool = False
    ended: bool = False
    rows: int = 0

    @property
    def punctuation(self) -> Punctuation:
        return Punctuation(self.before, self.after, self.largest, self.ended, self.over)


class HistoryRows(Protocol):
    """The rows of micro-batches that were kept, in order and without a gap."""

    def batches(self, after: int = -1) -> list[int]:
        """Return the micro-batches after one."""

    def progress(self, micro_batch: int) -> KeptProgress:
        """Return the progress of the stream in a micro-batch."""

    def read(self, micro_batch: int) -> pa.Table:
        """Return the rows of a micro-batch."""


class KeptRowFiles:
    """The kept rows of a stream in one epoch; one thread writes and merges, any thread reads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._known: dict[int, KeptProgress] = {}
        self._places: dict[int, RowsPlace] = {}
        for path in self._folder.glob(f".*{UNFINISHED}"):
            path.unlink(missing_ok=True)
        for path in self._folder.glob(f"*-*{_SUFFIX}"):
            about = described(path)
            self._places |= merged_places(path, about)
            self._known |= {part["micro_batch"]: _progress(part) for part in about}
        for path in self._folder.glob(f"*{_SUFFIX}"):
            if not path.stem.isdigit():
                continue
            number = int(path.stem)
            if number in self._known:  # merged, and the process died before this file went
                path.unlink()
                continue
            self._known[number], self._places[number] = _progress(described(path)), RowsPlace(path)

    def write(
        self, micro_batch: int, tables: Sequence[pa.Table], schema: pa.Schema, now: KeptProgress
    ) -> None:
        """Keep the rows of a micro-batch; if they are kept already, they stay."""
        if micro_batch in self._known:
            return
        if self._known and micro_batch - 1 not in self._known:
            # Some were not kept in between: history begins anew, because it has no gaps.
            for number in [*self._known]:
                self._remove(number)
        about = {ABOUT: json.dumps(asdict(now)).encode()}
        described_schema = schema.with_metadata(about)
        path = self._folder / f"{micro_batch:012d}{_SUFFIX}"
        with (
            written_whole(path) as unfinished,
            pa.ipc.new_file(str(unfinished), described_schema) as writer,
        ):
            for table in tables:
                writer.write_table(table.cast(schema).replace_schema_metadata(about))
        self._places[micro_batch] = RowsPlace(path)
        self._known[micro_batch] = now

    def merge(self) -> None:
        """Bring the files of many micro-batches together; readers find their rows in either."""
        alone = [(number, self._places[number]) for number in sorted(self._known)]
        alone = [(number, place) for number, place in alone if not place.merged]
        if len(alone) < TOGETHER:
            return
        for group in groups_to_merge(alone):
            parts = [(n, self._places[n], asdict(self._known[n])) for n in group]
            self._places |= merge(self._folder, parts)
            for _, place, _ in parts:
                place.path.unlink()

    def batches(self, after: int = -1) -> list[int]:
        """Return the micro-batches after one that are kept, in order and without a gap."""
        return [number for number in sorted(self._known) if number > after]

    def progress(self, micro_batch: int) -> KeptProgress:
        """Return the progress of the stream in a micro-batch."""
        return self._known[micro_batch]

    def read(self, micro_batch: int) -> pa.Table:
        """Return the rows of a micro-batch."""
        try:
            return self._places[micro_batch].read()
        except FileNotFoundError:  # merged since
            return self._places[micro_batch].read()

    def forget(self, below: int) -> None:
        """Forget the oldest micro-batches, as far as all of their rows lie below a tick.

        A merged file goes when all of its micro-batches are forgotten.
        """
        for number in sorted(self._known):
            largest = self._known[number].largest
            if largest is None or largest >= below:
                return
            self._remove(number)

    def _remove(self, micro_batch: int) -> None:
        del self._known[micro_batch]
        path = self._places.pop(micro_batch).path
        if all(place.path != path for place in self._places.values()):
            path.unlink(missing_ok=True)


def _progress(noted: Mapping[str, Any]) -> KeptProgress:
    """Return a progress as a file has it; merged files note more beside it."""
    return KeptProgress(**{part.name: noted[part.name] for part in fields(KeptProgress)})
