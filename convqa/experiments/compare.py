"""Runs of one task against a baseline: differences with intervals and tests, by group and by turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.driver.folder import META
from convqa.errors import InputError, nearest
from convqa.evaluation import Evaluation, evaluate
from convqa.evaluation.compute import groups_of
from convqa.files import read_json
from convqa.metrics.bootstrap import interval
from convqa.metrics.paired import holm, randomisation_test
from convqa.tasks.base import Groups
from convqa.tasks.scores import Scores

BREAKDOWNS = ("source", "history", "depth", "answerable")
"""What a comparison is broken down by where it is known and nothing else is asked for."""

CERTAIN = 0.05
"""Below this, an adjusted p counts as certain."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A run's measure less the baseline's, over the ``turns`` that both are scored on.

    ``low`` and ``high`` end its 95 % bootstrap interval, for which ``conversations`` are drawn. ``p`` is that of the
    paired randomisation test, ``adjusted`` the same after Holm's correction over all runs that are compared; both are
    None, as the interval's ends are, for a measure that is no mean. ``better``, ``same`` and ``worse`` count turns.
    """

    run: str
    measure: str
    mean: float
    base: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    adjusted: float | None = None
    better: int = 0
    same: int = 0
    worse: int = 0
    turns: int = 0
    conversations: int = 0

    @property
    def difference(self) -> float:
        return self.mean - self.base

    @property
    def certain(self) -> bool:
        return self.adjusted is not None and self.adjusted < CERTAIN


@dataclass(frozen=True, slots=True)
class TurnDifference:
    """One turn's scores in a measure, with what both runs made of it; None for what is not known."""

    id: TurnId
    base: float
    score: float
    question: str | None
    rewrites: tuple[str | None, str | None]
    answers: tuple[str | None, str | None]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "id": str(self.id)}


@dataclass(frozen=True, slots=True)
class Comparison:
    """``breakdowns``: breakdown -> group -> differences, whose p are not adjusted."""

    against: str
    evaluations: Mapping[str, Evaluation]
    differences: tuple[Difference, ...]
    breakdowns: Mapping[str, Mapping[str, tuple[Difference, ...]]]

    @property
    def others(self) -> list[str]:
        """The names of the runs but the baseline."""
        return [name for name in self.evaluations if name != self.against]

    def of(self, run: str, measure: str) -> Difference | None:
        return next((one for one in self.differences if (one.run, one.measure) == (run, measure)), None)

    def turns(self, run: str, measure: str, questions: Mapping[TurnId, str] | None = None) -> list[TurnDifference]:
        """Every turn that both runs are scored on, from what the run gained most to what it lost most."""
        base, other = (self.evaluations[name] for name in (self.against, run))
        pairs = _pairs(base.scores.get(measure), other.scores.get(measure))
        asked = questions or {}
        rows = [
            TurnDifference(id, before, after, asked.get(id), _both("rewrites", id, base, other),
                           _both("answers", id, base, other))
            for id, _, before, after in pairs
        ]  # fmt: skip
        return sorted(rows, key=lambda row: row.base - row.score)

    def to_json(self) -> dict[str, Any]:
        """Plain values, without turns."""

        def plain(differences: Iterable[Difference]) -> list[dict[str, Any]]:
            return [{**asdict(one), "difference": one.difference} for one in differences]

        return {
            "against": self.against,
            "runs": {name: str(evaluation.run.path) for name, evaluation in self.evaluations.items()},
            "truth": str(self.evaluations[self.against].gold.path),
            "differences": plain(self.differences),
            "breakdowns": {
                name: {group: plain(found) for group, found in groups.items()}
                for name, groups in self.breakdowns.items()
            },
        }


def compare(
    runs: Sequence[Path],
    truth: Path | None = None,
    *,
    task: str = "auto",
    against: str | None = None,
    breakdown: Sequence[str] | None = None,
    measures: Sequence[str] = (),
    partial: bool = False,
    seed: int = 1,
) -> Comparison:
    """Evaluate runs and compare them with one of them.

    :param truth: None: the input that the runs were made from, where it holds the truth.
    :param against: the name of the baseline (its folder's, as far as that tells runs apart); None: the first run.
    :param breakdown: as of ``evaluate``; None: those of :data:`BREAKDOWNS` that the task and the truth know.
    :param measures: which are compared; all without any.
    :raises InputError: for fewer than two runs, runs of which one cannot be scored, and unknown names.
    """
    if len(runs) < 2:
        raise InputError("wanted two runs or more to compare.")
    truth = truth or _truth_of(runs[0])
    evaluations = {}
    for name, run in zip(names_of(runs), runs, strict=True):
        evaluations[name] = evaluate(truth, run, task=task, partial=partial, seed=seed)
    base = against or next(iter(evaluations))
    if base not in evaluations:
        raise InputError(f"--against {base}: no run has this name.{nearest(base, evaluations)} "
                         f"They are called {', '.join(evaluations)}.")  # fmt: skip
    groups = _groups(evaluations[base], truth, breakdown)
    return compare_evaluations(evaluations, base, measures, groups, seed)


def compare_evaluations(
    evaluations: Mapping[str, Evaluation],
    against: str,
    measures: Sequence[str] = (),
    groups: Mapping[str, Groups] | None = None,
    seed: int = 1,
) -> Comparison:
    """Compare evaluations with that of the name ``against``. :param groups: breakdown -> group -> its turns.

    :raises InputError: for a measure that no run has.
    """
    known = list(dict.fromkeys(name for evaluation in evaluations.values() for name in evaluation.scores))
    for name in measures:
        if name not in known:
            raise InputError(f"--measure {name}: no run has it.{nearest(name, known)} Known: {', '.join(known)}.")
    chosen = list(measures) or known
    differences = tuple(_differences(evaluations, against, chosen, None, seed))
    breakdowns = {
        breakdown: {
            group: tuple(_differences(evaluations, against, chosen, members, seed))
            for group, members in by_group.items()
        }
        for breakdown, by_group in (groups or {}).items()
    }
    return Comparison(against, dict(evaluations), differences, breakdowns)


def questions_of(comparison: Comparison) -> dict[TurnId, str]:
    """The questions by turn, where they stand beside the truth."""
    evaluation = comparison.evaluations[comparison.against]
    folder = evaluation.gold.path.parent
    if not evaluation.task.has_input(folder):
        return {}
    return {turn.id: turn.question for talk in evaluation.task.read(folder) for turn in talk.turns}


def names_of(runs: Sequence[Path]) -> list[str]:
    """The shortest parts of the runs' paths that tell them apart.

    >>> names_of([Path("out/a/cast"), Path("out/b/cast")]), names_of([Path("x/a/run.json"), Path("x/b")])
    (['a', 'b'], ['a', 'b'])
    """
    folders = [run.resolve().parent if run.suffix and not run.is_dir() else run.resolve() for run in runs]
    parts = [folder.parts for folder in folders]
    while len({own[-1:] for own in parts}) == 1 and parts[0]:
        parts = [own[:-1] for own in parts]
    for length in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(own[-length:]) for own in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{folder.name} ({place})" for place, folder in enumerate(folders, 1)]


def _differences(
    evaluations: Mapping[str, Evaluation],
    against: str,
    measures: Sequence[str],
    members: frozenset[TurnId] | None,
    seed: int,
) -> Iterator[Difference]:
    base = evaluations[against].scores
    for measure in measures:
        made = [
            _difference(name, base.get(measure), evaluation.scores.get(measure), members, seed)
            for name, evaluation in evaluations.items()
            if name != against
        ]
        there = [one for one in made if one is not None]
        tested = [one for one in there if one.p is not None]
        adjusted = holm([one.p for one in tested if one.p is not None]) if members is None else [None] * len(tested)
        by_run = {one.run: value for one, value in zip(tested, adjusted, strict=True)}
        for one in there:
            yield Difference(**{**asdict(one), "adjusted": by_run.get(one.run)})


def _difference(
    run: str, base: Scores | None, other: Scores | None, members: frozenset[TurnId] | None, seed: int
) -> Difference | None:
    """None where there are no turns that both are scored on."""
    pairs = [pair for pair in _pairs(base, other) if members is None or pair[0] in members]
    if base is None or not pairs:
        return None
    measure, scale = base.measure.name, base.measure.scale
    before: dict[str, list[float]] = {}
    after: dict[str, list[float]] = {}
    owners: dict[str, list[int | str]] = {}
    for id, group, early, late in pairs:
        before.setdefault(group, []).append(early)
        after.setdefault(group, []).append(late)
        owners.setdefault(group, []).append(id.conversation)
    if base.statistic is not None:
        was, now = base.statistic(before), base.statistic(after)
        return None if was is None or now is None else Difference(run, measure, scale * now, scale * was)
    gains = [[late - early for early, late in zip(before[group], after[group], strict=True)] for group in before]
    # A turn counts as much as it does in the mean, or the mean of the groups' means.
    by_conversation: dict[int | str, float] = {}
    for some, names in zip(gains, owners.values(), strict=True):
        for gain, name in zip(some, names, strict=True):
            by_conversation[name] = by_conversation.get(name, 0.0) + gain / len(some)
    low, high = interval(gains, seed, list(owners.values()), resamples=5000)
    p = randomisation_test(list(by_conversation.values()), seed)
    flat = [gain for some in gains for gain in some]
    better, worse = sum(gain > 0 for gain in flat), sum(gain < 0 for gain in flat)
    return Difference(
        run, measure, scale * _mean(after), scale * _mean(before), scale * low, scale * high, p, None,
        better, len(flat) - better - worse, worse, len(flat), len(by_conversation),
    )  # fmt: skip


def _mean(groups: Mapping[str, Sequence[float]]) -> float:
    """The mean of the groups' means."""
    means = [sum(scores) / len(scores) for scores in groups.values()]
    return sum(means) / len(means)


def _pairs(base: Scores | None, other: Scores | None) -> list[tuple[TurnId, str, float, float]]:
    """(turn, group, the baseline's score, the run's) for the turns that both are scored on, in the baseline's order."""
    if base is None or other is None:
        return []
    theirs = dict(zip(other.ids, other.values, strict=True))
    rows = zip(base.ids, base.groups or [""] * len(base.ids), base.values, strict=True)
    return [(id, group, value, theirs[id]) for id, group, value in rows if id in theirs]


def _both(field: str, id: TurnId, *evaluations: Evaluation) -> tuple[str | None, str | None]:
    """What two runs say of a turn, where their task's runs hold it by turn."""
    first, second = (getattr(evaluation.run, field, {}).get(str(id)) for evaluation in evaluations)
    return first, second


def _groups(evaluation: Evaluation, truth: Path, asked: Sequence[str] | None) -> dict[str, Groups]:
    own = evaluation.task.breakdowns(evaluation.gold, truth)
    names = [name for name in BREAKDOWNS if name in own] if asked is None else asked
    groups = groups_of(evaluation.task, evaluation.gold, truth, names)
    # One group says no more than the whole.
    return {name: members for name, members in groups.items() if asked is not None or len(members) > 1}


def _truth_of(run: Path) -> Path:
    """The input that a run was made from.

    :raises InputError: if the run's folder does not name it, or it is gone.
    """
    file = (run if run.is_dir() else run.parent) / META
    told = read_json(file, "what convqa run notes about a run") if file.is_file() else {}
    place = told.get("input") if isinstance(told, dict) else None
    if isinstance(place, str) and place and Path(place).exists():
        return Path(place)
    raise InputError(f"{run}: does not say which input it was made from, or that is gone. Name the truth: --truth.")
