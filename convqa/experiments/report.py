"""The report of an ablation: one HTML page without scripts, with a section for each input."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from convqa.driver.folder import read_meta
from convqa.errors import InputError, counted
from convqa.evaluation import Evaluation, evaluate
from convqa.evaluation.measures import known_measures
from convqa.experiments.compare import compare_evaluations, without_rankings
from convqa.experiments.record import RECORD, AblationInput, AblationRecord, CellRecord, largest_means
from convqa.experiments.tables import CAPTION, MARK, basis_of
from convqa.files import read_json, whole_file
from convqa.validation import read_as

HUMAN = "human"
"""The row, or the value of an axis, with human rewrites: an upper bound, never the best row."""

EXAMPLES = 6
"""Number of turns to show, half with the largest gains and half with the largest losses."""


def report(output: Path, file: Path | None = None) -> Path:
    """Write the report of an ablation's folder and return its path.

    :param file: the path of the page; None: ``OUTPUT/report.html``.
    :raises InputError: if the folder has no ablation, or a malformed one.
    """
    path = output / RECORD
    if not path.is_file() and (output / "pipelines").is_dir():
        raise InputError(f"{output}: no cell of this ablation is finished. Give its command again to continue it.")
    data = read_json(path, "the record of convqa ablate")
    record = read_as(
        AblationRecord,
        data,
        str(path),
        "Run convqa ablate again.",
    )
    sections = [_section(record, source, output) for source in record.inputs]
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    content = environment.get_template("report.html").render(
        record=record,
        counted=counted,
        sections=sections,
        meta=sections[0]["meta"],
        mark=MARK,
        human=HUMAN,
        caption=CAPTION.format(against=record.base),
    )
    page = file or output / "report.html"
    with whole_file(page) as stream:
        stream.write(content.encode(errors="replace"))
    return page


def _section(
    record: AblationRecord,
    source: AblationInput,
    output: Path,
) -> dict[str, Any]:
    """Return the variables of the template for one input.

    :raises InputError: if a finished cell cannot be evaluated.
    """
    cells = record.cells_of(source)
    measures = record.measures_of(source)
    lead = measures[0] if measures else ""
    means = {row: cell.measures[lead].mean for row, cell in cells.items() if lead in cell.measures}
    rows = [row for row in record.rows if row.name in cells]
    rows.sort(key=lambda row: -means.get(row.name, -1.0))
    ranked = [row.name for row in rows if row.name in means and HUMAN not in row.values.values()]
    best = ranked[0] if ranked else None
    meta = read_meta(output / cells[ranked[0]].folder) if ranked else {}
    collection = meta.get("fingerprint", {}).get("collection")
    shown: dict[str, Any] = {
        "source": source,
        "lead": lead,
        "measures": measures,
        "cells": cells,
        "rows": rows,
        "best": best,
        "means": means,
        "top": largest_means(cells[row] for row in ranked),
        "compared": None,
        "against_best": None,
        "basis": "",
        "certain": [],
        "counts": {name: mean.turns for cell in cells.values() for name, mean in cell.measures.items()},
        "meta": meta,
        "passages": collection["count"] if collection else None,
        "turns": [],
    }
    if best is None:
        return shown
    evaluations = _evaluations(record, source, cells, output)
    scored = {row: evaluation for row, evaluation in evaluations.items() if lead in evaluation.scores}
    if best in scored and record.base in scored and len(scored) > 1:
        known = {name for evaluation in scored.values() for name in evaluation.scores}
        compared = compare_evaluations(
            scored,
            record.base,
            [name for name in measures if name in known],
        )
        shown["compared"] = compared
        shown["against_best"] = compare_evaluations(scored, best, [lead])
        shown["basis"] = basis_of(compared, lead)
        shown["certain"] = [
            one for one in compared.differences if one.certain and (one.run, one.measure) != (best, lead)
        ]
        shown["turns"] = compared.turns(best, lead, EXAMPLES)
    return shown


def _evaluations(
    record: AblationRecord,
    source: AblationInput,
    cells: Mapping[str, CellRecord],
    output: Path,
) -> dict[str, Evaluation]:
    """Return the evaluations of the finished cells by row, if the truth is still there."""
    evaluations: dict[str, Evaluation] = {}
    if source.truth and Path(source.truth).exists():
        measures = known_measures(record.measures)
        for row, cell in cells.items():
            if cell.status == "done":
                evaluation = evaluate(
                    source.truth,
                    output / cell.folder,
                    measures=measures,
                    partial=True,
                )
                evaluations[row] = without_rankings(evaluation)
    return evaluations
