"""How far back somebody may still look: below a horizon rows can be let go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import EVER, NEVER, Ints
from muntin.kernels.grouping import find_keys
from muntin.operators.common.keys import KeyedTables
from muntin.operators.protocol import Open, Punctuation


@dataclass(frozen=True)
class Horizon:
    """Of every key the least order that may still be asked for.

    Keys that are not listed have ``default``; NEVER asks for everything for ever.
    """

    default: int
    keys: pa.Table
    own: Ints

    @classmethod
    def of(cls, punctuation: Punctuation, opened: Open, reach: Callable[[Ints], Ints]) -> Horizon:
        """Where a key is complete after a step, or where what is open of it began if earlier.

        ``reach`` makes an order of a tick.
        """
        names, by_key = opened.keys.column_names, punctuation.by_key
        ahead = [] if by_key is None else [by_key.select(names)]
        listed = KeyedTables.of(names, [opened.keys, *ahead])
        since = np.full(len(listed), EVER)
        default = cls.default_of(punctuation, reach)
        if default == EVER:
            return cls(EVER, listed.keys, since)
        since[listed.numbers[0]] = opened.since
        told = punctuation.of(listed.keys)[1]
        own = np.where(told == NEVER, NEVER, reach(np.where(told == NEVER, 0, told)))
        return cls(default, listed.keys, np.minimum(own, since))

    @staticmethod
    def default_of(
        punctuation: Punctuation, reach: Callable[[Ints], Ints], *, before: bool = False
    ) -> int:
        """The horizon of keys of which nothing is known, after a step or before it."""
        if punctuation.over if before else punctuation.ended:
            return EVER
        told = punctuation.before if before else punctuation.after
        return NEVER if told is None else int(reach(np.array([told]))[0])

    def look_up(self, keys: pa.Table) -> Ints:
        """The horizon of each row of a table of keys."""
        made = np.full(keys.num_rows, self.default)
        place = find_keys(keys, self.keys)
        made[place >= 0] = self.own[place[place >= 0]]
        return made

    def moved(self, move: Callable[[Ints], Ints]) -> Horizon:
        """With every order moved, except those that are beyond moving."""

        def careful(order: Ints) -> Ints:
            fixed = (order == NEVER) | (order == EVER)
            return np.where(fixed, order, move(np.where(fixed, 0, order)))

        return Horizon(int(careful(np.array([self.default]))[0]), self.keys, careful(self.own))

    def of_fewer(self, names: Sequence[str]) -> Horizon:
        """For keys of fewer columns, each of which stands for many: the least of them."""
        if len(names) == len(self.keys.column_names):
            return self
        fewer = KeyedTables.of(names, [self.keys.select(names)])
        least = np.full(len(fewer), self.default)
        np.minimum.at(least, fewer.numbers[0], self.own)
        if not names:
            return Horizon(int(least.min()) if len(least) else self.default, fewer.keys, least)
        return Horizon(self.default, fewer.keys, least)

    def replaced(self, keys: pa.Table, own: Ints) -> Horizon:
        """With other horizons for some keys."""
        both = KeyedTables.of(self.keys.column_names, [self.keys, keys])
        made = self.look_up(both.keys)
        made[both.numbers[1]] = own
        return Horizon(self.default, both.keys, made)
