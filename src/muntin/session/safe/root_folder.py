"""Files below one folder: where a path of an untrusted text really leads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from muntin.errors import ArgumentError

#: What Spark reads as an address, a pattern or an escape; and what no name of a file needs.
_SPECIAL = re.compile(r"[:*?\[\]{}\\%,~\x00-\x1f\x7f]")


def check_root(root: object) -> Path:
    """Return the folder that files must be in, with its symbolic links followed."""
    expected = "it is the folder below which a text may read and write files, and must be there"
    if not isinstance(root, str | os.PathLike):
        raise ArgumentError("root", root, expected)
    folder = Path(root).resolve()
    if not folder.is_dir():
        raise ArgumentError("root", str(root), expected)
    return folder


def check_apart(root: Path | None, folder: str | Path, what: str) -> None:
    """Raise if a folder of Muntin's own is where untrusted texts may write, or the other way."""
    place = Path(folder).resolve()
    if root is not None and (place.is_relative_to(root) or root.is_relative_to(place)):
        raise ArgumentError(
            "root", str(root), f"{what} {folder} is in it or around it; texts could change it there"
        )


def outside(path: str, root: Path) -> str | None:
    r"""Return why a path may not be used, or None if it is below the root wherever it leads.

    >>> outside("/etc/passwd", Path("/srv/data"))
    'it is not below /srv/data'
    >>> outside("/srv/data/../{etc,x}", Path("/srv/data"))
    'in safe mode a path has no addresses and no patterns: none of : * ? [ ] { } \\ % , ~'
    """
    if _SPECIAL.search(path):
        return (
            "in safe mode a path has no addresses and no patterns: none of : * ? [ ] { } \\ % , ~"
        )
    place = Path(path).resolve()
    if not place.is_relative_to(root):
        return f"it is not below {root}"
    if place == root:
        return f"it is {root} itself; name a folder or a file below it"
    for link in _links(place):
        if not link.resolve().is_relative_to(root):
            return f"it has a link, {link.relative_to(root)}, that leads out of {root}"
    return None


def _links(folder: Path) -> Iterator[Path]:
    """Yield the symbolic links in a folder and all folders below it; none is followed."""
    for inside, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(inside, name)
            if path.is_symlink():
                yield path
