"""Options that several commands share: how Spark is started, and how a command speaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class SparkOptions:
    """How Spark is started."""

    master: str
    conf: dict[str, str]
    packages: tuple[str, ...]
    fetches: bool
    log: Path | None


def spark_options(command: F) -> F:
    """How Spark is started, as one argument ``spark_options``."""

    @wraps(command)  # which takes along what click's decorators left on the function
    def collected(*args: Any, **given: Any) -> Any:
        options = SparkOptions(
            given.pop("master"),
            dict(given.pop("conf")),
            given.pop("package"),
            not given.pop("no_packages"),
            given.pop("log"),
        )
        return command(*args, spark_options=options, **given)

    made: Any = collected
    for option in reversed(_SPARK):
        made = option(made)
    return made  # type: ignore[no-any-return]


def _settings(
    ctx: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> list[tuple[str, str]]:
    for one in given:
        if "=" not in one:
            raise click.BadParameter(f"{one!r} is not NAME=VALUE")
    return [(name, value) for name, _, value in (one.partition("=") for one in given)]


#: Where Spark runs, unless something else is said.
MASTER = "local[*]"
#: How many rows a table shows, unless something else is said.
SHOWN_ROWS = 20
_SPARK = (
    click.option("--master", default=MASTER, show_default=True, help="Where Spark runs."),
    click.option(
        "--conf",
        multiple=True,
        callback=_settings,
        metavar="NAME=VALUE",
        help="A setting of Spark's; may be given several times.",
    ),
    click.option(
        "--package",
        multiple=True,
        metavar="GROUP:ARTIFACT:VERSION",
        help="A package of Maven beside, or instead of, those that sources and sinks need.",
    ),
    click.option(
        "--no-packages",
        is_flag=True,
        help="Fetch no package: what is needed is there, as with --conf spark.jars=...",
    ),
    click.option(
        "--log",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A file for what Spark has to say.",
    ),
)


def speaks_json(ctx: click.Context) -> bool:
    """Whether the command that this context is of, or around, was told ``--json``."""
    return bool(ctx.meta.get(_JSON))


def _remember(ctx: click.Context, param: click.Parameter, given: bool) -> bool:
    """All contexts of a call share this: the group, which tells errors, has none of the options."""
    ctx.meta[_JSON] = given
    return given


def json_option(says: str) -> Callable[[F], F]:
    """``--json``, which also decides how errors are told."""
    return click.option("--json", "as_json", is_flag=True, callback=_remember, help=says)


_JSON = "muntin.json"
JSON = json_option("Speak JSON, for machines.")
FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
STREAM = click.option(
    "--stream/--batch",
    "stream",
    default=None,
    help="Follow streams as they grow, or take what is there. Without either, a file that reads "
    "stdin or a socket streams and every other does not.",
)
