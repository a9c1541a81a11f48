"""Ctrl-C: once to stop after the current micro-batch, twice to stop at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click


class Interrupts:
    """How often somebody has pressed Ctrl-C."""

    def __init__(self) -> None:
        self._pressed = 0

    def asked(self) -> bool:
        """Whether to stop."""
        return self._pressed > 0

    def hurry(self) -> bool:
        """Whether not to wait for the micro-batch that is running."""
        return self._pressed > 1

    def press(self, number: int, frame: FrameType | None) -> None:
        """What the signal calls."""
        self._pressed += 1
        if self._pressed == 1:
            click.echo("\nStopping after this micro-batch; once more to stop now.", err=True)


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Ctrl-C only counts in here. PySpark's own handler, which cancels jobs, is back afterwards."""
    counted = Interrupts()
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in kept:
        signal.signal(number, counted.press)
    try:
        yield counted
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
