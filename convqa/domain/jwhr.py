"""A turn as an entry of the Japanese Wikipedia Human Retrieval dataset: its answer, its searches and their results.

https://huggingface.co/datasets/baobab-trees/wikipedia-human-retrieval-ja: sentences cite by index into ``references``.
"""

from __future__ import annotations

from typing import Any

from convqa.domain.answer import Answer, Citation
from convqa.domain.conversation import Passage
from convqa.domain.evidence import quotes
from convqa.domain.ranking import Ranking
from convqa.domain.response import NAMED_HITS, Response


def jwhr_entry(response: Response, question: str, answers: bool = True) -> dict[str, Any]:
    """Return one turn as an entry, with one reference per distinct citation.

    A turn that failed, was not answered or asks back has no answer. Its references are the first pages of the ranking,
    without quotes, or one search without results. ``failed``, our own field, marks a failed turn.

    :param question: the question of the input, before rewriting.
    :param answers: whether the pipeline makes answers.
    """
    answer, ranking = response.answer, response.ranking or Ranking()
    keywords = list(dict.fromkeys(query.text for query in response.rewrite.queries)) if response.rewrite else []
    data: dict[str, Any] = {"id": response.id.conversation, "question": question}
    if not answers or answer is None or answer.kind != "answer":
        pages = [_page(hit.id, hit.passage) for hit in ranking.hits[:NAMED_HITS]]
        results = [_reference(keywords, page) for index, page in enumerate(pages) if page not in pages[:index]]
        if response.ranking is not None and not ranking.hits:
            results = [{"search": {"keywords": keywords}, "not_found": {"url": ""}}]
        failed = {"failed": True} if answer is None and response.error is not None else {}
        return {**data, "references": results, **failed}
    passages = {hit.id: hit.passage for hit in ranking.hits}
    references: dict[Citation, dict[str, Any]] = {}
    for citation, quote in quotes(answer, ranking).items():
        page = _page(citation.passage_id, passages.get(citation.passage_id))
        references[citation] = _reference(keywords, {**page, "quote": {"text": quote}} if quote else page)
    index = {citation: position for position, citation in enumerate(references)}
    sentences = [
        {"text": text, "citations": [index[citation] for citation in dict.fromkeys(sentence.citations)]}
        for text, sentence in zip(_sentence_texts(answer), answer.sentences, strict=True)
    ]
    return {**data, "answer": {"text": answer.text, "sentences": sentences}, "references": list(references.values())}


def _reference(keywords: list[str], page: dict[str, Any]) -> dict[str, Any]:
    return {"search": {"keywords": keywords}, "page": page}


def _page(id: str, passage: Passage | None) -> dict[str, Any]:
    """Return title and URL of a passage; a passage with neither is titled with its id."""
    title, url = (passage.title, passage.url) if passage else ("", "")
    return {"title": title or ("" if url else id), "url": url}


def _sentence_texts(answer: Answer) -> list[str]:
    """Return the sentences, each with the space before it, because the dataset joins them by nothing."""
    texts = [sentence.text for sentence in answer.sentences]
    if " ".join(texts) != answer.text:
        return texts
    return [*texts[:1], *(f" {text}" for text in texts[1:])]
