"""``muntin state CHECKPOINT``: the state that a stream has kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muntin.cli import options
from muntin.cli.progress import CommandProgress

if TYPE_CHECKING:
    from muntin.spark.queries.checkpoint import OperatorState


@click.command()
@click.argument("checkpoint", type=click.Path(exists=True, file_okay=False, path_type=Path))
@options.JSON
@options.spark_options
def command(**arguments: Any) -> None:
    """Show what a checkpoint holds: shards, tables, bytes, the oldest open window.

    CHECKPOINT is the folder of one query, or the folder of `muntin run --checkpoint`.
    """
    from muntin.cli.spark_session import session

    progress = CommandProgress(as_json=arguments["as_json"])
    with session(arguments["spark_options"], progress) as spark:
        from muntin.spark.queries.checkpoint import checkpoints, contents

        for path in checkpoints(arguments["checkpoint"]):
            with progress.during(f"Reading {path.name}"):
                operators = list(contents(spark, path))
            for state in operators:
                click.echo(json.dumps(state.as_dict()) if arguments["as_json"] else _text(state))


def _text(state: OperatorState) -> str:
    from muntin.spark.exchange.fingerprint import for_people

    lines = [f"{state.query}: micro-batch {state.batch}, {len(state.heads)} shards"]
    lines += [f"  {name}: {value}" for name, value in for_people(state.fingerprint).items()]
    if state.complete is not None:
        lines.append(f"  complete to {state.complete}")
    if state.oldest is not None:
        lines.append(f"  oldest that is open: {state.oldest}")
    lines.append(f"  open: {state.open:,}; {state.bytes:,} bytes")
    for name in sorted({table.name for table in state.tables}):
        tables = [table for table in state.tables if table.name == name]
        size, chunks = sum(t.bytes for t in tables), sum(t.chunks for t in tables)
        lines.append(f"  table {name}: {chunks} chunks in {len(tables)} shards, {size:,} bytes")
    return "\n".join(lines)
