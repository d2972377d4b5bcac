"""Runs of one task against a baseline: differences with intervals and tests, by group and by turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.driver.folder import META
from convqa.errors import InputError, nearest
from convqa.evaluation import Evaluation, evaluate
from convqa.evaluation.compute import groups_of
from convqa.experiments.differences import Difference, differences_of, shared_scores, tested
from convqa.files import read_json
from convqa.metrics.paired import holm, permutation_test
from convqa.tasks import Task, tasks
from convqa.tasks.base import Groups

BREAKDOWNS = ("source", "Conversation_source", "Topic_switch", "history", "depth", "answerable")
"""What a comparison is broken down by where it is known and nothing else is asked for."""


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
        shared = shared_scores({self.against: base, run: other}, self.against, measure)
        if not shared or shared[run].statistic is not None:  # whose scores by turn are no scores
            return []
        asked, (old, new) = questions or {}, shared.values()
        rows = [
            TurnDifference(id, before, after, asked.get(id), _both("rewrites", id, base, other),
                           _both("answers", id, base, other))
            for id, before, after in zip(old.ids, old.values, new.values, strict=True)
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
    :raises InputError: for fewer than two runs, runs of which one cannot be scored, unknown names, and without scipy.
    """
    if len(runs) < 2:
        raise InputError("wanted two runs or more to compare.")
    truth, names = truth or truth_of(runs), names_of(runs)
    base = against or names[0]
    if base not in names:
        raise InputError(f"--against {base}: no run has this name.{nearest(base, names)} "
                         f"They are called {', '.join(names)}.")  # fmt: skip
    permutation_test()  # before minutes of work
    evaluations: dict[str, Evaluation] = {}
    kind: str | Task = task
    for name, run in zip(names, runs, strict=True):
        evaluation = evaluate(truth, run, task=kind, partial=partial, seed=seed)
        kind, evaluations[name] = evaluation.task, without_rankings(evaluation)
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
    shared = [shared_scores(evaluations, against, name) for name in measures or known]
    if not any(shared):
        raise InputError(f"{against} shares no measure and turn with another run. Compare runs of the same turns.")
    parts = [(name, group, members) for name, by in (groups or {}).items() for group, members in by.items()]
    names = dict.fromkeys(turn.id.conversation for turn in evaluations[against].gold.turns)
    conversations = {name: place for place, name in enumerate(names)}
    rows = [
        row
        for part in [("", "", None), *parts]
        for scores in shared
        for row in differences_of(scores, against, conversations, part, seed)
    ]
    made: dict[str, dict[str, list[Difference]]] = {}
    for row, difference in zip(rows, tested(rows, seed), strict=True):
        made.setdefault(row.part[0], {}).setdefault(row.part[1], []).append(difference)
    whole = made.pop("", {}).get("", [])
    breakdowns = {name: {group: tuple(some) for group, some in by.items()} for name, by in made.items()}
    return Comparison(against, dict(evaluations), tuple(_adjusted(whole)), breakdowns)


def _adjusted(differences: Sequence[Difference]) -> Iterator[Difference]:
    """With Holm's correction over the runs, for each measure."""
    by_measure: dict[str, list[Difference]] = {}
    for one in differences:
        by_measure.setdefault(one.measure, []).append(one)
    for some in by_measure.values():
        adjusted = iter(holm([one.p for one in some if one.p is not None]))
        yield from (one if one.p is None else replace(one, adjusted=next(adjusted)) for one in some)


def questions_of(comparison: Comparison) -> dict[TurnId, str]:
    """The questions by turn, where they stand beside the truth."""
    evaluation = comparison.evaluations[comparison.against]
    for place in (evaluation.gold.path, evaluation.gold.path.parent):
        if evaluation.task.has_input(place):
            return {turn.id: turn.question for talk in evaluation.task.read(place) for turn in talk.turns}
    return {}


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


def _both(field: str, id: TurnId, *evaluations: Evaluation) -> tuple[str | None, str | None]:
    """What two runs say of a turn, where their task's runs hold it by turn."""
    # Some tasks' files name a turn by its conversation alone.
    key = str(id) if len(evaluations[0].task.key(id)) > 1 else id.conversation
    first, second = (getattr(evaluation.run, field, {}).get(key) for evaluation in evaluations)
    return first, second


def _groups(evaluation: Evaluation, truth: Path, asked: Sequence[str] | None) -> dict[str, Groups]:
    own = {*evaluation.task.breakdowns(evaluation.gold, truth)}.union(*(turn.fields for turn in evaluation.gold.turns))
    names = [name for name in BREAKDOWNS if name in own] if asked is None else asked
    groups = groups_of(evaluation.task, evaluation.gold, truth, names)
    # One group says no more than the whole.
    return {name: members for name, members in groups.items() if asked is not None or len(members) > 1}


def without_rankings(evaluation: Evaluation) -> Evaluation:
    """The evaluation with its scores alone: the rankings and citations of 30 runs would not fit into memory."""
    run: Any = evaluation.run
    bulk = {"passages", "rankings", "citations"} & {field.name for field in fields(run)}
    return replace(evaluation, run=replace(run, **{name: {} for name in bulk}))


def truth_of(runs: Sequence[Path]) -> Path:
    """The input that runs were made from.

    :raises InputError: if no run's folder names one, the runs differ in it, or it holds no truth.
    """
    found: dict[str, Path] = {}
    for run in runs:
        file = (run if run.is_dir() else run.parent) / META
        told = read_json(file, "what convqa run notes about a run") if file.is_file() else {}
        place = told.get("input") if isinstance(told, dict) else None
        if isinstance(place, str) and place:
            found.setdefault(place, run)
    if not found:
        raise InputError(f"{runs[0]}: does not say which input it was made from. Name the truth: --truth.")
    if len(found) > 1:
        (place, run), (another, other) = list(found.items())[:2]
        raise InputError(f"{run} answers {place}, and {other} {another}. Name the truth of both: --truth.")
    input = Path(*found)
    for place in (input, input.parent) if input.is_file() else (input,):
        if any(task.has_truth(place) for task in tasks().values()):
            return place
    raise InputError(f"{input}: the runs were made from it, and it holds no truth. Name the truth: --truth.")
