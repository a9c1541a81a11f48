"""Ctrl-C: a stream stops after its micro-batch, a batch is cancelled; twice stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

#: Seconds between two tries to cancel what Spark works on: the next job may not have begun.
_AGAIN = 0.3
Say = Callable[[str], None]
_Handler = Callable[[int, FrameType | None], None]


class Interrupts:
    """How often somebody has pressed Ctrl-C."""

    def __init__(self, say: Say) -> None:
        self._pressed = 0
        self._say = say

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
            self._say("Stopping after this micro-batch; once more to stop now.")


@contextmanager
def interrupts(say: Say) -> Iterator[Interrupts]:
    """Ctrl-C only counts in here."""
    counted = Interrupts(say)
    with _handled(counted.press):
        yield counted


@contextmanager
def cancelling(cancel: Callable[[], object], say: Say) -> Iterator[Callable[[], bool]]:
    """Ctrl-C in here cancels what Spark works on, and is KeyboardInterrupt when that has ended.

    What is given says whether somebody pressed it, for work that nothing of Spark's was part of.
    PySpark's own handler interrupts the conversation with Java in the middle of a sentence, and
    both complain of it at length.
    """
    pressed, over = threading.Event(), threading.Event()

    def press(number: int, frame: FrameType | None) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()
        say("Stopping; once more to stop now.")
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
    """Signals to stop go to a handler in here; PySpark's own is back afterwards."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in kept:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, before in kept.items():
            signal.signal(number, before)
