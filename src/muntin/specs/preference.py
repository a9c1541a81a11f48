"""What a query prefers when it cannot look at everything [Promising tuples 4.1.1]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from muntin.errors import ArgumentError
from muntin.specs.lengths import Length, positive_length

#: The greatest priority first, the least first, or time shared by priority.
PreferenceOrder = Literal["desc", "asc", "weighted"]


@dataclass(frozen=True)
class PreferredValue:
    """An expression that says how much a row is preferred.

    In ``text`` the names ``estimate_0``, ``estimate_1`` and so on are the estimated counts of the
    columns in ``counted``, which are written as in the query.
    """

    text: str
    counted: tuple[str, ...]

    def __str__(self) -> str:
        text = self.text
        for place, column in reversed([*enumerate(self.counted)]):
            text = text.replace(f"estimate_{place}", f"SUMMARY.Estimate.Count({column})")
        return text


@dataclass(frozen=True)
class Preference:
    """``WITH PREFERENCE desc SUMMARY.Estimate.Count(item) FADE FACTOR 0.8 WINDOW 1 MINUTE``.

    Args:
        order: ``"desc"`` takes what is preferred most first, ``"asc"`` what is preferred least, and
            ``"weighted"`` shares the work among values in the ratio of their priorities.
        values: What priorities are; for a join, one for the rows of each stream or fewer.
        fade: By how much a priority is less for each granularity that lies further back.
        window: How far back rows count; everything if it is not given.
    """

    order: PreferenceOrder
    values: tuple[PreferredValue, ...]
    fade: float
    window: Length | None

    def __init__(
        self,
        order: object = "desc",
        values: tuple[PreferredValue, ...] = (),
        fade: object = 1,
        window: object = None,
    ) -> None:
        if order not in get_args(PreferenceOrder):
            raise ArgumentError("order", order, "'desc', 'asc' or 'weighted'")
        if isinstance(fade, bool) or not isinstance(fade, int | float) or not 0 < fade <= 1:
            raise ArgumentError("fade", fade, "a number above 0, up to 1, such as 0.8")
        length = None if window is None else positive_length("window", window)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "values", tuple(values))
        object.__setattr__(self, "fade", float(fade))
        object.__setattr__(self, "window", length)

    def __str__(self) -> str:
        parts = [f"PREFERENCE {self.order} {', '.join(map(str, self.values))}"]
        parts += [f"FADE FACTOR {self.fade:g}"] if self.fade != 1 else []
        parts += [] if self.window is None else [f"WINDOW {self.window}"]
        return " ".join(parts)
