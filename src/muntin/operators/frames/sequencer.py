"""From rows that arrived and rows that waited to the final rows of each key, in order."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from muntin.errors import EmptySlotsError, TieError
from muntin.kernels.arrays import EVER, Ints, Mask
from muntin.kernels.frames.records import BREAKS, NEVER, PATTERN, REAL, SATISFIES
from muntin.kernels.frames.slots import fill_slots, follow_on
from muntin.kernels.grouping import by_key_and_order
from muntin.kernels.ticks import from_order, order_of_ticks
from muntin.operators.frames.arrow_kind import ArrowKind
from muntin.operators.frames.ordered_rows import (
    Bridge,
    CombinedTies,
    Missing,
    OrderedRows,
    Ties,
    around,
    lacking,
    orders,
    same_as_before,
    spread,
    verdict,
    waits,
)
from muntin.operators.protocol import ints
from muntin.specs.axis import Axis

#: The most empty slots that are framed one by one in a step, if each of them counts.
MOST_SLOTS = 10_000_000


@dataclass(frozen=True)
class Slots:
    """A schedule in ticks: slot k is ``[start + k * period, start + (k + 1) * period)``."""

    period: int
    start: int

    def of(self, tick: Ints) -> Ints:
        return (tick - self.start) // self.period

    def begin(self, slot: Ints) -> Ints:
        return self.start + slot * self.period

    def first_open(self, complete: Ints) -> Ints:
        """Return the first slot that is not complete; NEVER if nothing is known."""
        known = np.where(complete == NEVER, self.start, complete)
        return np.where(complete == NEVER, NEVER, self.of(known))


@dataclass(frozen=True)
class KnownUpTo:
    """How far the keys of a step are known.

    ``complete`` is the tick up to which a key is complete, and ``slot`` its last slot that was
    framed; both are NEVER if nothing is known. ``until`` is the slot after the last one that is due
    at the end of input.
    """

    complete: Ints
    ended: bool
    slot: Ints | None = None
    until: int | None = None


@dataclass(frozen=True)
class OrderedBatch:
    """Final rows in order; rows that wait; and rows that were refused because they tie."""

    rows: OrderedRows
    waiting: pa.Table
    refused: pa.Table | None
    slot: Ints | None
    last_real: Ints  # for each key, the row of ``rows.table`` that was its last real one, or -1
    horizon: Ints  # for each key, the order below which no later row, present or missing, can lie


@dataclass(frozen=True)
class Sequencer:
    """Puts rows in order, settles ties, and inserts missing rows.

    If rows that tie become one row, ``kind`` reads the columns of that row. ``unread`` are the
    columns that nothing reads of rows that are in order and final.
    """

    axis: Axis
    bound_type: pa.DataType
    ties: Ties
    missing: Missing
    slots: Slots | None
    interval: bool
    kind: ArrowKind
    combined: CombinedTies | None = None
    lead: int = 1  # the number of successive empty slots framed one by one; the others count as one
    unread: tuple[str, ...] = ()

    def arrange(
        self,
        pool: pa.Table,
        key: Ints,
        keys: int,
        reached: KnownUpTo,
        before: pa.Table | None,
        rows_before: pa.Table | None = None,
    ) -> OrderedBatch:
        """Return final rows in order.

        ``before`` has the last real row of each key for a bridge, ``rows_before`` its last row for
        conditions that look back.
        """
        final = self._final(pool, key, keys, reached)
        waiting = pool.filter(pa.array(~final)) if not final.all() else pool.slice(0, 0)
        place = self._sorted(pool, key, keys, final)
        table = self._taken(pool, place, reached)
        # Rows are sorted by key, and counting them is faster than to look up each.
        counts = np.bincount(key if final.all() else key[final], minlength=keys)
        key = np.repeat(np.arange(keys), counts)
        ties, came = self._ties(table, key), table
        table, key, refused = self._settle(table, key, ties, pool, place)
        table = self.kind.after_rows(table, key, rows_before)
        first_held = np.full(keys, EVER)
        if waits(self.missing) and not reached.ended:
            held = self._held_back(table, key, keys)
            np.minimum.at(first_held, key[held], orders(table)[held])
            # Rows that were combined wait as they came, to be combined again.
            back = table.filter(pa.array(held))
            if self.combined is not None:
                back = came.filter(pa.array(held[np.cumsum(~ties) - 1]))
            waiting = pa.concat_tables([waiting, back.select(waiting.column_names)])
            table, key = table.filter(pa.array(~held)), key[~held]
        starts = np.searchsorted(key, np.arange(keys + 1)).astype(np.int64)
        rows, slot = self._with_missing(table, starts, reached)
        rows = self._judged(rows, before)
        last_real = _last_real(lacking(table), key, starts)
        horizon = np.minimum(self._horizon(reached, slot), first_held)
        return OrderedBatch(rows, waiting, refused, slot, last_real, horizon)

    def _horizon(self, reached: KnownUpTo, dealt: Ints | None) -> Ints:
        """Return where the next rows may lie: at the punctuation, or in the next slot."""
        tick = reached.complete
        if self.slots is not None and dealt is not None:
            following_row = self.slots.begin(np.where(dealt == NEVER, 0, dealt) + 1)
            tick = np.where(dealt == NEVER, NEVER, following_row)
        known = tick != NEVER
        return np.where(known, order_of_ticks(np.where(known, tick, 0), self.axis), NEVER)

    def _sorted(self, pool: pa.Table, key: Ints, keys: int, wanted: Mask) -> Ints:
        """Return the wanted rows sorted by key and place."""
        row = None if wanted.all() else np.flatnonzero(wanted)
        order = orders(pool)
        if row is not None:
            key, order = key[row], order[row]
        if self.kind.has_second_axis:
            along = ints(pool["along"]) if row is None else ints(pool["along"])[row]
            place = np.lexsort((along, order, key)).astype(np.int64)
        else:
            place = by_key_and_order(key, order, keys)[0]
        return place if row is None else row[place]

    def _taken(self, pool: pa.Table, place: Ints, reached: KnownUpTo) -> pa.Table:
        """Return rows in order, with the columns that are read."""
        if reached.ended and not self.ties.refuses:  # no row waits or is refused
            pool = pool.select([name for name in pool.column_names if name not in self.unread])
        lacks = lacking(pool).any()
        # Arrow takes rows of one chunk faster than it joins chunks and takes them.
        rows, none = pa.array(place), pa.array(np.zeros(len(place), np.bool_))
        columns = [
            none if name == "lacks" and not lacks else pool[name].combine_chunks().take(rows)
            for name in pool.column_names
        ]
        return pa.Table.from_arrays(columns, schema=pool.schema)

    def _final(self, pool: pa.Table, key: Ints, keys: int, reached: KnownUpTo) -> Mask:
        if reached.ended:
            return np.ones(pool.num_rows, np.bool_)
        tick, complete = ints(pool["tick"]), reached.complete[key]
        if self.slots is None:
            return tick < complete
        slot = self.slots.of(tick)
        final = slot < self.slots.first_open(complete)
        if self.ties.how != "fail":
            return final  # the winner of a slot is known only when the slot is complete
        assert reached.slot is not None
        self._fail_at(pool, slot <= reached.slot[key])
        place, starts = by_key_and_order(key, orders(pool), keys)
        follows = final[place].astype(np.int64)
        follow_on(starts, slot[place], reached.slot, follows)
        is_final = np.empty(len(final), np.bool_)
        is_final[place] = follows > 0
        return is_final

    def _ties(self, table: pa.Table, key: Ints) -> Mask:
        """Mask of the rows that tie with the row before."""
        at = orders(table) if self.slots is None else self.slots.of(ints(table["tick"]))
        along = [ints(table["along"])] if self.kind.has_second_axis else []
        return same_as_before(key, at, *along)

    def _settle(
        self, table: pa.Table, key: Ints, ties: Mask, pool: pa.Table, place: Ints
    ) -> tuple[pa.Table, Ints, pa.Table | None]:
        if self.combined is not None:
            return self._combined(self.combined, table, ties), key[~ties], None
        if not self.ties.refuses:
            if ties.any():
                self._fail_at(pool.take(pa.array(place)), ties)
            return table, key, None
        kept = self.ties.kept(table, ties)
        if kept is None:
            return table, key, None
        gone = np.ones(len(key), np.bool_)
        gone[kept] = False
        return table.take(pa.array(kept)), key[kept], table.filter(pa.array(gone))

    def _combined(self, combined: CombinedTies, table: pa.Table, ties: Mask) -> pa.Table:
        """Turn rows that tie into one row, and read the columns that their kind needs."""
        rows = combined.one_each(table, ties)
        read = self.kind.read(rows)
        for name, column in read.items():
            rows = rows.drop_columns([name]) if name in rows.column_names else rows
            rows = rows.append_column(name, column)
        return rows

    def _held_back(self, table: pa.Table, key: Ints, keys: int) -> Mask:
        """Mask of the rows after a key's last real one: the next real row decides about them."""
        starts = np.searchsorted(key, np.arange(keys + 1))
        held: Mask = np.arange(len(key)) > _last_real(lacking(table), key, starts)[key]
        return held

    def _with_missing(
        self, table: pa.Table, starts: Ints, reached: KnownUpTo
    ) -> tuple[OrderedRows, Ints | None]:
        """Return rows with empty slots among them, and the last slot of each key that is framed."""
        row_kind = np.where(lacking(table), verdict(self.missing), REAL).astype(np.uint8)
        plain = OrderedRows(starts, orders(table), row_kind, table)
        if self.slots is None:
            return plain, None
        assert reached.slot is not None
        slot = self.slots.of(ints(table["tick"]))
        columns = starts, slot, reached.slot, self._due(reached), self.lead
        new_starts, dealt = np.empty_like(starts), np.empty_like(reached.slot)
        none = np.empty(0, np.int64)
        n = fill_slots(*columns, none, none, none, new_starts, dealt)
        if n == len(slot):
            return replace(plain, columns={"reach": np.ones(n, np.int64)}), dealt
        if n - len(slot) > MOST_SLOTS:
            of_pattern = self.kind.number == PATTERN
            raise EmptySlotsError(n - len(slot), MOST_SLOTS, of_pattern=of_pattern)
        source, filled, covers = np.empty((3, n), np.int64)
        fill_slots(*columns, source, filled, covers, new_starts, dealt)
        came = source >= 0
        order = order_of_ticks(self.slots.begin(filled), self.axis)
        order[came] = plain.order[source[came]]
        taken = np.full(n, verdict(self.missing), np.uint8)
        taken[came] = row_kind[source[came]]
        return OrderedRows(
            new_starts, order, taken, table, source, columns={"reach": covers}
        ), dealt

    def _due(self, reached: KnownUpTo) -> Ints:
        """Return for each key the slot after the last in which a row must have come by now."""
        assert self.slots is not None
        if waits(self.missing) and not reached.ended:
            return np.full(len(reached.complete), NEVER)  # the next real row decides
        due = self.slots.first_open(reached.complete)
        return due if reached.until is None else np.maximum(due, reached.until)

    def _judged(self, rows: OrderedRows, before: pa.Table | None) -> OrderedRows:
        """Return rows with a verdict on each missing row, and on each gap between readings."""
        policy = verdict(self.missing)
        gap = np.full(len(rows), policy, np.uint8) if self.interval else rows.gap
        if not isinstance(self.missing, Bridge):
            return replace(rows, gap=gap)
        assert before is not None
        is_judged = np.ones(len(rows), np.bool_) if self.interval else rows.what != REAL
        bridged = self._bridged(self.missing, rows, before, np.flatnonzero(is_judged))
        verdicts = np.full(len(rows), BREAKS, np.uint8)
        verdicts[is_judged] = np.where(bridged, SATISFIES, BREAKS)
        row_kind = np.where(rows.what == REAL, REAL, verdicts).astype(np.uint8)
        return replace(rows, what=row_kind, gap=verdicts if self.interval else rows.gap)

    def _bridged(self, bridge: Bridge, rows: OrderedRows, before: pa.Table, judged: Ints) -> Mask:
        """Return for which rows a missing row at the row, or just before it, satisfies."""
        previous, following = around(rows.starts, rows.what == REAL)
        key = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
        source = np.arange(len(rows)) if rows.source is None else rows.source
        real = rows.table.select(bridge.names)
        # In ``both`` the last real rows of earlier micro-batches come after those of this one.
        both = pa.concat_tables([real, before.select(bridge.names)])
        earlier = rows.table.num_rows + key
        at = np.where(previous >= 0, source[np.maximum(previous, 0)], earlier)[judged]
        following_row = np.where(following >= 0, source[np.maximum(following, 0)], -1)[judged]
        around_it = both.take(pa.array(at)), spread(real, following_row)
        if not bridge.names:  # a table without columns has no number of rows
            around_it = (pa.table({"row": at}), pa.table({"row": following_row}))
        # Without a real row on both sides nothing is bridged.
        came: Mask = before["came"].to_numpy()[key] | (previous >= 0)
        bridged: Mask = bridge.holds(*around_it) & (following_row >= 0) & came[judged]
        return bridged

    def _fail_at(self, table: pa.Table, ties: Mask) -> None:
        """Raise an error for the first of the rows that tie, if there is one."""
        if not ties.any():
            return
        row = int(np.flatnonzero(ties)[0])
        keys = [name for name in table.column_names if name[0] == "k" and name[1:].isdigit()]
        on = from_order(orders(table)[row : row + 1], self.axis, self.bound_type)
        along = self._along(table, row) if self.kind.has_second_axis else None
        raise TieError([table[name][row].as_py() for name in keys], on[0].as_py(), along)

    def _along(self, table: pa.Table, row: int) -> object:
        """Return the place of a row along the second axis."""
        return self.kind.place(ints(table["along"])[row : row + 1])[0].as_py()


def _last_real(lacks: Mask, key: Ints, starts: Ints) -> Ints:
    """Return the last real row of each key, or -1; rows are sorted by key."""
    if not lacks.any():
        return np.where(np.diff(starts) > 0, starts[1:] - 1, -1).astype(np.int64)
    real = np.flatnonzero(~lacks)
    last = np.full(len(starts) - 1, -1, np.int64)
    last[key[real]] = real
    return last
