"""The one shape of an error: what is wrong, where, and what would work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from muntin.errors import (
    ArgumentError,
    EngineError,
    ExpressionError,
    MuntinError,
    QueryFailedError,
    RequirementError,
    UnknownQueryError,
)
from muntin.parser.errors import SqlError, place_at

#: The status of answers to errors that are nobody's mistake, or that pass.
CONFLICT, FAILED, NOT_FOUND, WRONG = 409, 500, 404, 400


class HttpError(MuntinError, RuntimeError):
    """The service refuses a request: says what is wrong, and what would work.

    Args:
        status: The status of the answer.
        what: What is wrong.
        would_work: What would work; None if nothing does.
        headers: Headers of the answer, such as ``Retry-After``.
    """

    def __init__(
        self,
        status: int,
        what: str,
        would_work: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.what, self.would_work = status, what, would_work
        self.headers = dict(headers or {})
        super().__init__(what if would_work is None else f"{what}; {would_work}")


def status_of(error: Exception) -> int:
    """Return the status of the answer to an error.

    >>> status_of(UnknownQueryError("speed")), status_of(EngineError("it is stopped"))
    (404, 409)
    """
    if isinstance(error, HttpError):
        return error.status
    if isinstance(error, UnknownQueryError):
        return NOT_FOUND
    if isinstance(error, EngineError | QueryFailedError | RequirementError):
        return CONFLICT
    return WRONG if isinstance(error, MuntinError) else FAILED


def problem(error: Exception) -> dict[str, Any]:
    """Return an error as the service answers it.

    Of an error that is not one of Muntin's, only its kind is there: its text may be about files of
    the server, and is in the server's log.

    >>> problem(UnknownQueryError("sped", ["speed"]))["what"]
    "there is no query 'sped' (did you mean 'speed'?)"
    """
    status = status_of(error)
    if not isinstance(error, MuntinError):
        kind = type(error).__name__
        return _shape("ServerError", f"the server failed ({kind}); its log says why", status=status)
    what, would_work = _parts(error)
    return _shape(
        type(error).__name__, what, _where(error), would_work, message=str(error), status=status
    )


def problem_bytes(error: Exception) -> bytes:
    """Return the whole answer to an error, as JSON."""
    return json.dumps({"error": problem(error)}, ensure_ascii=False).encode()


def _shape(
    kind: str,
    what: str,
    where: Mapping[str, object] | None = None,
    would_work: str | None = None,
    *,
    message: str | None = None,
    status: int = FAILED,
) -> dict[str, Any]:
    return {
        "kind": kind,
        "what": what,
        "where": where,
        "would_work": would_work,
        "message": what if message is None else message,
        "status": status,
    }


def _parts(error: MuntinError) -> tuple[str, str | None]:
    """Return what is wrong, and what would work if the error says so."""
    if isinstance(error, HttpError):
        return error.what, error.would_work
    if isinstance(error, SqlError):
        return error.problem, error.suggestion or error.expected
    if isinstance(error, ExpressionError):
        return error.problem, None
    what, _, would_work = str(error).partition("; ")
    return what, would_work or None


def _where(error: MuntinError) -> dict[str, object] | None:
    """Return the place of an error: in a text, or the argument."""
    if isinstance(error, SqlError):
        place = error.place
        return {"line": place.line, "column": place.column, "offset": place.offset}
    if isinstance(error, ExpressionError) and error.position is not None:
        place = place_at(error.text, error.position)
        return {"line": place.line, "column": place.column, "offset": place.offset}
    if isinstance(error, ArgumentError):
        return {"argument": error.argument}
    return None
