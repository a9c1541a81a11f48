"""The page: files that were built, sent as they are."""

from __future__ import annotations

from pathlib import Path

from fastapi.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_NOT_BUILT = (
    "<!doctype html><title>Muntin</title><p>The page is not built: <code>make page</code> builds "
    "it. The API is there without it: <a href='api/v1/openapi.json'>api/v1/openapi.json</a>."
)


class StaticPage(StaticFiles):
    """Sends the files of a folder; without them, a line that says how to build them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, html=True, check_dir=False)
        self._folder = folder

    async def check_config(self) -> None:
        """Accept a folder that is not there: the API is, without the page."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if path == "." and not (self._folder / "index.html").is_file():
            return HTMLResponse(_NOT_BUILT, 404)
        response = await super().get_response(path, scope)
        first = path in (".", "index.html")
        response.headers["cache-control"] = "no-cache" if first else "max-age=3600"
        return response
