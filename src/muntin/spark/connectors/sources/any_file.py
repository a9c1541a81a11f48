"""``FROM 'f.csv'``: files whose form their name says, and ``-``, which is what is piped in."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from muntin.errors import ArgumentError
from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sources import files
from muntin.spark.connectors.sources.first_file import files_at
from muntin.spark.connectors.sources.protocol import OpenedSource, SourceRequest
from muntin.spark.connectors.temporary_folder import temporary_folder

FILE = Signature("file", (Parameter("path", str, required=True),))
#: The path that means standard input.
PIPED = "-"
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
_EXPECTED = (
    "no name says what it is; csv('...'), json('...') and parquet('...') say it, and so do .csv, "
    ".tsv, .txt, .json, .jsonl, .ndjson and .parquet, also before .gz"
)


@dataclass(frozen=True)
class _Form:
    """A form of files, what their names end with, and the function that opens them."""

    signature: Signature
    endings: tuple[str, ...]
    open: Callable[[SourceRequest], OpenedSource]


_FORMS: Mapping[str, _Form] = MappingProxyType(
    {
        "csv": _Form(files.CSV, (".csv", ".tsv", ".txt"), files.open_csv),
        "json": _Form(files.JSON, (".json", ".jsonl", ".ndjson"), files.open_json),
        "parquet": _Form(files.PARQUET, (".parquet", ".pq"), files.open_parquet),
    }
)


def open_file(request: SourceRequest) -> OpenedSource:
    """Open files by the name of the path, else by that of the first file in it."""
    path = request.bound.text("path")
    if path == PIPED:
        piped = received(request, "")
        with piped.open("rb") as file:
            begins_object = file.read(1) == b"{"
        return _opened("json" if begins_object else "csv", request, str(piped))
    form = form_of_names([path])
    if form is None:
        files.check_there(path)
        form = form_of_names(map(str, files_at(path)))
    if form is None:
        raise ArgumentError("path", path, _EXPECTED)
    return _opened(form, request, path)


def open_csv(request: SourceRequest) -> OpenedSource:
    """Open CSV files, or CSV that is piped in."""
    return files.open_csv(_received(request, ".csv"))


def open_json(request: SourceRequest) -> OpenedSource:
    """Open files of JSON lines, or JSON lines that are piped in."""
    return files.open_json(_received(request, ".json"))


def _opened(form: str, request: SourceRequest, path: str) -> OpenedSource:
    known = _FORMS[form]
    return known.open(replace(request, bound=known.signature.bind([path], {})))


def _received(request: SourceRequest, ending: str) -> SourceRequest:
    """Return the request for a file with all that is piped in, if the path is ``-``."""
    bound = request.bound
    if bound.text("path") != PIPED:
        return request
    values = {**bound.values, "path": str(received(request, ending))}
    return replace(request, bound=replace(bound, values=values))


def received(request: SourceRequest, ending: str) -> Path:
    """Write all that is piped in to a file, and return it."""
    if request.streaming:
        expected = "it is read to its end; stdin('csv') (column type, ...) follows a pipe"
        raise ArgumentError("path", PIPED, expected)
    if sys.stdin is None or sys.stdin.isatty():
        expected = "nothing is piped in; try: muntin run -c \"SELECT * FROM '-'\" < readings.csv"
        raise ArgumentError("path", PIPED, expected)
    place = temporary_folder("piped") / f"stdin{ending}"
    with os.fdopen(os.dup(sys.stdin.fileno()), "rb") as piped, place.open("wb") as file:
        shutil.copyfileobj(piped, file)
    if not place.stat().st_size:
        raise ArgumentError(
            "path", PIPED, "nothing came from standard input, or it was read before"
        )
    return place


def form_of_names(names: Iterable[str]) -> str | None:
    """Return the form that the first name with a known ending says.

    >>> form_of_names(["readings.tsv.gz"]), form_of_names(["readings"])
    ('csv', None)
    """
    for name in names:
        plain = name.lower()
        for ending in _COMPRESSED:
            plain = plain.removesuffix(ending)
        for form, known in _FORMS.items():
            if plain.endswith(known.endings):
                return form
    return None
