"""
title: convqa
description: Answers from your own documents, with citations that Open WebUI shows as its sources.
requirements: httpx
"""

# A pipe function for Open WebUI (Admin Panel, Functions, +). It asks `convqa serve`, which must be reachable from
# there. Without it, add the server's address with /v1 as an OpenAI connection: citations are then a list below the
# answer.

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
from pydantic import BaseModel


class Pipe:
    class Valves(BaseModel):
        address: str = "http://localhost:8000"
        key: str = ""
        pipeline: str = "talk"
        user_header: str = "X-OpenWebUI-User-Email"

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def pipe(
        self, body: dict[str, Any], __user__: dict[str, Any], __event_emitter__: Callable[[dict], Awaitable[None]]
    ) -> str:
        headers = {self.valves.user_header: __user__.get("email", "")}
        if self.valves.key:
            headers["Authorization"] = f"Bearer {self.valves.key}"
        asked = {"model": self.valves.pipeline, "messages": body["messages"]}
        async with httpx.AsyncClient(base_url=self.valves.address, headers=headers, timeout=120) as client:
            reply = await client.post("/v1/chat/completions", json=asked)
        found = reply.json()
        if reply.is_error:
            return f"convqa: {found['error']['message']}"
        message = found["choices"][0]["message"]
        for citation in message.get("citations", []):
            await __event_emitter__({"type": "source", "data": source(citation)})
        # Open WebUI shows the sources itself, and links the marks [1] to them.
        return message["content"].partition("\n\nSources:\n\n")[0]


def source(citation: dict[str, Any]) -> dict[str, Any]:
    """A citation as Open WebUI takes it: the quote, and where it stands."""
    name = f"[{citation['number']}] {citation['title'] or citation['passage']}"
    place = {key: citation[key] for key in ("passage", "start", "end")}
    address = {"url": citation["url"]} if citation["url"] else {}
    return {
        "source": {"name": name, "id": citation["passage"], **address},
        "document": [citation["quote"]],
        "metadata": [{"source": citation["url"] or citation["passage"], "name": name, **place}],
    }
