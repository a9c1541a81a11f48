"""Results: the answers of queries, in several forms, now and as of an earlier punctuation."""

from __future__ import annotations

from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from muntin.server.answer_forms import form_of, rows_json
from muntin.server.problems import HttpError
from muntin.server.service import Reader, Service, ServiceHere

router = APIRouter(tags=["results"])

Format = Annotated[str, Query(description="json, jsonl, csv, arrow or parquet")]
Limit = Annotated[int | None, Query(ge=0)]


@router.get("/queries/{id}/results")
async def results(
    service: ServiceHere,
    _: Reader,
    id: str,
    format: Format = "json",
    limit: Limit = None,
    generation: int | None = None,
    newest: bool = False,
    after: int = -1,
) -> Response:
    """Return answers: those after a micro-batch, at most `limit`, the newest ones if asked."""

    def read() -> pa.Table:
        record = service.engine.registry.get(id)
        handle = service.engine.handle(record.id)
        if newest and limit is not None and after < 0:
            return handle.newest(limit + 1, generation=generation)
        return handle.results(after, generation=generation)

    form_of(format)
    most = service.settings.most_rows if format == "json" else None
    shown = most if limit is None else limit if most is None else min(limit, most)
    table = await service.threads.run(read)
    return await answered(service, table, format, shown, newest=newest, name=id)


@router.get("/queries/{id}/now")
async def now(
    service: ServiceHere, _: Reader, id: str, format: Format = "json", timeout: float = 60.0
) -> Response:
    """Return the answer now: for each key the newest rows that are certain."""

    def ask() -> pa.Table:
        record = service.engine.registry.get(id)
        return service.engine.handle(record.id).invoke(min(timeout, 600.0))

    form_of(format)
    return await answered(service, await service.threads.wait(ask), format, name=id)


@router.get("/queries/{id}/as-of")
async def as_of(
    service: ServiceHere, _: Reader, id: str, value: str, format: Format = "json"
) -> Response:
    """Return the answer that was certain when the punctuation came to a value of `on`."""

    def ask() -> pa.Table:
        record = service.engine.registry.get(id)
        return service.engine.handle(record.id).as_of(value)

    form_of(format)
    return await answered(service, await service.threads.run(ask), format, name=id)


@router.get("/queries/{id}/refused")
async def refused(service: ServiceHere, _: Reader, id: str) -> dict[str, Any]:
    """Return how many rows a query dropped, by reason, and the rows if they are kept."""

    def look() -> dict[str, int]:
        counts = service.engine.handle(service.engine.registry.get(id).id).counts
        return {
            "late": counts.late,
            "refused": counts.refused - counts.late,
            "between": counts.between,
            "shed": counts.shed,
        }

    return {"counts": await service.threads.run(look), "rows": [], "kept": False}


async def answered(
    service: Service,
    table: pa.Table,
    format: str,
    limit: int | None = None,
    *,
    newest: bool = False,
    name: str = "answer",
) -> Response:
    """Return a table in a form, at most so many rows of it: the last ones if the newest count."""
    if table.nbytes > service.settings.most_result:
        raise HttpError(
            413,
            f"the answer has {table.num_rows:,} rows and {table.nbytes:,} bytes, at most "
            f"{service.settings.most_result:,} are sent",
            "ask for fewer micro-batches, after=n, or for the newest rows, newest=true&limit=n",
        )
    form = form_of(format)
    if format == "json":
        most = service.settings.most_rows if limit is None else limit
        body = await service.threads.run(_json, service, table, most, newest)
        return Response(body, media_type=form.media)
    if limit is not None:
        table = table.slice(max(0, table.num_rows - limit)) if newest else table.slice(0, limit)
    plain = "".join(letter if letter.isalnum() else "_" for letter in name)[:80]
    headers = {"Content-Disposition": f'attachment; filename="{plain}.{form.ending}"'}
    return StreamingResponse(
        form.written(table, service.zone), media_type=form.media, headers=headers
    )


def _json(service: Service, table: pa.Table, most: int, newest: bool) -> bytes:
    """Return JSON that says whether there are more rows than it has."""
    first = max(0, table.num_rows - most) if newest else 0
    if not first:
        return rows_json(table, most, service.zone)
    body = rows_json(table.slice(first), most, service.zone)
    return body.removesuffix(b'"truncated":false}') + b'"truncated":true}'
