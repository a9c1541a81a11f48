"""What a pane, a cell or a session keeps, in bytes where they are known and in words otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, AccumulatorKind, KeptRows, OwnAccumulator

_GROWING = {
    AccumulatorKind.COUNTED: "each distinct value of a {part} with its count",
    AccumulatorKind.COLLECTED: "each value of a {part} with its place",
}


def said_bounded(state: str) -> bool:
    """Whether what ``explain`` says of a state is that it does not grow with the rows."""
    return state.startswith(("bounded", "none"))


@dataclass(frozen=True)
class KeptPart:
    """What accumulators keep in one part of the state: a ``pane``, a ``cell``, a ``session``."""

    accumulators: Sequence[Accumulator]
    part: str

    @property
    def bounded(self) -> bool:
        """Whether a part has the same size however many rows it has."""
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
        """What the data decide the size of."""
        said = sorted(
            {
                _GROWING[a.kind].format(part=self.part)
                for a in self.accumulators
                if isinstance(a.kind, AccumulatorKind) and a.kind in _GROWING
            }
        )
        if any(isinstance(a, KeptRows) for a in self.accumulators):
            said.append(f"each row of a {self.part}, so it grows with the rows")
        own = [a.kind for a in self.accumulators if isinstance(a, OwnAccumulator)]
        sized = _listed(k.label for k in own if k.own.bounded and not all(map(_width, k.partials)))
        growing = _listed(kind.label for kind in own if not kind.own.bounded)
        said += [f"a state of its own size for {sized}"] if sized else []
        text = "".join(f"; and {part}" for part in said)
        return text + (f"; but the more rows, the larger for {growing}" if growing else "")


def _listed(labels: Iterable[str]) -> str:
    return ", ".join(labels)


def _width(type_: pa.DataType) -> int | None:
    """The bits of a value; None where values differ in size."""
    try:
        return int(type_.bit_width)
    except ValueError:
        return None
