"""The page as it is built, and the Node that builds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
STATIC = ROOT / "src" / "muntin" / "server" / "static"


def build() -> Path:
    """Build the page if it is not built from what is there, and return its folder."""
    _run(["bash", "scripts/build-page.sh", sys.executable], ROOT)
    return STATIC


def npm(*arguments: str) -> str:
    """Run npm in ``web/`` and return what it prints."""
    folder = _run(["bash", "scripts/ensure-node.sh", sys.executable], ROOT).strip()
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return _run(["npm", *arguments], WEB, {**os.environ, "PATH": path})


def _run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    run = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, f"{' '.join(command)}:\n{run.stdout}\n{run.stderr}"
    return run.stdout
