"""Comparison of runs with a baseline: differences with intervals and tests, by group and by turn."""

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
"""The default breakdowns of a comparison, if the task and the truth have them."""


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
    differences: tuple[Difference, ...]
    breakdowns: Mapping[str, Mapping[str, tuple[Difference, ...]]]

    @property
    def others(self) -> list[str]:
        """The names of all runs except the baseline."""
        return [name for name in self.evaluations if name != self.against]

    def of(self, run: str, measure: str) -> Difference | None:
        return next((one for one in self.differences if (one.run, one.measure) == (run, measure)), None)

    def turns(self, run: str, measure: str, questions: Mapping[TurnId, str] | None = None) -> list[TurnDifference]:
        """Return the turns that are scored in both runs, from the largest gain to the largest loss."""
        base, other = (self.evaluations[name] for name in (self.against, run))
        shared = shared_scores({self.against: base, run: other}, self.against, measure)
        if not shared or shared[run].statistic is not None:  # not a mean of scores by turn
            return []
        asked, (old, new) = questions or {}, shared.values()
        rows = [
            TurnDifference(id, before, after, asked.get(id), _both("rewrites", id, base, other),
                           _both("answers", id, base, other))
            for id, before, after in zip(old.ids, old.values, new.values, strict=True)
        ]  # fmt: skip
        return sorted(rows, key=lambda row: row.base - row.score)

    def to_json(self) -> dict[str, Any]:
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
    breakdown: Sequence[str] | None = None,
    measures: Sequence[str] = (),
    partial: bool = False,
) -> Comparison:
    """Evaluate runs and compare them with the first one.

    :param truth: None: the input of the runs, if it has a truth.
    :param breakdown: as in ``evaluate``; None: :data:`BREAKDOWNS`. :param measures: the measures to compare; () = all.
    :raises InputError: for fewer than two runs, unscorable runs, unknown names, and without scipy.
    """
    if len(runs) < 2:
        raise InputError("expected two or more runs to compare.")
    truth, names = truth or truth_of(runs), names_of(runs)
    permutation_test()  # before minutes of work
    evaluations: dict[str, Evaluation] = {}
    kind: str | Task = task
    for name, run in zip(names, runs, strict=True):
        evaluation = evaluate(truth, run, task=kind, partial=partial)
        kind, evaluations[name] = evaluation.task, without_rankings(evaluation)
    groups = _groups(evaluations[names[0]], truth, breakdown)
    return compare_evaluations(evaluations, names[0], measures, groups)


def compare_evaluations(
    evaluations: Mapping[str, Evaluation],
    against: str,
    measures: Sequence[str] = (),
    groups: Mapping[str, Groups] | None = None,
    seed: int = 1,
) -> Comparison:
    """Compare evaluations with the one named ``against``.

    :param groups: breakdown -> group -> its turns.
    :raises InputError: for an unknown measure.
    """
    known = list(dict.fromkeys(name for evaluation in evaluations.values() for name in evaluation.scores))
    for name in measures:
        if name not in known:
            raise InputError(f"--measure {name}: unknown measure.{nearest(name, known)} Known: {', '.join(known)}.")
    shared = [shared_scores(evaluations, against, name) for name in measures or known]
    if not any(shared):
        raise InputError(f"{against} shares no measure and turn with another run. Compare runs of the same turns.")
    parts = [(name, group, members) for name, by in (groups or {}).items() for group, members in by.items()]
    names = dict.fromkeys(turn.id.conversation for turn in evaluations[against].gold.turns)
    conversations = {name: index for index, name in enumerate(names)}
    rows = [
        row
        for part in [("", "", None), *parts]
        for scores in shared
        for row in differences_of(scores, against, conversations, part, seed)
    ]
    by_part: dict[str, dict[str, list[Difference]]] = {}
    for row, difference in zip(rows, tested(rows, seed), strict=True):
        by_part.setdefault(row.part[0], {}).setdefault(row.part[1], []).append(difference)
    whole = by_part.pop("", {}).get("", [])
    breakdowns = {name: {group: tuple(some) for group, some in by.items()} for name, by in by_part.items()}
    return Comparison(against, dict(evaluations), tuple(_adjusted(whole)), breakdowns)


def _adjusted(differences: Sequence[Difference]) -> Iterator[Difference]:
    """Apply Holm's correction over the runs, for each measure."""
    by_measure: dict[str, list[Difference]] = {}
    for one in differences:
        by_measure.setdefault(one.measure, []).append(one)
    for some in by_measure.values():
        adjusted = iter(holm([one.p for one in some if one.p is not None]))
        yield from (one if one.p is None else replace(one, adjusted=next(adjusted)) for one in some)


def questions_of(comparison: Comparison) -> dict[TurnId, str]:
    """Return the questions by turn, if the input is next to the truth."""
    evaluation = comparison.evaluations[comparison.against]
    for path in (evaluation.gold.path, evaluation.gold.path.parent):
        if evaluation.task.has_input(path):
            return {turn.id: turn.question for talk in evaluation.task.read(path) for turn in talk.turns}
    return {}


def names_of(runs: Sequence[Path]) -> list[str]:
    """Return the shortest distinguishing parts of the runs' paths.

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
    return [f"{folder.name} ({number})" for number, folder in enumerate(folders, 1)]


def _both(field: str, id: TurnId, *evaluations: Evaluation) -> tuple[str | None, str | None]:
    """Return a field of a turn in two runs, if the task's runs have it by turn."""
    # In some tasks, a turn is identified by its conversation alone.
    key = str(id) if len(evaluations[0].task.key(id)) > 1 else id.conversation
    first, second = (getattr(evaluation.run, field, {}).get(key) for evaluation in evaluations)
    return first, second


def _groups(evaluation: Evaluation, truth: Path, asked: Sequence[str] | None) -> dict[str, Groups]:
    own = {*evaluation.task.breakdowns(evaluation.gold, truth)}.union(*(turn.fields for turn in evaluation.gold.turns))
    names = [name for name in BREAKDOWNS if name in own] if asked is None else asked
    groups = groups_of(evaluation.task, evaluation.gold, truth, names)
    # A single group equals the whole.
    return {name: members for name, members in groups.items() if asked is not None or len(members) > 1}


def without_rankings(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation without rankings and citations, which would not fit into memory for 30 runs."""
    run: Any = evaluation.run
    bulk = {"passages", "rankings", "citations"} & {field.name for field in fields(run)}
    return replace(evaluation, run=replace(run, **{name: {} for name in bulk}))


def truth_of(runs: Sequence[Path]) -> Path:
    """Return the input of runs.

    :raises InputError: if no run's folder names it, if the runs have different inputs, or if it has no truth.
    """
    inputs: dict[str, Path] = {}
    for run in runs:
        file = (run if run.is_dir() else run.parent) / META
        meta = read_json(file, "the metadata of convqa run") if file.is_file() else {}
        path = meta.get("input") if isinstance(meta, dict) else None
        if isinstance(path, str) and path:
            inputs.setdefault(path, run)
    if not inputs:
        raise InputError(f"{runs[0]}: its input is unknown. Add --truth.")
    if len(inputs) > 1:
        (path, run), (other_path, other) = list(inputs.items())[:2]
        raise InputError(f"{run} answers {path}, but {other} answers {other_path}. Add --truth for both.")
    input = Path(*inputs)
    for candidate in (input, input.parent) if input.is_file() else (input,):
        if any(task.has_truth(candidate) for task in tasks().values()):
            return candidate
    raise InputError(f"{input}: the input of the runs has no truth. Add --truth.")
