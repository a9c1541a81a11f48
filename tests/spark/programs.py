"""Programs that tests run as processes of their own: to kill them, or on another Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path


def start(program: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """A Python program in a process group of its own, so that its JVM can be killed with it."""
    return subprocess.Popen(
        [sys.executable, str(program), *arguments],
        env={**os.environ, "PYTHONPATH": _with_root(), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _with_root() -> str:
    """Programs import helpers of the tests, as the tests do."""
    root = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])


def finish(process: subprocess.Popen[str], seconds: float = 240) -> str:
    """Wait for a program; its output, or its complaint if it failed."""
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, err[-4000:]
    return out


def answer(process: subprocess.Popen[str], seconds: float = 240) -> object:
    """The JSON that a program prints as its last line."""
    return json.loads(finish(process, seconds).strip().splitlines()[-1])


def wait_for(path: Path, process: subprocess.Popen[str], seconds: float = 120) -> None:
    """Wait until a program has made a file."""
    limit = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.communicate()[1][-4000:]
        assert time.monotonic() < limit, f"{path.name} did not appear"
        time.sleep(0.05)


def python_without_muntin(folder: Path) -> str:
    """A Python with the packages of this one, except those installed for development.

    Packages of a folder named in a ``.pth`` file are found; ``.pth`` files in that folder, by
    which Muntin is installed for development, are not read.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    (site / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return str(folder / "bin" / "python")
