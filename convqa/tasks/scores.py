"""The results of scoring, the same for all tasks: measures with their values by turn."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from convqa.domain import DEFAULT_LANGUAGE, TurnId
from convqa.files import log
from convqa.metrics.alce import CitedSentence, citation_scores
from convqa.text.support import SUPPORTED

if TYPE_CHECKING:
    from convqa.models import Support


@dataclass(frozen=True, slots=True)
class GoldTurn:
    """The truth of one turn. ``fields`` is its record in the file, for breakdowns."""

    id: TurnId
    fields: Mapping[str, Any] = field(repr=False)


T = TypeVar("T", bound=GoldTurn, covariant=True)


@dataclass(frozen=True, slots=True)
class Gold(Generic[T]):
    """The truth in file order; tasks derive from it. No component can receive it."""

    path: Path
    turns: tuple[T, ...]


class Run(Protocol):
    """A run that was read back."""

    @property
    def path(self) -> Path: ...


def option(
    default: Any,
    help: str,
    metavar: str | None = None,
) -> Any:
    """Define a field of ``ScoreOptions`` that is also a command line option of ``convqa evaluate``."""
    return field(default=default, metadata={"help": help, "metavar": metavar})


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """How runs are scored. A task with choices derives its own class, whose fields all have defaults."""

    def to_json(self) -> dict[str, Any]:
        """Return the options that change the meaning of a score."""
        return {}


@dataclass(frozen=True, slots=True)
class SupportOptions(ScoreOptions):
    """:param support: a ``convqa.models.Support``: how well quotes and summaries support the sentences, for ALCE."""

    support: Any = None  # the command line reads the types of options, and this one loads onnxruntime

    def to_json(self) -> dict[str, Any]:
        return {} if self.support is None else {"support": self.support.identity}


@dataclass(frozen=True, slots=True)
class Measure:
    """A named number and where it is shown: in the official file, and on its own line of the table or another's.

    :param line: the measure whose line of the table it shares, and ``label`` its name there.
    :param scale: factor of the mean (100 for percent).
    """

    name: str
    official: bool = False
    line: str = ""
    label: str = ""
    scale: float = 1.0


def on_line(name: str, official: bool = False, **others: str) -> tuple[Measure, ...]:
    """Return a measure, and others on its line of the table: label = name."""
    return (Measure(name, official), *(Measure(other, line=name, label=label) for label, other in others.items()))


ScoresByGroup = Mapping[str, Sequence[float]]
Statistic = Callable[[ScoresByGroup], float | None]


@dataclass(frozen=True, slots=True)
class Scores:
    """A measure over a run: a value per scored turn, or the reason why it was skipped.

    :param groups: the group of each turn, if the result is a macro average (the mean of the groups' means).
    :param statistic: computes the result from the values of each group, if it is no mean; None if undefined.
    """

    measure: Measure
    ids: tuple[TurnId, ...] = ()
    values: tuple[float, ...] = ()
    skipped: str = ""
    groups: tuple[str, ...] = ()
    statistic: Statistic | None = None

    def by_group(self, column: Sequence[Any] | None = None) -> dict[str, list[Any]]:
        """Return the values of each group, in order of appearance; without groups, all values under "".

        :param column: other values, one per turn, to group instead.
        """
        groups = self.groups or [""] * len(self.values)
        values_by_group: dict[str, list[Any]] = {}
        for group, value in zip(groups, column or self.values, strict=True):
            values_by_group.setdefault(group, []).append(value)
        return values_by_group

    def of(self, ids: Container[TurnId]) -> Scores:
        """Return the scores of some turns."""
        return self.at([index for index, id in enumerate(self.ids) if id in ids])

    def at(self, indexes: Sequence[int]) -> Scores:
        """Return the scores of the turns at these indexes."""
        return replace(
            self,
            ids=tuple(self.ids[index] for index in indexes),
            values=tuple(self.values[index] for index in indexes),
            groups=tuple(self.groups[index] for index in indexes) if self.groups else (),
        )


@dataclass(frozen=True, slots=True)
class AnswerScorer:
    """An additional measure of answers, such as SAS: ``score`` takes (truth, model answer) pairs."""

    name: str
    score: Callable[[Sequence[tuple[str, str]]], Sequence[float]]
    official: bool = False


@dataclass(frozen=True, slots=True)
class JudgedRankings:
    """Rankings ({id: score}) and relevant ids, or the grades of judged ids, all by turn as text, as in TREC files."""

    rankings: Mapping[str, Mapping[str, float]]
    relevant: Mapping[str, Sequence[str] | Mapping[str, int]]


Rows = Sequence[tuple[TurnId, Mapping[str, float]]]
"""Turns with their scores by measure; a turn lacks the measures that it does not count for."""


def columns(measures: Sequence[Measure], rows: Rows | str) -> list[Scores]:
    """Return the scores of each measure. A measure without values is skipped, or left out if it has no line of its own.

    :param rows: the scores, or the reason why all measures are skipped.
    """
    if isinstance(rows, str):
        return [Scores(measure, skipped=rows) for measure in measures if not measure.line]
    scores = []
    for measure in measures:
        column = [(id, row[measure.name]) for id, row in rows if measure.name in row]
        if column:
            ids, values = zip(*column, strict=True)
            scores.append(Scores(measure, ids, values))
        elif not measure.line:
            scores.append(Scores(measure, skipped="no turn counts for it"))
    return scores


def warn_of_unmatched(
    path: Path,
    asked: Set[Any],
    answered: Set[Any],
    missing: str,
    unknown: str,
) -> None:
    """Warn that missing turns score 0 and unknown ones are ignored, since both are usually mistakes."""
    if count := len(asked - answered):
        log.warning("%s: lacks %d of the %d %s; --partial leaves them out", path, count, len(asked), missing)
    if count := len(answered - asked):
        log.warning("%s: ignored %s: %d", path, unknown, count)


def alce_measures(support: Support) -> tuple[Measure, ...]:
    """Return the measures of citation recall and, on the same line, precision."""
    return on_line(f"ALCE-R({support.name})", precision=f"ALCE-P({support.name})")


def supported(
    sentences: Sequence[CitedSentence],
    support: Support,
    language: str = DEFAULT_LANGUAGE,
) -> dict[str, float]:
    """Return ALCE's scores of an answer by measure; empty for an answer without sentences."""

    def entails(premise: str, claim: str) -> bool:
        [score] = support.score([(premise, claim)], language)
        return score >= SUPPORTED

    scores = citation_scores(sentences, entails)
    if scores is None:
        return {}
    recall, precision = alce_measures(support)
    return {recall.name: scores[0], precision.name: scores[1]}
