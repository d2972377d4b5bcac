"""``convqa evaluate`` and ``convqa validate``: a run against the truth, and a run against its format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convqa.cli.app import command
from convqa.cli.options import Json, needed, one_of, print_json

if TYPE_CHECKING:
    from convqa.evaluation import AnswerScorer, Evaluation

Task = Annotated[str, typer.Option(help="Whose files these are: auto, or a task's name.")]
Truth = Annotated[
    Path | None,
    typer.Argument(
        metavar="TRUTH_DIR",
        help="The truth: QReCC's ground-truth.json, MRQA's or JWHR's data, PolEval's expected.tsv or pairs.tsv; or its "
        "folder.",
    ),
]
Run = Annotated[
    Path | None,
    typer.Argument(metavar="RUN_DIR", help="The run (run.json, predictions.json, run.jsonl, out.tsv), or its folder."),
]
Output = Annotated[
    Path | None,
    typer.Option(help="Write the official file (evaluation.prototext, evaluation.json) and turns.jsonl here."),
]

Support = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Measure whether quotes support their sentences (ALCE) by this scorer: lexical, support, or an NLI model "
        "by folder or name.",
    ),
]
AllowSame = Annotated[bool, typer.Option("--allow-same", help="Let --support be a scorer that the run was built with.")]
NoAnswering = Annotated[
    bool, typer.Option("--no-answering", help="Leave out EM, F1, ROUGE1-R, citations and refusals.")
]
MissingTruth = Annotated[bool, typer.Option("--eval-missing-truth", help="Count turns whose truth is missing, too.")]
FirstRewrites = Annotated[
    bool, typer.Option("--eval-turn-one-rewrites", help="Count the rewrites of first turns, too.")
]
Breakdown = Annotated[
    list[str] | None,
    typer.Option("--breakdown", metavar="FIELD", help="Means by group: history, or a field of the truth; repeat."),
]


@command
def evaluate(
    truth: Truth = None,
    run: Run = None,
    input_dataset: Annotated[Path | None, typer.Option(help="TRUTH_DIR, as the official script calls it.")] = None,
    input_run: Annotated[Path | None, typer.Option(help="RUN_DIR, as the official script calls it.")] = None,
    output: Output = None,
    task: Task = "auto",
    eval_missing_truth: MissingTruth = False,
    eval_turn_one_rewrites: FirstRewrites = False,
    no_rewriting: Annotated[bool, typer.Option("--no-rewriting", help="Leave out QR.")] = False,
    no_retrieval: Annotated[bool, typer.Option("--no-retrieval", help="Leave out MRR.")] = False,
    no_answering: NoAnswering = False,
    skip_no_answer: Annotated[
        bool, typer.Option("--skip-no-answer", help="MRQA: leave out questions without a prediction, not count 0.")
    ] = False,
    breakdown: Breakdown = None,
    trec: Annotated[bool, typer.Option("--trec", help="Write run.trec and truth.qrels to --output, too.")] = False,
    sas: Annotated[str | None, typer.Option(metavar="MODEL", help="Score SAS with this cross-encoder.")] = None,
    posscore: Annotated[Path | None, typer.Option(metavar="VECTORS", help="Score POSSCORE with these vectors.")] = None,
    support: Support = None,
    allow_same: AllowSame = False,
    seed: Annotated[int, typer.Option(help="Of the bootstrap intervals.")] = 1,
    json: Json = False,
) -> None:
    """Score a run: the official measures of its task, with 95 % intervals and what stands beside them."""
    from convqa.errors import InputError
    from convqa.evaluation import evaluate as score

    truth_dir = needed(one_of(truth, input_dataset, "TRUTH_DIR"), "TRUTH_DIR (--input-dataset)")
    run_dir = needed(one_of(run, input_run, "RUN_DIR"), "RUN_DIR (--input-run)")
    if trec and output is None:
        raise InputError("--trec writes files: say where with --output DIR.")
    asked: dict[str, Any] = {
        "eval_missing_truth": eval_missing_truth,
        "eval_turn_one_rewrites": eval_turn_one_rewrites,
        "no_rewriting": no_rewriting,
        "no_retrieval": no_retrieval,
        "no_answering": no_answering,
        "skip_no_answer": skip_no_answer,
        "scorers": _scorers(sas, posscore),
    }
    # A task need not have an option that nobody asked for.
    options = {name: value for name, value in asked.items() if value}
    measured = {"support": support, "allow_same": allow_same, **options}
    evaluation = score(truth_dir, run_dir, task=task, breakdown=breakdown or [], seed=seed, **measured)
    _print(evaluation, json)
    if output is not None:
        written = _write(evaluation, output, trec)
        if not json:
            typer.echo(f"Written: {', '.join(str(path) for path in written)}")


@command
def validate(
    run: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="Holds the run file.")],
    input: Annotated[Path, typer.Argument(metavar="INPUT_DIR", help="The input that the run answers.")],
    task: Task = "auto",
) -> int:
    """List every format error of a run at once, before it is uploaded. Exit code 2 if there is one."""
    from convqa.tasks import find_task

    problems = find_task(task, input).check(run, input)
    for problem in problems:
        typer.echo(str(problem), err=True)
    typer.echo(f"{run}: {len(problems)} problems" if problems else f"{run}: ok")
    return 2 if problems else 0


def _scorers(sas: str | None, posscore: Path | None) -> list[AnswerScorer]:
    from convqa.tasks.qrecc import scorers as make

    found = [] if sas is None else [make.sas(sas)]
    return found if posscore is None else [*found, make.posscore(posscore)]


def _print(evaluation: Evaluation, as_json: bool) -> None:
    if as_json:
        print_json(evaluation.to_json())
        return
    from rich.console import Console

    from convqa.evaluation import render

    Console().print(render(evaluation))


def _write(evaluation: Evaluation, output: Path, trec: bool) -> list[Path]:
    from convqa.evaluation import write_official, write_trec, write_turns

    written = [write_official(evaluation, output), write_turns(evaluation, output / "turns.jsonl")]
    return [*written, *write_trec(evaluation, output)] if trec else written
