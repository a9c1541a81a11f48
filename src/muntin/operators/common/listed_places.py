"""A limit on windows and instants that are listed without rows, so that none fills the memory."""

from __future__ import annotations

import numpy as np

from muntin.errors import TooManyPlacesError
from muntin.kernels.arrays import Ints

#: A step lists at most this many places, and further ones for each row, pane or key that it has.
MOST_PLACES = 10_000_000
PLACES_OF_ROW = 100


def check_listed(count: Ints | int, held: int, what: str) -> None:
    """Raise if a step would list too many places, before it lists them.

    ``count`` has how many places each key or row asks for; ``held`` is how many rows there are.
    """
    listed = int(np.sum(count, dtype=np.float64))
    most = MOST_PLACES + PLACES_OF_ROW * held
    if listed > most:
        raise TooManyPlacesError(listed, most, what)
