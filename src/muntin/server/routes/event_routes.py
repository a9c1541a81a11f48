"""The events of a page: one stream for all that it watches."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Header, Request, Response
from fastapi.sse import EventSourceResponse

from muntin.server.events.event_ids import EventId
from muntin.server.events.subscriber import Overflow, Subscriber, read_watched
from muntin.server.events.watched import Watched
from muntin.server.problems import HttpError
from muntin.server.security.guard import cookie_of
from muntin.server.security.roles import Role
from muntin.server.service import Reader, ServiceHere

router = APIRouter(tags=["events"])
_DESCRIBED: dict[int | str, dict[str, Any]] = {
    200: {"content": {EventSourceResponse.media_type: {"schema": {"type": "string"}}}}
}


@router.get("/events", response_class=Response, responses=_DESCRIBED)
async def events(
    service: ServiceHere,
    caller: Reader,
    request: Request,
    queries: str = "",
    status: bool = False,
    overflow: Overflow = "skip",
    last_event_id: str = "",
    last: Annotated[str, Header(alias="Last-Event-ID")] = "",
) -> EventSourceResponse:
    """Send answers as they are committed: server-sent events hello, rows, skipped, status, close.

    `queries` are names or ids with commas between them; `q1@2` is one generation. The id of the
    last event that came, as the header `Last-Event-ID` or `last_event_id`, lets the stream go on
    after it, with nothing twice and nothing left out.
    """
    watched = frozenset(
        Watched(unquote(own.query), own.generation) for own in read_watched(queries)
    )
    hub = service.hub
    hub.check_room()
    known = await hub.begin(watched, EventId.of(last or last_event_id))
    headers = request.headers
    shown = (headers.get("authorization"), cookie_of(headers.get("cookie", "")), caller.address)

    def valid() -> bool:
        try:
            role = service.sessions.caller(*shown).role
        except HttpError:
            return False
        return role is not None and role >= Role.READ

    subscriber = Subscriber(
        *(hub, watched, known, status, overflow, service.settings.queue_rows),
        valid=valid,
        gone=request.is_disconnected,
    )
    return EventSourceResponse(
        subscriber.events(), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )
