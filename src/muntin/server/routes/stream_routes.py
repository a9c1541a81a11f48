"""Streams, what runs for them, and taps: rows that are copied on their way."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from muntin.server.answer_forms import rows_json
from muntin.server.bodies import TapBody
from muntin.server.service import Asker, Reader, Service, ServiceHere
from muntin.server.shapes import network_shape, stream_shape

router = APIRouter(tags=["streams"])


@router.get("/streams")
async def list_streams(service: ServiceHere, _: Reader) -> dict[str, Any]:
    """Return the streams, their columns, and how far they are."""

    def look() -> list[dict[str, Any]]:
        return [stream_shape(service.engine, stream) for stream in service.streams]

    return {"streams": await service.threads.run(look)}


@router.get("/streams/{name}")
async def describe_stream(service: ServiceHere, _: Reader, name: str) -> dict[str, Any]:
    """Return a stream, its columns, and how far it is."""

    def look() -> dict[str, Any]:
        return stream_shape(service.engine, service.stream(name))

    return {"stream": await service.threads.run(look)}


@router.get("/streams/{name}/demand")
async def demand(service: ServiceHere, _: Reader, name: str) -> dict[str, Any]:
    """Return what the live queries need of a stream: columns, values and granularity."""

    def look() -> dict[str, Any]:
        return dict(service.engine.demand(service.stream(name).name).json)

    return {"demand": await service.threads.run(look)}


@router.get("/network")
async def network(service: ServiceHere, _: Reader) -> dict[str, Any]:
    """Return what runs for each stream, as boxes and arrows with their rows."""

    def look() -> dict[str, Any]:
        return {name: network_shape(own) for name, own in service.engine.network().items()}

    return {"streams": await service.threads.run(look)}


@router.get("/taps")
async def list_taps(service: ServiceHere, _: Reader) -> dict[str, Any]:
    """Return the taps that are open."""

    def look() -> list[dict[str, Any]]:
        return [_tap(tap) for tap in service.engine.taps()]

    return {"taps": await service.threads.run(look)}


@router.post("/taps", status_code=201)
async def tap(service: ServiceHere, _: Asker, body: TapBody) -> dict[str, Any]:
    """Copy some rows on their way; no answer changes."""

    def made() -> dict[str, Any]:
        if body.where is not None:
            service.texts.check_condition(body.where)
        options = body.model_dump(exclude={"on"})
        return _tap(service.engine.tap(body.on, **options))

    return {"tap": await service.threads.run(made)}


@router.get("/taps/{id}")
async def tapped(service: ServiceHere, _: Reader, id: str) -> Response:
    """Return a tap and the rows that it has copied."""
    return Response(await service.threads.run(_tapped, service, id), media_type="application/json")


@router.delete("/taps/{id}")
async def remove_tap(service: ServiceHere, _: Asker, id: str) -> dict[str, Any]:
    """Remove a tap; its rows can still be read for a day."""

    def removed() -> dict[str, Any]:
        found = service.engine.tap_by_id(id)
        found.remove()
        return _tap(found)

    return {"tap": await service.threads.run(removed)}


def _tapped(service: Service, id: str) -> bytes:
    found = service.engine.tap_by_id(id)
    rows = found.rows()
    head = json.dumps(_tap(found)).encode()
    return b'{"tap":%s,"rows":%s}' % (head, rows_json(rows, rows.num_rows, service.zone))


def _tap(tap: Any) -> dict[str, Any]:
    return {"id": tap.id, "most": tap.most, "about": tap.about, "open": tap.open}
