"""``muntin completion``: the script that a shell reads to complete commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_PLACES = {
    "bash": 'eval "$(muntin completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(muntin completion zsh)" in ~/.zshrc',
    "fish": "muntin completion fish > ~/.config/fish/completions/muntin.fish",
}


@click.command(epilog="Put " + "; or ".join(_PLACES.values()) + ".")
@click.argument("shell", type=click.Choice(list(_PLACES)))
def command(shell: str) -> None:
    """Print the script that makes your shell complete these commands."""
    from muntin.cli.main import main

    completion = get_completion_class(shell)
    assert completion is not None  # one of the choices
    click.echo(completion(main, {}, "muntin", "_MUNTIN_COMPLETE").source())
