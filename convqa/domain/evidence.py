"""The quotes of an answer's citations, and the fields of SCAI-QReCC's run.json that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def evidence_fields(answer: Answer, quotes: Mapping[Citation, str]) -> dict[str, Any]:
    """Return the official Model_answer and Model_evidence (the first citation, as in 2022), and fields of our own:
    Model_citations (all citations) and, if a no-answer decision was made, Model_answer_score.

    >>> from convqa.domain.answer import Sentence
    >>> cited = Citation("p", 0, 6)
    >>> fields = evidence_fields(Answer.of([Sentence("Goethe did.", (cited,))], "en"), {cited: "Goethe"})
    >>> fields["Model_evidence"]
    {'passage_id': 'p', 'text': 'Goethe'}
    >>> fields["Model_citations"]
    [{'passage_id': 'p', 'start': 0, 'end': 6, 'text': 'Goethe', 'sentence': 'Goethe did.'}]
    """
    citations = [
        {
            "passage_id": citation.passage_id,
            "start": citation.start,
            "end": citation.end,
            "text": quotes[citation],
            "sentence": sentence.text,
        }
        for sentence in answer.sentences
        for citation in sentence.citations
    ]
    evidence = {}
    if citations:
        evidence = {name: citations[0][name] for name in ("passage_id", "text")}
    fields: dict[str, Any] = {
        "Model_answer": answer.text,
        "Model_evidence": evidence,
        "Model_citations": citations,
    }
    if answer.score is not None:
        fields["Model_answer_score"] = answer.score
    return fields
