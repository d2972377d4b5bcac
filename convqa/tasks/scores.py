"""The results of scoring: measures, and for each its values by turn. The same for all tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from convqa.domain import DEFAULT_LANGUAGE, TurnId
from convqa.files import log
from convqa.metrics import alce
from convqa.metrics.alce import CitedSentence
from convqa.text.support import SUPPORTED


@dataclass(frozen=True, slots=True)
class GoldTurn:
    """A turn's truth, in every task: ``fields`` is its record in the file, for breakdowns."""

    id: TurnId
    fields: Mapping[str, Any] = field(repr=False)


T = TypeVar("T", bound=GoldTurn, covariant=True)


@dataclass(frozen=True, slots=True)
class Gold(Generic[T]):
    """The truth in file order; the rest of it is the task's own. No component can receive it."""

    path: Path
    turns: tuple[T, ...]


class Run(Protocol):
    """A run as read back, in every task."""

    @property
    def path(self) -> Path: ...


def option(default: Any, help: str, metavar: str | None = None) -> Any:
    """A field of ``Options`` that ``convqa evaluate`` has as an option of the same name."""
    return field(default=default, metadata={"help": help, "metavar": metavar})


@dataclass(frozen=True, slots=True)
class Options:
    """How runs of a task are scored. A task that leaves a choice derives its own, each field with a default."""

    def to_json(self) -> dict[str, Any]:
        """The choices that change what a number means."""
        return {}


@dataclass(frozen=True, slots=True)
class Measure:
    """A named number, and its place: the official file, a line of the table, or beside another measure's line.

    ``beside`` names the measure whose line it shares, with ``label`` as its words there; ``counts``: it is a number of
    things (words), not a share. ``scale``: what the mean of the turns' scores is multiplied by (100 for percent).
    """

    name: str
    official: bool = False
    beside: str = ""
    label: str = ""
    counts: bool = False
    scale: float = 1.0


Statistic = Callable[[Mapping[str, Sequence[float]]], float | None]


@dataclass(frozen=True, slots=True)
class Scores:
    """A measure over a run: a score for each turn that it rests on, or the reason why there is none.

    ``groups``: the group of each turn, where the number is a macro average: the mean of the groups' means.
    ``statistic``: what the number is of the groups' values, where it is no mean at all; None where they have none.
    """

    measure: Measure
    ids: tuple[TurnId, ...] = ()
    values: tuple[float, ...] = ()
    skipped: str = ""
    groups: tuple[str, ...] = ()
    statistic: Statistic | None = None

    def by_group(self, column: Sequence[Any] | None = None) -> dict[str, list[Any]]:
        """The values of each group, groups in order of appearance; without groups all values are one.

        :param column: another value for each turn, to be split likewise.
        """
        found: dict[str, list[Any]] = {}
        for group, value in zip(self.groups or [""] * len(self.values), column or self.values, strict=True):
            found.setdefault(group, []).append(value)
        return found

    def split(self, groups: Mapping[TurnId, Sequence[str]]) -> dict[str, Scores]:
        """The same by group; a turn may be in several, or in none."""
        places: dict[str, list[int]] = {}
        for place, id in enumerate(self.ids):
            for group in groups.get(id, ()):
                places.setdefault(group, []).append(place)
        return {group: self.at(found) for group, found in places.items()}

    def at(self, places: Sequence[int]) -> Scores:
        """Only the turns at these places."""
        return replace(
            self,
            ids=tuple(self.ids[place] for place in places),
            values=tuple(self.values[place] for place in places),
            groups=tuple(self.groups[place] for place in places) if self.groups else (),
        )


@dataclass(frozen=True, slots=True)
class AnswerScorer:
    """A further measure of answers, such as SAS: ``score`` takes (truth, model answer) pairs."""

    name: str
    score: Callable[[Sequence[tuple[str, str]]], Sequence[float]]
    official: bool = False


class Supports(Protocol):
    """Says how likely evidence supports a sentence, 0 to 1: one score for each (evidence, sentence), in order."""

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str: ...
    def score(self, pairs: Sequence[tuple[str, str]], language: str = "en") -> Sequence[float]: ...


@dataclass(frozen=True, slots=True)
class Judged:
    """Rankings as {id: score} and their relevant ids, by turn as text: what TREC files hold."""

    rankings: Mapping[str, Mapping[str, float]]
    relevant: Mapping[str, Sequence[str]]


Rows = Sequence[tuple[TurnId, Mapping[str, float]]]
"""Turns with their scores by measure, of the measures that a turn counts for."""


def columns(measures: Sequence[Measure], rows: Rows | str, reasons: Mapping[str, str] | None = None) -> list[Scores]:
    """The scores by measure. One that no turn has gets its reason, or is left out where it stands beside another.

    :param rows: or the reason of all measures.
    """
    reason, rows = (rows, ()) if isinstance(rows, str) else ("", rows)
    found = []
    for measure in measures:
        column = [(id, row[measure.name]) for id, row in rows if measure.name in row]
        if column:
            found.append(Scores(measure, tuple(id for id, _ in column), tuple(value for _, value in column)))
        elif not measure.beside:
            found.append(Scores(measure, skipped=(reasons or {}).get(measure.name, reason)))
    return found


def warn_of_unmatched(path: Path, asked: Set[Any], answered: Set[Any], lacking: str, foreign: str) -> None:
    """Partial runs are punished and what nobody asked is ignored: say so, since it is mostly a mistake."""
    if missing := len(asked - answered):
        log.warning("%s: lacks %d of the %d %s; --partial leaves them out", path, missing, len(asked), lacking)
    if others := len(answered - asked):
        log.warning("%s: ignored %d %s", path, others, foreign)


def alce_measures(support: Supports) -> tuple[Measure, Measure]:
    """Citation recall, and precision beside it."""
    recall = f"ALCE-R({support.name})"
    return Measure(recall), Measure(f"ALCE-P({support.name})", beside=recall, label="precision")


def supported(
    sentences: Sequence[CitedSentence], support: Supports, language: str = DEFAULT_LANGUAGE
) -> dict[str, float]:
    """The scores of an answer's sentences by measure; none without a sentence."""

    def entails(premise: str, claim: str) -> bool:
        return support.score([(premise, claim)], language)[0] >= SUPPORTED

    scores = alce.of_sentences(sentences, entails)
    names = (measure.name for measure in alce_measures(support))
    return {} if scores is None else dict(zip(names, scores, strict=True))
