"""What a plan keeps: how much, whether that is bounded, why, and what would bound it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, AccumulatorKind, KeptRows, OwnAccumulator

_GROWING = {
    AccumulatorKind.COUNTED: "each distinct value of a {part} with its count",
    AccumulatorKind.COLLECTED: "each value of a {part} with its place",
}


class Bounded(Enum):
    """Whether state is bounded. ``IF``: only if some part of the data is bounded."""

    EMPTY = "none"
    ALWAYS = "bounded"
    IF = "bounded if"
    NEVER = "unbounded"


@dataclass(frozen=True)
class StateProfile:
    """What a stream keeps, and whether that is bounded.

    ``parts`` say what is kept, and per how many rows or keys. ``why`` is the reason of the verdict;
    ``condition`` is what has to be bounded if the verdict is ``IF``. ``remedy`` says how to write a
    query whose state is bounded.
    """

    bounded: Bounded
    why: str
    parts: tuple[str, ...] = ()
    condition: str = ""
    remedy: str = "a window that ends"

    @property
    def grows_for_ever(self) -> bool:
        """True if the state grows as long as the query runs."""
        return self.bounded is Bounded.NEVER

    @property
    def verdict(self) -> str:
        """The verdict with its reason, for SQL's EXPLAIN."""
        empty = self.bounded is Bounded.EMPTY
        return f"{Bounded.ALWAYS.value if empty else self._head}: {self.why}"

    def __str__(self) -> str:
        """Return the verdict with what is kept, for ``explain``."""
        *first, last = self.parts or (self.why,)
        kept = ", ".join([*first, f"and {last}" if first else last])
        reason = f"; {self.why} (bounded by {self.remedy})" if self.grows_for_ever else ""
        return f"{self._head}: {kept}{reason}"

    @property
    def _head(self) -> str:
        return f"{self.bounded.value} {self.condition}".rstrip()


#: The profile of every batch.
BATCH = StateProfile(Bounded.EMPTY, "a batch is one pass")
#: The profile of a stream that probes a stored table.
PROBES = StateProfile(Bounded.EMPTY, "nothing waits for a table")


@dataclass(frozen=True)
class KeptPart:
    """What accumulators keep in one part of the state: a ``pane``, a ``cell``, a ``session``."""

    accumulators: Sequence[Accumulator]
    part: str

    @property
    def bounded(self) -> bool:
        """True if a part has the same size for any number of rows."""
        return all(accumulator.bounded for accumulator in self.accumulators)

    @property
    def size(self) -> str:
        """What every part has: its number, its key, and the columns of fixed width."""
        columns = [t for a in self.accumulators if a.bounded for t in a.columns]
        bits = sum(width for width in map(_width, columns) if width)
        of_muntin = [
            a for a in self.accumulators if a.bounded and not isinstance(a, OwnAccumulator)
        ]
        loose = any(_width(t) is None for a in of_muntin for t in a.columns)
        keys = ", the key and the values" if loose else " and the key"
        return f"{8 + -(-bits // 8)} bytes{keys}"

    @property
    def more(self) -> str:
        """What else a part keeps, the size of which depends on the data."""
        parts = sorted(
            {
                _GROWING[a.kind].format(part=self.part)
                for a in self.accumulators
                if isinstance(a.kind, AccumulatorKind) and a.kind in _GROWING
            }
        )
        if any(isinstance(a, KeptRows) for a in self.accumulators):
            parts.append(f"each row of a {self.part}, so it grows with the rows")
        own = [a.kind for a in self.accumulators if isinstance(a, OwnAccumulator)]
        sized = _listed(k.label for k in own if k.own.bounded and not all(map(_width, k.partials)))
        growing = _listed(kind.label for kind in own if not kind.own.bounded)
        parts += [f"a state of its own size for {sized}"] if sized else []
        text = "".join(f"; and {part}" for part in parts)
        return text + (f"; but the more rows, the larger for {growing}" if growing else "")


def _listed(labels: Iterable[str]) -> str:
    return ", ".join(labels)


def _width(type_: pa.DataType) -> int | None:
    """Return the bits of a value; None where values differ in size."""
    try:
        return int(type_.bit_width)
    except ValueError:
        return None
