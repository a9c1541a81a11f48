"""The session of a page: who it is, logging in and out; and how the service is."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from muntin.errors import MuntinError
from muntin.server.bodies import TokenBody
from muntin.server.security.guard import cookie_of
from muntin.server.security.page_sessions import COOKIE, LASTS
from muntin.server.security.roles import Caller
from muntin.server.service import API_VERSION, AnyCaller, Service, ServiceHere

router = APIRouter(tags=["session"])
health = APIRouter(tags=["health"])


@router.get("/session")
async def session(service: ServiceHere, caller: AnyCaller) -> dict[str, Any]:
    """Return who the caller is, and what the service is."""
    return _shape(service, caller)


@router.post("/session")
async def log_in(
    service: ServiceHere, caller: AnyCaller, request: Request, response: Response, body: TokenBody
) -> dict[str, Any]:
    """Log in with a token; the answer has a cookie for the page."""
    known, cookie = service.sessions.log_in(body.token, caller.address)
    if cookie:
        response.set_cookie(
            COOKIE,
            cookie,
            max_age=LASTS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
    return _shape(service, known)


@router.delete("/session")
async def log_out(
    service: ServiceHere, _: AnyCaller, request: Request, response: Response
) -> dict[str, Any]:
    """Log out: the cookie is worth nothing any more."""
    service.sessions.log_out(cookie_of(request.headers.get("cookie", "")))
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return {}


@health.get("/healthz")
async def healthz(service: ServiceHere) -> Response:
    """Return whether the streams run; the status is 503 if one has failed."""
    try:
        await service.threads.run(service.engine.check)
    except MuntinError:
        return JSONResponse({"status": "failed"}, 503)
    return JSONResponse({"status": "ok"})


def _shape(service: Service, caller: Caller) -> dict[str, Any]:
    return {
        "role": None if caller.role is None else caller.role.word,
        "name": caller.name,
        "token_needed": service.sessions.token_needed,
        "version": version("muntin"),
        "safe": True,
        "api": API_VERSION,
    }
