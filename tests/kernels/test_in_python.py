"""Kernels whose first values are computed by Python: it computes the same as compiled code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels import grouping, hashing, sliding
from muntin.kernels.compile import INT, INTS, LazyKernel, kernel
from muntin.kernels.numbers import double_double, order_keys

Draw = Callable[[np.random.Generator], Sequence[Any]]
#: Values at which arithmetic overflows, rounds or is not a number.
_HARD = [0.0, -0.0, 0.1, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan]
_EXTREME = [0, 1, -1, 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63)]


def _doubles(chance: np.random.Generator, count: int = 12) -> np.ndarray:
    return np.where(
        chance.random(count) < 0.4, chance.choice(_HARD, count), chance.normal(size=count)
    )


def _integers(chance: np.random.Generator, count: int = 12) -> np.ndarray:
    small = chance.integers(-5, 5, count)
    return np.where(chance.random(count) < 0.4, chance.choice(np.array(_EXTREME), count), small)


def _groups(chance: np.random.Generator) -> np.ndarray:
    return chance.integers(0, 4, 12)


def _stretches(chance: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Stretches whose ends only move forward, each with a value."""
    low = np.sort(chance.integers(0, 12, 8))
    high = np.maximum.accumulate(np.minimum(12, low + chance.integers(1, 6, 8)))
    return low, high


def _windows(chance: np.random.Generator) -> Sequence[Any]:
    per_slide, whole_slides = int(chance.integers(1, 3)), int(chance.integers(-2, 4))
    first = chance.integers(-4, 4, 2)
    panes = np.concatenate([np.sort(chance.choice(20, 6, replace=False)) for _ in range(2)])
    last = first + chance.integers(0, 9, 2)
    room = [np.zeros(40, np.int64) for _ in range(4)]
    return np.array([0, 6, 12]), panes, per_slide, whole_slides, first, last, *room


def _bytes(chance: np.random.Generator) -> Sequence[Any]:
    ends = np.concatenate([[0], np.sort(chance.integers(0, 20, 5))])
    return ends, chance.integers(0, 256, 20).astype(np.uint8), np.zeros(5, np.uint64)


def _bits(chance: np.random.Generator) -> Sequence[Any]:
    values = _doubles(chance)
    return values, values.view(np.int64), np.zeros(12, np.int64)


KERNELS: dict[Any, Draw] = {
    hashing._mix: lambda c: (_integers(c).view(np.uint64), np.zeros(12, np.uint64)),
    hashing._fnv: _bytes,
    grouping._number_cells: lambda c: (_groups(c), np.full(4, -1), *np.zeros((2, 12), np.int64)),
    grouping.add_by_group: lambda c: (_groups(c), _integers(c), _integers(c, 4)),
    grouping.least_by_group: lambda c: (_groups(c), _integers(c), _integers(c, 4)),
    grouping.add_exactly_by_group: lambda c: (
        _groups(c),
        _doubles(c),
        _doubles(c),
        _doubles(c, 4),
        _doubles(c, 4),
    ),
    sliding.intervals: _windows,
    sliding.slide_least: lambda c: (_integers(c), *_stretches(c), np.zeros(8, np.int64)),
    sliding.slide_add_exactly: lambda c: (
        _doubles(c),
        _doubles(c),
        *_stretches(c),
        *np.zeros((2, 8)),
    ),
    order_keys._order_bits: _bits,
    double_double._products: lambda c: (_doubles(c), _doubles(c), *np.zeros((2, 12))),
    double_double._divide: lambda c: (_doubles(c), _doubles(c), _doubles(c), np.zeros(12)),
}


@pytest.mark.parametrize("tried", KERNELS, ids=lambda tried: tried.__name__)
@given(seed=st.integers(0, 2**32))
def test_python_computes_what_compiled_code_does(tried: LazyKernel, seed: int) -> None:
    uncompiled, compiled = (KERNELS[tried](np.random.default_rng(seed)) for _ in range(2))
    assert tried.uncompiled(*uncompiled) == tried.compiled(*compiled)
    for mine, other in zip(uncompiled, compiled, strict=True):
        np.testing.assert_array_equal(mine, other)
        if isinstance(mine, np.ndarray) and mine.dtype == np.float64:
            known = ~np.isnan(mine)
            np.testing.assert_array_equal(np.signbit(mine[known]), np.signbit(other[known]))


def test_a_kernel_is_compiled_when_it_has_computed_a_few_values() -> None:
    @kernel(INT, INTS, in_python=True)
    def total(values: Any) -> int:
        found = 0
        for value in values:
            found += value
        return found

    lazy: Any = total
    for _ in range(3):
        assert total(np.arange(4)) == 6
    assert "compiled" not in vars(lazy)
    assert total(np.ones(30_000, np.int64)) == 30_000
    assert "compiled" in vars(lazy)
    assert total(np.arange(4)) == 6


def test_a_short_query_does_not_wait_for_numba() -> None:
    program = (
        "import sys, numpy as np\n"
        "from muntin.kernels.hashing import mixed\n"
        "from muntin.kernels.sliding import intervals\n"
        "none = np.empty(0, np.int64)\n"
        "ints = [np.array(values) for values in ([0, 2], [1, 2], [0], [3])]\n"
        "print(intervals(*ints[:2], 1, 2, *ints[2:], none, none, none, none))\n"
        "mixed(np.arange(5).view(np.uint64))\n"
        "print('numba' in sys.modules)\n"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True
    )
    assert printed.stdout.split() == ["3", "False"]
