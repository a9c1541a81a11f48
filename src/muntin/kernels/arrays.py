"""Types of NumPy arrays and the limits of their integers, under the names that all rooms use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
SmallInts = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
#: Below every tick: the punctuation before any has come.
NEVER = -(2**63)
#: Above every tick and order: no such row.
EVER = 2**63 - 1
