"""Response and Failure: the results for one turn, or the reason why there are none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from convqa.domain.answer import CAVEAT, Answer, Reading
from convqa.domain.conversation import Listed, Named, Passage, TurnId
from convqa.domain.ranking import Ranking, Rewrite

NAMED_HITS = 10
"""How many hits keep title and URL for a turn without an answer."""


@dataclass(frozen=True, slots=True)
class Failure(Listed):
    """Why one item of a batch has no value. Later stations pass it on."""

    stage: str
    error: str
    message: str


@dataclass(frozen=True, slots=True, repr=False)
class Response(Named):
    """The results for one turn; a part is None if the pipeline lacks the stage or the turn failed.

    ``added`` marks the words of ``rewrite.text`` that the question lacks, as characters [start, end). ``timings`` are
    seconds by node: the turn's share of its batch. ``statements`` are those of the user about themselves that the
    rewrite has words of.
    """

    id: TurnId
    rewrite: Rewrite | None = None
    ranking: Ranking | None = None
    reading: Reading | None = None
    answer: Answer | None = None
    timings: Mapping[str, float] = field(default_factory=dict, hash=False)
    error: Failure | None = None
    added: tuple[tuple[int, int], ...] = ()
    statements: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the turn and the beginning of its answer. ``to_json()`` has all parts.

        >>> Response(TurnId("talk", 1), answer=Answer("none", "", reason="nothing was found"))
        <Response talk_1: none, 'nothing was found'>
        """
        if self.error is not None:
            return f"<Response {self.id}: {self.error.stage} failed, {self.error.message!r:.80}>"
        answer = self.answer
        said = f"{answer.kind}, {answer.shown or answer.reason!r:.80}" if answer else "no answer"
        return f"<Response {self.id}: {said}>"

    def _repr_markdown_(self) -> str:
        """Return the answer with its numbered quotes, for notebooks."""
        sentences = self.answer.sentences if self.answer else ()
        numbers = {citation: 0 for sentence in sentences for citation in sentence.citations}
        passages = {hit.id: hit.passage for hit in self.ranking.hits} if self.ranking else {}
        quotes = []
        for number, citation in enumerate(numbers, 1):
            numbers[citation] = number
            passage = passages[citation.passage_id] or Passage(citation.passage_id, "")
            source = passage.source(citation.start) or passage.id
            quotes.append(f"[{number}] {_plain(source)}: *{_plain(passage.text[citation.start : citation.end])}*")
        said = [_plain(one.text) + "".join(f" [{numbers[key]}]" for key in one.citations) for one in sentences]
        return "\n\n".join([" ".join(said) or _plain(repr(self)), *quotes])

    @property
    def caveat(self) -> str:
        """A sentence for the user about the answer or, failing that, about the rewrite; "" if there is none."""
        for part in (self.answer, self.rewrite):
            for note in part.notes if part else ():
                if note.startswith(CAVEAT):
                    return note.removeprefix(CAVEAT)
        return ""

    @property
    def usage(self) -> tuple[int, int]:
        """The tokens of all prompts and completions, as the language model's server reports them."""
        parts = [part.usage for part in (self.rewrite, self.answer) if part and part.usage]
        return sum(prompt for prompt, _ in parts), sum(completion for _, completion in parts)

    def trimmed(self) -> Response:
        """Return the response as a journal keeps it: without ``added``, and with passages only on cited hits.

        The first hits of a turn without an answer keep title and URL.
        """
        if self.ranking is None:
            return replace(self, added=())
        is_answered = self.answer is not None and self.answer.kind == "answer"
        named = 0 if is_answered else NAMED_HITS
        cited = self.answer.cited_ids() if self.answer else frozenset()
        return replace(self, ranking=self.ranking.trimmed(cited, named), added=())

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Response:
        parts = {}
        for name, kind in _PARTS.items():
            parts[name] = None if data[name] is None else kind.from_json(data[name])
        added = tuple((start, end) for start, end in data.get("added", ()))
        statements = tuple(data.get("statements", ()))
        return cls(TurnId.from_json(data["id"]), timings=data["timings"], added=added, statements=statements, **parts)


def _plain(text: str) -> str:
    """Return a text on one line that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[<&|])", r"\\\1", " ".join(text.split()))


_PARTS: Mapping[str, Any] = {
    "rewrite": Rewrite,
    "ranking": Ranking,
    "reading": Reading,
    "answer": Answer,
    "error": Failure,
}
