"""The page: a chat over what the server serves, rendered once and kept up to date by its script."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException

_FOLDER = Path(__file__).parent
_FILES = {path.name: path for path in (_FOLDER / "static").iterdir()}
_TEMPLATES = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)

router = APIRouter(include_in_schema=False)


@router.api_route("/", methods=["GET", "HEAD"])
def index(request: Request) -> HTMLResponse:
    """The page, with the pipelines, examples and conversations that the caller may see.

    A browser sends no key with its first request: without one the page is empty, and its script asks for the key.
    """
    state = request.app.state
    shown: dict[str, Any] = {"pipelines": [], "conversations": []}
    with suppress(HTTPException):
        owner = state.access.caller(request).owner
        shown["pipelines"] = [service.description for service in state.services.values()]
        shown["conversations"] = state.conversations.of(owner) if state.conversations else []
    page = _TEMPLATES.get_template("index.html").render(shown)
    return HTMLResponse(page, headers={"Cache-Control": "no-store"})


@router.get("/static/{name}")
def static(name: str) -> FileResponse:
    """A file of the page. Browsers ask again whether it changed, so that a new version is seen at once."""
    if name not in _FILES:
        raise HTTPException(404, f"The page has no file {name!r:.80}.")
    return FileResponse(_FILES[name], headers={"Cache-Control": "no-cache"})
