"""A child process that is killed at its n-th step, for every n: nothing may be half done."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType

import pytest

#: What counts as a step: every call from, into, or back from a function of these files.
_STEPS = ("muntin/engine/", "exchange/pinned_versions", "exchange/whole_files")

#: Every step in ``make soak``; every tenth in ``make test``.
strides = pytest.mark.parametrize("stride", [10, pytest.param(1, marks=pytest.mark.slow)])


def killed_at(step: int, work: Callable[[Callable[[str], None]], None]) -> tuple[bool, list[str]]:
    """Run work in a child that gets SIGKILL at a step; say whether it got there, and its words.

    The work is given a function that reports a word to the parent, as a client would have heard it.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            _count_down(step)
            work(lambda word: _report(write, word))
        except BaseException:
            sys.setprofile(None)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)  # no handler of the parent runs in the child
    os.close(write)
    with os.fdopen(read) as words:
        said = words.read().split()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), f"the child failed at step {step}"
    return status != 0, said


def at_every_step(
    work: Callable[[Callable[[str], None]], None],
    check: Callable[[list[str]], None],
    stride: int,
) -> int:
    """Kill the child at its first step, then a stride later and so on until it gets to its end.

    ``check`` is called after each, with what the child reported; return how many steps there were.
    """
    step = 1
    while True:
        killed, words = killed_at(step, work)
        check(words)
        if not killed:
            return step
        step += stride


def _report(pipe: int, word: str) -> None:
    os.write(pipe, f"{word}\n".encode())


def _count_down(steps: int) -> None:
    left = steps

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        if any(part in frame.f_code.co_filename for part in _STEPS):
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(watch)  # for threads that begin
    sys.setprofile(watch)
