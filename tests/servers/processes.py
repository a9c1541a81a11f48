"""Servers as processes that are bounded in time and end with the test that started them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path


def free_port() -> int:
    """A port of this machine that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def started(words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """A process in a group of its own, so that it can be ended with all that it starts."""
    with log.open("wb") as file:
        return subprocess.Popen(words, stdout=file, stderr=file, start_new_session=True)


def stop(process: subprocess.Popen[bytes], seconds: float = 20) -> None:
    """Ask it to end, and make it end if it does not."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(seconds)


def wait_for(ready: Callable[[], bool], process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether it became ready in time; a process that ended never will."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        if ready():
            return True
        time.sleep(0.2)
    return False


def listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
