"""What an Anserini index keeps of a passage."""

from __future__ import annotations

import json
from typing import Any

import orjson

from convqa.domain import MetaValue, Passage
from convqa.files import mend


def passage(id: str, raw: str | None, contents: str | None) -> Passage | None:
    """A passage from the stored fields ``raw`` and ``contents``; None where neither has a text.

    ``raw`` is the line of JSON that was indexed (``id`` and ``contents``, with ``title``, ``url`` and ``meta`` where
    they are), or else the text itself.
    """
    record = _record(raw)
    if record is not None:
        text = record.get("contents", record.get("text", contents))
        if isinstance(text, str):
            return Passage(id, text, _string(record.get("title")), _string(record.get("url")), _meta(record))
        return None
    text = contents if contents is not None else raw
    return None if text is None else Passage(id, text)


def _record(raw: str | None) -> dict[str, Any] | None:
    """The object that ``raw`` is, if it is one. Lone surrogates, which orjson refuses, are mended."""
    if raw is None or not raw.lstrip().startswith("{"):
        return None
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        try:
            value, _ = mend(json.loads(raw))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _meta(record: dict[str, Any]) -> dict[str, MetaValue]:
    meta = record.get("meta")
    if not isinstance(meta, dict):
        return {}
    return {name: value for name, value in meta.items() if isinstance(value, str | int | float | bool)}
