"""``muntin state CHECKPOINT``: what a stream remembers."""

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
def command(**given: Any) -> None:
    """Show what a checkpoint holds: shards, tables, bytes, the oldest open window.

    CHECKPOINT is the folder of one query, or the one that was given to `muntin run --checkpoint`.
    """
    from muntin.cli.spark_session import session

    progress = CommandProgress(as_json=given["as_json"])
    with session(given["spark_options"], progress) as spark:
        from muntin.spark.queries.checkpoint import checkpoints, contents

        for path in checkpoints(given["checkpoint"]):
            with progress.during(f"Reading {path.name}"):
                found = list(contents(spark, path))
            for one in found:
                click.echo(json.dumps(one.as_dict()) if given["as_json"] else _told(one))


def _told(contents: OperatorState) -> str:
    lines = [f"{contents.query}: micro-batch {contents.batch}, {len(contents.heads)} shards"]
    lines += [f"  {name}: {value}" for name, value in contents.fingerprint.items()]
    if contents.complete is not None:
        lines.append(f"  complete to {contents.complete}")
    if contents.oldest is not None:
        lines.append(f"  oldest that is open: {contents.oldest}")
    lines.append(f"  open: {contents.open:,}; {contents.bytes:,} bytes")
    for name in sorted({table.name for table in contents.tables}):
        mine = [table for table in contents.tables if table.name == name]
        size, chunks = sum(t.bytes for t in mine), sum(t.chunks for t in mine)
        lines.append(f"  table {name}: {chunks} chunks in {len(mine)} shards, {size:,} bytes")
    return "\n".join(lines)
