"""The application: resources, the guard in front of them, the page, and one shape of errors."""

from __future__ import annotations

import logging
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from muntin.errors import MuntinError
from muntin.server.problems import HttpError, problem_bytes, status_of
from muntin.server.routes import (
    call_routes,
    event_routes,
    measure_routes,
    metric_routes,
    query_routes,
    result_routes,
    session_routes,
    statement_routes,
    stream_routes,
)
from muntin.server.security.guard import Guard, GuardSettings
from muntin.server.service import BASE, Service
from muntin.server.static_page import StaticPage

#: The page as it is built.
STATIC = Path(__file__).parent / "static"
_LOG = logging.getLogger("muntin.server")


def create_app(service: Service, guard: GuardSettings | None = None) -> ASGIApp:
    """Return the application of a service."""
    app = FastAPI(
        title="Muntin",
        version=version("muntin"),
        description="Continuous queries over streams: ask, watch and change them.",
        openapi_url=f"{BASE}/openapi.json",
        docs_url=None,  # these pages fetch scripts from elsewhere
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )
    app.state.service = service
    for routes in (
        *(session_routes, query_routes, result_routes, statement_routes, stream_routes),
        measure_routes,
        event_routes,
        call_routes,
    ):
        app.include_router(routes.router, prefix=BASE)
    app.include_router(session_routes.health)
    app.include_router(metric_routes.router)
    _answer_errors(app)
    app.mount("/", StaticPage(STATIC))
    settings = guard or GuardSettings()
    guarded = Guard(app, settings, service.sessions, service.audit)
    service.answered = guarded.answered
    return guarded


def _answer_errors(app: FastAPI) -> None:
    """Let every error be answered in the one shape."""

    @app.exception_handler(MuntinError)
    async def refused(_: Request, error: MuntinError) -> Response:
        return _problem(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return _problem(HttpError(422, f"{place}: {first['msg']}", f"see {BASE}/openapi.json"))

    @app.exception_handler(HTTPException)
    async def not_answered(_: Request, error: HTTPException) -> Response:
        hints = {404: f"{BASE}/openapi.json lists what there is"}
        hint = hints.get(error.status_code)
        return _problem(
            HttpError(error.status_code, str(error.detail), hint, dict(error.headers or {}))
        )

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return _problem(error)


def _problem(error: Exception) -> Response:
    headers = error.headers if isinstance(error, HttpError) else {}
    return Response(problem_bytes(error), status_of(error), headers, "application/json")
