"""A turn's answer with its quotes and sources, the input of every export."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace

from convqa.domain import Answer, Citation, Passage, Ranking, Response, Sentence, TurnId, quotes
from convqa.errors import InputError


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer with everything that its citations need to be read without the collection.

    :param question: the self-contained question, "" if the run has none.
    :param scores: the ranking, best first: passage ids with their scores.
    :param sources: the cited passages whose text is available, without it.
    :param quotes: the quote of each citation, the whole passage if it has no offsets; "" if the text is not available.
    :param alone: whether it is the only turn of its conversation.
    """

    id: TurnId
    answer: Answer
    question: str = ""
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    sources: Mapping[str, Passage] = field(default_factory=dict, hash=False)
    quotes: Mapping[Citation, str] = field(default_factory=dict, hash=False)
    alone: bool = field(default=False, compare=False)
    response: Response = field(compare=False, kw_only=True)

    @classmethod
    def of(
        cls,
        response: Response,
        alone: bool = False,
        needs_answer: bool = True,
    ) -> CitedAnswer:
        """Create the answer of a response, trimmed or not. A failed turn is unanswered, with the failure as its reason.

        :param needs_answer: if False, a turn without an answer is unanswered, and one without a ranking is refused.
        :raises InputError: if the turn has no answer but did not fail, or cites a passage outside its ranking.
        """
        if not needs_answer:
            if response.error is None and response.ranking is None:
                raise InputError(f"turn {response.id} has no ranking: the pipeline of this run makes none.")
            if response.answer is None:
                response = replace(response, answer=Answer("none", ""))
        answer = _answer(response)
        ranking = response.ranking or Ranking()
        scores = {hit.id: hit.score for hit in ranking.hits}
        passages = {hit.id: hit.passage for hit in ranking.hits if hit.passage is not None}
        quoted = quotes(answer, ranking)
        sources = {}
        for citation in quoted:
            passage = passages.get(citation.passage_id)
            _check(response, citation, scores, passage)
            if passage is not None:
                sources[passage.id] = Passage(passage.id, "", passage.title, passage.url)
        return cls(
            response.id,
            answer,
            response.rewrite.text if response.rewrite else "",
            scores,
            sources,
            quoted,
            alone,
            response=response,
        )

    def sentences(self) -> tuple[Sentence, ...]:
        """Return the answer's sentences; a text without sentences is one sentence without citations."""
        if self.answer.sentences or not self.answer.text:
            return self.answer.sentences
        return (Sentence(self.answer.text),)

    def passage_ids(self) -> list[str]:
        """Return the ids of the cited passages, in order of their first citation."""
        citations = [citation for sentence in self.sentences() for citation in sentence.citations]
        return list(dict.fromkeys(citation.passage_id for citation in citations))


def _answer(response: Response) -> Answer:
    if response.answer is not None:
        return response.answer
    if response.error is None:
        raise InputError(f"turn {response.id} has no answer: the pipeline of this run makes none. It needs a builder.")
    failure = response.error
    return Answer("none", "", reason=f"{failure.stage} failed: {failure.error}: {failure.message}")


def _check(
    response: Response,
    citation: Citation,
    ranked: Container[str],
    passage: Passage | None,
) -> None:
    if citation.passage_id not in ranked:
        problem = f"cites {citation.passage_id!r}, which is not in its ranking"
    elif citation.end is not None and (passage is None or citation.end > len(passage.text)):
        length = "no text" if passage is None else f"{len(passage.text)} characters"
        problem = f"quotes [{citation.start}, {citation.end}) of {citation.passage_id!r}, which has {length}"
    else:
        return
    raise InputError(f"turn {response.id} {problem}: an invalid citation is not exported. Answer this turn again.")
