"""Ctrl-C: a stream stops after its micro-batch, a batch is cancelled; twice stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

#: Seconds between two attempts to cancel Spark's work: the next job may not have begun.
_AGAIN = 0.3
Say = Callable[[str], None]
_Handler = Callable[[int, FrameType | None], None]


class Interrupts:
    """Counts how often Ctrl-C was pressed."""

    def __init__(self, say: Say) -> None:
        self._pressed = 0
        self._say = say

    def stop(self) -> bool:
        """Return whether to stop."""
        return self._pressed > 0

    def hurry(self) -> bool:
        """Return whether to stop at once, without waiting for the running micro-batch."""
        return self._pressed > 1

    def press(self, number: int, frame: FrameType | None) -> None:
        """Count a signal."""
        self._pressed += 1
        if self._pressed == 1:
            self._say("Stopping after this micro-batch; press again to stop now.")


@contextmanager
def interrupts(say: Say) -> Iterator[Interrupts]:
    """Count Ctrl-C in this context, instead of raising KeyboardInterrupt."""
    counted = Interrupts(say)
    with _handled(counted.press):
        yield counted


@contextmanager
def cancelling(cancel: Callable[[], object], say: Say) -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C cancel what Spark works on, then raise KeyboardInterrupt.

    The function that is yielded returns whether Ctrl-C was pressed, for work in which Spark had no
    part. PySpark's own handler interrupts a message to Java in the middle, and both then print long
    errors.
    """
    pressed, over = threading.Event(), threading.Event()

    def press(number: int, frame: FrameType | None) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()
        say("Stopping; press again to stop now.")
        threading.Thread(target=_cancel, args=(cancel, over), daemon=True).start()

    with _handled(press):
        try:
            yield pressed.is_set
        except Exception as error:
            if pressed.is_set():
                raise KeyboardInterrupt from error
            raise
        finally:
            over.set()


def _cancel(cancel: Callable[[], object], over: threading.Event) -> None:
    while not over.wait(_AGAIN):
        with suppress(Exception):  # a session that ends meanwhile
            cancel()


@contextmanager
def _handled(handler: _Handler) -> Iterator[None]:
    """Send signals to stop to a handler in this context; PySpark's own is restored after it."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in kept:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, before in kept.items():
            signal.signal(number, before)
