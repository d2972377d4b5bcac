"""
title: convqa
description: Answers from your own documents, with citations that Open WebUI shows as its sources.
requirements: httpx
"""

# A pipe function for Open WebUI (Admin Panel, Functions, +). It asks `convqa serve`, which must be reachable from
# there: from a container, the address of a server on the same machine is http://host.docker.internal:8000. Every
# served pipeline is a model. Without the function, add the server's address with /v1 as an OpenAI connection:
# citations are then a list below the answer, too.

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
from pydantic import BaseModel

SOURCES = re.compile(r"\n\nSources:\n\n(?:- .*\n?)*")
"""The list of sources in a reply, which Open WebUI shows itself."""

STAGES = {
    "rewrites": "Searching",
    "rankings": "Reading passages",
    "readings": "Writing the answer",
}
"""What follows a stage that is done."""

Emitter = Callable[[dict[str, Any]], Awaitable[None]]


class Pipe:
    class Valves(BaseModel):
        address: str = "http://localhost:8000"
        key: str = ""
        user_header: str = "X-OpenWebUI-User-Email"

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def pipes(self) -> list[dict[str, str]]:
        """The served pipelines, as models."""
        try:
            async with self.client("") as client:
                reply = await client.get("/v1/models")
            if reply.is_error:
                return [{"id": "error", "name": f"convqa: {problem_of(reply)}"}]
            return [{"id": model["id"], "name": f"convqa: {model['id']}"} for model in reply.json()["data"]]
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            return [{"id": "error", "name": self.unreachable(error)}]

    async def pipe(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any],
        __event_emitter__: Emitter | None = None,
    ) -> AsyncIterator[str]:
        """Yield an answer's sentences as they arrive, and emit its sources: mark [n] opens the n-th."""

        async def emit(kind: str, data: dict[str, Any]) -> None:
            if __event_emitter__ is not None:
                await __event_emitter__({"type": kind, "data": data})

        model = body.get("model", "").partition(".")[2] or "talk"
        asked = {"model": model, "messages": body["messages"], "stream": True}
        await emit("status", {"description": "Reading the question", "done": False})
        try:
            async with (
                self.client(__user__.get("email", "")) as client,
                client.stream("POST", "/v1/chat/completions", json=asked) as reply,
            ):
                if reply.is_error:
                    await reply.aread()
                    yield f"convqa: {problem_of(reply)}"
                    return
                async for line in reply.aiter_lines():
                    if line.startswith(": ") and line[2:] in STAGES:
                        await emit("status", {"description": STAGES[line[2:]], "done": False})
                    if not line.startswith("data: {"):
                        continue
                    chunk = json.loads(line.removeprefix("data: "))
                    if "error" in chunk:
                        yield f"convqa: {chunk['error']['message']}"
                    for choice in chunk.get("choices", []):
                        for citation in choice["delta"].get("citations", []):
                            await emit("source", source(citation))
                        text = SOURCES.sub("", choice["delta"].get("content") or "")
                        if text:
                            yield text
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            yield self.unreachable(error)
        finally:
            await emit("status", {"description": "Done", "done": True, "hidden": True})

    def client(self, user: str) -> httpx.AsyncClient:
        headers = {self.valves.user_header: user.encode()}
        if self.valves.key:
            headers["Authorization"] = f"Bearer {self.valves.key}".encode()
        return httpx.AsyncClient(base_url=self.address, headers=headers, timeout=120)

    @property
    def address(self) -> str:
        """The server's address, which may be given as for an OpenAI connection."""
        return self.valves.address.strip().rstrip("/").removesuffix("/v1")

    def unreachable(self, error: Exception) -> str:
        reason = str(error) or type(error).__name__
        return (
            f"convqa: no answer from {self.address} ({reason}). Is the valve `address` right, and the server running?"
        )


def problem_of(reply: httpx.Response) -> str:
    """What a server says about an error, with its address."""
    try:
        return f"{reply.json()['error']['message']} ({reply.url}, status {reply.status_code})"
    except (ValueError, KeyError, TypeError):
        return f"{reply.url} answered with status {reply.status_code}. Is this the address of convqa serve?"


def source(citation: dict[str, Any]) -> dict[str, Any]:
    """A citation as Open WebUI takes it: the quote, and where it stands.

    Open WebUI shows one source for each ``metadata.source``, so every citation has its own.
    """
    number = citation["number"]
    name = citation["title"] or citation["passage"]
    place = {key: citation[key] for key in ("passage", "start", "end")}
    key = f"{citation['url'] or citation['passage']}#c{number}"
    address = {"url": citation["url"]} if citation["url"] else {}
    return {
        "source": {"name": name, "id": key, **address},
        "document": [citation["quote"]],
        "metadata": [{"source": key, "name": f"[{number}] {name}", **place}],
    }
