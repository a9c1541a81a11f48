"""State of a shard in Spark's state store: Arrow tables in parts of at most a megabyte.

A head (a small JSON text) lists the chunks. A chunk is read when a step needs it and written when a
step changes it, so a micro-batch does not pay for chunks that it does not touch. Every read is a
call of the JVM, which costs more than a small chunk, so a small state is read as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol

import pyarrow as pa

from muntin.errors import CheckpointError
from muntin.operators.progress.progress import Progress
from muntin.operators.protocol import ChunkKey
from muntin.spark.exchange.fingerprint import Fingerprint
from muntin.spark.exchange.messages import decode, encode

CHUNK_BYTES = 2**20
#: A state of at most this size is read in one call.
SMALL_BYTES = 2**18
#: The version of the layout of the state. Raise it if old code must not continue a new layout.
#: Format 4 has levels over the panes of long windows; older code would change panes without them.
FORMAT = 4
#: Formats that are read; a state is rewritten in the newest one at its first micro-batch.
READABLE = (3, FORMAT)


class HeadState(Protocol):
    """Spark's ValueState, as far as it is used here."""

    def get(self) -> tuple[Any, ...] | None: ...
    def update(self, newValue: tuple[Any, ...]) -> None: ...  # noqa: N803


class ChunkState(Protocol):
    """Spark's MapState, as far as it is used here."""

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None: ...  # noqa: N802
    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None: ...  # noqa: N802
    def removeKey(self, key: tuple[Any, ...]) -> None: ...  # noqa: N802
    def iterator(self) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]: ...


@dataclass
class Head:
    """The head of a shard: the fingerprint of its query, its progress, and its chunks.

    ``parts`` has the number of parts of each chunk. ``held`` has how much is open in each chunk; it
    is only reported, and nothing depends on it. ``sizes`` has the bytes of each chunk, if it was
    written since they are noted.
    """

    fingerprint: Mapping[str, str]
    progress: tuple[Progress, ...] = ()  # of each input
    parts: dict[ChunkKey, int] = field(default_factory=dict)
    held: dict[ChunkKey, int] = field(default_factory=dict)
    sizes: dict[ChunkKey, int] = field(default_factory=dict)

    @property
    def small(self) -> bool:
        """True if the chunks are known to be small together."""
        return self.sizes.keys() == self.parts.keys() and sum(self.sizes.values()) <= SMALL_BYTES

    def to_json(self) -> str:
        chunks = [
            [name, bucket, parts, self.held.get((name, bucket), 0)]
            for (name, bucket), parts in self.parts.items()
        ]
        return json.dumps(
            {
                "format": FORMAT,
                "fingerprint": dict(self.fingerprint),
                "progress": [asdict(progress) for progress in self.progress],
                "chunks": chunks,
                "bytes": [self.sizes.get(chunk) for chunk in self.parts],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Head:
        stored = json.loads(text)
        if stored.get("format") not in READABLE:
            raise CheckpointError(
                f"this checkpoint's state has format {stored.get('format', 'none')} and this "
                f"version of Muntin reads formats {READABLE[0]} and {FORMAT}; go on with the "
                "version that wrote it, or use a new checkpointLocation"
            )
        parts = {(name, bucket): count for name, bucket, count, *_ in stored["chunks"]}
        held = {(name, bucket): sum(more) for name, bucket, _, *more in stored["chunks"]}
        noted = zip(parts, stored.get("bytes", ()), strict=False)
        sizes = {chunk: size for chunk, size in noted if size is not None}
        progress = tuple(_progress(entry) for entry in stored["progress"])
        return cls(stored["fingerprint"], progress, parts, held, sizes)

    def progress_of(self, source: int) -> Progress:
        """Return the progress of an input."""
        return self.progress[source] if source < len(self.progress) else Progress()


def _progress(stored: Mapping[str, Any]) -> Progress:
    """Return a stored progress; unknown fields are ignored, and missing ones have the defaults."""
    known = {field.name for field in fields(Progress)}
    return Progress(**{name: value for name, value in stored.items() if name in known})


class ShardState:
    """The state of one shard during one micro-batch."""

    def __init__(self, head: HeadState, chunks: ChunkState, fingerprint: Fingerprint) -> None:
        self._head = head
        self._chunks = chunks
        self._fetched: dict[tuple[Any, ...], tuple[Any, ...]] | None = None
        stored = head.get()
        self._text = None if stored is None else str(stored[0])
        self.head = Head(fingerprint.stored) if self._text is None else Head.from_json(self._text)
        fingerprint.check(self.head.fingerprint)
        self.head.fingerprint = fingerprint.stored  # that of an older version is rewritten

    def buckets(self, table: str) -> Sequence[int]:
        return [bucket for name, bucket in self.head.parts if name == table]

    def tables(self) -> Sequence[str]:
        return list(dict.fromkeys(name for name, _ in self.head.parts))

    def read(self, table: str, bucket: int) -> pa.Table:
        payload = bytearray()
        for part in range(self.head.parts[table, bucket]):
            stored = self._part((table, bucket, part))
            if stored is None:
                raise CheckpointError(
                    f"part {part} of {table}/{bucket} is missing from the checkpoint's state"
                )
            payload += stored[0]
        return decode(bytes(payload))

    def _part(self, key: tuple[str, int, int]) -> tuple[Any, ...] | None:
        """Return a part of a chunk; the first read of a small state fetches all of it."""
        if self._fetched is None and len(self.head.parts) > 1 and self.head.small:
            self._fetched = {tuple(found): value for found, value in self._chunks.iterator()}
        return self._chunks.getValue(key) if self._fetched is None else self._fetched.get(key)

    def write(
        self,
        changes: Mapping[ChunkKey, pa.Table | None],
        progress: Sequence[Progress],
        open_counts: Mapping[ChunkKey, int],
    ) -> int:
        """Store the changes and the progress of each input; return the number of bytes written.

        ``open_counts`` has how much is open in each changed chunk; a chunk that is not in it counts
        0.
        """
        written = 0
        for (table, bucket), chunk in changes.items():
            payload = b"" if chunk is None else encode(chunk)
            parts = [payload[i : i + CHUNK_BYTES] for i in range(0, len(payload), CHUNK_BYTES)]
            for part, piece in enumerate(parts):
                self._chunks.updateValue((table, bucket, part), (piece,))
            for part in range(len(parts), self.head.parts.get((table, bucket), 0)):
                self._chunks.removeKey((table, bucket, part))
            written += len(payload)
            self.head.parts.pop((table, bucket), None)
            self.head.held.pop((table, bucket), None)
            self.head.sizes.pop((table, bucket), None)
            if chunk is not None and parts:
                self.head.sizes[table, bucket] = len(payload)
                self.head.parts[table, bucket] = len(parts)
                self.head.held[table, bucket] = open_counts.get((table, bucket), 0)
        self.head.progress = tuple(progress)
        text = self.head.to_json()
        if text != self._text:
            self._head.update((text,))
        self._text, self._fetched = text, None
        return written
