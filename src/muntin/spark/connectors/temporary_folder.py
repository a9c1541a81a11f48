"""Temporary folders: for the user alone, and removed when the process ends."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def temporary_folder(purpose: str) -> Path:
    """Return a new folder that only its owner can enter, removed when this process ends.

    A process that is killed leaves it, as private as it was.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"muntin-{purpose}-"))
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a copy that the process made of itself
        shutil.rmtree(folder, ignore_errors=True)
