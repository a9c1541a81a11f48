"""The fingerprint of a query: what must not change between runs on one checkpoint.

It is stored in the head of every shard, and has a version. A stored fingerprint is compared by the
rule of its own version. If it is the same query, the next commit stores the current version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muntin.errors import CheckpointError

#: The rule in use. Version 1 had no number and compared only the texts in ``identity``.
VERSION = 2
_VERSION, _ARGUMENT = "version", "argument "
#: How rows that tie become one may change, where it needs no other columns; they are compared too.
_TIES = re.compile(r" ties=\w+\b")
#: The part of the identity that says how many shards there are.
SHARD_COUNT = "shard count"


@dataclass(frozen=True)
class Fingerprint:
    """A query's ``identity``, texts for people, and all ``arguments`` of its plan by their names.

    >>> stored = Fingerprint({"window": "RANGE 1 minute"}, {"tiebreak": "a"}).stored
    >>> Fingerprint({"window": "RANGE 1 minute"}, {"tiebreak": "b"}).check(stored)
    Traceback (most recent call last):
    ...
    muntin.errors.CheckpointError: this checkpoint belongs to another query: argument tiebreak \
a there, b here; use a new checkpointLocation or the old query
    """

    identity: Mapping[str, str]
    arguments: Mapping[str, str] = field(default_factory=dict)

    @property
    def stored(self) -> dict[str, str]:
        """The fingerprint as the head of a shard has it."""
        arguments = {_ARGUMENT + name: text for name, text in self.arguments.items()}
        return {_VERSION: str(VERSION), **self.identity, **arguments}

    def of_shards(self, shards: int) -> Fingerprint:
        """Return the fingerprint of the same query with so many shards."""
        return replace(self, identity={**self.identity, SHARD_COUNT: str(shards)})

    def check(self, stored: Mapping[str, str]) -> None:
        """Raise if another query wrote the state; the message lists the differences."""
        version = stored.get(_VERSION, "1")
        if version not in ("1", str(VERSION)):
            raise CheckpointError(
                f"this checkpoint's fingerprint has version {version} and this version of Muntin "
                f"reads versions up to {VERSION}; go on with the version that wrote it, or use a "
                "new checkpointLocation"
            )
        current = dict(self.identity) if version == "1" else self.stored
        before, after = (stored, current) if version == "1" else map(_compared, (stored, current))
        differing = [
            part for part in sorted({*before, *after}) if before.get(part) != after.get(part)
        ]
        if not differing:
            return
        # What the arguments make different is in the identity as well, in better words.
        named = [part for part in differing if not part.startswith(_ARGUMENT)] or differing
        differences = [
            f"{part} {stored.get(part, 'none')} there, {current.get(part, 'none')} here"
            for part in named
        ]
        remedy = "use a new checkpointLocation or the old query"
        if named == [SHARD_COUNT]:
            count = stored[SHARD_COUNT]
            remedy = (
                f"go on with mt.stream(..., shards={count}), or set it before the start: "
                f'spark.conf.set("spark.muntin.shards", "{count}"), '
                f"muntin run --conf spark.muntin.shards={count}"
            )
        raise CheckpointError(
            f"this checkpoint belongs to another query: {'; '.join(differences)}; {remedy}"
        )


def _compared(stored: Mapping[str, str]) -> dict[str, str]:
    """Return a stored fingerprint without what may change: ``ties=``, also in the texts of it."""
    return {
        name: _TIES.sub("", text)
        for name, text in stored.items()
        if not (name.startswith(_ARGUMENT) and name.rpartition(".")[2] == "ties")
    }


def for_people(stored: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of a stored fingerprint that describe the query."""
    return {
        name: text
        for name, text in stored.items()
        if name != _VERSION and not name.startswith(_ARGUMENT)
    }
