"""The result log: the answers of all queries of a stream, one file a micro-batch.

A file appears whole, so the answers of a micro-batch are visible together [PSoup 3.3], and is
written once: a repeated micro-batch leaves what is there. It is an Arrow table with a row for each
member, sorted by number: the member, how many rows its answer has, and the answer itself as the
bytes of an Arrow stream. A member's answer is read by mapping the file into memory; the answers of
others are not touched. Which files have answers of a member is in an index (SQLite), which can be
lost: it is made again from the files.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.engine.result_index import OldAnswers, ResultIndex
from muntin.engine.retention.forgotten import ForgottenAnswers
from muntin.errors import ArgumentError
from muntin.spark.exchange.whole_files import UNFINISHED, written_whole

#: The last column of what is read: the micro-batch that a row is from.
MICRO_BATCH = "micro_batch"
_SUFFIX = ".arrow"
#: Which answer a row belongs to, while answers are sorted together; no column of Spark's is so.
_PLACE = "\0place"
_FILE = pa.schema(
    [("member", pa.int64()), ("rows", pa.int64()), ("answer", pa.large_binary())],
)
#: A file is written again without what was forgotten when less than this share of it is left.
_WORTH_KEEPING = 0.5


@dataclass(frozen=True)
class Answer:
    """The answer of a member in a micro-batch."""

    member: int
    micro_batch: int
    table: pa.Table


class ResultLog:
    """The answers of a stream in one epoch; one thread writes, any thread reads."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = threading.Lock()
        for path in self._folder.glob(f".*{UNFINISHED}"):
            path.unlink(missing_ok=True)
        self._index = ResultIndex(self._folder / "index.db")
        self._forgotten = ForgottenAnswers(self._folder / "forgotten.json")
        self._find_files()

    def close(self) -> None:
        """Close the index; the files stay."""
        self._index.close()

    def write(
        self,
        micro_batch: int,
        answers: Mapping[int, pa.Table],
        order: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        """Write the answers of a micro-batch, by member; without rows there is no file.

        Args:
            micro_batch: The number of the micro-batch. If its file is there, it stays.
            answers: The answer of each member.
            order: The columns to sort a member's answer by: its keys and bounds.
        """
        with self._lock:
            path = self._path(micro_batch)
            if path.exists():
                self._index_file(micro_batch)
                return
            members = sorted(member for member, table in answers.items() if table.num_rows)
            if not members:
                return
            tables = _sorted([answers[member] for member in members], members, order or {})
            counts = [table.num_rows for table in tables]
            _write(path, members, counts, _packed(tables))
            self._index.add(micro_batch, time.time(), [*zip(members, counts, strict=True)])

    def read(
        self,
        members: Iterable[int],
        after: int = -1,
        upto: int | None = None,
        schema: pa.Schema | None = None,
    ) -> pa.Table:
        """Return the answers of members in micro-batches after one and up to another, in order.

        The last column is the micro-batch. ``schema`` is that of a result without any answer; such
        a result has only this column if it is not given.
        """
        members = [*members]
        tables = [
            _with_micro_batch(answer.table, answer.micro_batch)
            for answer in self.answers(members, after, upto)
        ]
        if not tables:
            fields = [*(schema or ()), pa.field(MICRO_BATCH, pa.int64())]
            return pa.schema(fields).empty_table()
        try:
            return pa.concat_tables(tables, promote_options="default")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ArgumentError(
                "members", members, f"their answers are not of the same form: {error}"
            ) from error

    def latest(
        self,
        members: Iterable[int],
        upto: int | None = None,
        schema: pa.Schema | None = None,
    ) -> pa.Table:
        """Return the answers of the last micro-batch that has any of these members."""
        members = [*members]
        last = self._index.last(members, upto)
        if last is None:
            return self.read((), schema=schema)
        return self.read(members, last - 1, last, schema)

    def counts(
        self, members: Iterable[int], after: int = -1, upto: int | None = None
    ) -> list[tuple[int, int, int]]:
        """Return micro-batch, member and number of rows of answers, by micro-batch and member."""
        return self._index.counts(members, after, upto)

    def before_newest(self, members: Iterable[int], rows: int) -> int:
        """Return the micro-batch after which members have at least so many rows; -1 if never."""
        return self._index.before_newest(members, rows)

    def answers(
        self, members: Iterable[int], after: int = -1, upto: int | None = None
    ) -> Iterator[Answer]:
        """Yield the answers of members one by one, by micro-batch, then member."""
        for micro_batch, wanted in self._index.batches_of(members, after, upto):
            try:
                yield from _read(self._path(micro_batch), micro_batch, wanted)
            except FileNotFoundError:  # forgotten since the index was read
                continue

    def batches(self) -> list[int]:
        """Return the micro-batches that have answers."""
        return self._index.batches()

    def last_batch(self) -> int:
        """Return the last micro-batch that has answers; -1 if there is none."""
        return self._index.last_file()

    def forget(
        self,
        *,
        before: int | None = None,
        written_before: float | None = None,
        members: Iterable[int] | None = None,
        besides: Sequence[int] = (),
    ) -> None:
        """Forget the answers of micro-batches before a number or a time, of some members or all.

        A file goes when all its answers are forgotten, and shrinks when half of it is. Up to where
        the answers of a member are forgotten is noted first.

        Args:
            before: Only micro-batches before this one.
            written_before: Only micro-batches that were written before this time.
            members: Only the answers of these members.
            besides: Not the answers of these members.
        """
        if before is None and written_before is None and members is None:
            raise ArgumentError("before", None, "say what to forget: before=, members= or both")
        which = OldAnswers(before, written_before, None if members is None else [*members], besides)
        with self._lock:
            last = self._index.last_of(which)
            if not last:
                return
            self._forgotten.note(last)
            for micro_batch in self._index.forget(which):
                self._shrink(micro_batch)

    def forgotten(self, member: int) -> int:
        """Return the last micro-batch whose answers of a member are forgotten; -1 if none are."""
        return self._forgotten.of(member)

    def _shrink(self, micro_batch: int) -> None:
        path, kept = self._path(micro_batch), self._index.members_of(micro_batch)
        if not kept:
            path.unlink(missing_ok=True)
            self._index.remove(micro_batch)
            return
        batch = _open(path)
        left = batch.filter(pc.is_in(batch["member"], pa.array(kept, pa.int64())))
        if _size(left) < _WORTH_KEEPING * _size(batch):
            _write(path, left["member"], left["rows"], left["answer"])

    def _find_files(self) -> None:
        """Compare the index with the files: the process may have died between the two."""
        there = {int(path.stem) for path in self._folder.glob(f"*{_SUFFIX}")}
        for micro_batch in {*self._index.batches()} - there:
            self._index.remove(micro_batch)
        for micro_batch in sorted(there):
            self._index_file(micro_batch)
        for micro_batch in self._index.batches_without_answers():
            self._shrink(micro_batch)

    def _index_file(self, micro_batch: int) -> None:
        """Put a file into the index if it is not there."""
        if self._index.has(micro_batch):
            return
        path = self._path(micro_batch)
        batch = _open(path)
        counts = [*zip(batch["member"].to_pylist(), batch["rows"].to_pylist(), strict=True)]
        self._index.add(micro_batch, path.stat().st_mtime, counts)

    def _path(self, micro_batch: int) -> Path:
        return self._folder / f"{micro_batch:012d}{_SUFFIX}"


def _sorted(
    tables: Sequence[pa.Table], members: Sequence[int], order: Mapping[int, Sequence[str]]
) -> list[pa.Table]:
    """Return answers sorted by columns: shards may come in any order.

    All answers of one form are sorted together, which takes half the time of one by one.
    """
    alike: defaultdict[tuple[pa.Schema, tuple[str, ...]], list[int]] = defaultdict(list)
    for place, (member, table) in enumerate(zip(members, tables, strict=True)):
        alike[table.schema, tuple(order.get(member, ()))].append(place)
    result = [*tables]
    for (_, names), places in alike.items():
        if names:
            parts = _each_sorted([tables[place] for place in places], names)
            for place, table in zip(places, parts, strict=True):
                result[place] = table
    return result


def _each_sorted(tables: Sequence[pa.Table], names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield tables of one schema, each sorted by columns."""
    counts = [table.num_rows for table in tables]
    together = pa.concat_tables(tables)
    keys = together.select([*dict.fromkeys(names)])
    keys = keys.append_column(_PLACE, pa.array(np.repeat(np.arange(len(tables)), counts)))
    sorting = [(name, "ascending") for name in (_PLACE, *keys.column_names[:-1])]
    ordered = together.take(pc.sort_indices(keys, sorting)).combine_chunks()
    for start, number in zip(np.cumsum([0, *counts[:-1]]), counts, strict=True):
        yield ordered.slice(start, number)


def _packed(tables: Sequence[pa.Table]) -> pa.Array:
    """Return tables as the bytes of an Arrow stream each, all in one buffer."""
    sink, offsets = pa.BufferOutputStream(), [0]
    options = pa.ipc.IpcWriteOptions()  # else pyarrow asks the environment, a thousand times
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table.combine_chunks())
        offsets.append(sink.tell())
    places = pa.array(offsets, pa.int64()).buffers()[1]
    return pa.Array.from_buffers(
        pa.large_binary(), len(tables), [None, places, sink.getvalue()], null_count=0
    )


def _write(path: Path, members: Sequence[int], counts: Sequence[int], answers: pa.Array) -> None:
    batch = pa.record_batch([pa.array(members), pa.array(counts), answers], schema=_FILE)
    with written_whole(path) as unfinished, pa.ipc.new_file(str(unfinished), _FILE) as writer:
        writer.write_batch(batch)


def _open(path: Path) -> pa.RecordBatch:
    """Return the rows of a file, mapped into memory for as long as they are used."""
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).get_batch(0)


def _size(batch: pa.RecordBatch) -> int:
    size: int = pc.sum(pc.binary_length(batch["answer"])).as_py()
    return size


def _read(path: Path, micro_batch: int, members: Sequence[int]) -> list[Answer]:
    batch = _open(path)
    places = pc.index_in(pa.array(members, pa.int64()), batch["member"]).to_pylist()
    return [
        Answer(member, micro_batch, _table(batch["answer"][place].as_buffer()))
        for member, place in zip(members, places, strict=True)
        if place is not None  # forgotten since the index was read
    ]


def _table(answer: pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(answer).read_all()


def _with_micro_batch(table: pa.Table, micro_batch: int) -> pa.Table:
    column = pa.repeat(pa.scalar(micro_batch, pa.int64()), table.num_rows)
    return table.append_column(MICRO_BATCH, column)
