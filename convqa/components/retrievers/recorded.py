"""Rankings of another system, read from a TREC run or a run.json."""

from __future__ import annotations

import logging
from collections.abc import Sequence
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

    :param path: a TREC run, or a run.json (``Model_passages``). A ground-truth.json
        (``Truth_passages``) acts as a perfect retriever, to measure the other stations.
    :param top_k: passages in a ranking.
    :param max_texts: how many of the first hits have their passages.
    """

    needs_collection = True

    path: Name
    collection: str | None = None
    top_k: Count = 1000
    max_texts: NonNegativeInt = 20

    @cached_property
    def _rankings(self) -> dict[str, Ranking]:
        rankings = {}
        for turn, scores in self._recording.rankings().items():
            rankings[turn] = Ranking.of([Hit(id, score) for id, score in scores.items()])
        return rankings

    def warm_up(self) -> None:
        _ = self._rankings

    def retrieve_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
    ) -> Sequence[Ranking]:
        rankings = []
        missing = 0
        for turn, rewrite in zip(turns, rewrites, strict=True):
            ranking = of_turn(self._rankings, turn.id) if rewrite.queries else Ranking()
            missing += ranking is None
            rankings.append(Ranking((ranking or Ranking()).hits[: self.top_k]))
        if missing:
            logger.warning(
                "%s: turns of a batch that are missing and have empty rankings: %d",
                self.path,
                missing,
            )
        return self.attached(rankings, self.max_texts)
