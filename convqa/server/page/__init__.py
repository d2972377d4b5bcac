"""The web page: a chat over the served pipelines, rendered once and then updated by its script."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException

from convqa.server import turns

_FOLDER = Path(__file__).parent
_FILES = {path.name: path for path in (_FOLDER / "static").iterdir()}
_TEMPLATES = Environment(
    loader=FileSystemLoader(_FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
)

router = APIRouter(include_in_schema=False)


@router.api_route("/", methods=["GET", "HEAD"])
def index(request: Request) -> HTMLResponse:
    """Render the page with the pipelines, examples and conversations that the caller may see.

    A browser's first request has no key. If one is required, the page is empty and its script asks for the key.
    """
    state = request.app.state
    served: dict[str, Any] = {"pipelines": []}
    conversations: list[Any] = []
    with suppress(HTTPException):
        caller = state.access.caller(request)
        served = turns.pipelines(request, caller)
        if state.conversations:
            conversations = state.conversations.summaries(caller.owner)
    template = _TEMPLATES.get_template("index.html")
    page = template.render(served=served, conversations=conversations)
    return HTMLResponse(page, headers={"Cache-Control": "no-store"})


@router.get("/static/{name}")
def static(name: str) -> FileResponse:
    """Return a static file, which browsers revalidate so that a new version appears at once."""
    if name not in _FILES:
        raise HTTPException(404, f"There is no file {name!r:.80}.")
    return FileResponse(_FILES[name], headers={"Cache-Control": "no-cache"})
