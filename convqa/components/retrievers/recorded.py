"""Rankings of another system, read from a TREC run or a run.json."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated

from pydantic import Field

from convqa.components.base import Retriever
from convqa.components.members import member
from convqa.components.recordings import FromFile, of_turn
from convqa.domain import Hit, Ranking, Rewrite, Turn

logger = logging.getLogger(__name__)


@member
class RecordedRetriever(FromFile, Retriever):
    """Use the rankings of another system, such as SPLADE, ColBERT or pyserini, by turn (``CONVERSATION_TURN``).

    Rewrites are ignored. A turn that is missing in the file gets an empty ranking. Passages come from the collection;
    an unknown id stays in the ranking without a text.

    :param path: a TREC run, plain or gzip, or a run.json (``Model_passages``). A ground-truth.json
        (``Truth_passages``) acts as a perfect retriever, to measure the other stations.
    :param top_k: passages in a ranking.
    :param texts: how many of the first hits have their passages.
    """

    needs_collection = True

    path: Annotated[str, Field(min_length=1)]
    collection: str | None = None
    top_k: Annotated[int, Field(ge=1)] = 1000
    texts: Annotated[int, Field(ge=0)] = 20

    def __post_init__(self) -> None:
        self._warned: set[str] = set()

    @cached_property
    def _rankings(self) -> dict[str, Ranking]:
        recorded = self._recording.rankings()
        # convqa encodes spaces, which TREC files cannot contain, but an id may also contain "%20" itself.
        ids = {id for scores in recorded.values() for id in scores if "%20" in id}
        ambiguous = [] if self._recording.is_json else sorted(ids)
        passages = zip(ambiguous, self.store.fetch(ambiguous), strict=True)
        decoded = {id: id.replace("%20", " ") for id, passage in passages if passage is None}
        return {
            turn: Ranking.of([Hit(decoded.get(id, id), score) for id, score in scores.items()])
            for turn, scores in recorded.items()
        }

    def warm_up(self) -> None:
        _ = self._rankings

    def retrieve_batch(self, turns: Sequence[Turn], rewrites: Sequence[Rewrite]) -> Sequence[Ranking]:
        recorded = [
            of_turn(self._rankings, turn.id) if rewrite.queries else Ranking()
            for turn, rewrite in zip(turns, rewrites, strict=True)
        ]
        if missing := sum(ranking is None for ranking in recorded):
            self._warn("%s: %d turns of a batch are missing and have empty rankings", missing)
        cut = [Ranking(ranking.hits[: self.top_k]) if ranking else Ranking() for ranking in recorded]
        rankings = self.attached(cut, self.texts)
        firsts = [hit for ranking in rankings for hit in ranking.hits[: self.texts]]
        if unknown := sum(hit.passage is None for hit in firsts):
            self._warn("%s: %d of %d passages of a batch are not in the collection", unknown, len(firsts))
        return rankings

    def _warn(self, message: str, *counts: int) -> None:
        """Log a warning unless an earlier batch has."""
        if message not in self._warned:
            self._warned.add(message)
            logger.warning(message, self.path, *counts)
