"""A turn's answer with its quotes and sources, the input of every export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from convqa.domain import Answer, Citation, Passage, Ranking, Response, Sentence, TurnId, Unit, quotes
from convqa.errors import InputError
from convqa.text.quotes import COLONS, shown, shown_unit
from convqa.text.units import units

NAMELESS = Passage("", "")
"""Stands for a passage of which only the id is known."""

_NO_UNIT = Unit(0, 0)


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """The answer of a response, trimmed or not, with everything that its citations need to be read.

    :param alone: whether it is the only turn of its conversation.
    """

    response: Response
    answer: Answer
    alone: bool = False

    @classmethod
    def of(
        cls,
        response: Response,
        alone: bool = False,
        needs_answer: bool = True,
    ) -> CitedAnswer:
        """Create the answer of a response. A failed turn is unanswered, with the failure as its reason.

        :param needs_answer: if False, a turn without an answer is unanswered, and one without a ranking is refused.
        :raises InputError: if the turn has no answer (or ranking) but did not fail.
        """
        failure = response.error
        missing = response.answer if needs_answer else response.ranking
        if failure is None and missing is None:
            part = "answer" if needs_answer else "ranking"
            raise InputError(f"turn {response.id} has no {part}: the pipeline of this run makes none.")
        reason = f"{failure.stage} failed: {failure.error}: {failure.message}" if failure else ""
        return cls(response, response.answer or Answer("none", "", reason=reason), alone)

    @property
    def id(self) -> TurnId:
        return self.response.id

    @property
    def question(self) -> str:
        """The self-contained question, "" if the run has none."""
        return self.response.rewrite.text if self.response.rewrite else ""

    @property
    def ranking(self) -> Ranking:
        return self.response.ranking or Ranking()

    @property
    def scores(self) -> dict[str, float]:
        """The ranking, best first: passage ids with their scores."""
        return {hit.id: hit.score for hit in self.ranking.hits}

    @property
    def passages(self) -> dict[str, Passage]:
        """The passages whose text is available, by id."""
        return self.ranking.by_id()

    @property
    def quotes(self) -> dict[Citation, str]:
        """The quote of each citation, the whole passage if it has no offsets; "" if the text is not available."""
        return quotes(self.answer, self.ranking)

    def sentences(self) -> tuple[Sentence, ...]:
        """Return the answer's sentences; a text without sentences is one sentence without citations."""
        if self.answer.sentences or not self.answer.text:
            return self.answer.sentences
        return (Sentence(self.answer.text),)

    def listed(self) -> tuple[Sentence, ...]:
        """Return the sentences. From the first quoted list item or table row on, they begin with "- ".

        One that stands alone stays as it is, and so do numbered items and the introductions of lists.
        """
        sentences = self.sentences()
        listed = []
        begun = False
        for sentence, _, unit in with_introductions(sentences, self.passages):
            begun = begun or (unit.kind in ("item", "step", "row") and len(sentences) > 1)
            is_bare = unit.kind == "step" or sentence.text.endswith(COLONS)
            listed.append(replace(sentence, text=f"- {sentence.text}") if begun and not is_bare else sentence)
        return tuple(listed)

    def passage_ids(self) -> list[str]:
        """Return the ids of the cited passages, in order of their first citation."""
        citations = [citation for sentence in self.sentences() for citation in sentence.citations]
        return list(dict.fromkeys(citation.passage_id for citation in citations))


def with_introductions(
    sentences: Sequence[Sentence], passages: Mapping[str, Passage]
) -> Iterator[tuple[Sentence, Passage, Unit]]:
    """Yield the sentences with what they quote. The introduction of several items is a sentence without citations."""
    quoted = [(sentence, *quoted_unit(sentence, passages)) for sentence in sentences]
    for (kind, context), group in groupby(quoted, lambda item: (item[2].kind, item[2].context)):
        items = list(group)
        introduction = shown(context) if kind != "row" else ""
        is_list = len(items) > 1 and introduction.endswith(COLONS) and items[0][0].text.startswith(introduction)
        if is_list:
            yield Sentence(introduction), NAMELESS, _NO_UNIT
        for sentence, passage, unit in items:
            if is_list:
                sentence = replace(sentence, text=sentence.text.removeprefix(introduction).lstrip())
            yield sentence, passage, unit


def quoted_unit(sentence: Sentence, passages: Mapping[str, Passage]) -> tuple[Passage, Unit]:
    """Return the item or row that a sentence quotes, with its passage; for any other sentence, an empty sentence."""
    for citation in sentence.citations if sentence.supported is None else ():
        passage = passages.get(citation.passage_id, NAMELESS)
        unit = unit_at(passage, citation.start)
        # Of several items, only the first is quoted with the introduction.
        if sentence.text in (shown_unit(passage, unit), shown(passage.text[unit.start : unit.end])):
            return passage, unit
    return NAMELESS, _NO_UNIT


def unit_at(passage: Passage, start: int | None) -> Unit:
    """Return the unit of a passage that begins at ``start``, an empty sentence if there is none."""
    # Items and rows are the same in every language.
    return next((unit for unit in units(passage, "en") if unit.start == start), _NO_UNIT)
