"""How often somebody may do something: a number of times a minute, all at once or spread."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_MINUTE = 60.0
#: How many callers are remembered; the one that was silent longest is forgotten first.
_REMEMBERED = 10_000


class Rates:
    """Counts by caller.

    >>> clock = iter([0.0, 0.0, 0.0, 30.0]).__next__
    >>> rates = Rates(2, clock)
    >>> rates.take("a"), rates.take("a"), rates.take("a"), rates.take("a")
    (True, True, False, True)
    """

    def __init__(self, a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(a_minute)
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def room(self, caller: str) -> bool:
        """Return whether a caller may, without counting it."""
        with self._lock:
            return self._now(caller)[0] >= 1.0

    def take(self, caller: str) -> bool:
        """Return whether a caller may, and count it."""
        with self._lock:
            left, now = self._now(caller)
            granted = left >= 1.0
            self._left[caller] = (left - 1.0 if granted else left, now)
            self._left.move_to_end(caller)
            while len(self._left) > _REMEMBERED:
                self._left.popitem(last=False)
            return granted

    def _now(self, caller: str) -> tuple[float, float]:
        now = self._clock()
        left, since = self._left.get(caller, (self._most, now))
        return min(self._most, left + (now - since) * self._most / _MINUTE), now
