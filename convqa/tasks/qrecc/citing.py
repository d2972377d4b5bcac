"""Scores of a run's citations. None of them is official, and measures without a truth are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from convqa.metrics.alce import CitedSentence
from convqa.metrics.citations import Cited, quote_scores, set_scores, validity
from convqa.metrics.squad import f1
from convqa.tasks.qrecc.run import Run
from convqa.tasks.qrecc.truth import Gold, GoldTurn, collapsed
from convqa.tasks.scores import Measure, Scores, SupportScorer, alce_measures, columns, supported
from convqa.text.sentences import sentences

MEASURES = (
    Measure("Cited-F1"),
    Measure("Cited-P", beside="Cited-F1", label="precision"),
    Measure("Cited-R", beside="Cited-F1", label="recall"),
    Measure("Quote-F1"),
    Measure("Quote-sentences-P", beside="Quote-F1", label="sentence precision"),
    Measure("Quote-sentences-R", beside="Quote-F1", label="sentence recall"),
    Measure("Citation-validity"),
)


def citation_scores(gold: Gold, run: Run, support: SupportScorer | None) -> list[Scores]:
    """Score cited passages and quotes against the truth, validity, and ALCE's measures if ``support`` is given."""
    turns = [(turn, *_answer(run, turn)) for turn in collapsed(gold.turns)]
    rows = [(turn.id, _row(turn, quotes, run.passages.get(str(turn.id)))) for turn, _, quotes in turns]
    scores = [column for column in columns(MEASURES, rows) if column.values] if run.citations else []
    if support is None:
        return scores
    if not run.citations or any(quote.sentence is None for quotes in run.citations.values() for quote in quotes):
        return [*scores, *columns(alce_measures(support), "the run has no Model_citations")]
    # The evidence is the quotes, not the whole passages.
    alce = [(turn.id, supported(cited_sentences(answer, quotes), support)) for turn, answer, quotes in turns]
    answered = [(id, row) for id, row in alce if row]
    return [*scores, *columns(alce_measures(support), answered or "the run answers nothing")]


def _answer(run: Run, turn: GoldTurn) -> tuple[str, Sequence[Cited]]:
    """Return a turn's answer and its quotes; an unanswered turn has none, whatever the run says."""
    answer = run.answers.get(str(turn.id), "")
    return answer, run.citations.get(str(turn.id), ()) if answer.strip() else ()


def _row(turn: GoldTurn, quotes: Sequence[Cited], passages: Mapping[str, float] | None) -> dict[str, float]:
    """Score a turn. Validity needs citations and a ranking; the other measures need a true answer."""
    row: dict[str, float] = {}
    if turn.answer and turn.passages:
        cited = set_scores({quote.passage_id for quote in quotes}, turn.passages)
        row |= {"Cited-P": cited.precision, "Cited-R": cited.recall, "Cited-F1": cited.f1}
    if turn.answer and (gold := gold_sentences(turn)):
        texts = list(dict.fromkeys(quote.text for quote in quotes))  # each quote counts once
        scores = quote_scores(texts, gold)
        row |= {"Quote-sentences-P": scores.precision, "Quote-sentences-R": scores.recall}
        row["Quote-F1"] = f1(" ".join(gold), " ".join(texts))
    if quotes and passages is not None:
        row["Citation-validity"] = validity(quotes, passages)
    return row


def gold_sentences(turn: GoldTurn) -> list[str]:
    """Return ``Cited_sentences``, the parts of the passages that support the true answer."""
    texts = turn.fields.get("Cited_sentences")
    return [text for text in texts if isinstance(text, str) and text.strip()] if isinstance(texts, list) else []


def cited_sentences(answer: str, quotes: Sequence[Cited]) -> list[CitedSentence]:
    """Split an answer at its cited sentences, in order, each with the texts that it cites.

    The text between them is split by ``convqa.text.sentences`` and cites nothing. A cited sentence that is not in the
    answer is kept.

    >>> cited_sentences("I know. Goethe wrote it.", [Cited("p", 0, 6, "Goethe", "Goethe wrote it.")])
    [CitedSentence(claim='I know.', cited=()), CitedSentence(claim='Goethe wrote it.', cited=('Goethe',))]
    """
    if not answer.strip():
        return []
    parts: list[CitedSentence] = []
    end = 0
    for sentence, group in groupby(quotes, key=lambda quote: quote.sentence or ""):
        start = answer.find(sentence, end)
        if start >= 0:
            parts += _uncited(answer[end:start])
            end = start + len(sentence)
        parts.append(CitedSentence(sentence, tuple(quote.text for quote in group)))
    return parts + _uncited(answer[end:])


def _uncited(text: str) -> list[CitedSentence]:
    return [CitedSentence(text[start:end], ()) for start, end in sentences(text)]
