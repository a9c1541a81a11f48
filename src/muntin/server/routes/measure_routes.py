"""Too much: what queries would rather have, budgets, and summaries that answer about all rows.

An engine that has none of these answers with an empty list.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from muntin.server.service import Reader, ServiceHere

router = APIRouter(tags=["measures"])


@router.get("/qos")
async def qos(service: ServiceHere, _: Reader) -> dict[str, Any]:
    """Return the graphs of quality of service of the queries, and where each query is on them."""
    return {"qos": await service.threads.run(service.engine.quality)}


@router.get("/budgets")
async def budgets(service: ServiceHere, _: Reader) -> dict[str, Any]:
    """Return what is limited, how much of it is used, and the limit."""
    return {"budgets": await service.threads.run(service.engine.spent)}


@router.get("/overload")
async def overload(service: ServiceHere, _: Reader) -> dict[str, Any]:
    """Return for each stream what is done about too much work now, and why."""
    return {"streams": await service.threads.run(service.engine.overload)}


@router.get("/summaries")
async def summaries(_: Reader) -> dict[str, Any]:
    """Return the summaries that are kept; an engine keeps none of its own yet."""
    return {"summaries": []}
