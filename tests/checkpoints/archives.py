"""Checkpoints as archives that can be unpacked in any folder.

Spark writes absolute paths into a checkpoint: of the files that were read, and of the file with the
schema of the state. An archive has ``FOLDER`` in place of the folder in which the query ran.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

#: What stands in an archive for the folder of the query.
FOLDER = "/muntin-query"
#: When all files of an archive were written, so that an archive depends on its contents only.
_DATE = (2026, 1, 1, 0, 0, 0)


def archive(name: str) -> Path:
    """The archive of a query."""
    return Path(__file__).with_name(f"{name}.zip")


def pack(folder: Path, checkpoint: str, target: Path) -> None:
    """Write the checkpoint of the query in ``folder`` to an archive.

    Checksums that Hadoop writes beside files (``.0.crc``) are left out: they would not fit files
    whose paths have been replaced, and Spark reads files without them.
    """
    files = sorted(path for path in (folder / checkpoint).rglob("*") if path.is_file())
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in files:
            if path.suffix != ".crc":
                entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(entry, _replaced(path.read_bytes(), str(folder), FOLDER))


def unpack(source: Path, folder: Path) -> None:
    """Put the checkpoint of an archive into the folder of a query."""
    with zipfile.ZipFile(source) as packed:
        for name in packed.namelist():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_replaced(packed.read(name), FOLDER, str(folder)))


def _replaced(content: bytes, old: str, new: str) -> bytes:
    """The content with another folder; files of RocksDB hold none and stay as they are."""
    return content.replace(f"{old}/".encode(), f"{new}/".encode())
