"""What the exit codes of ``muntin`` mean, for scripts and for the documentation."""

from __future__ import annotations

from enum import IntEnum

from muntin.errors import CheckpointError, MuntinError, RequirementError


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    FAILED = 1
    USAGE = 2
    TEXT = 3
    MACHINE = 4
    CHECKPOINT = 5
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    Exit.OK: "it is done, or a check found nothing",
    Exit.FAILED: "it ran and failed",
    Exit.USAGE: "the command was called with something it does not take",
    Exit.TEXT: "the SQL, or an argument in it, is wrong; nothing ran",
    Exit.MACHINE: "something is missing on this machine or in the session",
    Exit.CHECKPOINT: "the checkpoint belongs to another query",
    Exit.INTERRUPTED: "it was stopped with Ctrl-C, a stream after a whole micro-batch",
}


def exit_for(error: Exception) -> Exit:
    """The code of an error.

    >>> exit_for(RequirementError("no Java")).name
    'MACHINE'
    """
    if isinstance(error, RequirementError):
        return Exit.MACHINE
    if isinstance(error, CheckpointError):
        return Exit.CHECKPOINT
    if isinstance(error, MuntinError) and isinstance(error, ValueError | LookupError | TypeError):
        return Exit.TEXT
    return Exit.FAILED
