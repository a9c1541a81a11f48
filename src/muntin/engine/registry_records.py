"""What the registry returns: queries, commands, acknowledgements and versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Kind = Literal[
    "create_stream",
    "register",
    "change",
    "pause",
    "resume",
    "drop",
    "end",
    "quarantine",
    "invoke",
    "answer",
    "overload",
    "summary",
]
#: A query that is ``filling`` is run over history before it comes into a version.
Status = Literal["registered", "filling", "active", "paused", "quarantined", "dropped", "ended"]
KINDS: tuple[str, ...] = get_args(Kind)
STATUSES: tuple[str, ...] = get_args(Status)
#: The statuses of members that are in a stream's versions.
RUNNING: tuple[Status, ...] = ("registered", "active", "paused")
#: How long the answers of a dropped query are kept, in seconds, if nothing else is asked for.
RETAIN = 86_400.0
#: What ``emit`` is of a record that is no query but a tap: rows that are copied on their way.
TAP = "tap"


@dataclass(frozen=True)
class QueryRecord:
    """One generation of a query, a *member* of its stream.

    Attributes:
        id: Names the query for ever, all its generations.
        number: Names this generation for ever; never used again in any stream.
        name: Unique among queries that are not dropped; None for a preview.
        program: The planned query, as JSON.
        staged: True if it runs beside the current generation, to be applied or discarded.
        since: The micro-batch and the epoch with which it began; None before.
        reason: Why it was refused, quarantined or ended.
        retain: Seconds for which answers can be read after the query was dropped.
    """

    id: str
    number: int
    name: str | None
    generation: int
    stream: str
    text: str
    program: str
    owner: str | None
    description: str
    tags: tuple[str, ...]
    status: Status
    start: str
    until: str | None
    emit: str
    every: str | None
    created: str
    staged: bool
    since: tuple[int, int] | None
    reason: str | None
    retain: float


@dataclass(frozen=True)
class LoggedCommand:
    """A command of the log; ``version`` is the stream's first version that has it."""

    seq: int
    stream: str
    kind: Kind
    query_id: str | None
    details: Mapping[str, object]
    at: str
    version: int | None


@dataclass(frozen=True)
class Acknowledgement:
    """What came of a command: the micro-batch in which it came into force, or why it did not.

    Attributes:
        punctuation: The stream's punctuation before that micro-batch; None if there was none.
        filled: What a new query was filled from: ``panes``, ``rows`` or ``nothing``.
        how: ``in place`` or ``restart``.
        refused: The reason why the command was refused; None if it was not.
    """

    seq: int
    micro_batch: int | None = None
    epoch: int | None = None
    punctuation: int | None = None
    filled: str | None = None
    how: str | None = None
    refused: str | None = None


@dataclass(frozen=True)
class Registration:
    """A command that made a generation: its sequence number, and the generation."""

    seq: int
    query: QueryRecord


@dataclass(frozen=True)
class VersionChange:
    """A version of a stream, as what it changes in the version before; number 1 is the first.

    Attributes:
        added: Programs (JSON) of the members that are new, by number.
        changed: Programs of members that stay, with another program.
        removed: Members that are gone.
        paused: Members that are paused and were not, or are new.
        resumed: Members that were paused and are not any more.
        commands: Sequence numbers of the commands that it brings into force.
        overload: What its members may spend, as JSON of a
            :class:`~muntin.specs.overload.PinnedOverload`; None if nothing is limited.
    """

    stream: str
    number: int
    added: Mapping[int, str] = field(default_factory=dict)
    changed: Mapping[int, str] = field(default_factory=dict)
    removed: tuple[int, ...] = ()
    paused: tuple[int, ...] = ()
    resumed: tuple[int, ...] = ()
    commands: tuple[int, ...] = ()
    overload: str | None = None


@dataclass(frozen=True)
class VersionMember:
    """A member as it is in the newest version of its stream."""

    number: int
    program: str
    paused: bool
