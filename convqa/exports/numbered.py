"""An answer as programs take it: its sentences with the numbers of what they cite, and each number's place."""

from __future__ import annotations

from typing import Any

from convqa.domain import Answer, Response
from convqa.exports.cited import CitedAnswer, Source
from convqa.exports.text import numbered


def numbered_answer(response: Response) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A response's answer and its citations, as JSON has them; offsets are code points.

    A sentence has its characters ``[start, end)`` of the answer's ``text`` and the numbers that it cites. A citation
    has its number, its passage with title and url, the characters ``[start, end)`` of the passage's text (None where
    the whole passage is cited), and these characters as ``quote``.

    :raises InputError: if the response has no answer although its turn did not fail.
    """
    cited = CitedAnswer.of(response)
    answer, numbers = cited.answer, numbered(cited.answer)
    citations = []
    for citation, number in numbers.items():
        source = cited.sources.get(citation.passage_id, Source())
        place = {"number": number, "passage": citation.passage_id, "title": source.title, "url": source.url}
        citations.append(
            {**place, "start": citation.start, "end": citation.end, "quote": cited.quotes.get(citation, "")}
        )
    said = [
        {"text": sentence.text, "start": start, "end": start + len(sentence.text),
         "citations": [numbers[citation] for citation in sentence.citations]}
        for start, sentence in zip(_starts(answer), answer.sentences, strict=True)
    ]  # fmt: skip
    names = ("kind", "text", "label", "reason", "score")
    kept = {name: getattr(answer, name) for name in names}
    return {**kept, "sentences": said, "nearest": list(answer.nearest), "notes": list(answer.notes)}, citations


def _starts(answer: Answer) -> list[int]:
    """Where each sentence begins in the answer's text; a label or a question may say less than its sentences."""
    starts, place = [], 0
    for sentence in answer.sentences:
        place = max(answer.text.find(sentence.text, place), place)
        starts.append(place)
        place += len(sentence.text)
    return starts
