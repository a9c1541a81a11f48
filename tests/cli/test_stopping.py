"""Ctrl-C without Spark: which work is cancelled, which error is raised, what is printed."""

from __future__ import annotations

import signal
import threading

import pytest

from muntin.cli.interrupts import cancelling, interrupts


def test_work_is_cancelled() -> None:
    """The work fails because it was cancelled; KeyboardInterrupt is raised instead of its error."""
    printed: list[str] = []
    cancelled = threading.Event()
    with pytest.raises(KeyboardInterrupt), cancelling(cancelled.set, printed.append):
        signal.raise_signal(signal.SIGINT)
        assert cancelled.wait(10)
        raise RuntimeError("the job was cancelled")
    assert printed == ["Stopping; press again to stop now."]


def test_work_that_cannot_be_cancelled_is_interrupted() -> None:
    with pytest.raises(KeyboardInterrupt), cancelling(lambda: None, lambda _: None) as pressed:
        signal.raise_signal(signal.SIGINT)
        assert pressed()
        signal.raise_signal(signal.SIGINT)
        pytest.fail("the second one does not wait")


def test_work_that_fails_by_itself() -> None:
    with pytest.raises(RuntimeError), cancelling(lambda: None, lambda _: None):
        raise RuntimeError


def test_the_handler_from_before_is_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with cancelling(lambda: None, lambda _: None), interrupts(lambda _: None) as pressed:
        signal.raise_signal(signal.SIGINT)
        assert (pressed.stop(), pressed.hurry()) == (True, False)
        signal.raise_signal(signal.SIGINT)
        assert pressed.hurry()
    assert signal.getsignal(signal.SIGINT) is before
