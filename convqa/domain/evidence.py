"""The quotes of an answer's citations."""

from __future__ import annotations

from convqa.domain.answer import Answer, Citation
from convqa.domain.ranking import Ranking


def quotes(answer: Answer, ranking: Ranking) -> dict[Citation, str]:
    """Return the quote of each citation: its characters, the whole passage without offsets, "" for unknown passages."""
    texts = ranking.texts()
    return {
        citation: texts.get(citation.passage_id, "")[citation.start : citation.end]
        for sentence in answer.sentences
        for citation in sentence.citations
    }
