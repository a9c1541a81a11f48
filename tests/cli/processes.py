"""``muntin`` as a program of its own, with a Spark of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

WORDS = [sys.executable, "-m", "muntin.cli"]
#: Small, so that several can run beside the session of the tests.
SMALL = ["--master", "local[2]", "--conf", "spark.driver.memory=1g"]


def environment() -> dict[str, str]:
    """Where the program finds this very Muntin."""
    source = Path(__file__).parents[2] / "src"
    return {**os.environ, "PYTHONPATH": str(source), "PYTHONUNBUFFERED": "1"}


def ran(
    words: Sequence[str | Path], seconds: float = 240, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*WORDS, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environment(),
        input=stdin,
        check=False,
    )
