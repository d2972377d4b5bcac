"""A turn as an entry of the Japanese Wikipedia Human Retrieval dataset: its answer, and what was searched and found.

https://huggingface.co/datasets/baobab-trees/wikipedia-human-retrieval-ja: a sentence cites places in ``references``.
"""

from __future__ import annotations

from typing import Any

from convqa.domain.answer import Answer, Citation
from convqa.domain.conversation import Passage
from convqa.domain.evidence import quotes
from convqa.domain.ranking import Ranking
from convqa.domain.response import NAMED_HITS, Response


def jwhr_entry(response: Response, question: str, answers: bool = True) -> dict[str, Any]:
    """One turn as an entry. A reference is what one citation quotes, found by the turn's queries; equal ones are one.

    A turn that failed, was not answered or asks back has no answer; its references are the first pages that were
    found, without quotes, or that a search found none. ``failed``, which the data set lacks, tells one that failed.

    :param question: the input's; a rewriter may have made another of it, or none where it failed.
    :param answers: whether the pipeline answers at all.
    """
    answer, ranking = response.answer, response.ranking or Ranking()
    keywords = list(dict.fromkeys(query.text for query in response.rewrite.queries)) if response.rewrite else []
    data: dict[str, Any] = {"id": response.id.conversation, "question": question}
    if not answers or answer is None or answer.kind != "answer":
        pages = [_page(hit.id, hit.passage) for hit in ranking.hits[:NAMED_HITS]]
        found = [_found(keywords, page) for place, page in enumerate(pages) if page not in pages[:place]]
        if response.ranking is not None and not ranking.hits:
            found = [{"search": {"keywords": keywords}, "not_found": {"url": ""}}]
        failed = {"failed": True} if answer is None and response.error is not None else {}
        return {**data, "references": found, **failed}
    passages = {hit.id: hit.passage for hit in ranking.hits}
    references: dict[Citation, dict[str, Any]] = {}
    for citation, quote in quotes(answer, ranking).items():
        page = _page(citation.passage_id, passages.get(citation.passage_id))
        references[citation] = _found(keywords, {**page, "quote": {"text": quote}} if quote else page)
    place = {citation: index for index, citation in enumerate(references)}
    sentences = [
        {"text": text, "citations": [place[citation] for citation in dict.fromkeys(sentence.citations)]}
        for text, sentence in zip(_joined(answer), answer.sentences, strict=True)
    ]
    return {**data, "answer": {"text": answer.text, "sentences": sentences}, "references": list(references.values())}


def _found(keywords: list[str], page: dict[str, Any]) -> dict[str, Any]:
    return {"search": {"keywords": keywords}, "page": page}


def _page(id: str, passage: Passage | None) -> dict[str, Any]:
    """A passage without title and address is called by its id, so that its page has a name."""
    title, url = (passage.title, passage.url) if passage else ("", "")
    return {"title": title or ("" if url else id), "url": url}


def _joined(answer: Answer) -> list[str]:
    """The sentences, which the data set joins by nothing: the blank before one belongs to it."""
    texts = [sentence.text for sentence in answer.sentences]
    if " ".join(texts) != answer.text:
        return texts
    return [*texts[:1], *(f" {text}" for text in texts[1:])]
