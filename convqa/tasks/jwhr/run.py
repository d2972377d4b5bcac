"""run.jsonl: entries in the data set's own form, written whole or not at all, and read back for scoring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from convqa.domain import Citation, Passage, Response, quotes
from convqa.files import to_json_bytes, whole_file
from convqa.tasks.files import file_at
from convqa.tasks.jwhr.input import Notes, note, shaped, tell
from convqa.tasks.jwhr.rules import wrong_in_run
from convqa.tasks.jwhr.schema import RunEntry

FILE = "run.jsonl"


@dataclass(frozen=True, slots=True)
class Run:
    """A run's entries by id."""

    path: Path
    entries: Mapping[int, RunEntry]

    @property
    def answers(self) -> dict[int, str]:
        """What is said, "" where there is no answer."""
        return {id: entry.answer.text if entry.answer else "" for id, entry in self.entries.items()}


def read(path: Path) -> Run:
    """run.jsonl, or the one in a directory. What is wrong inside an entry is told, and counts as it scores.

    :raises InputError: for what is no entry, and for an id that is there twice.
    """
    file = file_at(path, FILE)
    notes, entries = Notes(), {}
    for place, entry in shaped(file, RunEntry):
        entries[entry.id] = entry
        for finding in wrong_in_run(entry):
            note(notes, place, finding)
    tell(file, notes)
    return Run(file, entries)


def write(
    responses: Iterable[Response], directory: Path, stages: frozenset[str], questions: Iterable[str] | None = None
) -> Path:
    """One entry a line. Without questions the rewrites take their place."""
    asked = repeat(None) if questions is None else questions
    with whole_file(directory / FILE) as stream:
        for response, question in zip(responses, asked, strict=questions is not None):
            rewritten = response.rewrite.text if response.rewrite else ""
            found = record(response, rewritten if question is None else question, "answers" in stages)
            stream.write(to_json_bytes(found) + b"\n")
    return directory / FILE


def record(response: Response, question: str, answers: bool = True) -> dict[str, Any]:
    """One turn as an entry. A turn that failed, was not answered or asks back has no answer and no references.

    One that failed says so. A reference is what one citation quotes, found by the turn's queries; equal ones are one.

    :param question: the input's; a rewriter may have made another of it, or none where it failed.
    """
    rewrite, answer = response.rewrite, response.answer
    data: dict[str, Any] = {"id": response.id.conversation, "question": question}
    if not answers or answer is None or answer.kind != "answer":
        failed = {"failed": True} if answer is None and response.error is not None else {}
        return {**data, "references": [], **failed}
    keywords = list(dict.fromkeys(query.text for query in rewrite.queries)) if rewrite else []
    ranking = response.ranking
    passages = {hit.id: hit.passage for hit in ranking.hits} if ranking else {}
    quoted = quotes(answer, ranking) if ranking else {}
    references: dict[Citation, dict[str, Any]] = {}
    for citation in (citation for sentence in answer.sentences for citation in sentence.citations):
        page = _page(citation, passages.get(citation.passage_id), quoted.get(citation, ""))
        references.setdefault(citation, {"search": {"keywords": keywords}, "page": page})
    place = {citation: index for index, citation in enumerate(references)}
    sentences = [
        {"text": sentence.text, "citations": [place[citation] for citation in dict.fromkeys(sentence.citations)]}
        for sentence in answer.sentences
    ]
    return {**data, "answer": {"text": answer.text, "sentences": sentences}, "references": list(references.values())}


def _page(citation: Citation, passage: Passage | None, quote: str) -> dict[str, Any]:
    """A passage without title and address is called by its id, so that its page has a name."""
    title, url = (passage.title, passage.url) if passage else ("", "")
    page = {"title": title or ("" if url else citation.passage_id), "url": url}
    return {**page, "quote": {"text": quote}} if quote else page
