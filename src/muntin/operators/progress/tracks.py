"""How far each of many has come: keys, or values of a column, each with an order of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import NEVER, Ints
from muntin.kernels.grouping import find_keys
from muntin.operators.common.columns import ints
from muntin.operators.progress.progress import Progress


@dataclass(frozen=True)
class Quiet:
    """What becomes of a quiet one, in ticks and in microseconds; neither means it is waited for."""

    follow: int | None = None
    clock: int | None = None

    def reach(self, own: Ints, heard: Ints, progress: Progress) -> Ints:
        """Up to where each is complete: by its own rows, or as the furthest pulls it along."""
        lead = progress.lead
        if lead is None:
            return own
        if self.clock is not None and progress.clock is not None and progress.since is not None:
            # Who was last heard of before the clock first ticked counts from there.
            since = np.where(heard == NEVER, progress.since, heard)
            silent = progress.clock - since >= self.clock
            own = np.where(silent, np.maximum(own, lead), own)
        if self.follow is not None:
            own = np.maximum(own, max(lead - self.follow, NEVER + 1))
        return own


@dataclass(frozen=True)
class Tracks:
    """One row for each: its name, its own punctuation, and the clock when it was last heard of.

    Whether one is silent follows from the clock, so a silent one costs no write.
    """

    names: pa.Table
    own: Ints
    heard: Ints

    @classmethod
    def of(cls, table: pa.Table) -> Tracks:
        names = table.drop_columns(["own", "heard"])
        return cls(names, ints(table["own"]), ints(table["heard"]))

    @classmethod
    def unheard(cls, names: pa.Table) -> Tracks:
        never = np.full(names.num_rows, NEVER)
        return cls(names, never, never)

    def table(self) -> pa.Table:
        made = self.names.append_column("own", pa.array(self.own))
        return made.append_column("heard", pa.array(self.heard))

    def with_unheard(self, names: pa.Table) -> Tracks:
        """With those that are not here yet."""
        new = names.filter(pa.array(find_keys(names, self.names) < 0))
        if new.num_rows == 0:
            return self
        never = np.full(new.num_rows, NEVER)
        return Tracks(
            pa.concat_tables([self.names, new]),
            np.append(self.own, never),
            np.append(self.heard, never),
        )

    def advance(
        self, names: pa.Table, reached: Ints, quiet: Quiet, before: Progress, after: Progress
    ) -> Moved:
        """Take in how far some have come by their own rows."""
        known = self.with_unheard(names)
        was = quiet.reach(known.own, known.heard, before).copy()
        was[len(self.own) :] = NEVER  # nothing was known of those that are new
        place = find_keys(names, known.names)
        own, heard = known.own.copy(), known.heard.copy()
        own[place] = np.maximum(was[place], reached)
        heard[place] = NEVER if after.clock is None else after.clock
        moved = Tracks(known.names, own, heard)
        return Moved(moved, place, was, quiet.reach(own, heard, after))


@dataclass(frozen=True)
class Moved:
    """Tracks after a micro-batch: whose rows came, and each one's punctuation before and after."""

    tracks: Tracks
    place: Ints
    before: Ints
    after: Ints
