"""Kernels are compiled when they are called, together with the parts that they name."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import numpy as np

from muntin.kernels.arrays import Ints
from muntin.kernels.compile import FLOAT, INT, INTS, inline, kernel, part, ready, tuple_of


class _Stretch(NamedTuple):
    first: int
    end: int
    weight: float


@inline
def _doubled(value: int) -> int:
    return 2 * value


@part
def end(stretch: _Stretch) -> int:
    """Return the end and one more; the attribute has the name of the part."""
    return _doubled(stretch.end) + 1


@kernel(INT, tuple_of(_Stretch, INT, INT, FLOAT), INTS)
def _sum_up_to_end(stretch: _Stretch, values: Ints) -> int:
    total = 0
    for place in range(stretch.first, end(stretch)):
        total += values[place]
    return total


def test_a_kernel_calls_parts_that_call_parts() -> None:
    assert _sum_up_to_end(_Stretch(1, 2, 0.5), np.arange(9)) == 1 + 2 + 3 + 4
    assert ready(_sum_up_to_end)(_Stretch(4, 2, 0.5), np.arange(9)) == 4


def test_a_part_is_called_from_python_as_well() -> None:
    assert end(_Stretch(0, 3, 0.5)) == 7


def printed(program: str) -> str:
    words = [sys.executable, "-c", program]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def test_a_driver_does_not_wait_for_numba() -> None:
    """Importing it takes as long as all of Muntin, and only workers run kernels."""
    assert printed(
        "import sys, muntin as mt; mt.stream, mt.sql; print('numba' in sys.modules)"
    ) == ("False")


def test_a_driver_does_not_wait_for_pandas() -> None:
    """It takes a third of the time of the imports of a first query; arrays of lists import it."""
    assert printed("import sys, muntin as mt; mt.stream; print('pandas' in sys.modules)") == "False"


def test_a_worker_does_not_wait_for_the_parser() -> None:
    program = "import sys, muntin.spark.scan.scan; print('sqlglot' in sys.modules)"
    assert printed(program) == "False"
