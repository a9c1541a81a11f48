"""Queries: list, add, preview, keep, change, stage, pause and drop them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from muntin.server.bodies import KeepBody, PreviewBody, RegisterBody, TextBody
from muntin.server.safe_texts import SafeTexts
from muntin.server.security.roles import Role
from muntin.server.service import Administrator, AnyCaller, Asker, Reader, Service, ServiceHere
from muntin.server.shapes import active_shape, described

router = APIRouter(tags=["queries"])

Action = Literal["pause", "resume", "apply", "discard"]
Seconds = Annotated[float, Query(ge=0, le=600)]


@router.get("/queries")
async def list_queries(
    service: ServiceHere,
    _: Reader,
    name: str | None = None,
    owner: str | None = None,
    tag: str | None = None,
    text: str | None = None,
) -> dict[str, Any]:
    """Return the live queries, all of them or those that fit."""

    def find() -> list[dict[str, Any]]:
        shapes = service.shapes()
        if name is None and owner is None and tag is None and text is None:
            return shapes
        found = service.engine.queries(name=name, owner=owner, tag=tag, text=text)
        wanted = {record.id for record in found}
        return [shape for shape in shapes if shape["id"] in wanted]

    return {"queries": await service.threads.run(find)}


@router.post("/queries", status_code=201)
async def register(service: ServiceHere, caller: Administrator, body: RegisterBody) -> Any:
    """Add a query."""
    given = body.model_dump(exclude={"name", "text"}, exclude_none=True)
    given.setdefault("owner", caller.name)

    def add() -> dict[str, Any]:
        service.texts.check_query(body.text)
        if body.into is not None:
            service.texts.check_call("into", body.into)
        if isinstance(given["start"], int | float):
            given["start"] = str(given["start"])
        return commanded(service, service.engine.register(body.name, body.text, **given))

    return await service.threads.run(add)


@router.post("/previews", status_code=201)
async def preview(service: ServiceHere, _: Asker, body: PreviewBody) -> Any:
    """Add a query to look at, which drops itself when its time is over."""

    def add() -> dict[str, Any]:
        service.texts.check_query(body.text)
        return commanded(service, service.engine.preview(body.text, ttl=body.ttl))

    return await service.threads.run(add)


@router.get("/queries/{id}")
async def describe(service: ServiceHere, _: Reader, id: str) -> Any:
    """Return a query with its columns, its keys and its generations."""

    def look() -> dict[str, Any]:
        record = service.engine.registry.get(id)
        return described(service.engine, record, service.shape(record))

    return await service.threads.run(look)


@router.put("/queries/{id}")
async def change(service: ServiceHere, _: Administrator, id: str, body: TextBody) -> Any:
    """Let another text take the place of a query, as its next generation."""
    return await service.threads.run(_with_text, service, "change", id, body.text)


@router.post("/queries/{id}/stage")
async def stage(service: ServiceHere, _: Administrator, id: str, body: TextBody) -> Any:
    """Run the next generation of a query beside the current one."""
    return await service.threads.run(_with_text, service, "stage", id, body.text)


@router.post("/queries/{id}/keep")
async def keep(service: ServiceHere, _: Administrator, id: str, body: KeepBody) -> Any:
    """Give a preview a name, so that it stays."""

    def kept() -> dict[str, Any]:
        record = service.engine.registry.get(id)
        service.engine.handle(record.id).keep(body.name)
        return {"query": service.query(record.id)}

    return await service.threads.run(kept)


@router.post("/queries/{id}/{action}")
async def act(service: ServiceHere, _: Administrator, id: str, action: Action) -> Any:
    """Pause or resume a query; apply or discard its staged generation."""

    def done() -> dict[str, Any]:
        record = service.engine.registry.get(id)
        if action in ("apply", "discard"):
            handle = service.engine.settle(record.id, apply=action == "apply")
        else:
            handle = service.engine.command(action, record.id)
        return commanded(service, handle)

    return await service.threads.run(done)


@router.delete("/queries/{id}")
async def drop(service: ServiceHere, caller: AnyCaller, id: str) -> Any:
    """Drop a query; whoever may ask may drop a preview."""
    caller.check(Role.ASK)

    def dropped() -> dict[str, Any]:
        record = service.engine.registry.get(id)
        caller.check(Role.ASK if record.name is None else Role.ADMINISTER)
        return commanded(service, service.engine.command("drop", record.id))

    return await service.threads.run(dropped)


@router.get("/queries/{id}/explain")
async def explain(service: ServiceHere, _: Reader, id: str) -> dict[str, str]:
    """Return how a query runs, and with which others."""

    def look() -> str:
        return service.engine.explain(service.engine.registry.get(id).id)

    return {"plan": await service.threads.run(look)}


@router.get("/commands/{seq}")
async def wait(
    service: ServiceHere, _: Reader, seq: int, query: str, timeout: Seconds = 60.0
) -> dict[str, Any]:
    """Wait until a command is in force; it is an error if it was refused."""

    def waited() -> dict[str, Any]:
        record = service.engine.registry.get(query)
        return active_shape(service.engine.handle(record.id, seq).wait(timeout))

    return {"active": await service.threads.wait(waited)}


def _with_text(service: Service, what: str, id: str, text: str) -> dict[str, Any]:
    texts: SafeTexts = service.texts
    texts.check_query(text)
    record = service.engine.registry.get(id)
    engine = service.engine
    handle = engine.change(record.id, text) if what == "change" else engine.stage(record.id, text)
    return commanded(service, handle)


def commanded(service: Service, handle: Any) -> dict[str, Any]:
    """Return the query of a command, and the command's number to wait for."""
    return {"query": service.query(handle.id), "command": handle.seq}
