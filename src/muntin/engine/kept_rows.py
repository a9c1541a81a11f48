"""Kept rows: what a stream carried in its last micro-batches, for queries that ask about the past.

The rows of a micro-batch are one Arrow file, written when the micro-batch is committed, so history
and the live stream meet at a number. With them is the progress of the stream before and after, so
that a run over history sees the same rows late as the stream did.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from muntin.operators.protocol import Punctuation
from muntin.spark.exchange.whole_files import written_whole

_ABOUT = b"muntin"
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


class KeptRowFiles:
    """The kept rows of a stream in one epoch."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._known: dict[int, KeptProgress] = {}
        for path in self._folder.glob(f"*{_SUFFIX}"):
            if path.stem.isdigit():
                with pa.memory_map(str(path)) as source:
                    about = pa.ipc.open_file(source).schema.metadata[_ABOUT]
                self._known[int(path.stem)] = KeptProgress(**json.loads(about))

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
        about = {_ABOUT: json.dumps(asdict(now)).encode()}
        described = schema.with_metadata(about)
        with (
            written_whole(self._path(micro_batch)) as unfinished,
            pa.ipc.new_file(str(unfinished), described) as writer,
        ):
            for table in tables:
                writer.write_table(table.cast(schema).replace_schema_metadata(about))
        self._known[micro_batch] = now

    def batches(self, after: int = -1) -> list[int]:
        """Return the micro-batches after one that are kept, in order and without a gap."""
        return [number for number in sorted(self._known) if number > after]

    def progress(self, micro_batch: int) -> KeptProgress:
        """Return the progress of the stream in a micro-batch."""
        return self._known[micro_batch]

    def read(self, micro_batch: int) -> pa.Table:
        """Return the rows of a micro-batch."""
        with pa.memory_map(str(self._path(micro_batch))) as source:
            return pa.ipc.open_file(source).read_all().replace_schema_metadata(None)

    def forget(self, below: int) -> None:
        """Forget the oldest micro-batches, as far as all of their rows lie below a tick."""
        for number in sorted(self._known):
            largest = self._known[number].largest
            if largest is None or largest >= below:
                return
            self._remove(number)

    def _remove(self, micro_batch: int) -> None:
        del self._known[micro_batch]
        self._path(micro_batch).unlink(missing_ok=True)

    def _path(self, micro_batch: int) -> Path:
        return self._folder / f"{micro_batch:012d}{_SUFFIX}"
