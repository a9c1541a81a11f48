"""Seeds: the state that history leaves for a new query, in files that shards read at its birth."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from muntin.errors import MuntinError
from muntin.operators.protocol import ChunkKey
from muntin.operators.shared.beginnings import Seed
from muntin.operators.shared.query_group import Birth
from muntin.spark.exchange.messages import decode, encode
from muntin.spark.exchange.whole_files import written_whole

_COLUMNS = pa.schema(
    [
        ("shard", pa.int32()),
        ("table", pa.string()),
        ("bucket", pa.int64()),
        ("chunk", pa.large_binary()),
    ]
)
_BIRTH = b"birth"


def write_seed(
    folder: str | Path, name: str, states: Sequence[Mapping[ChunkKey, pa.Table]], birth: Birth
) -> None:
    """Write the state of a query in each shard; a file that is there is replaced."""
    rows = [
        {"shard": shard, "table": table, "bucket": bucket, "chunk": encode(chunk)}
        for shard, chunks in enumerate(states)
        for (table, bucket), chunk in chunks.items()
    ]
    about = {_BIRTH: json.dumps(asdict(birth)).encode(), b"shards": str(len(states)).encode()}
    content = pa.Table.from_pylist(rows, schema=_COLUMNS.with_metadata(about))
    path = _path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as unfinished:
        unfinished.write_bytes(encode(content, "lz4"))


def read_seed(folder: str | Path, name: str, shard: int, shards: int) -> Seed:
    """Return the state with which a query begins in a shard."""
    content = decode(_path(folder, name).read_bytes())
    about = content.schema.metadata
    if int(about[b"shards"]) != shards:
        raise MuntinError(
            f"the seed {name} was made for {int(about[b'shards'])} shards, and there are {shards}"
        )
    chunks = {
        (row["table"], row["bucket"]): decode(row["chunk"])
        for row in content.to_pylist()
        if row["shard"] == shard
    }
    return Seed(chunks, Birth(**json.loads(about[_BIRTH])))


def _path(folder: str | Path, name: str) -> Path:
    return Path(folder) / "seeds" / f"{name}.arrow"
