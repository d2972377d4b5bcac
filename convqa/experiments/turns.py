"""What a run made of turns that a report shows: passages, with what is cited marked where it stands, and answers."""

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
"""Passages that a turn shows, beside those that its answer cites."""
_ROOM = 400
"""Characters of a passage that are shown before a mark, after the last one, or where there is none."""


def shown_answers(run: Path, source: Path, ids: Collection[TurnId]) -> dict[TurnId, dict[str, Any]]:
    """Of each turn: ``passages``; ``sentences`` of the answer with the ranks of what they cite; ``outcome``, why there
    are none.

    :raises InputError: if the run's folder holds no responses.
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
    """The text in pieces: (text, whether it is in a span). What is far from spans is left out."""
    at, cut = 0, []
    for first, last in sorted(spans):
        dots = "… " if first - _ROOM > at else ""
        cut += [(dots + text[max(at, first - _ROOM) : first], False), (text[max(at, first) : last], True)]
        at = max(at, last)
    dots = " …" if len(text) - _ROOM > at else ""
    return [piece for piece in [*cut, (text[at : at + _ROOM] + dots, False)] if piece[0]]
