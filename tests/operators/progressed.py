"""The inputs of a cut in short form: rows as (key, value), and the progress of the keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import NEVER
from muntin.operators.rows.cut import Cutting, Progressed, Run

Ints = npt.NDArray[np.int64]


def ints(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)


def run(
    *rows: tuple[int, int], rank: Sequence[int] = (), marks: Sequence[Sequence[int]] = ()
) -> Run:
    """Return rows, given as (key, value) in order, as a run."""
    key, order = ints([k for k, _ in rows]), ints([on for _, on in rows])
    return Run(key, order, ints(rank), order, tuple(ints(mark) for mark in marks))


def progressed(
    keys: int = 1,
    *,
    counted: Sequence[int] | None = None,
    complete: Sequence[int] | None = None,
    ended: bool = False,
    largest: int = NEVER,
    **memory: Sequence[int],
) -> Progressed:
    """Return the progress of some keys; nothing is known that is not given."""
    nothing = [NEVER] * keys
    names = ("needed", "landmark", "next", "last", "risen", "slide")
    kept: Mapping[str, Ints] = {name: ints(memory.get(name, nothing)) for name in names}
    kept = {**kept, "n": ints(memory.get("n", [0] * keys))}
    return Progressed(
        ints(counted or [0] * keys), kept, ints(complete or nothing), ended, largest, largest
    )


def told(cutting: Cutting) -> list[tuple[Any, ...]]:
    """Return the windows of a cutting as (key, start, end, complete)."""
    columns = (cutting.key, cutting.start, cutting.end, cutting.complete)
    return list(zip(*(column.tolist() for column in columns), strict=True))
