"""Which rows a join reports: pairs, rows without a partner, or left rows by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from muntin.errors import ArgumentError, did_you_mean

How = Literal["inner", "left", "right", "full", "semi", "anti"]
HOWS: tuple[How, ...] = get_args(How)


def checked(argument: str, given: object, choices: Sequence[str]) -> str:
    """One of some words, or an error that lists them."""
    if isinstance(given, str) and given in choices:
        return given
    listed = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
    hint = did_you_mean(given, choices) if isinstance(given, str) else ""
    raise ArgumentError(argument, given, f"it is {listed}{hint}")


def pads_left(how: str) -> bool:
    """Whether left rows without a partner are reported."""
    return how in ("left", "full", "anti")


def pads_right(how: str) -> bool:
    """Whether right rows without a partner are reported."""
    return how in ("right", "full")


def left_only(how: str) -> bool:
    """Whether left rows are reported by themselves, once."""
    return how in ("semi", "anti")
