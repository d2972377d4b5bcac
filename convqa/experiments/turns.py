"""Turns in a report: passages with their cited parts marked, and answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from convqa.domain import Passage, Response, TurnId
from convqa.driver.responses import read_responses
from convqa.errors import InputError
from convqa.indexing import read_passages

_PASSAGES = 3
"""Passages of a turn, in addition to cited ones."""
_ROOM = 400
"""Characters of a passage before a mark, after the last one, or without marks."""


def shown_answers(run: Path, source: Path, ids: Collection[TurnId]) -> dict[TurnId, dict[str, Any]]:
    """Return ``passages``, ``sentences`` of the answer with the ranks of their citations, and ``outcome``, the reason
    for no answer, of each turn.

    :raises InputError: if the run's folder has no responses.
    """
    responses = {each.id: each for each in read_responses(run) if each.id in ids}
    hits = [hit for each in responses.values() if each.ranking for hit in each.ranking.hits]
    bare = {hit.id for hit in hits if hit.passage is None or not hit.passage.text}
    texts: dict[str, Passage] = {}
    with suppress(InputError):  # the input may have no passages of its own
        texts = {passage.id: passage for passage in read_passages([source]) if passage.id in bare}
    return {id: _shown(response, texts) for id, response in responses.items()}


def _shown(response: Response, texts: Mapping[str, Passage]) -> dict[str, Any]:
    answer, hits = response.answer, response.ranking.hits if response.ranking else ()
    sentences = answer.sentences if answer else ()
    ranks = {hit.id: rank for rank, hit in enumerate(hits, start=1)}
    passages = []
    for rank, hit in enumerate(hits, start=1):
        cited = [each for sentence in sentences for each in sentence.citations if each.passage_id == hit.id]
        if rank <= _PASSAGES or cited:
            passage = texts.get(hit.id) or hit.passage or Passage(hit.id, "")
            spans = [(each.start, each.end) for each in cited if each.start is not None and each.end is not None]
            passages.append({"rank": rank, "passage": passage, "pieces": pieces(passage.text, spans)})
    failure = f"failed: {response.error.message}" if response.error else ""
    return {
        "passages": passages,
        "sentences": [(each.text, sorted({ranks[one.passage_id] for one in each.citations})) for each in sentences],
        "outcome": failure or ("" if sentences or not answer else answer.reason or answer.text),
    }


def pieces(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[str, bool]]:
    """Split a text into (piece, whether it is in a span), without the parts far from spans."""
    at, cut = 0, []
    for first, last in sorted(spans):
        dots = "… " if first - _ROOM > at else ""
        cut += [(dots + text[max(at, first - _ROOM) : first], False), (text[max(at, first) : last], True)]
        at = max(at, last)
    dots = " …" if len(text) - _ROOM > at else ""
    return [piece for piece in [*cut, (text[at : at + _ROOM] + dots, False)] if piece[0]]
