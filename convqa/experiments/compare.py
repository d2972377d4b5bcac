"""Comparison of runs with a baseline: differences with intervals and tests, by group and by turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy

from convqa.domain import TurnId
from convqa.driver.folder import read_meta
from convqa.errors import InputError, nearest
from convqa.evaluation import Evaluation, evaluate
from convqa.evaluation.compute import groups_of
from convqa.experiments.differences import Difference, differences_of, shared_scores
from convqa.metrics.paired import holm, permutation_test
from convqa.tasks import Task, tasks
from convqa.tasks.base import Groups


@dataclass(frozen=True, slots=True)
class TurnDifference:
    """The scores of a turn in both runs, with their rewrites and answers, None if unknown."""

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
    """``breakdowns``: breakdown -> group -> differences, with p without correction."""

    against: str
    evaluations: Mapping[str, Evaluation]
    differences: Sequence[Difference]
    breakdowns: Mapping[str, Mapping[str, Sequence[Difference]]]

    @property
    def others(self) -> list[str]:
        """The names of all runs except the baseline."""
        return [name for name in self.evaluations if name != self.against]

    def of(self, run: str, measure: str) -> Difference | None:
        for difference in self.differences:
            if difference.run == run and difference.measure == measure:
                return difference
        return None

    def turns(
        self,
        run: str,
        measure: str,
        count: int,
    ) -> list[TurnDifference]:
        """Return ``count`` turns that are scored in both runs: those that gained most, then those that lost most."""
        base = self.evaluations[self.against]
        other = self.evaluations[run]
        shared = shared_scores(
            {self.against: base, run: other},
            self.against,
            measure,
        )
        if not shared or shared[run].statistic is not None:  # not a mean of scores by turn
            return []
        before = shared[self.against].values
        after = shared[run].values
        gains = numpy.subtract(after, before)
        order = numpy.argsort(-gains, kind="stable")
        gained = [index for index in order if gains[index] > 0]
        lost = [index for index in order[::-1] if gains[index] < 0]
        losses = count // 2
        questions = _questions(base)
        rows = []
        for index in [*gained[: count - losses], *lost[:losses]]:
            id = shared[run].ids[index]
            row = TurnDifference(
                id,
                before[index],
                after[index],
                questions.get(str(id)),
                rewrites=(_field(base, "rewrites", id), _field(other, "rewrites", id)),
                answers=(_field(base, "answers", id), _field(other, "answers", id)),
            )
            rows.append(row)
        return rows

    def to_json(self) -> dict[str, Any]:
        breakdowns = {
            name: {group: _to_json(differences) for group, differences in groups.items()}
            for name, groups in self.breakdowns.items()
        }
        return {
            "against": self.against,
            "runs": {name: str(evaluation.run.path) for name, evaluation in self.evaluations.items()},
            "truth": str(self.evaluations[self.against].gold.path),
            "differences": _to_json(self.differences),
            "breakdowns": breakdowns,
        }


def _to_json(differences: Sequence[Difference]) -> list[dict[str, Any]]:
    return [{**asdict(difference), "difference": difference.difference} for difference in differences]


def compare(
    runs: Sequence[Path],
    truth: Path | None = None,
    *,
    task: str = "auto",
    breakdown: Sequence[str] | None = None,
    measures: Sequence[str] = (),
    partial: bool = False,
) -> Comparison:
    """Evaluate runs and compare them with the first one.

    :param truth: None: the input of the runs, if it has a truth.
    :param breakdown: as in ``evaluate``; None: the task's own. :param measures: the measures to compare; () = all.
    :raises InputError: for fewer than two runs, unscorable runs, unknown names, and without scipy.
    """
    if len(runs) < 2:
        raise InputError("expected two or more runs to compare.")
    truth = truth or truth_of(runs)
    permutation_test()  # before minutes of work
    names = names_of(runs)
    evaluations: dict[str, Evaluation] = {}
    found_task: str | Task = task
    for name, run in zip(names, runs, strict=True):
        evaluation = evaluate(
            truth,
            run,
            task=found_task,
            measures=measures,
            partial=partial,
        )
        found_task = evaluation.task
        evaluations[name] = without_rankings(evaluation)
    baseline = evaluations[names[0]]
    if breakdown is None:
        breakdown = list(baseline.task.breakdowns(baseline.gold, truth))
    groups = groups_of(baseline.task, baseline.gold, truth, breakdown)
    # A single group equals the whole.
    several = {name: members for name, members in groups.items() if len(members) > 1}
    return compare_evaluations(evaluations, names[0], measures, several)


def compare_evaluations(
    evaluations: Mapping[str, Evaluation],
    against: str,
    measures: Sequence[str] = (),
    groups: Mapping[str, Groups] | None = None,
) -> Comparison:
    """Compare evaluations with the one named ``against``.

    :param groups: breakdown -> group -> its turns.
    :raises InputError: for an unknown measure.
    """
    known = dict.fromkeys(name for evaluation in evaluations.values() for name in evaluation.scores)
    for name in measures:
        if name not in known:
            raise InputError(f"--measure {name}: unknown measure.{nearest(name, known)} Known: {', '.join(known)}.")
    by_measure = [shared_scores(evaluations, against, name) for name in measures or known]
    shared = [scores for scores in by_measure if scores]
    if not shared:
        raise InputError(f"{against} shares no measure and turn with another run. Compare runs of the same turns.")
    turns = evaluations[against].gold.turns
    breakdowns = {}
    for name, by_group in (groups or {}).items():
        breakdowns[name] = {
            group: differences_of(shared, against, turns, members) for group, members in by_group.items()
        }
    whole = differences_of(shared, against, turns)
    return Comparison(against, evaluations, _adjusted(whole), breakdowns)


def _adjusted(differences: Sequence[Difference]) -> list[Difference]:
    """Apply Holm's correction over the runs, for each measure."""
    result = []
    for _, members in groupby(differences, key=lambda difference: difference.measure):
        of_measure = list(members)
        adjusted = iter(holm([one.p for one in of_measure if one.p is not None]))
        by_turns = iter(holm([one.turns_p for one in of_measure if one.turns_p is not None]))
        for one in of_measure:
            adjusted_p = None if one.p is None else next(adjusted)
            turns_p = None if one.turns_p is None else next(by_turns)
            result.append(replace(one, adjusted=adjusted_p, turns_p=turns_p))
    return result


def _questions(evaluation: Evaluation) -> dict[str, str]:
    """Return the questions by turn, if the run names its input, or else if the input is next to the truth."""
    truth = evaluation.gold.path
    noted = read_meta(evaluation.run.path.parent).get("input")
    for path in (*([Path(noted)] if noted else []), truth, truth.parent):
        if evaluation.task.has_input(path):
            with suppress(InputError):  # a folder with several inputs
                conversations = evaluation.task.read(path)
                return {str(turn.id): turn.question for conversation in conversations for turn in conversation.turns}
    return {}


def names_of(runs: Sequence[Path]) -> list[str]:
    """Return the last distinguishing parts of the runs' paths, or else their folders with numbers.

    >>> names_of([Path("out/a/cast"), Path("out/b/cast")]), names_of([Path("x/a/run.json"), Path("x/b")])
    (['a', 'b'], ['a', 'b'])
    """
    folders = []
    for run in runs:
        folder = run.resolve()
        is_file = run.suffix and not run.is_dir()
        folders.append(folder.parent if is_file else folder)
    paths = [folder.parts for folder in folders]
    while paths[0] and len({path[-1:] for path in paths}) == 1:
        paths = [path[:-1] for path in paths]
    names = [path[-1] if path else "" for path in paths]
    if len(set(names)) == len(names):
        return names
    return [f"{folder.name} ({number})" for number, folder in enumerate(folders, 1)]


def _field(evaluation: Evaluation, name: str, id: TurnId) -> str | None:
    """Return a field of a turn in a run, if the task's runs have it by turn."""
    values: Mapping[Any, str] = getattr(evaluation.run, name, {})
    # In some tasks, a turn is identified by its conversation alone.
    is_alone = len(evaluation.task.key(id)) == 1
    return values.get(id.conversation if is_alone else str(id))


def without_rankings(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation without rankings and citations, which would not fit into memory for 30 runs."""
    run: Any = evaluation.run
    large = {"passages", "rankings", "citations"}.intersection(field.name for field in fields(run))
    return replace(evaluation, run=replace(run, **{name: {} for name in large}))


def truth_of(runs: Sequence[Path]) -> Path:
    """Return the input of runs.

    :raises InputError: if the runs' folders name none or several, or if it has no truth.
    """
    metas = [read_meta(run if run.is_dir() else run.parent) for run in runs]
    inputs = {str(meta["input"]) for meta in metas if meta.get("input")}
    if len(inputs) != 1:
        raise InputError(f"expected runs of one input, got {', '.join(sorted(inputs)) or 'unknown ones'}. Add --truth.")
    source = Path(inputs.pop())
    for candidate in (source, source.parent) if source.is_file() else (source,):
        if any(task.has_truth(candidate) for task in tasks().values()):
            return candidate
    raise InputError(f"{source}: the input of the runs has no truth. Add --truth, or --qrels.")
