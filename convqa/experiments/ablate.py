"""Ablations: a grid of pipelines over inputs. Each cell is an ordinary run folder with its evaluation.

The same call continues a stopped ablation: every cell resumes from its journal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from convqa.driver.fingerprint import versions
from convqa.driver.run import check_place, locked
from convqa.errors import ConvqaError, InputError, RunError, errors_in, nearest
from convqa.experiments.cell import Cell, part_of, work
from convqa.experiments.grid import Ablation, GridRow, InputChoice, baseline_of, read_ablation, rows_of
from convqa.experiments.record import RECORD, AblationInput, AblationRecord, CellRecord
from convqa.files import replace_surrogates, whole_file
from convqa.pipeline.load import load
from convqa.tasks import find_task, tasks
from convqa.workers.pool import Workers
from convqa.workers.processes import CONTEXT, Process

Progress = Callable[[int, int, str], None]
"""Called with (cells done, total cells, label of the next cell)."""

logger = logging.getLogger(__name__)


def ablate(
    name: str,
    inputs: Sequence[Path],
    output: Path,
    *,
    task: str = "auto",
    qrels: Path | None = None,
    measures: Sequence[str] = (),
    turns: int | None = None,
    sharing: bool = True,
    restart: bool = False,
    progress: Progress = lambda *_: None,
) -> AblationRecord:
    """Run every row of an ablation over every input. Return the record, which is also in ``OUTPUT/ablation.json``.

    Finished cells are only evaluated again, unless their pipeline, input, models or collection changed. A failed cell
    is recorded, and the others continue.

    :param name: the ablation's file, or the name of a shipped one.
    :param qrels: the file of judgments by which the rankings of the only input are scored.
    :param measures: the measures to show, instead of the file's.
    :param turns: maximum turns of each input, in whole conversations.
    :param sharing: reuse the results of other cells.
    :param restart: discard the runs in the output folder.
    :raises InputError: for a mistake in the file, a row or an input, before any cell runs.
    """
    ablation, file = read_ablation(name)
    with errors_in(f"ablation {file}"):
        rows = rows_of(ablation)
        baseline = baseline_of(ablation, rows)
    for known_task in tasks().values():
        if known_task.has_input(output):
            raise InputError(
                f"output {output}: is an input of {known_task.name}; add an output folder as the last argument."
            )
    if qrels is not None and len(inputs) > 1:
        raise InputError("--qrels is for a single input. For several, set inputs.NAME.qrels in the ablation.")
    sources = [_read_input(path.resolve(), task, ablation, turns, output, qrels) for path in inputs]
    names = [source.name for source in sources]
    if len(set(names)) < len(names):
        raise InputError(f"two inputs have the same name ({', '.join(names)}), which names their cells. Rename one.")
    record = AblationRecord(
        name=file.stem,
        question=ablation.question,
        base=baseline.name,
        pipeline=ablation.pipeline,
        override=ablation.override,
        measures=list(measures) or ablation.measures,
        inputs=sources,
        rows=rows,
        cells=[],
        versions=versions(),
    )
    grid = [(row, source) for source in sources for row in rows]
    with locked(output):
        pipelines = {}
        for row in rows:
            with errors_in(f"ablation {file}: row {row.name}"):
                pipelines[row.name] = _write_pipeline(
                    row,
                    row.document(ablation, file),
                    output,
                )
        for number, (row, source) in enumerate(grid):
            progress(number, len(grid), f"{row.name} over {source.name}")
            cell = Cell(
                input=source,
                pipeline=pipelines[row.name],
                settings=row.settings(Path(source.path)),
                folder=Path("cells", row.name, source.name),
                output=output,
                turns=turns,
                vectors=ablation.vectors,
                measures=record.measures,
                sharing=sharing,
                restart=restart,
            )
            result = CellRecord(
                row=row.name,
                input=source.name,
                folder=str(cell.folder),
                **_run(cell),
            )
            record.cells.append(result)
            with whole_file(output / RECORD) as stream:
                options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
                stream.write(orjson.dumps(replace_surrogates(record.model_dump()), option=options))
    measured = {measure for cell in record.cells for measure in cell.measures}
    for measure in record.measures:
        if measured and measure not in measured:
            logger.warning(
                "%s: measures: no cell has %s.%s",
                file,
                measure,
                nearest(measure, measured),
            )
    return record


def _write_pipeline(row: GridRow, document: str, output: Path) -> Path:
    """Write the row's pipeline file and return its path.

    :raises InputError: for a mistake in the pipeline.
    """
    path = output / "pipelines" / f"{row.name}.yaml"
    with whole_file(path) as stream:
        stream.write(document.encode())
    load(path, row.settings(Path("INPUT")))
    return path


def _run(cell: Cell) -> dict[str, Any]:
    """Run a cell in a process and return its status and results."""
    for value in cell.settings.values():
        if not Path(value).exists():
            return {"status": "skipped", "message": f"{value} does not exist"}
    # The server imports the modules once, and each cell is forked from it.
    CONTEXT.set_forkserver_preload(["convqa.experiments.cell"])
    try:
        with closing(Workers(lambda: Process({}), 1)) as workers:
            return {"status": "done", **workers.call(work, cell)}
    except (ConvqaError, RunError) as error:
        return {"status": "failed", "message": str(error)}


def _read_input(
    path: Path,
    task: str,
    ablation: Ablation,
    turns: int | None,
    output: Path,
    qrels: Path | None,
) -> AblationInput:
    """Read an input once: check it, count its turns and find out whether it has a history."""
    check_place(output, path, None)
    found_task = find_task(task, path)
    name = path.name if path.is_dir() else path.name.partition(".")[0]
    choice = ablation.inputs.get(name, InputChoice())
    conversations = list(part_of(found_task.read(path), choice.conversations, turns))
    all_turns = [turn for conversation in conversations for turn in conversation.turns]
    if not all_turns:
        raise InputError(f"{path}: no conversation is left to run. Raise --turns, or change conversations.")
    history = choice.history or ablation.history
    if history is None:
        history = "gold" if any(turn.history for turn in all_turns) else "none"
        if history == "none" and len(all_turns) > len(conversations):
            logger.warning(
                "%s has no earlier answers, so that every turn is answered like a first one and rewriters change "
                "nothing. Set history: own in the ablation to use each row's own answers.",
                name,
            )
    truth = path if found_task.has_truth(path) else None
    if qrels or choice.qrels:
        truth = Path(qrels or choice.qrels or "").resolve()
        find_task("trec", truth).gold(truth)  # a mistake shows before any cell runs
    if truth is None:
        logger.warning(
            "%s has no truth, so that its runs are not scored. Give the track's judgments with --qrels FILE, or "
            "inputs.%s.qrels in the ablation.",
            name,
            name,
        )
    return AblationInput(
        name=name,
        path=str(path),
        task=found_task.name,
        truth=str(truth) if truth else None,
        history=history,
        conversations=choice.conversations,
        collection=choice.collection,
        turns=len(all_turns),
    )
