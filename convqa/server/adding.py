"""Documents that are added to a collection over HTTP, and removed again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException

from convqa.documents.find import suffix_of
from convqa.documents.formats import document_formats
from convqa.errors import CollectionBusy
from convqa.files import whole_file
from convqa.indexing import Indexed, update_documents
from convqa.server.guard import ERRORS, GuardedRoute
from convqa.server.service import RETRY, Service
from convqa.server.turns import RequestCaller, service_of
from convqa.workers.processes import start

ADDED = "added"
"""The folder, in that of the originals, of the documents that are added here."""

_BODY_TYPE = "application/octet-stream"
"""The type of a document's request. Browsers let no other site send it."""

_BODY = {"requestBody": {"required": True, "content": {_BODY_TYPE: {"schema": {"type": "string", "format": "binary"}}}}}
_MAX_NAME_BYTES = 200
_UPDATES = asyncio.Lock()
_POOL = ThreadPoolExecutor(1, "adding")
"""Not the loop's own threads, for which the server would wait at its end."""

router = APIRouter(prefix="/api", route_class=GuardedRoute, responses=ERRORS)


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """A document that was added: its name, counts such as pages and tables, and what of it could not be read."""

    file: str
    counts: Mapping[str, int]
    unread: Sequence[str]


async def updating(caller: RequestCaller) -> AsyncIterator[None]:
    """Let one caller who may add documents in at a time.

    :raises HTTPException: 403 for others, 503 while another document is added or removed.
    """
    if not caller.may_add:
        raise HTTPException(403, "This server takes no documents, or not with this key and user.")
    if _UPDATES.locked():
        raise HTTPException(503, "Another document is being added or removed.", RETRY)
    async with _UPDATES:
        yield


@router.post("/documents", status_code=201, dependencies=[Depends(updating)], openapi_extra=_BODY)
async def add(request: Request, name: str, pipeline: str | None = None) -> AddedDocument:
    """Add a document, which the body is, to the collection and to the folder ``added`` of the originals.

    A document that cannot be read is not kept.
    """
    document = _document(name)
    formats = document_formats()
    if request.headers.get("Content-Type") != _BODY_TYPE:
        raise HTTPException(415, f"Expected the document as the body, with the header Content-Type: {_BODY_TYPE}.")
    if suffix_of(name) not in formats:
        raise HTTPException(415, f"{name}: expected a document of the type {', '.join(sorted(formats))}.")
    service = service_of(request, pipeline)
    if not service.has_documents:
        raise HTTPException(422, "The collection of this pipeline was not made of documents.")
    if _holds(service, document):
        raise HTTPException(409, f"There is a document {document} already. Remove it first.")
    data = await request.body()
    indexed = await asyncio.get_running_loop().run_in_executor(_POOL, _update, request, service, document, data)
    if document in indexed.unread:
        raise HTTPException(422, f"{name} cannot be read: {indexed.unread[document]}.")
    return AddedDocument(document, indexed.counts, indexed.partly.get(document, ()))


@router.delete("/documents/{name:path}", status_code=204, dependencies=[Depends(updating)])
async def remove(request: Request, name: str, pipeline: str | None = None) -> None:
    """Remove a document that was added, from the collection and from the originals."""
    document = _document(name.removeprefix(f"{ADDED}/"))
    service = service_of(request, pipeline)
    if not _holds(service, document):
        raise HTTPException(404, "No such document was added here.")
    await asyncio.get_running_loop().run_in_executor(_POOL, _update, request, service, document)


def _document(name: str) -> str:
    """Return the name of an added document among all documents.

    :raises HTTPException: 422 for a name with a folder or a drive, one that is hidden, too long or cannot be printed.
    """
    is_plain = name.isprintable() and name == PureWindowsPath(name).name
    if not is_plain or name.startswith((".", "~$")) or len(name.encode()) > _MAX_NAME_BYTES:
        raise HTTPException(422, "name: expected the name of a file, such as lease.pdf.")
    return f"{ADDED}/{name}"


def _holds(service: Service, document: str) -> bool:
    return service.passage(f"{document}_p1") is not None


def _update(request: Request, service: Service, document: str, data: bytes | None = None) -> Indexed:
    """Write a document, or remove it, and index it in a process of its own.

    :param data: what the document has; None = remove it.
    :raises HTTPException: 503 if another process goes on writing the collection.
    """
    folder = Path(request.app.state.config.originals)
    file = folder / document
    file.unlink(missing_ok=True)
    try:
        if data is not None:
            with whole_file(file) as stream:
                stream.write(data)
        with closing(start(1)) as workers:
            indexed: Indexed = workers.call(update_documents, folder, document, service.pipeline.collection)
        return indexed
    except CollectionBusy:
        raise HTTPException(503, "Another process is writing the collection.", RETRY) from None
    finally:
        service.take_up()
        if not _holds(service, document):
            file.unlink(missing_ok=True)
