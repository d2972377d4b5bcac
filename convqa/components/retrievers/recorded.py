"""Rankings of another system, read from a TREC run or a run.json."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property

from pydantic import NonNegativeInt

from convqa.components.base import Retriever
from convqa.components.members import member
from convqa.components.parameters import Count, Name
from convqa.components.recordings import FromFile, of_turn
from convqa.domain import Hit, Ranking, Rewrite, Turn

logger = logging.getLogger(__name__)


@member
class RecordedRetriever(FromFile, Retriever):
    """Use the rankings of another system, such as SPLADE, ColBERT or pyserini, by turn (``CONVERSATION_TURN``).

    Rewrites are ignored. A turn that is missing in the file gets an empty ranking. Passages come from the collection;
    an unknown id stays in the ranking without a text.

    Example::

        retriever: {type: recorded, init_parameters: {path: splade.trec.gz}}

    :param path: a TREC run, plain or gzip, or a run.json (``Model_passages``). A ground-truth.json
        (``Truth_passages``) acts as a perfect retriever, to measure the other stations.
    :param top_k: passages in a ranking.
    :param max_texts: how many of the first hits have their passages.
    """

    needs_collection = True

    path: Name
    collection: str | None = None
    top_k: Count = 1000
    max_texts: NonNegativeInt = 20

    def __post_init__(self) -> None:
        self._warned: set[str] = set()

    @cached_property
    def _rankings(self) -> dict[str, Ranking]:
        recorded = self._recording.rankings()
        decoded = {} if self._recording.is_json else self._decoded_ids(recorded)
        rankings = {}
        for turn, scores in recorded.items():
            hits = [Hit(decoded.get(id, id), score) for id, score in scores.items()]
            rankings[turn] = Ranking.of(hits)
        return rankings

    def _decoded_ids(self, recorded: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
        """Return the ids of TREC files with an encoded space -> the ids. An id may also contain "%20" itself."""
        encoded = sorted({id for scores in recorded.values() for id in scores if "%20" in id})
        passages = zip(encoded, self.store.fetch(encoded), strict=True)
        return {id: id.replace("%20", " ") for id, passage in passages if passage is None}

    def warm_up(self) -> None:
        _ = self._rankings

    def retrieve_batch(self, turns: Sequence[Turn], rewrites: Sequence[Rewrite]) -> Sequence[Ranking]:
        rankings = []
        missing = 0
        for turn, rewrite in zip(turns, rewrites, strict=True):
            ranking = of_turn(self._rankings, turn.id) if rewrite.queries else Ranking()
            if ranking is None:
                ranking = Ranking()
                missing += 1
            rankings.append(Ranking(ranking.hits[: self.top_k]))
        if missing:
            self._warn("%s: %d turns of a batch are missing and have empty rankings", missing)
        rankings = self.attached(rankings, self.max_texts)
        first = [hit for ranking in rankings for hit in ranking.hits[: self.max_texts]]
        unknown = sum(hit.passage is None for hit in first)
        if unknown:
            self._warn("%s: %d of %d passages of a batch are not in the collection", unknown, len(first))
        return rankings

    def _warn(self, message: str, *counts: int) -> None:
        """Log a warning unless an earlier batch has."""
        if message not in self._warned:
            self._warned.add(message)
            logger.warning(message, self.path, *counts)
