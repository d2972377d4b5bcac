"""An evaluation for people and for programs: the official file, a table, scores by turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from convqa.domain import TurnId
from convqa.evaluation.result import Evaluation, Summaries
from convqa.files import to_json_bytes, whole_file

PROTOTEXT = "evaluation.prototext"

_BESIDE = {
    "QR": (("QR-P", "precision"), ("QR-F1", "F1"), ("QR-words", "words"), ("QR-truth-words", "words in truth")),
    "MRR": (("MRR@10", "MRR@10"), ("nDCG@3", "nDCG@3"), ("nDCG@10", "nDCG@10"), ("R@10", "R@10"), ("R@100", "R@100")),
    "ROUGE1-R": (
        ("ROUGE1-P", "precision"),
        ("ROUGE1-F1", "F1"),
        ("answer-words", "words"),
        ("truth-words", "words in truth"),
    ),
}


def prototext(evaluation: Evaluation) -> str:
    """The text of the official evaluation.prototext: no block for a skipped measure, no newline at the end."""
    return "\n".join(
        f'measure{{\n  key: "{name}"\n  value: "{evaluation.summaries[name].mean:.3f}"\n}}'
        for name in evaluation.official
        if name in evaluation.summaries
    )


def write_prototext(evaluation: Evaluation, directory: Path) -> Path:
    """Write DIRECTORY/evaluation.prototext; returns its path.

    :raises StorageFull: if it cannot be written.
    """
    path = directory / PROTOTEXT
    with whole_file(path) as stream:
        stream.write(prototext(evaluation).encode())
    return path


def write_turns(evaluation: Evaluation, path: Path) -> Path:
    """Write one JSON line a turn of the truth: its Conversation_no and Turn_no, and each score that it has.

    :raises StorageFull: if it cannot be written.
    """
    rows: dict[TurnId, dict[str, Any]] = {
        turn.id: {"Conversation_no": turn.id.conversation, "Turn_no": turn.id.number} for turn in evaluation.gold.turns
    }
    for name, scores in evaluation.scores.items():
        for id, value in zip(scores.ids, scores.values, strict=True):
            rows[id][name] = value
    with whole_file(path) as stream:
        stream.writelines(to_json_bytes(row) + b"\n" for row in rows.values())
    return path


def render(evaluation: Evaluation) -> Group:
    """Tables for the terminal. A measure that could not be computed shows a dash and the reason."""
    table = Table("measure", title=Text(str(evaluation.run.path)), title_justify="left")
    table.add_column("mean", justify="right")
    table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("turns", justify="right", no_wrap=True)
    table.add_column("beside")
    for name in evaluation.official:
        if name in evaluation.summaries:
            summary = evaluation.summaries[name]
            span = f"{summary.low:.3f} - {summary.high:.3f}"
            table.add_row(
                Text(name), f"{summary.mean:.3f}", span, f"{summary.turns:,}", _beside(name, evaluation.summaries)
            )
        else:
            table.add_row(Text(name), "-", "-", "0", evaluation.skipped[name])
    return Group(table, *(_breakdown(evaluation, name) for name in evaluation.breakdowns))


def _beside(name: str, summaries: Summaries) -> str:
    shown = []
    for measure, words in _BESIDE.get(name, ()):
        mean = summaries[measure].mean
        shown.append(f"{mean:.1f} {words}" if measure.endswith("words") else f"{words} {mean:.3f}")
    return ", ".join(shown)


def _breakdown(evaluation: Evaluation, name: str) -> Table:
    """Means by group, each with the number of turns that it rests on."""
    measures = [measure for measure in evaluation.official if measure in evaluation.summaries]
    table = Table(title=Text(f"by {name}: mean (turns)"), title_justify="left")
    table.add_column(Text(name), no_wrap=True)
    for measure in measures:
        table.add_column(Text(measure), justify="right")
    for group, summaries in evaluation.breakdowns[name].items():
        cells = [
            f"{summaries[measure].mean:.3f} ({summaries[measure].turns:,})" if measure in summaries else "-"
            for measure in measures
        ]
        table.add_row(Text(group), *cells)
    return table
