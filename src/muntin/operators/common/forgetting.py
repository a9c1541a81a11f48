"""Keys that end after a gap: what an operator keeps of a key is forgotten, and the key begins anew.

A key lives while its rows follow each other within a length. After a longer gap its life ends as at
the end of input, and its next row begins another life. The operator inside sees lives instead of
keys: its key columns have the number of the life after those that order rows. Which rows are of
which life is known when their order is final, so rows wait here and not inside. A life also ends
when punctuation shows that no row can follow in time; then nothing is kept of its key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np
import pyarrow as pa

from muntin.errors import TieError
from muntin.kernels.arrays import EVER, NEVER, Ints, Mask
from muntin.kernels.grouping import KeyedTables, find_keys
from muntin.kernels.ticks import order_of_ticks, shift_order
from muntin.operators.common.admission import Admission, is_late
from muntin.operators.common.buckets import PENDING, due, hold
from muntin.operators.common.key_partitions import KeyPartitions, write_parts
from muntin.operators.protocol import (
    Changes,
    ChunkKey,
    InputBatch,
    MapSide,
    MemoryState,
    OneInput,
    Open,
    Operator,
    Punctuation,
    Routed,
    RowCounts,
    State,
    Step,
    ints,
    numbered,
)
from muntin.specs.axis import Axis

LIVES = "lives"
#: The prefix of the tables of the operator inside.
_INSIDE = "life:"
_NOTHING, _NO_PARTS = pa.table({}), np.empty(0, np.int64)


class Inside(Operator, MapSide, Protocol):
    """An operator that can be inside: its own map side, with all of its state by key."""

    @property
    def admission(self) -> Admission: ...

    @property
    def tables(self) -> Sequence[str]:
        """The names of its tables of state, all of which have its keys."""

    @property
    def rests(self) -> bool:
        """True if nothing happens to a key without a row of it."""

    def tidied(self, state: MemoryState) -> dict[str, pa.Table]:
        """Return what it keeps, each table as a whole."""

    def telling_open(self) -> Self:
        """Return the same operator, whose steps tell what is open."""

    def open_counts(self, changes: Changes) -> Mapping[ChunkKey, int]: ...


@dataclass(frozen=True)
class Lives:
    """The life of each key after a step, and of each row that is final in it.

    ``rows`` are sorted by key and order, ``row_life`` is the life of each. A key without rows has
    the ``last`` order NEVER. ``was`` is the life that a key had before. ``over`` are the keys whose
    life has ended with nothing after it.
    """

    rows: pa.Table
    row_key: Ints
    row_life: Ints
    was: Ints
    known: Mask
    life: Ints
    last: Ints
    over: Mask

    @property
    def row_ended(self) -> Mask:
        ended: Mask = (self.row_life < self.life[self.row_key]) | self.over[self.row_key]
        return ended

    @property
    def earlier_ended(self) -> Mask:
        """The keys of which the life that they had before this step has ended."""
        ended: Mask = self.known & ((self.was < self.life) | self.over)
        return ended


@dataclass(frozen=True)
class ReadParts:
    """The parts of keys that a step has read: their chunks, lives, and the state inside.

    ``read`` marks them among those that are ``listed``. They are written on ``level``.
    """

    listed: KeyPartitions
    level: int
    read: Mask
    chunks: Mapping[str, Mapping[int, pa.Table]]
    lives: pa.Table
    inside: MemoryState


@dataclass(frozen=True)
class Forgetting(OneInput):
    """An operator whose keys end after a gap.

    Args:
        plain: The operator on keys; it prepares rows.
        inside: The operator on lives: it has one key column more, at ``place``.
        place: The number of key columns within which rows are ordered.
        axis: The axis of ``on``.
        gap: The longest distance of two rows of a life, in ticks.
        awake: Whether every step looks at all keys, because somebody asks what is open.
    """

    plain: Inside
    inside: Inside
    place: int
    axis: Axis
    gap: int
    awake: bool = False

    def __getstate__(self) -> dict[str, object]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def result_schema(self) -> pa.Schema:
        return self.plain.result_schema

    @property
    def shard_keys(self) -> Sequence[Sequence[str]]:
        return self.plain.shard_keys

    @property
    def may_refuse(self) -> bool:
        return self.plain.may_refuse

    @cached_property
    def by_names(self) -> list[str]:
        return [f"k{place}" for place in range(self.place)]

    @property
    def life_name(self) -> str:
        return f"k{self.place}"

    def telling_open(self) -> Forgetting:
        """Return the same operator, whose steps tell what is open of all keys."""
        return replace(self, inside=self.inside.telling_open(), awake=True)

    def route(self, rows: pa.Table) -> Routed:
        return self.plain.route(rows)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        return self.plain.merge(partials)

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        (only,) = inputs
        punctuation, arrived = only.punctuation, self.merge(only.partials)
        late = is_late(arrived, self.by_names, punctuation)
        arrived = arrived.filter(pa.array(~late)) if late.any() else arrived
        rows, waits = self._final(state, arrived, punctuation)
        parts = self._read(state, rows, punctuation)
        keyed = KeyedTables.of(self.by_names, [parts.lives, rows])
        lives = self._lives(keyed, parts.lives, rows, punctuation)
        steps = self._inside(parts.inside, keyed, lives, punctuation)
        written = self._written(parts, keyed, lives)
        fallen = [t for step in steps for t in (step.rows[0].fallen,) if t is not None]
        gone = pa.concat_tables(fallen) if fallen else None
        counts = RowCounts(
            used=arrived.num_rows - (0 if gone is None else gone.num_rows),
            late=int(late.sum()),
            between=sum(step.rows[0].between for step in steps),
            late_rows=self.plain.admission.late_among(only.rows, self.by_names, punctuation),
            fallen=gone,
        )
        return Step(
            results=pa.concat_tables([self._outward(step.results) for step in steps]),
            changes={**waits, **written},
            rows=(counts,),
            open=self._open(steps[-1].open),
            open_counts=self._open_counts(written),
        )

    def _final(
        self, state: State, arrived: pa.Table, punctuation: Punctuation
    ) -> tuple[pa.Table, Changes]:
        """Return the rows whose order is final, and the changes by which the others wait."""
        chunks = due(state, EVER if punctuation.ended else punctuation.latest)
        held = [state.read(PENDING, chunk) for chunk in chunks]
        pool = pa.concat_tables([arrived, *held], promote_options="default")
        final = np.ones(pool.num_rows, np.bool_)
        if not punctuation.ended:
            final = ints(pool["tick"]) < punctuation.of(pool.select(self.by_names))[1]
        return pool.filter(pa.array(final)), hold(state, pool.filter(pa.array(~final)), chunks)

    def _read(self, state: State, rows: pa.Table, punctuation: Punctuation) -> ReadParts:
        """Read the parts of the keys that a step is about."""
        listed = KeyPartitions.of(state)
        level = listed.next_level
        read = np.ones(len(listed.numbers), np.bool_)
        if self.rests and not punctuation.ended and level == listed.level:
            touched = np.unique(listed.part_of(rows, self.by_names))
            over = np.zeros(len(read), np.bool_)
            if punctuation.latest != NEVER:
                over = self._is_over(listed.soonest, np.full(len(read), punctuation.latest))
            read = np.isin(listed.numbers, touched) | over
        numbers = set(listed.numbers[read].tolist())
        chunks: dict[str, dict[int, pa.Table]] = {}
        inside = MemoryState()
        for table in (LIVES, *(_INSIDE + name for name in self.inside.tables)):
            here = sorted(numbers.intersection(state.buckets(table)))
            chunks[table] = {number: state.read(table, number) for number in here}
            if table != LIVES and here:
                whole = pa.concat_tables(chunks[table].values(), promote_options="default")
                name = table.removeprefix(_INSIDE)
                inside.chunks[name, _bucket(name, whole)] = whole
        lives = [self._lives_schema(rows).empty_table(), *chunks[LIVES].values()]
        return ReadParts(listed, level, read, chunks, pa.concat_tables(lives), inside)

    def _written(self, parts: ReadParts, keyed: KeyedTables, lives: Lives) -> Changes:
        """Return the changes of the parts that were read, and of those that are new."""
        kept = (lives.last != NEVER) & ~lives.over
        going = keyed.keys.append_column("life", pa.array(lives.life))
        going = going.append_column("last", pa.array(lives.last)).filter(pa.array(kept))
        tables = {LIVES: going}
        tables |= {_INSIDE + n: table for n, table in self.inside.tidied(parts.inside).items()}
        number = {
            name: parts.listed.part_of(table, self.by_names, parts.level)
            for name, table in tables.items()
        }
        changes: Changes = {}
        for name in parts.chunks:
            read, table = parts.chunks[name], tables.get(name, _NOTHING)
            part = number.get(name, _NO_PARTS)
            dirty = np.unique(np.concatenate([part, np.array([*read], np.int64)])).tolist()
            changes |= write_parts(name, table, part, read, dirty)
        last = lives.last[kept]
        return changes | parts.listed.after(parts.read, number[LIVES], last, parts.level)

    def _open_counts(self, changes: Changes) -> dict[ChunkKey, int]:
        inside = {
            (name.removeprefix(_INSIDE), part): chunk
            for (name, part), chunk in changes.items()
            if name.startswith(_INSIDE)
        }
        counted = self.inside.open_counts(inside)
        return {(_INSIDE + name, part): count for (name, part), count in counted.items()}

    @property
    def rests(self) -> bool:
        return self.inside.rests and not self.awake

    def _lives_schema(self, rows: pa.Table) -> pa.Schema:
        keys = [rows.schema.field(name) for name in self.by_names]
        return pa.schema([*keys, pa.field("life", pa.int64()), pa.field("last", pa.int64())])

    def _lives(
        self, keyed: KeyedTables, remembered: pa.Table, rows: pa.Table, punctuation: Punctuation
    ) -> Lives:
        """Return the lives of keys and of final rows."""
        key, order = keyed.numbers[1], ints(rows["order"])
        row = np.lexsort((order, key))
        rows, row_key, row_order = rows.take(pa.array(row)), key[row], order[row]
        was = keyed.spread(0, remembered["life"], 0)
        last = keyed.spread(0, remembered["last"], NEVER)
        known = last != NEVER
        first = np.diff(row_key, prepend=-1) > 0
        before = np.where(first, last[row_key], np.roll(row_order, 1))
        begins = (before != NEVER) & (row_order > self._until(before))
        # The number of lives that began among the rows of a key so far.
        begun = np.cumsum(begins)
        earlier = np.zeros(len(keyed), np.int64)
        earlier[row_key[first]] = (begun - begins)[first]
        row_life = was[row_key] + begun - earlier[row_key]
        life = was.copy()
        end = np.append(first[1:], True) if len(first) else first
        life[row_key[end]], last[row_key[end]] = row_life[end], row_order[end]
        over = last != NEVER
        if not punctuation.ended:
            over &= self._is_over(last, punctuation.of(keyed.keys)[1])
        return Lives(rows, row_key, row_life, was, known, life, last, over)

    def _is_over(self, last: Ints, complete: Ints) -> Mask:
        """Return where punctuation shows that no row follows one with the ``last`` order."""
        complete = np.where(complete == NEVER, NEVER, np.maximum(complete, -self.axis.limit))
        reached = order_of_ticks(np.where(complete == NEVER, 0, complete), self.axis)
        over: Mask = (complete != NEVER) & (self._until(last) < reached)
        return over

    def _until(self, order: Ints) -> Ints:
        """Return the last order at which a row may follow; it is not read where none was."""
        return shift_order(np.where(order == NEVER, 0, order), self.axis, self.gap)

    def _inside(
        self, state: MemoryState, keyed: KeyedTables, lives: Lives, punctuation: Punctuation
    ) -> list[Step]:
        """Run the operator inside over lives that have ended, and over those that go on."""
        row_ended, steps = lives.row_ended, []
        ended = Punctuation(None, None, punctuation.largest, ended=True)
        gone = self._apart(state, keyed, lives)
        if gone.chunks or row_ended.any():
            steps.append(self._stepped(gone, self._inward(lives, row_ended), ended))
        going = self._inward(lives, ~row_ended)
        if punctuation.ended:
            steps.append(self._stepped(MemoryState(), going, ended))
            state.chunks.clear()
            return steps
        by_life = self._by_life(keyed, lives, punctuation)
        on = Punctuation(None, punctuation.after, punctuation.largest, by_key=by_life)
        steps.append(self._stepped(state, going, on))
        state.apply(steps[-1].changes)
        return steps

    def _by_life(
        self, keyed: KeyedTables, lives: Lives, punctuation: Punctuation
    ) -> pa.Table | None:
        """Return up to where the present life of each key is complete, if keys differ in it."""
        if punctuation.by_key is None or not punctuation.by_key.num_rows:
            return None
        table = keyed.keys.append_column(self.life_name, pa.array(lives.life))
        table = table.append_column("before", pa.array(np.full(len(keyed), NEVER)))
        return table.append_column("after", pa.array(punctuation.of(keyed.keys)[1]))

    def _stepped(self, state: State, rows: pa.Table, punctuation: Punctuation) -> Step:
        try:
            return self.inside.step(state, [InputBatch([rows], punctuation)])
        except TieError as error:  # it names the key, of which the life is no part
            named = [*error.key[: self.place], *error.key[self.place + 1 :]]
            raise TieError(named, error.on, error.along) from None

    def _apart(self, state: MemoryState, keyed: KeyedTables, lives: Lives) -> MemoryState:
        """Take what was kept of lives that ended out of the state, and return it."""
        apart, ended = MemoryState(), lives.earlier_ended
        if not ended.any():
            return apart
        names = [*self.by_names, self.life_name]
        which = keyed.keys.filter(pa.array(ended))
        which = which.append_column(self.life_name, pa.array(lives.was[ended]))
        for chunk_key, chunk in list(state.chunks.items()):
            gone = find_keys(chunk.select(names), which.select(names)) >= 0
            if gone.any():
                apart.chunks[chunk_key] = chunk.filter(pa.array(gone))
                left = None if gone.all() else chunk.filter(pa.array(~gone))
                state.apply({chunk_key: left})
        return apart

    def _inward(self, lives: Lives, chosen: Mask) -> pa.Table:
        """Return some rows with the number of their life among their keys."""
        names = lives.rows.column_names
        keys = numbered(names, "k")
        moved = {name: f"k{int(name[1:]) + 1}" for name in keys[self.place :]}
        rows = lives.rows.rename_columns([moved.get(name, name) for name in names])
        rows = rows.add_column(self.place, self.life_name, pa.array(lives.row_life))
        return rows.filter(pa.array(chosen))

    def _outward(self, results: pa.Table) -> pa.Table:
        """Return results without the number of the life."""
        results = results.drop_columns([self.life_name])
        return results.rename_columns(self.result_schema.names)

    def _open(self, opened: Open | None) -> Open | None:
        if opened is None:
            return None
        return Open(opened.keys.select(self.by_names), opened.since)


def _bucket(table: str, rows: pa.Table) -> int:
    """Return the number under which the operator inside finds a table."""
    return int(ints(rows["tick"]).min()) if table == PENDING and rows.num_rows else 0
