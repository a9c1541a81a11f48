"""Rows in the order in which they arrive: some are held up on their way, some never come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.simulate.random_draws import Integers, check_not_negative, check_share


@dataclass(frozen=True)
class ArrivalDelays:
    """Which share of rows is held up, by no more than how many seconds; and which never comes."""

    disordered: float
    seconds: float
    missing: float = 0

    def __post_init__(self) -> None:
        check_share("disordered", self.disordered)
        check_not_negative("disorder_seconds", self.seconds)
        check_share("missing", self.missing)

    def sort(self, rng: np.random.Generator, rows: pa.Table, micros: Integers) -> pa.Table:
        """The rows, which happened at these microseconds, in the order of their arrival.

        >>> rows, when = pa.table({"n": [1, 2, 3]}), np.array([0, 1, 2])
        >>> chance = np.random.default_rng(7)
        >>> ArrivalDelays(disordered=0, seconds=60).sort(chance, rows, when)["n"].to_pylist()
        [1, 2, 3]
        >>> ArrivalDelays(disordered=1, seconds=60).sort(chance, rows, when)["n"].to_pylist()
        [3, 2, 1]
        """
        n = len(micros)
        delay = rng.uniform(0, self.seconds * 1e6, n)
        delay[rng.random(n) >= self.disordered] = 0
        came = np.flatnonzero(rng.random(n) >= self.missing)
        order = came[np.argsort((micros + delay)[came], kind="stable")]
        return rows.take(pa.array(order))
