"""Programs that tests run as separate processes: to kill them, or on another Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from contextlib import suppress
from pathlib import Path

from tests.sessions import JAVA

#: The seconds that a program may take; a test that waits for it has a longer timeout.
PATIENCE = 600


def start(program: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start a Python program in its own process group, so that its JVM can be killed with it."""
    return subprocess.Popen(
        [sys.executable, str(program), *arguments],
        # A Spark Connect server takes no Java options from its client.
        env={**os.environ, "PYTHONPATH": _with_root(), "SPARK_SUBMIT_OPTS": JAVA, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _with_root() -> str:
    """Return a PYTHONPATH with the root, because programs import helpers of the tests."""
    root = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])


def finish(process: subprocess.Popen[str], seconds: float = PATIENCE) -> str:
    """Wait for a program and return its output; raise with its errors if it failed."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        kill(process)
        raise AssertionError(
            f"not done in {seconds:g} s: {process.communicate()[1][-4000:]}"
        ) from None
    except BaseException:  # the timeout of pytest, or an interrupt
        kill(process)
        raise
    assert process.returncode == 0, err[-4000:]
    return out


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a program with its JVM and its workers, which would outlive it."""
    with suppress(ProcessLookupError):  # the program has just ended
        os.killpg(process.pid, signal.SIGKILL)


def answer(process: subprocess.Popen[str], seconds: float = PATIENCE) -> object:
    """Return the JSON that a program prints as its last line."""
    return json.loads(finish(process, seconds).strip().splitlines()[-1])


def wait_for(path: Path, process: subprocess.Popen[str], seconds: float = 120) -> None:
    """Wait until a program has written a file."""
    limit = time.monotonic() + seconds
    try:
        while not path.exists():
            assert process.poll() is None, process.communicate()[1][-4000:]
            assert time.monotonic() < limit, f"{path.name} did not appear"
            time.sleep(0.05)
    except BaseException:
        if process.poll() is None:
            kill(process)
        raise


def python_without_muntin(folder: Path) -> str:
    """Make a Python with the packages of this one, except those installed for development.

    The packages in a folder that a ``.pth`` file names are found. The ``.pth`` files in that folder
    are not read, and Muntin is installed for development by such a file.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    (site / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return str(folder / "bin" / "python")
