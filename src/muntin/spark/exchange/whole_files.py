"""Files that are written whole: nobody ever sees a part of one, and what is there is on disk."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: How the name of a file ends that is being written.
UNFINISHED = ".unfinished"


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to; afterwards the file is at ``path``, complete and on disk.

    A file that was there is replaced. If the block raises or the process dies, ``path`` is as it
    was.
    """
    unfinished = _unfinished(path)
    try:
        yield unfinished
        to_disk(unfinished)
        unfinished.replace(path)
        to_disk(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def create_whole(path: Path, content: bytes) -> None:
    """Create a file with all of its content, unless it is there; it then stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = _unfinished(path)
    try:
        unfinished.write_bytes(content)
        to_disk(unfinished)
        with suppress(FileExistsError):
            os.link(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    to_disk(path.parent)


def to_disk(path: Path) -> None:
    """Wait until a file, or the list of the files of a folder, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
