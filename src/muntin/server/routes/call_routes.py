"""The calls of the Python client: ``mt.connect("http://...")``."""

from __future__ import annotations

import json

import pyarrow as pa
from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse

from muntin.engine.remote.channel import error_message, plain
from muntin.errors import MuntinError
from muntin.server.answer_forms import FORMS, arrow_bytes
from muntin.server.bodies import CallBody
from muntin.server.problems import HttpError, problem, status_of
from muntin.server.remote_calls import WAITS, RemoteCalls
from muntin.server.service import AnyCaller, ServiceHere

router = APIRouter(tags=["Python client"])


@router.post("/calls/{name}")
async def call(service: ServiceHere, caller: AnyCaller, name: str, body: CallBody) -> Response:
    """Run a call of the Python client; a table comes back as an Arrow stream."""
    remote = RemoteCalls(
        service.calls,
        service.texts,
        lambda text: service.engine.sql(text, safe=True, root=service.settings.root),
        service.runs.role,
        lambda name: service.engine.registry.find(name) is not None,
    )
    run = service.threads.wait if name in WAITS else service.threads.run
    try:
        value = await run(remote.run, caller, name, body.arguments)
    except MuntinError as error:
        # With what the client needs to raise the same error.
        whole = {**problem(error), **error_message(error)["error"]}  # type: ignore[dict-item]
        headers = error.headers if isinstance(error, HttpError) else {}
        content = json.dumps({"error": whole}, ensure_ascii=False)
        return Response(content, status_of(error), headers, "application/json")
    if isinstance(value, pa.Table):
        if value.nbytes > service.settings.most_result:
            raise HttpError(413, f"the answer has {value.nbytes:,} bytes", "ask for less, after=n")
        return StreamingResponse(arrow_bytes(value), media_type=FORMS["arrow"].media)
    content = json.dumps({"value": value}, default=plain, ensure_ascii=False)
    return Response(content, media_type="application/json")
