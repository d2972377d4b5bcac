"""The turns that a report shows, with their passages and answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from convqa.domain import Passage, Response, TurnId
from convqa.driver.responses import read_responses
from convqa.errors import InputError
from convqa.experiments.compare import Comparison, questions_of
from convqa.indexing import read_passages

EXAMPLES = 3
"""Number of turns with the largest gains, and with the largest losses."""
EARLIER_QUESTIONS = 3
TOP_PASSAGES = 3
"""Passages of a turn, in addition to cited ones."""
CONTEXT_CHARS = 400
"""Characters of a passage before a mark, after the last one, or without marks."""


def examples(
    compared: Comparison,
    row: str,
    lead: str,
    run: Path,
    source: Path,
) -> Iterator[dict[str, Any]]:
    """Yield the turns with the largest gains and losses in the measure ``lead``, with the row's results."""
    questions = questions_of(compared)
    turns = compared.turns(row, lead, questions)
    gained = [turn for turn in turns[:EXAMPLES] if turn.score > turn.base]
    lost = [turn for turn in turns[-EXAMPLES:] if turn.score < turn.base]
    chosen = [*gained, *reversed(lost)]
    evaluation = compared.evaluations[row]
    judged = evaluation.task.judged(evaluation.gold, evaluation.task.read_run(run))
    answers = shown_answers(run, source, {turn.id for turn in chosen})
    for turn in chosen:
        before = [id for id in questions if id.conversation == turn.id.conversation and id.number < turn.id.number]
        yield {
            "turn": turn,
            "result": answers.get(turn.id),
            "earlier": [questions[id] for id in before[-EARLIER_QUESTIONS:]],
            "relevant": judged.relevant.get(str(turn.id), ()) if judged else (),
        }


def shown_answers(
    run: Path,
    source: Path,
    ids: Collection[TurnId],
) -> dict[TurnId, dict[str, Any]]:
    """Return ``passages``, ``sentences`` of the answer with the ranks of their citations, and ``outcome``, the reason
    for no answer, of each turn.

    :raises InputError: if the run's folder has no responses.
    """
    responses = {response.id: response for response in read_responses(run) if response.id in ids}
    without_text = set()
    for response in responses.values():
        for hit in response.ranking.hits if response.ranking else ():
            if hit.passage is None or not hit.passage.text:
                without_text.add(hit.id)
    texts: dict[str, Passage] = {}
    with suppress(InputError):  # the input may have no passages of its own
        texts = {passage.id: passage for passage in read_passages([source]) if passage.id in without_text}
    return {id: _shown_answer(response, texts) for id, response in responses.items()}


def _shown_answer(response: Response, texts: Mapping[str, Passage]) -> dict[str, Any]:
    answer = response.answer
    sentences = answer.sentences if answer else ()
    citations = [citation for sentence in sentences for citation in sentence.citations]
    ranks: dict[str, int] = {}
    passages = []
    for rank, hit in enumerate(response.ranking.hits if response.ranking else (), start=1):
        ranks[hit.id] = rank
        cited = [citation for citation in citations if citation.passage_id == hit.id]
        if rank <= TOP_PASSAGES or cited:
            passage = texts.get(hit.id) or hit.passage or Passage(hit.id, "")
            spans = [(one.start, one.end) for one in cited if one.start is not None and one.end is not None]
            passages.append({"rank": rank, "passage": passage, "pieces": pieces(passage.text, spans)})
    outcome = ""
    if response.error:
        outcome = f"failed: {response.error.message}"
    elif answer and not sentences:
        outcome = answer.reason or answer.text
    shown_sentences = []
    for sentence in sentences:
        cited_ranks = {ranks[citation.passage_id] for citation in sentence.citations}
        shown_sentences.append((sentence.text, sorted(cited_ranks)))
    return {"passages": passages, "sentences": shown_sentences, "outcome": outcome}


def pieces(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[str, bool]]:
    """Split a text into (piece, whether it is in a span), without the parts far from spans."""
    position = 0
    split: list[tuple[str, bool]] = []
    for start, end in sorted(spans):
        from_ = max(position, start - CONTEXT_CHARS)
        dots = "… " if from_ > position else ""
        split.append((dots + text[from_:start], False))
        split.append((text[max(position, start) : end], True))
        position = max(position, end)
    rest = text[position : position + CONTEXT_CHARS]
    dots = " …" if len(text) > position + len(rest) else ""
    split.append((rest + dots, False))
    return [piece for piece in split if piece[0]]
