"""``muntin token``: a new token for ``muntin serve``, and the line that knows it."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command()
@click.argument("role", type=click.Choice(["read", "ask", "administer"]))
@click.option("--name", default="", help="Whose token it is, a word; the role unless given.")
@click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The token file, to which the line is added; it is printed unless given.",
)
def command(role: str, name: str, file: Path | None) -> None:
    """Print a new token, and the line for the token file that knows it.

    The token is shown once: the file has only its hash. A running server sees the line at once.
    """
    from muntin.server.security.roles import Role
    from muntin.server.security.tokens import new_token

    if len(name.split()) > 1:
        raise click.UsageError("--name is one word")
    token, line = new_token(Role.of(role), name or role)
    click.echo(token)
    if file is None:
        click.echo(line)
        return
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as lines:
        lines.write(f"{line}\n")
    click.echo(f"added to {file}", err=True)
