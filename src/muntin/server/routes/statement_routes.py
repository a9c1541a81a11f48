"""Texts of SQL: run them once, find their mistakes, and see what they would share and add."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from fastapi import APIRouter
from fastapi.responses import Response

from muntin.errors import MuntinError
from muntin.parser.parse import parse
from muntin.parser.statements import Select
from muntin.planner.aggregates import known_aggregates
from muntin.server.answer_forms import form_of
from muntin.server.bodies import TextBody
from muntin.server.problems import problem
from muntin.server.routes.result_routes import Format, answered
from muntin.server.service import Asker, Reader, Service, ServiceHere
from muntin.server.shapes import columns_of, plain_addition, stream_columns
from muntin.session.safe.spark_functions import ALLOWED

router = APIRouter(tags=["SQL"])

#: Words that an editor offers besides names and functions.
KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "AS", "AS OF", "AND", "OR"),
    *("NOT", "BETWEEN", "IN", "LIKE", "IS NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "JOIN"),
    *("CREATE STREAM", "CREATE QUERY", "ALTER QUERY", "DROP QUERY", "PAUSE QUERY"),
    *("RESUME QUERY", "INVOKE QUERY", "EXPLAIN", "SHOW QUERIES", "SHOW STREAMS"),
    *("RANGE", "SLIDE", "TUMBLING", "ROWS", "LANDMARK", "SESSION", "FRAME", "FILL"),
    *("THRESHOLD", "BOUNDARY", "DELTA", "TREND", "LASTING", "BEFORE", "AFTER", "BY"),
    *("SECONDS", "MINUTES", "HOURS", "DAYS"),
)


@router.post("/sql")
async def sql(
    service: ServiceHere, caller: Asker, body: TextBody, format: Format = "json"
) -> Response:
    """Run statements; the answer is that of the last one.

    A SELECT is answered once, from the kept rows of a stream. Statements that add, change or drop
    anything need the role administer.
    """
    form_of(format)

    def run() -> pa.Table:
        caller.check(service.texts.check_statements(body.text))
        return service.engine.sql(body.text, safe=True, root=service.settings.root)

    return await answered(service, await service.threads.run(run), format)


@router.post("/runs")
async def run_batch(
    service: ServiceHere, caller: Asker, body: TextBody, format: Format = "json"
) -> Response:
    """Run a text once, as a batch, in the server's session; its last statement answers.

    What it creates lives as long as the run. It reads files below the server's root only; a text
    that writes there needs the role administer.
    """
    form_of(format)

    def run() -> pa.Table:
        caller.check(service.runs.role(body.text))
        return service.runs.run(body.text)

    return await answered(service, await service.threads.wait(run), format)


@router.post("/check")
async def check(service: ServiceHere, _: Reader, body: TextBody) -> dict[str, Any]:
    """Return the mistakes of a text; nothing of it runs."""
    return {"errors": await service.threads.run(_mistakes, service, body.text)}


@router.post("/would-add")
async def would_add(service: ServiceHere, _: Reader, body: TextBody) -> dict[str, Any]:
    """Return what a SELECT would share and add if it were registered; nothing is."""

    def look() -> dict[str, Any]:
        service.texts.check_query(body.text)
        addition = service.engine.would_add(body.text)
        return {"addition": plain_addition(addition), "plan": str(addition)}

    return await service.threads.run(look)


@router.get("/catalog")
async def catalog(service: ServiceHere, _: Reader) -> dict[str, Any]:
    """Return the words that a text can have: streams, columns, queries, functions, keywords."""

    def look() -> dict[str, Any]:
        streams = [
            {"name": name, "columns": columns_of(stream_columns(stream))}
            for stream in service.streams
            for name in stream.inputs
        ]
        queries = [query.name for query in service.engine.queries() if query.name]
        functions = sorted({*known_aggregates(), *ALLOWED})
        return {
            "streams": streams,
            "queries": queries,
            "functions": functions,
            "keywords": [*KEYWORDS],
        }

    return await service.threads.run(look)


def _mistakes(service: Service, text: str) -> list[dict[str, Any]]:
    """Return what is wrong with a text, one thing at a time."""
    try:
        service.texts.check_statements(text)
        statements = parse(text)
        if len(statements) == 1 and isinstance(statements[0], Select):
            query = statements[0].query
            if query.as_of is None:
                service.engine.would_add(text)
    except MuntinError as error:
        return [problem(error)]
    return []
