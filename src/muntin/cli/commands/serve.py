"""``muntin serve``: an engine as a service, with its API and its page."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muntin.cli import options
from muntin.cli.commands.engine import created_before
from muntin.cli.progress import CommandProgress
from muntin.errors import RequirementError

if TYPE_CHECKING:
    from muntin.engine.engine import Engine
    from muntin.server.http_server import HttpServer
    from muntin.server.service import Service

#: Seconds between two looks at whether the streams and the server run.
_LOOK = 0.5
#: Files and connections that the process has besides those of subscribers.
_OWN_FILES = 512


@click.command()
@click.argument("home", type=click.Path(file_okay=False, path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", default=8642, show_default=True, help="The port; 0 for any that is free.")
@click.option(
    "--sql",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Streams to create and queries to register; those that the home has already stay.",
)
@click.option(
    "--trigger",
    metavar="INTERVAL",
    help="How often a micro-batch runs, such as '10 seconds'; as soon as possible unless given.",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Who may do what: a role, the hash of a token and a name a line; muntin token makes them.",
)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder below which statements that come over HTTP read and write files.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="A name under which browsers reach the server; may be given several times.",
)
@click.option(
    "--subscribers", default=1_100, show_default=True, help="How many may watch at a time."
)
@click.option("--memory", help="How much state the queries may come to keep, such as '512 MB'.")
@options.SECRETS
@options.spark_options
def command(home: Path, **arguments: Any) -> None:
    """Serve an engine to a team: its API and its page, until Ctrl-C or SIGTERM.

    On this machine, http://127.0.0.1:8642, no token is needed. On any other address --token-file
    is. The file of --sql is trusted; what comes over HTTP is run as with --safe.
    """
    from muntin.cli.spark_session import called, session
    from muntin.parser.parse import parse

    check_served(arguments["host"], arguments["token_file"])
    text = None if arguments["file"] is None else arguments["file"].read_text()
    statements = [*(() if text is None else parse(text)), *created_before(home)]
    progress = CommandProgress()
    with session(arguments["spark_options"], progress, called(statements), workers=True) as spark:
        from muntin.engine.engine import Engine
        from muntin.engine.sql import run_statements

        every = arguments["trigger"]
        with Engine(spark, home, memory=arguments["memory"]) as engine:
            engine.restore_streams()
            if text is not None:
                # Before the start: a query would miss the rows that a stream reads before it.
                run_statements(engine, text, keep=True)
            engine.start(None if every is None else {"processingTime": every})
            serve_until_stopped(engine, arguments, progress)


def check_served(host: str, token_file: Path | None) -> None:
    """Raise if the service could not be served so."""
    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        raise RequirementError(
            f"muntin serve needs packages that are not installed ({', '.join(missing)}); pip "
            "install 'muntin[server]'"
        )
    from muntin.server.security.origins import is_loopback

    if token_file is None and not is_loopback(host):
        raise click.UsageError(
            f"{host} is not an address of this machine alone, so --token-file is needed; "
            "muntin token administer makes a token and its line"
        )


def serve_until_stopped(
    engine: Engine,
    arguments: Mapping[str, Any],
    progress: CommandProgress,
    opened: Callable[[str], object] = lambda address: None,
) -> None:
    """Serve until the process is to stop; raise if a stream or the server fails.

    ``arguments`` are those of the command, and ``opened`` gets the address.
    """
    from threading import Event

    from muntin.cli.interrupts import interrupts

    def say(message: str) -> None:
        progress.clear()
        click.echo(message, err=True)

    asked = Event()
    with interrupts(say) as pressed, ExitStack() as closing:
        service, server = _started(engine, arguments, asked.set, say)
        closing.callback(server.close)
        closing.callback(service.close)
        engine.serve(asked.set)
        say(
            f"{server.address} serves {engine.folder}, process {os.getpid()}. Ctrl-C, or muntin "
            f"engine stop {engine.folder}, stops it."
        )
        opened(server.address)
        while not pressed.stop() and not asked.wait(_LOOK):
            engine.check()
            server.check()
        _rest(engine, pressed.hurry)
    say(f"Stopped. muntin serve {engine.folder} goes on.")


def _started(
    engine: Engine,
    arguments: Mapping[str, Any],
    stop: Callable[[], None],
    say: Callable[[str], None],
) -> tuple[Service, HttpServer]:
    from muntin.server.app import create_app
    from muntin.server.http_server import HttpServer
    from muntin.server.security.audit import AuditLog
    from muntin.server.security.guard import GuardSettings
    from muntin.server.security.origins import is_loopback
    from muntin.server.security.page_sessions import Sessions
    from muntin.server.security.tokens import TokenFile
    from muntin.server.service import Service, ServiceSettings
    from muntin.session.safe.root_folder import check_apart, check_root

    root = None if arguments["root"] is None else check_root(arguments["root"])
    check_apart(root, engine.folder, "the home of the engine")
    token_file = arguments["token_file"]
    most = _room_for(arguments["subscribers"], say)
    service = Service(
        engine,
        ServiceSettings(root=root, most_subscribers=most),
        stop,
        Sessions(None if token_file is None else TokenFile(token_file)),
        audit=AuditLog(engine.folder),
    )
    guard = GuardSettings(loopback=is_loopback(arguments["host"]), names=arguments["names"])
    app = create_app(service, guard)
    return service, HttpServer(app, arguments["host"], arguments["port"])


def _room_for(subscribers: int, say: Callable[[str], None]) -> int:
    """Let the process have so many connections; return how many there can be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = subscribers + _OWN_FILES
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    room = max(1, min(subscribers, soft - _OWN_FILES))
    if room < subscribers:
        say(f"{room:,} can watch at a time, not {subscribers:,}: ulimit -n is {hard:,} at most.")
    return room


def _rest(engine: Engine, hurry: Callable[[], bool]) -> None:
    """Stop the streams, each between two micro-batches."""
    from muntin.spark.queries.stop import stop_between

    for name in engine.declared:
        query = engine.stream_of(name).query
        if query is not None and query.isActive:
            stop_between(query, hurry)
