"""The command that goes on with a stream that was stopped: everything it was called with."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from muntin.cli.options import MASTER, SHOWN_ROWS, SparkOptions
from muntin.spark.connectors.signature import is_secret

#: Options of ``muntin run`` that are given with a value, and how the command calls them.
_VALUES = {"trigger": "--trigger", "dead_letter": "--dead-letter", "form": "--format"}


def resuming(given: Mapping[str, Any]) -> str:
    """The line for a shell."""
    words = ["muntin", "run", str(given["file"]), "--stream"]
    words += ["--checkpoint", str(given["checkpoint"])]
    for name, option in _VALUES.items():
        words += [] if given[name] is None else [option, str(given[name])]
    words += ["--once"] if given["once"] else []
    words += ["--rows", str(given["rows"])] if given["rows"] != SHOWN_ROWS else []
    words += ["--json"] if given["as_json"] else []
    return shlex.join([*words, *_spark(given["spark_options"])])


def _spark(options: SparkOptions) -> Iterator[str]:
    if options.master != MASTER:
        yield from ("--master", options.master)
    for name, value in options.conf.items():
        yield from ("--conf", f"{name}={'...' if is_secret(name) else value}")
    for package in options.packages:
        yield from ("--package", package)
    if not options.fetches:
        yield "--no-packages"
    if options.log is not None:
        yield from ("--log", str(options.log))
