"""The first file of a source by name, whose beginning decides how all of its files are read."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from muntin.spark.connectors.sources.csv_form import (
    SAMPLE_BYTES,
    CsvForm,
    find_form,
    whole_lines,
)


def first_file(path: str) -> Path | None:
    """Return the first file with something in it, as Spark reads a path; None if there is none."""
    return next((file for file in files_at(path) if file.stat().st_size), None)


def files_at(path: str) -> Iterable[Path]:
    """Yield the files that a path of this machine names, by name, without hidden ones."""
    for match in sorted(glob.glob(path)):  # noqa: PTH207
        place = Path(match)
        if place.is_dir():
            inside = sorted(file for file in place.rglob("*") if file.is_file())
            yield from (file for file in inside if not _hidden(file.relative_to(place)))
        elif place.is_file():
            yield place


def _hidden(path: Path) -> bool:
    return any(part[0] in "._" for part in path.parts)


def beginning(file: Path, encoding: str) -> str | None:
    """Return the first whole lines of a file, compressed or not; None if it is no text."""
    try:
        with pa.input_stream(str(file)) as stream:
            read = stream.read(SAMPLE_BYTES + 1)
        text = read[:SAMPLE_BYTES].decode(encoding, errors="ignore")
    except (pa.ArrowException, OSError, LookupError):
        return None  # compressed in a way that only Spark knows
    if "\x00" in text:
        return None
    return whole_lines(text, all_there=len(read) <= SAMPLE_BYTES)


def form_of(
    path: str, given: Mapping[str, str], declared: Sequence[str] | None, kept: Path | None
) -> CsvForm | None:
    """Return the form of the files at a path; None if no file of this machine can be read.

    Args:
        path: A file, a folder, or a pattern.
        given: Options that are not to be found.
        declared: The names of declared columns.
        kept: The file in which the form is kept, so that the next run has the same.
    """
    names = None if declared is None else [*declared]
    asked = {"path": path, "given": dict(given), "declared": names}
    if kept is not None and kept.is_file():
        before = json.loads(kept.read_text())
        if before["asked"] == asked:
            return CsvForm(before["options"], tuple(map(tuple, before["columns"])))
    file = first_file(path)
    encoding = given.get("encoding", "utf-8-sig")
    sample = None if file is None else beginning(file, encoding)
    form = None if sample is None else find_form(sample, given, declared)
    if form is None and declared is not None and file is None:
        # Later files must not change how those that came before them were read.
        form = CsvForm({} if "header" in given else {"header": "false"}, ())
    if form is not None and kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        found = {"asked": asked, "options": dict(form.options), "columns": form.columns}
        kept.write_text(json.dumps(found))
    return form
