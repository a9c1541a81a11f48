"""The memory of this process and of those that it started, read from ``/proc``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")


def peaks() -> dict[str, int]:
    """Return the peak of resident memory in bytes: of the driver, its JVM, and the largest worker.

    Empty where there is no ``/proc``.
    """
    if not PROC.exists():
        return {}
    found = {"driver": _status(os.getpid(), "VmHWM"), "JVM": 0, "worker": 0}
    for pid, words in _children():
        kind = "JVM" if "java" in words else "worker" if "pyspark" in words else None
        if kind is not None:
            found[kind] = max(found[kind], _status(pid, "VmHWM"))
    return found


def resident_workers() -> int:
    """Return the resident memory of all Python workers in bytes."""
    return sum(_status(pid, "VmRSS") for pid, words in _children() if "pyspark" in words)


def _children() -> Iterator[tuple[int, str]]:
    """Yield the processes that descend from this one, and their command lines."""
    parents = {int(path.name): _parent(path) for path in PROC.iterdir() if path.name.isdigit()}
    for pid in parents:
        ancestor = parents.get(pid)
        while ancestor not in (None, 0, os.getpid()):
            ancestor = parents.get(ancestor or 0)
        if ancestor == os.getpid():
            try:
                line = (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue  # it has ended
            first, _, rest = line.partition("\0")
            yield pid, "java" if first.endswith("java") else f"{first} {rest}"


def _parent(path: Path) -> int | None:
    try:
        return int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return None


def _status(pid: int, name: str) -> int:
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return 0
    sizes = [int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")]
    return sizes[0] if sizes else 0
