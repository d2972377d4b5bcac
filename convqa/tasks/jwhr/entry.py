"""A turn as an entry of the data set: its answer, its searches and their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from convqa.domain import Answer, Citation, Passage, Ranking, Response, quotes
from convqa.domain.response import NAMED_HITS


def entry_of(
    response: Response,
    question: str,
    has_answers: bool = True,
) -> dict[str, Any]:
    """Return one turn as an entry, with one reference per distinct citation.

    A turn that failed, was not answered or asks back has no answer. Its references are the first pages of the ranking,
    without quotes, or one search without results. ``failed``, our own field, marks a failed turn.

    :param question: the question of the input, before rewriting.
    :param has_answers: whether the pipeline makes answers.
    """
    entry: dict[str, Any] = {
        "id": response.id.conversation,
        "question": question,
    }
    answer = response.answer
    if has_answers and answer is not None and answer.kind == "answer":
        return entry | _answered(answer, response)
    entry["references"] = _results(response)
    if answer is None and response.error is not None:
        entry["failed"] = True
    return entry


def _answered(answer: Answer, response: Response) -> dict[str, Any]:
    ranking = response.ranking or Ranking()
    passages = {hit.id: hit.passage for hit in ranking.hits}
    search = _search(response)
    references: list[dict[str, Any]] = []
    indexes: dict[Citation, int] = {}
    for citation, quote in quotes(answer, ranking).items():
        page = _page(citation.passage_id, passages.get(citation.passage_id))
        if quote:
            page["quote"] = {"text": quote}
        indexes[citation] = len(references)
        references.append({"search": search, "page": page})
    sentences = []
    for text, sentence in zip(_sentence_texts(answer), answer.sentences, strict=True):
        cited = [indexes[citation] for citation in dict.fromkeys(sentence.citations)]
        sentences.append({"text": text, "citations": cited})
    return {
        "answer": {"text": answer.text, "sentences": sentences},
        "references": references,
    }


def _results(response: Response) -> list[dict[str, Any]]:
    """Return the pages that were found, each once."""
    if response.ranking is None:
        return []
    search = _search(response)
    if not response.ranking.hits:
        return [{"search": search, "not_found": {"url": ""}}]
    results: list[dict[str, Any]] = []
    for hit in response.ranking.hits[:NAMED_HITS]:
        result = {"search": search, "page": _page(hit.id, hit.passage)}
        if result not in results:
            results.append(result)
    return results


def _search(response: Response) -> dict[str, list[str]]:
    queries = response.rewrite.queries if response.rewrite else ()
    return {"keywords": list(dict.fromkeys(query.text for query in queries))}


def _page(id: str, passage: Passage | None) -> dict[str, Any]:
    """Return title and URL of a passage; a passage with neither is titled with its id."""
    if passage is None or not (passage.title or passage.url):
        return {"title": id, "url": ""}
    return {"title": passage.title, "url": passage.url}


def _sentence_texts(answer: Answer) -> Sequence[str]:
    """Return the sentences, each with the space before it, because the data set joins them by nothing."""
    texts = [sentence.text for sentence in answer.sentences]
    if " ".join(texts) == answer.text:
        texts[1:] = [f" {text}" for text in texts[1:]]
    return texts
