"""Score a run's text, pages, quotes and refusals, entry by entry. There is no official scorer; the measures are ours.

If the worker answered, an unanswered entry scores 0 in all comparisons of answers. If the worker did not, only the
refusal is scored. A missing or failed entry is wrong in every measure that it counts for; it is not a refusal.
"""

from __future__ import annotations

from collections.abc import Sequence

from convqa.domain import TurnId
from convqa.files import log
from convqa.metrics.alce import CitedSentence, document
from convqa.metrics.characters import f1, quote_recall, rouge_l
from convqa.metrics.overlap import PrecisionRecallF1, set_scores
from convqa.tasks.jwhr.run import JWHRRun
from convqa.tasks.jwhr.schema import LANGUAGE, JWHREntry, Page
from convqa.tasks.jwhr.truth import JWHRTruth, SourcedAnswer, sourced_answer
from convqa.tasks.scores import (
    Gold,
    Measure,
    Scores,
    SupportOptions,
    alce_measures,
    columns,
    on_line,
    supported,
    warn_of_unmatched,
)

ROUGE_L = on_line("ROUGE-L", official=True, precision="ROUGE-L precision", recall="ROUGE-L recall")
PAGE = on_line("Page F1", official=True, precision="Page precision", recall="Page recall")
MEASURES = (
    *ROUGE_L,
    Measure("F1", official=True),
    *PAGE,
    Measure("Quote recall", official=True),
    Measure("Valid citations", official=True),
    Measure("Answerability", official=True),
    Measure(
        "Refusal precision",
        line="Answerability",
        label="precision of refusing",
    ),
    Measure("Refusal recall", line="Answerability", label="recall"),
)

Row = dict[str, float]
"""Measure -> the entry's score from 0 to 1."""


def score(
    gold: Gold[JWHRTruth],
    run: JWHRRun,
    options: SupportOptions,
) -> list[Scores]:
    """Score the measures in order, ALCE's last if ``support`` is given.

    The precision of refusing is a mean over the entries that the run refuses, the recall over those without a true
    answer.
    """
    asked = {int(turn.id.conversation) for turn in gold.turns}
    unknown = "entries that are not in the truth"
    warn_of_unmatched(run.path, asked, run.entries.keys(), "entries of the truth", unknown)
    failed = [entry for id, entry in run.entries.items() if entry.failed and id in asked]
    if failed:
        log.warning("%s: entries that failed, and count as wrong: %d", run.path, len(failed))
    rows: list[tuple[TurnId, Row]] = []
    for turn in gold.turns:
        entry = run.entries.get(int(turn.id.conversation))
        if entry is None or entry.failed:
            row = _row(turn.answer, None, missing=True)
        else:
            answer = sourced_answer(entry)
            row = _row(turn.answer, answer, missing=False)
            if answer is not None and options.support is not None:
                row |= supported(cited_sentences(entry), options.support, LANGUAGE)
        rows.append((turn.id, row))
    additional = () if options.support is None else alce_measures(options.support)
    return columns((*MEASURES, *additional), rows)


def _row(
    truth: SourcedAnswer | None,
    answer: SourcedAnswer | None,
    missing: bool,
) -> Row:
    refused = answer is None and not missing
    right = not missing and refused == (truth is None)
    row = {"Answerability": float(right)}
    if refused:
        row["Refusal precision"] = float(truth is None)
    if truth is None:
        row["Refusal recall"] = float(refused)
    else:
        row |= _compared(truth, answer or SourcedAnswer(""))
    if answer is not None and answer.valid:
        row["Valid citations"] = sum(answer.valid) / len(answer.valid)
    return row


def _compared(truth: SourcedAnswer, answer: SourcedAnswer) -> Row:
    row = {"F1": f1(answer.text, truth.text)}
    row |= _named(ROUGE_L, rouge_l(answer.text, truth.text))
    if truth.pages:
        row |= _named(PAGE, set_scores(answer.pages, truth.pages))
    if truth.quotes:
        row["Quote recall"] = quote_recall(answer.quotes, truth.quotes)
    return row


def _named(measures: Sequence[Measure], scores: PrecisionRecallF1) -> Row:
    f1, precision, recall = measures
    return {f1.name: scores.f1, precision.name: scores.precision, recall.name: scores.recall}


def cited_sentences(entry: JWHREntry) -> list[CitedSentence]:
    """Return an answer's sentences, each with the quotes or summaries that it cites, titled by their pages.

    A reference without a quote or summary is an empty text, which supports nothing. A text without sentences counts as
    a sentence without citations, so that leaving them out gains nothing.
    """
    if entry.answer is None:
        return []
    texts = [_premise(reference.page) for reference in entry.references]
    sentences = [CitedSentence(sentence.text, _cited(sentence.citations, texts)) for sentence in entry.answer.sentences]
    return sentences or [CitedSentence(entry.answer.text, ())]


def _cited(indexes: list[int], texts: list[str]) -> list[str] | None:
    return [texts[index] for index in indexes] if all(0 <= index < len(texts) for index in indexes) else None


def _premise(page: Page | None) -> str:
    if page is None or not page.text.strip():
        return ""
    return document(page.title, page.text) if page.title.strip() else page.text
