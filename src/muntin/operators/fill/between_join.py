"""The between-join: each probe asks for the rows of a key between two orders.

A row is held while a waiting probe asks for it, or a later probe may: the horizon says from which
order on [Frames, appendix F]. A probe is answered once, when all rows that it asks for have
arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import EVER, Ints, Mask
from muntin.kernels.grouping import KeyedTables, by_key_and_order
from muntin.kernels.stretches import covered, members, stretches
from muntin.operators.fill.held_rows import INDEX, ROWS, HeldChunks
from muntin.operators.fill.segments import Horizon
from muntin.operators.protocol import Changes, ScopedState, State, forget, ints

LISTED = "listed"


@dataclass(frozen=True)
class Probes:
    """Probes: each has a key, and asks for the orders from ``low`` to ``high`` (both inside)."""

    keys: pa.Table
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.low)

    def where(self, mask: Mask) -> Probes:
        return Probes(self.keys.filter(pa.array(mask)), self.low[mask], self.high[mask])


@dataclass(frozen=True)
class MatchedRows:
    """Rows sorted by key and order. The n-th answered probe has ``rows[first[n]:behind[n]]``."""

    rows: pa.Table
    first: Ints
    stop: Ints

    @property
    def counts(self) -> Ints:
        return self.stop - self.first

    def pairs(self) -> tuple[Ints, Ints]:
        """Return every pair of a probe and a row that it asked for, as their indexes."""
        return members(self.first, self.stop)

    def only(self, keep: Callable[[Ints, pa.Table], Mask]) -> MatchedRows:
        """Return the pairs that stay: ``keep`` is given the probe and the row of each pair."""
        probe, row = self.pairs()
        rows = self.rows.take(pa.array(row))
        stays = keep(probe, rows)
        counts = np.bincount(probe[stays], minlength=len(self.first)).astype(np.int64)
        stop = np.cumsum(counts)
        return MatchedRows(rows.filter(pa.array(stays)), stop - counts, stop)


@dataclass(frozen=True)
class BetweenJoin:
    """Holds rows with ``order`` and the key columns ``names`` under ``scope`` in the state."""

    scope: str
    names: tuple[str, ...]
    schema: pa.Schema

    def step(
        self,
        state: State,
        arrived: pa.Table,
        probes: Probes,
        ready: Mask,
        horizon: Horizon,
        default_before: int,
    ) -> tuple[MatchedRows, Changes]:
        """Answer the probes that are ``ready``; hold the rows that other or later probes need.

        ``horizon`` has the least orders that later probes may ask for. ``default_before`` was the
        horizon of unlisted keys before the step: rows that it has passed since can be dropped.
        """
        scope = ScopedState(state, self.scope)
        held = HeldChunks.of(scope)
        asking, waiting = probes.where(ready), probes.where(~ready)
        over = horizon.default == EVER and not len(waiting)
        listed = self._listed(scope, horizon)
        lifted_low, lifted_high = self._lifted(listed, horizon, default_before)
        chunks = held.read(
            held.touched(
                np.concatenate([asking.low, lifted_low]), np.concatenate([asking.high, lifted_high])
            )
        )
        pool = pa.concat_tables([arrived, *chunks.values()]).combine_chunks()
        keyed = KeyedTables.of(self.names, [pool, asking.keys, waiting.keys])
        order = ints(pool["order"])
        place, starts = by_key_and_order(keyed.numbers[0], order, len(keyed))
        rows = pool.drop_columns(list(self.names)).take(pa.array(place))
        sorted_order = order[place]
        matched = MatchedRows(
            rows, *stretches(starts, sorted_order, keyed.numbers[1], asking.low, asking.high)
        )
        if over:
            return matched, scope.named(forget(scope, ROWS, INDEX, LISTED))
        wanted = stretches(starts, sorted_order, keyed.numbers[2], waiting.low, waiting.high)
        keep = np.empty(pool.num_rows, np.bool_)
        keep[place] = covered(pool.num_rows, *wanted)
        keep |= order >= horizon.look_up(keyed.keys)[keyed.numbers[0]]
        cuts = np.cumsum([arrived.num_rows, *(chunk.num_rows for chunk in chunks.values())])
        keep_new, *keep_held = np.split(keep, cuts[:-1])
        changes = held.change(chunks, keep_held, arrived.filter(pa.array(keep_new)))
        table = _as_table(horizon)
        if not table.num_rows:
            changes |= forget(scope, LISTED)
        elif not table.equals(listed):
            changes[LISTED, 0] = table
        return matched, scope.named(changes)

    def _lifted(self, listed: pa.Table, horizon: Horizon, before: int) -> tuple[Ints, Ints]:
        """Return the stretches of orders that a horizon has passed since the last step."""
        old = Horizon(before, listed.drop_columns(["own"]), ints(listed["own"]))
        both = KeyedTables.of(self.names, [old.keys, horizon.keys]).keys
        low, high = old.look_up(both), horizon.look_up(both)
        low = np.append(low, before)
        high = np.append(high, horizon.default)
        moved = high > low
        return low[moved], high[moved] - 1

    def _listed(self, scope: ScopedState, horizon: Horizon) -> pa.Table:
        """Return the keys that had their own horizon after the last step, with that horizon."""
        return scope.read(LISTED, 0) if scope.buckets(LISTED) else _as_table(horizon).slice(0, 0)


def _as_table(horizon: Horizon) -> pa.Table:
    """Return the keys that have their own horizon, with that horizon in ``own``."""
    return horizon.keys.append_column("own", pa.array(horizon.own))
