"""The engine's home: a folder with the registry, the files of each stream, and a lock.

One process at a time has a home. The lock is held by the operating system and ends with the
process, however it ends; the process id in the file is for people.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from urllib.parse import quote

from muntin.errors import EngineError

_OWNER_ONLY = 0o700
#: What a stream keeps: a folder each.
_STREAM_FOLDERS = ("versions", "pins", "results", "sinks")


class Home:
    """Makes the folders of a home and holds its lock; ``close`` or the end of a ``with`` releases.

    Raises:
        EngineError: Another process, or another engine of this one, has the home.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True, mode=_OWNER_ONLY)
        self._streams = self.folder / "streams"
        self._streams.mkdir(exist_ok=True, mode=_OWNER_ONLY)
        self._lock = _locked(self.folder / "lock")

    def stream(self, name: str) -> Path:
        """Return the folder of a stream, with its subfolders; made if it is missing."""
        folder = self._streams / folder_name(name)
        for part in _STREAM_FOLDERS:
            (folder / part).mkdir(parents=True, exist_ok=True, mode=_OWNER_ONLY)
        return folder

    def close(self) -> None:
        """Release the home; a second call does nothing."""
        if self._lock >= 0:
            os.close(self._lock)  # which ends the lock
            self._lock = -1

    def __enter__(self) -> Home:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def folder_name(name: str) -> str:
    """Return the name of a folder for a stream or a sink: its own, with other characters escaped.

    >>> folder_name("traffic"), folder_name("I-80/east"), folder_name("..")
    ('traffic', 'I-80%2Feast', '%2E%2E')
    """
    escaped = quote(name, safe=" ")
    return escaped.replace(".", "%2E") if escaped.startswith(".") else escaped


def _locked(path: Path) -> int:
    """Return a descriptor that holds the lock of a home, with this process's id in the file."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
        os.close(descriptor)
        raise EngineError(
            f"the home {path.parent} is in use by process {holder}; stop that engine, use it with "
            "mt.connect, or give this one another home="
        ) from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor
