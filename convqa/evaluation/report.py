"""Write an evaluation: the official file, tables, scores by turn, and TREC files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.evaluation.result import Evaluation, ScoreSummary
from convqa.files import to_json_bytes, whole_file
from convqa.metrics.trec import (
    NOTHING,
    encoded,
    run_lines,
)

MAX_GROUP_WIDTH = 24
"""Maximum characters of a group's name in a table."""
MAX_GROUPS = 20
"""Maximum number of groups in a table."""


def official_text(evaluation: Evaluation) -> str:
    """Return the content of the task's official file, from the official measures that have a value."""
    names = [column.measure.name for column in evaluation.columns if column.measure.official]
    summaries = evaluation.summaries
    return evaluation.task.official_text({name: summaries[name].mean for name in names if name in summaries})


def write_official(evaluation: Evaluation, directory: Path) -> Path:
    """Write the task's official file (QReCC: DIRECTORY/evaluation.prototext) and return its path."""
    path = directory / evaluation.task.official_file
    with whole_file(path) as stream:
        stream.write(official_text(evaluation).encode())
    return path


def write_turns(evaluation: Evaluation, path: Path) -> Path:
    """Write one JSON line per turn of the truth, with its id as in the task's files, and its scores."""
    rows: dict[TurnId, dict[str, Any]] = {turn.id: evaluation.task.key(turn.id) for turn in evaluation.gold.turns}
    for name, scores in evaluation.scores.items():
        if not scores.groups:  # the groups of a macro average have the same scores under their own names
            for id, value in zip(scores.ids, scores.values, strict=True):
                rows[id][name] = value
    with whole_file(path) as stream:
        stream.writelines(to_json_bytes(row) + b"\n" for row in rows.values())
    return path


def render(evaluation: Evaluation) -> Group:
    """Create tables for a terminal. A skipped measure shows the reason."""
    table = Table(title=Text(str(evaluation.run.path)), title_justify="left")
    for head in ("measure", "mean", "95 % interval", "turns", "also"):
        table.add_column(head, overflow="fold", justify="left" if head in {"measure", "also"} else "right")
    for measure in evaluation.measures:
        table.add_row(*map(Text, _row(evaluation, measure.name)))
    parts: list[Table | Text] = [table]
    if evaluation.task.legend:
        parts.append(Text(evaluation.task.legend, "dim"))
    for name in evaluation.breakdowns:
        parts += _breakdown(evaluation, name)
    return Group(*parts)


def _row(evaluation: Evaluation, name: str) -> tuple[str, ...]:
    others = []
    for column in evaluation.columns:
        measure = column.measure
        if measure.line == name:
            mean = evaluation.summaries[measure.name].mean
            others.append(f"{measure.label} {mean:.3f}")
    summary = evaluation.summaries.get(name)
    if summary is None:
        reasons = [evaluation.skipped[name], ", ".join(others)]
        return name, "-", "-", "0", "; ".join(filter(None, reasons))
    return (
        name,
        f"{summary.mean:.3f}",
        f"{summary.low:.3f} - {summary.high:.3f}",
        f"{summary.turns:,}",
        ", ".join(others),
    )


def _breakdown(evaluation: Evaluation, name: str) -> Iterator[Table | Text]:
    """Yield a table of means by group with their number of turns, for the largest groups if there are many."""
    groups = list(evaluation.breakdowns[name].items())
    measures = [one.name for one in evaluation.measures if any(means.get(one.name) for _, means in groups)]
    if len(groups) > MAX_GROUPS:
        yield Text(f"The {MAX_GROUPS} largest of {len(groups):,} groups of {name}; --json has all.")
        groups.sort(key=lambda group: -max((summary.turns for summary in group[1].values()), default=0))
        del groups[MAX_GROUPS:]
    table = Table(title=Text(f"by {name}: mean (turns)"), title_justify="left")
    table.add_column(Text(name), no_wrap=True, max_width=MAX_GROUP_WIDTH)
    for measure in measures:
        table.add_column(Text(measure), overflow="fold", justify="right")
    for group, means in groups:
        cells = [_cell(means.get(measure)) for measure in measures]
        table.add_row(*map(Text, [" ".join(group.split()), *cells]))
    yield table


def _cell(summary: ScoreSummary | None) -> str:
    return f"{summary.mean:.3f} ({summary.turns:,})" if summary else "-"


_MAX_ID_CHARS = 64
RUN = "run.trec"
QRELS = "truth.qrels"


def write_trec(
    evaluation: Evaluation,
    directory: Path,
) -> tuple[Path, Path]:
    """Write DIRECTORY/run.trec and DIRECTORY/truth.qrels, and return their paths.

    Query ids are turns as text (``conversation_turn``). Blanks in ids are percent-encoded, since they separate the
    fields, and an id of more than 64 characters has a digest at its end, because ranx takes minutes for long ids. Both
    files hold the turns of the task's official measure of rankings. All tools compute the same means
    without options: ties are broken by the next lower score, and an empty ranking has a line with the id of no passage,
    since trec_eval would leave the turn out otherwise.

    :raises InputError: if the task has no rankings.
    """
    judged = evaluation.task.judged(evaluation.gold, evaluation.run)
    if judged is None:
        raise InputError(f"--trec: a run of the task {evaluation.task.name} has no rankings; omit the option.")
    run = directory / RUN
    qrels = directory / QRELS
    with whole_file(run) as stream:
        for turn, scores in judged.rankings.items():
            if not judged.relevant.get(turn):
                continue
            ranking = {_short(id): score for id, score in scores.items()} or {NOTHING: 0.0}
            stream.writelines(line.encode() for line in run_lines(turn, ranking, "convqa"))
    with whole_file(qrels) as stream:
        for turn, relevant in judged.relevant.items():
            grades = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1)
            stream.writelines(f"{encoded(turn)} 0 {encoded(_short(id))} {grades[id]}\n".encode() for id in relevant)
    return run, qrels


def _short(id: str) -> str:
    """Return an id, or the beginning of a long one with its digest."""
    if len(id) <= _MAX_ID_CHARS:
        return id
    digest = hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{id[: _MAX_ID_CHARS - len(digest) - 1]}~{digest}"
