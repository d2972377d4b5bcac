"""Scores of a run's citations and refusals. None of them is official, and measures without a truth are left out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from convqa.metrics.alce import CitedSentence
from convqa.metrics.answerability import auc
from convqa.metrics.overlap import set_scores
from convqa.tasks.qrecc.run import Cited, QReCCRun
from convqa.tasks.qrecc.truth import QReCCGold, QReCCTruth, collapsed
from convqa.tasks.scores import (
    Measure,
    Scores,
    ScoresByGroup,
    alce_measures,
    columns,
    on_line,
    supported,
)
from convqa.text.sentences import sentences

if TYPE_CHECKING:
    from convqa.models import Support

_CITING = on_line("Cited-F1", precision="Cited-P", recall="Cited-R")
_REFUSAL_F1, *_REFUSING = on_line("Refusal-F1", precision="Refusal-P", recall="Refusal-R")
_AUC = Measure("Answerable-AUC")

_CAN, _CANNOT = "answerable", "unanswerable"
_LABELS = {"ANSWERABLE": True, "PARTIAL": True, "UNANSWERABLE": False}
"""Labels of ``Answerability`` (mtRAG). UNDERSPECIFIED is neither: the right response is to ask back."""


def citation_scores(
    gold: QReCCGold,
    run: QReCCRun,
    support: Support | None,
) -> list[Scores]:
    """Score cited passages against the truth, and ALCE's measures if ``support`` is given."""
    rows = []
    for turn in collapsed(gold.turns):
        answer = run.answers.get(str(turn.id), "")
        # An unanswered turn has no quotes, whatever the run says.
        quotes = run.citations.get(str(turn.id), ()) if answer.strip() else ()
        row = {}
        if turn.answer and turn.passages:
            cited = set_scores({quote.passage_id for quote in quotes}, turn.passages)
            row = {"Cited-P": cited.precision, "Cited-R": cited.recall, "Cited-F1": cited.f1}
        if support is not None:
            # The evidence is the quotes, not the whole passages.
            row |= supported(cited_sentences(answer, quotes), support)
        rows.append((turn.id, row))
    scores = [column for column in columns(_CITING, rows) if column.values] if run.citations else []
    if support is not None:
        uncited = not run.citations or any(
            quote.sentence is None for quotes in run.citations.values() for quote in quotes
        )
        scores += columns(alce_measures(support), "the run has no Model_citations" if uncited else rows)
    return scores


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


def refusal_scores(gold: QReCCGold, run: QReCCRun) -> list[Scores]:
    """Score precision, recall and F1 of empty answers, and the AUC of the run's answer scores, if it has any.

    A turn without an answer counts as refused, even if it failed, and one without a score has score 0. Precision is
    undefined if nothing is refused.
    """
    known = {turn.id: can for turn in collapsed(gold.turns) if (can := answerable(turn)) is not None}
    if not run.answers or all(known.values()):
        return []
    ids = tuple(known)
    groups = tuple(_CAN if can else _CANNOT for can in known.values())
    refused = tuple(float(not run.answers.get(str(id), "").strip()) for id in ids)
    rows = []
    for (id, can), is_refused in zip(known.items(), refused, strict=True):
        row = {"Refusal-P": float(not can)} if is_refused else {}
        if not can:
            row["Refusal-R"] = is_refused
        rows.append((id, row))
    result = [
        Scores(_REFUSAL_F1, ids, refused, groups=groups, statistic=_f1),
        *columns(_REFUSING, rows),
    ]
    if run.scores and _CAN in groups:
        scores = tuple(run.scores.get(str(id), 0.0) for id in ids)
        result.append(Scores(_AUC, ids, scores, groups=groups, statistic=_auc))
    return result


def answerable(turn: QReCCTruth) -> bool | None:
    """Return ``Answerable`` (a boolean), else the verdict of ``Answerability`` (a list of labels); None if unknown."""
    given = turn.fields.get("Answerable")
    if isinstance(given, bool):
        return given
    labels = turn.fields.get("Answerability")
    known = [_LABELS.get(str(label)) for label in labels] if isinstance(labels, list) else []
    return known[0] if len(set(known)) == 1 else None


def _f1(groups: ScoresByGroup) -> float | None:
    """Return the F1 of refusing, None without unanswerable turns."""
    if _CANNOT not in groups:
        return None
    refused = sum(sum(values) for values in groups.values())
    return 2 * sum(groups[_CANNOT]) / (refused + len(groups[_CANNOT]))


def _auc(groups: ScoresByGroup) -> float | None:
    """Return the AUC of the scores, None without turns of both groups."""
    return auc(groups[_CAN], groups[_CANNOT]) if {_CAN, _CANNOT} <= groups.keys() else None
