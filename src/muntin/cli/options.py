"""Options that several commands share: how Spark starts, files, streams and JSON."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from muntin.specs.secrets import PLACE

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class SparkOptions:
    """How Spark starts."""

    master: str
    conf: dict[str, str]
    packages: tuple[str, ...]
    fetches: bool
    log: Path | None
    verbose: bool = False


def spark_options(command: F) -> F:
    """Add the options of how Spark starts, as one argument ``spark_options``."""

    @wraps(command)  # which keeps what click's decorators left on the function
    def with_options(*args: Any, **arguments: Any) -> Any:
        options = SparkOptions(
            arguments.pop("master"),
            dict(arguments.pop("conf")),
            arguments.pop("package"),
            not arguments.pop("no_packages"),
            arguments.pop("log"),
            arguments.pop("verbose"),
        )
        return command(*args, spark_options=options, **arguments)

    decorated: Any = with_options
    for option in reversed(_SPARK):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def _settings(
    ctx: click.Context, param: click.Parameter, settings: tuple[str, ...]
) -> list[tuple[str, str]]:
    for setting in settings:
        if "=" not in setting:
            raise click.BadParameter(f"{setting!r} is not NAME=VALUE")
    return [(name, value) for name, _, value in (setting.partition("=") for setting in settings)]


def safe_options(command: F) -> F:
    """Add ``--safe`` and ``--root``, as one argument ``safe_mode``: None if it is not safe mode."""

    @wraps(command)
    def with_mode(*args: Any, **arguments: Any) -> Any:
        safe, root = arguments.pop("safe"), arguments.pop("root")
        if root is not None and not safe:
            raise click.UsageError("--root needs --safe; without it any file can be read")
        if not safe:
            return command(*args, safe_mode=None, **arguments)
        from muntin.session.safe.safe_mode import SafeMode

        return command(*args, safe_mode=SafeMode.of(True, root), **arguments)

    decorated: Any = with_mode
    for option in reversed(_SAFE):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


_SAFE = (
    click.option(
        "--safe",
        is_flag=True,
        help="For SQL of people you do not trust: no programs, network, secrets or other tables.",
    ),
    click.option(
        "--root",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="With --safe, the folder below which files are read and written; none otherwise.",
    ),
)


def _name_secrets(ctx: click.Context, param: click.Parameter, place: Path | None) -> Path | None:
    """Name the file or folder of secrets where ``secret('name')`` looks for it."""
    if place is not None:
        os.environ[PLACE] = str(place.resolve())
    return place


SECRETS = click.option(
    "--secrets",
    type=click.Path(exists=True, path_type=Path),
    callback=_name_secrets,
    help="A file of NAME=VALUE lines, or a folder with a file each, for secret('NAME') in SQL.",
)
_VERBOSE = "muntin.verbose"


def is_verbose(ctx: click.Context) -> bool:
    """Return whether the command of this context, or the one inside it, has ``--verbose``."""
    return bool(ctx.meta.get(_VERBOSE))


def _remember_verbose(ctx: click.Context, param: click.Parameter, verbose: bool) -> bool:
    ctx.meta[_VERBOSE] = verbose
    return verbose


#: The server that a command asks, instead of starting Spark.
CONNECT = click.option(
    "--connect",
    metavar="ADDRESS",
    help="Ask a server that muntin serve runs, such as http://127.0.0.1:8642; its token is in the "
    "variable MUNTIN_TOKEN. Spark is not started here.",
)
#: Where Spark runs by default.
MASTER = "local[*]"
#: How many rows a table shows by default.
SHOWN_ROWS = 20
_SPARK = (
    click.option("--master", default=MASTER, show_default=True, help="Where Spark runs."),
    click.option(
        "--conf",
        multiple=True,
        callback=_settings,
        metavar="NAME=VALUE",
        help="A setting of Spark; may be given several times.",
    ),
    click.option(
        "--package",
        multiple=True,
        metavar="GROUP:ARTIFACT:VERSION",
        help="A Maven package, besides those that sources and sinks need, or in the place of one.",
    ),
    click.option(
        "--no-packages",
        is_flag=True,
        help="Fetch no packages: they are there already, as with --conf spark.jars=...",
    ),
    click.option(
        "--log",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A file for Spark's log.",
    ),
    click.option(
        "--verbose",
        is_flag=True,
        callback=_remember_verbose,
        help="Print Spark's log, and of an error all its stacks.",
    ),
)


def speaks_json(ctx: click.Context) -> bool:
    """Return whether the command of this context, or the one inside it, has ``--json``."""
    return bool(ctx.meta.get(_JSON))


def _remember(ctx: click.Context, param: click.Parameter, as_json: bool) -> bool:
    """Keep ``--json`` where all contexts of a call see it: the group, which prints errors, too."""
    ctx.meta[_JSON] = as_json
    return as_json


def json_option(summary: str) -> Callable[[F], F]:
    """Return the option ``--json``, which also decides how errors are printed."""
    return click.option("--json", "as_json", is_flag=True, callback=_remember, help=summary)


_JSON = "muntin.json"
JSON = json_option("Print JSON, for programs.")
FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
STREAM = click.option(
    "--stream/--batch",
    "stream",
    default=None,
    help="Follow streams as they grow, or read what is there. By default a file that reads stdin "
    "or a socket streams, and every other does not.",
)
