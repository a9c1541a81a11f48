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
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from muntin.errors import TieError
from muntin.kernels.arrays import EVER, NEVER, Ints, Mask
from muntin.kernels.grouping import KeyedTables, find_keys
from muntin.kernels.ticks import order_of_ticks, shift_order
from muntin.operators.common.admission import Admission, is_late
from muntin.operators.common.buckets import PENDING, BucketedTable, due, hold, key_buckets
from muntin.operators.common.peek import ChangedState
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
    ScopedState,
    State,
    Step,
    forget,
    ints,
    numbered,
)
from muntin.specs.axis import Axis

LIVES = "lives"
#: The prefix of the tables of the operator inside.
_INSIDE = "life:"
#: So many buckets have the lives of the keys, so that a row does not rewrite many of them.
_BUCKETS = 127


class Inside(Operator, MapSide, Protocol):
    """An operator that can be inside: its own map side, with state by key."""

    @property
    def admission(self) -> Admission: ...

    @property
    def tables(self) -> Sequence[str]:
        """The names of its tables of state, all of which have its keys."""

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
class Forgetting(OneInput):
    """An operator whose keys end after a gap.

    Args:
        plain: The operator on keys; it prepares rows.
        inside: The operator on lives: it has one key column more, at ``place``.
        place: The number of key columns within which rows are ordered.
        axis: The axis of ``on``.
        gap: The longest distance of two rows of a life, in ticks.
    """

    plain: Inside
    inside: Inside
    place: int
    axis: Axis
    gap: int

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

    def with_inside(self, **changes: Any) -> Forgetting:
        """Return the same with other properties of the operator, on keys and on lives."""
        both = (replace(part, **changes) for part in (self.plain, self.inside))  # type: ignore[type-var]
        plain, inside = both
        return replace(self, plain=plain, inside=inside)

    def route(self, rows: pa.Table) -> Routed:
        return self.plain.route(rows)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        return self.plain.merge(partials)

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        (only,) = inputs
        punctuation, arrived = only.punctuation, self.merge(only.partials)
        late = is_late(arrived, self.by_names, punctuation)
        arrived = arrived.filter(pa.array(~late)) if late.any() else arrived
        chunks = due(state, EVER if punctuation.ended else punctuation.latest)
        held = [state.read(PENDING, chunk) for chunk in chunks]
        pool = pa.concat_tables([arrived, *held], promote_options="default")
        remembered = BucketedTable(state, LIVES).load(self._lives_schema(pool))
        keyed = KeyedTables.of(self.by_names, [remembered, pool])
        lives, waiting = self._lives(keyed, remembered, pool, punctuation)
        inner = ScopedState(state, _INSIDE)
        steps, changed = self._inside(inner, keyed, lives, punctuation)
        changes = inner.named(changed) | hold(state, waiting, chunks)
        changes |= self._remember(state, keyed, lives)
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
            changes=changes,
            rows=(counts,),
            open=self._open(steps[-1].open),
            open_counts=inner.named(self.inside.open_counts(changed)),
        )

    def _lives_schema(self, rows: pa.Table) -> pa.Schema:
        keys = [rows.schema.field(name) for name in self.by_names]
        return pa.schema([*keys, pa.field("life", pa.int64()), pa.field("last", pa.int64())])

    def _lives(
        self, keyed: KeyedTables, remembered: pa.Table, pool: pa.Table, punctuation: Punctuation
    ) -> tuple[Lives, pa.Table]:
        """Return the lives of keys and of final rows, and the rows that wait."""
        key, order = keyed.numbers[1], ints(pool["order"])
        _, complete = punctuation.of(keyed.keys)
        complete = np.where(complete == NEVER, NEVER, np.maximum(complete, -self.axis.limit))
        final = np.ones(len(key), np.bool_)
        if not punctuation.ended:
            final = ints(pool["tick"]) < complete[key]
        row = np.flatnonzero(final)
        row = row[np.lexsort((order[row], key[row]))]
        rows, row_key, row_order = pool.take(pa.array(row)), key[row], order[row]
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
            reached = order_of_ticks(np.where(complete == NEVER, 0, complete), self.axis)
            over &= (complete != NEVER) & (self._until(last) < reached)
        lives = Lives(rows, row_key, row_life, was, known, life, last, over)
        return lives, pool.filter(pa.array(~final))

    def _until(self, order: Ints) -> Ints:
        """Return the last order at which a row may follow; it is not read where none was."""
        return shift_order(np.where(order == NEVER, 0, order), self.axis, self.gap)

    def _inside(
        self, state: State, keyed: KeyedTables, lives: Lives, punctuation: Punctuation
    ) -> tuple[list[Step], Changes]:
        """Run the operator inside over lives that have ended, and over those that go on."""
        ended, row_ended, steps = lives.earlier_ended, lives.row_ended, []
        gone, changes = self._apart(state, keyed, lives, ended)
        if ended.any() or row_ended.any():
            rows = self._inward(lives, row_ended)
            end = Punctuation(None, None, punctuation.largest, ended=True)
            steps.append(self._stepped(gone, rows, end))
        rows = self._inward(lives, ~row_ended)
        if punctuation.ended:
            on = Punctuation(None, None, punctuation.largest, ended=True)
        else:
            by_life = self._by_life(keyed, lives, punctuation)
            on = Punctuation(None, punctuation.after, punctuation.largest, by_key=by_life)
        steps.append(self._stepped(ChangedState(state, changes), rows, on))
        changes = {**changes, **steps[-1].changes}
        if punctuation.ended:
            changes |= forget(state, *self.inside.tables)
        return steps, changes

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

    def _apart(
        self, state: State, keyed: KeyedTables, lives: Lives, ended: Mask
    ) -> tuple[MemoryState, Changes]:
        """Return the state of the lives that ended, and the changes that leave it out."""
        apart, left = MemoryState(), Changes()
        if not ended.any():
            return apart, left
        names = [*self.by_names, self.life_name]
        which = keyed.keys.filter(pa.array(ended))
        which = which.append_column(self.life_name, pa.array(lives.was[ended]))
        for table in self.inside.tables:
            for bucket in state.buckets(table):
                chunk = state.read(table, bucket)
                gone = find_keys(chunk.select(names), which.select(names)) >= 0
                if not gone.any():
                    continue
                apart.chunks[table, bucket] = chunk.filter(pa.array(gone))
                left[table, bucket] = None if gone.all() else chunk.filter(pa.array(~gone))
        return apart, left

    def _remember(self, state: State, keyed: KeyedTables, lives: Lives) -> Changes:
        """Write the lives of keys that go on, where they changed."""
        changed = np.zeros(len(keyed), np.bool_)
        changed[lives.row_key] = True
        changed |= lives.over
        table = keyed.keys.append_column("life", pa.array(lives.life))
        table = table.append_column("last", pa.array(lives.last))
        bucket = key_buckets(keyed.keys, self.by_names, _BUCKETS)
        kept = (lives.last != NEVER) & ~lives.over
        dirty = np.unique(bucket[changed]).tolist()
        return BucketedTable(state, LIVES).write(table, bucket, dirty, live=kept)

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
