"""Scores of a run's refusals. None of them is official, and measures without a truth are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from convqa.metrics.answerability import auc, refusals
from convqa.tasks.qrecc.run import Run
from convqa.tasks.qrecc.truth import Gold, GoldTurn, collapsed
from convqa.tasks.scores import Measure, Scores, columns

F1 = Measure("Refusal-F1")
BESIDE = (
    Measure("Refusal-P", beside="Refusal-F1", label="precision"),
    Measure("Refusal-R", beside="Refusal-F1", label="recall"),
)
AUC = Measure("Answerable-AUC")

_CAN, _CANNOT = "answerable", "unanswerable"
_LABELS = {"ANSWERABLE": True, "PARTIAL": True, "UNANSWERABLE": False}
"""Labels of ``Answerability`` (mtRAG). UNDERSPECIFIED is neither: the right response is to ask back."""


def refusal_scores(gold: Gold, run: Run) -> list[Scores]:
    """Score precision, recall and F1 of empty answers, and the AUC of the run's answer scores, if it has any.

    A turn without an answer counts as refused, even if it failed, and one without a score has score 0. Precision is
    undefined if nothing is refused.
    """
    known = [(turn.id, can) for turn in collapsed(gold.turns) if (can := answerable(turn)) is not None]
    if not run.answers or all(can for _, can in known):
        return []
    ids = tuple(id for id, _ in known)
    groups = tuple(_CAN if can else _CANNOT for _, can in known)
    refused = tuple(float(not run.answers.get(str(id), "").strip()) for id in ids)
    right = [
        (id, ({"Refusal-P": float(not can)} if no else {}) | ({} if can else {"Refusal-R": no}))
        for (id, can), no in zip(known, refused, strict=True)
    ]
    result = [Scores(F1, ids, refused, groups=groups, statistic=_f1), *columns(BESIDE, right)]
    if run.scores and any(can for _, can in known):
        scores = tuple(run.scores.get(str(id), 0.0) for id in ids)
        result.append(Scores(AUC, ids, scores, groups=groups, statistic=_auc))
    return result


def answerable(turn: GoldTurn) -> bool | None:
    """Return ``Answerable`` (a boolean), else the verdict of ``Answerability`` (a list of labels); None if unknown."""
    given = turn.fields.get("Answerable")
    if isinstance(given, bool):
        return given
    labels = turn.fields.get("Answerability")
    known = [_LABELS.get(str(label)) for label in labels] if isinstance(labels, list) else []
    return known[0] if len(set(known)) == 1 else None


def _f1(groups: Mapping[str, Sequence[float]]) -> float | None:
    """Return the F1 of refusing, None without unanswerable turns."""
    refused = [bool(no) for values in groups.values() for no in values]
    can = [kind == _CAN for kind, values in groups.items() for _ in values]
    return refusals(refused, can).f1 if _CANNOT in groups else None


def _auc(groups: Mapping[str, Sequence[float]]) -> float | None:
    if not {_CAN, _CANNOT} <= groups.keys():
        return None
    scores = [score for values in groups.values() for score in values]
    return auc(scores, [kind == _CAN for kind, values in groups.items() for _ in values])
