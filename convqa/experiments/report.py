"""The report of an ablation, as one HTML page without scripts and as Markdown, with a section for each input."""

# ruff: noqa: UP013 - one line per record
from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import Field
from typing_extensions import TypedDict

from convqa.domain import Passage, Response, TurnId
from convqa.driver.folder import IR_METADATA, RESOLVED
from convqa.driver.responses import read_responses
from convqa.errors import InputError
from convqa.evaluation import Evaluation, evaluate
from convqa.evaluation.result import value_of
from convqa.experiments import plots
from convqa.experiments.ablate import RECORD
from convqa.experiments.compare import Comparison, compare_evaluations, questions_of, without_rankings
from convqa.experiments.tables import CAPTION, MARK, basis_of
from convqa.files import read_json, whole_file
from convqa.indexing import read_passages
from convqa.validation import Record, read_as

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")


def report(output: Path, file: Path | None = None) -> tuple[Path, Path]:
    """Write the report of an ablation's folder. Return the paths of the page and of the Markdown file next to it.

    :param file: the path of the page; None: ``OUTPUT/report.html``.
    :raises InputError: if the folder has no ablation, or a malformed one.
    """
    record = read_json(output / RECORD, "the record of convqa ablate")
    made = read_as(Made, record, str(output / RECORD), "Run convqa ablate again.")
    texts = {row["name"]: _text(output, made, row["name"], RESOLVED).splitlines() for row in made.rows}
    base = texts.pop(made.base, [])
    shown = {
        "made": made, "sections": [section(made, source, output) for source in made.inputs], "base": base,
        "mark": MARK, "human": HUMAN,
        "diffs": {row: list(difflib.unified_diff(base, own, made.base, row, lineterm="", n=2))
                  for row, own in texts.items() if base and own},
        "metadata": _text(output, made, made.base, IR_METADATA), "caption": CAPTION.format(against=made.base),
    }  # fmt: skip
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, autoescape=lambda name: bool(name and name.endswith(".html")),
    )  # fmt: skip
    environment.filters["md"] = markdown
    page, text = paths = [(file or output / "report").with_suffix(ending) for ending in (".html", ".md")]
    for path in paths:
        with whole_file(path) as stream:
            stream.write(environment.get_template(f"report{path.suffix}").render(shown).encode(errors="replace"))
    return page, text


def markdown(text: object) -> str:
    """Return a text on one line, with the characters of Markdown and HTML escaped."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))


def _text(output: Path, made: Made, row: str, name: str) -> str:
    """Return the text of a file of the row's first cell that has it, or ""."""
    paths = (output / cell["folder"] / name for cell in made.cells if cell["row"] == row)
    return next((path.read_text(encoding="utf-8", errors="replace") for path in paths if path.is_file()), "")


HUMAN = "human"
"""The row, or the value of an axis, with human rewrites: an upper bound, never the best row."""
_COLUMNS, _LINES, _TURNS = 4, 8, 3
"""Default number of measures; lines of a plot; turns with the largest gains or losses, and their earlier questions."""


Input = TypedDict("Input", {"name": str, "path": str, "truth": str | None, "history": str, "conversations": str,
                            "turns": int})  # fmt: skip
Row = TypedDict("Row", {"name": str, "values": dict[str, str]})
Mean = TypedDict("Mean", {"mean": float, "low": float, "high": float})
Cell = TypedDict("Cell", {"row": str, "input": str, "folder": str, "status": str, "message": str,
                          "milliseconds": dict[str, float], "measures": dict[str, Mean]})  # fmt: skip


class Made(Record):
    """The contents of ``ablation.json`` that a report uses."""

    name: str
    question: str
    base: str
    measures: list[str] = []
    inputs: Annotated[list[Input], Field(min_length=1)]
    rows: list[Row]
    cells: list[Cell]
    versions: dict[str, str]

    def styles(self) -> tuple[dict[str, plots.Style], list[tuple[plots.Style, str]]]:
        """Return the style of each row, by its values on axes with several values, and the legend."""
        values = {axis: list(dict.fromkeys(row["values"].get(axis, "") for row in self.rows))
                  for axis in dict.fromkeys(axis for row in self.rows for axis in row["values"])}  # fmt: skip
        axes = {axis: names for axis, names in values.items() if len(names) > 1}
        styles = {row["name"]: tuple(names.index(row["values"].get(axis, "")) for axis, names in axes.items())
                  for row in self.rows}  # fmt: skip
        return styles, [((*(plots.GREY, 0)[:number], index), name) for number, names in enumerate([*axes.values()][:3])
                        for index, name in enumerate(names)]  # fmt: skip


def section(made: Made, source: Input, output: Path) -> dict[str, Any]:
    """Return the variables of the templates for one input."""
    cells = {cell["row"]: cell for cell in made.cells if cell["input"] == source["name"]}
    evaluations = dict(_evaluations(source, cells, output))
    known = dict.fromkeys(name for cell in cells.values() for name in cell["measures"])
    lines = {one.name for each in evaluations.values() for one in each.measures} or known
    ranked = sorted((name for name in known if name in lines), key=lambda name: not name.startswith(("MRR", "nDCG")))
    measures = [name for name in made.measures if name in known] or ranked[:_COLUMNS]
    lead = measures[0] if measures else ""
    means = {row: cell["measures"][lead]["mean"] for row, cell in cells.items() if lead in cell["measures"]}
    rows = sorted((row for row in made.rows if row["name"] in cells), key=lambda row: -means.get(row["name"], -1.0))
    own = [row["name"] for row in rows if HUMAN not in row["values"].values() and row["name"] in means]
    best = own[0] if own else None
    counts = {one.measure.name for each in evaluations.values() for one in each.columns if one.measure.counts}
    top = {key: max(cells[row]["measures"][key]["mean"] for row in own if key in cells[row]["measures"])
           for key in measures if key not in counts and any(key in cells[row]["measures"] for row in own)}  # fmt: skip
    shown: dict[str, Any] = {
        "source": source, "lead": lead, "measures": measures, "cells": cells, "rows": rows, "own": own, "best": best,
        "means": means, "top": top, "gaps": _gaps(made, means), "compared": None, "basis": "",
        "against_best": None, "turns": [],
        "notes": {row: cell["message"] for row, cell in cells.items() if cell["status"] == "done" and cell["message"]},
    }  # fmt: skip
    scored = {row: each for row, each in evaluations.items() if lead in each.scores}
    if best and len(scored) > 1 and {made.base, best} <= scored.keys():
        there = [name for name in measures if any(name in each.scores for each in scored.values())]
        shown["compared"] = compared = compare_evaluations(scored, made.base, there)
        shown["basis"] = basis_of(compared, lead)
        shown["against_best"] = compare_evaluations(scored, best, [lead])
        shown["turns"] = list(_turns(compared, best, lead, output / cells[best]["folder"], Path(source["path"])))
    return shown | {"plots": list(_plots(made, shown, evaluations)) if best else []}


def _evaluations(source: Input, cells: dict[str, Cell], output: Path) -> Iterator[tuple[str, Evaluation]]:
    """Yield the evaluations of finished cells. Unreadable ones are marked as failed."""
    for row, cell in cells.items():
        if cell["status"] == "done" and source["truth"] and Path(source["truth"]).exists():
            try:
                yield row, without_rankings(evaluate(source["truth"], output / cell["folder"], partial=True))
            except InputError as error:
                cells[row] = {**cell, "status": "failed", "message": str(error), "measures": {}}


def _gaps(made: Made, means: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return the means of rewriters, the baseline's first, by the values of the other axes, for groups with HUMAN."""
    axis = next((axis for row in made.rows for axis, value in row["values"].items() if value == HUMAN), "")
    plain = next((row["values"].get(axis, "") for row in made.rows if row["name"] == made.base), "")
    groups: dict[str, dict[str, float]] = {}
    for row in sorted(made.rows, key=lambda row: row["values"].get(axis) != plain):
        if row["name"] in means:
            rest = " + ".join(value for name, value in row["values"].items() if name != axis)
            groups.setdefault(rest, {})[row["values"].get(axis, "")] = means[row["name"]]
    return {rest: group for rest, group in groups.items() if {plain, HUMAN} <= group.keys() and plain != HUMAN}


def _plots(made: Made, shown: Mapping[str, Any], evaluations: Mapping[str, Evaluation]) -> Iterator[str]:
    lead, best, cells, (styles, legend) = shown["lead"], shown["best"], shown["cells"], made.styles()
    points = {}
    for row in shown["own"]:
        mean = cells[row]["measures"][lead]
        points[row] = (sum(cells[row]["milliseconds"].values()), mean["mean"], mean["low"], mean["high"])
    yield plots.quality_over_time(points, styles, [entry for entry in legend if entry[1] != HUMAN], lead)
    if shown["gaps"]:
        yield plots.gains(shown["gaps"], HUMAN, lead)
    others = {row["name"]: [*row["values"].values()][1:] for row in shown["rows"]}
    alike = [made.base, *(row for row, values in others.items() if values == others[best])]
    lines = {row: _by_depth(evaluations[row], lead) for row in dict.fromkeys(alike) if row in evaluations}
    if any(lines.values()):
        yield plots.by_depth(dict(list(lines.items())[:_LINES]), styles, lead)
    if shown["compared"] and best != made.base:
        turns = shown["compared"].turns(best, lead)
        yield plots.differences([turn.score - turn.base for turn in turns], best, made.base, lead)


def _by_depth(evaluation: Evaluation, measure: str) -> dict[str, float]:
    """Return the means by the turn's number, if the task has this breakdown."""
    groups = evaluation.task.breakdowns(evaluation.gold, evaluation.gold.path).get("depth", dict)()
    owners = {id: [name] for name, members in groups.items() for id in members}
    parts = evaluation.scores[measure].split(owners) if measure in evaluation.scores else {}
    means = {name: value_of(parts[name]) for name in groups if name in parts}
    return {name: mean for name, mean in means.items() if mean is not None}


def _turns(compared: Comparison, row: str, lead: str, run: Path, source: Path) -> Iterator[dict[str, Any]]:
    """Yield the turns with the largest gains and losses, with the row's results."""
    questions = questions_of(compared)
    turns = compared.turns(row, lead, questions)
    chosen = [turn for turn in turns[:_TURNS] if turn.score > turn.base]
    chosen += [turn for turn in turns[: -_TURNS - 1 : -1] if turn.score < turn.base]
    evaluation = compared.evaluations[row]
    judged = evaluation.task.judged(evaluation.gold, evaluation.task.read_run(run))
    answers = shown_answers(run, source, {turn.id for turn in chosen})
    for turn in chosen:
        before = [id for id in questions if id.conversation == turn.id.conversation and id.number < turn.id.number]
        relevant = judged.relevant.get(str(turn.id), ()) if judged else ()
        earlier = [questions[id] for id in before[-_TURNS:]]
        yield {"turn": turn, "made": answers.get(turn.id), "earlier": earlier, "relevant": relevant}


_PASSAGES = 3
"""Passages of a turn, in addition to cited ones."""
_ROOM = 400
"""Characters of a passage before a mark, after the last one, or without marks."""


def shown_answers(run: Path, source: Path, ids: Collection[TurnId]) -> dict[TurnId, dict[str, Any]]:
    """Return ``passages``, ``sentences`` of the answer with the ranks of their citations, and ``outcome``, the reason
    for no answer, of each turn.

    :raises InputError: if the run's folder has no responses.
    """
    responses = {each.id: each for each in read_responses(run) if each.id in ids}
    hits = [hit for each in responses.values() if each.ranking for hit in each.ranking.hits]
    bare = {hit.id for hit in hits if hit.passage is None or not hit.passage.text}
    texts: dict[str, Passage] = {}
    with suppress(InputError):  # the input may have no passages of its own
        texts = {passage.id: passage for passage in read_passages([source]) if passage.id in bare}
    return {id: _shown_answer(response, texts) for id, response in responses.items()}


def _shown_answer(response: Response, texts: Mapping[str, Passage]) -> dict[str, Any]:
    answer, hits = response.answer, response.ranking.hits if response.ranking else ()
    sentences = answer.sentences if answer else ()
    ranks = {hit.id: rank for rank, hit in enumerate(hits, start=1)}
    passages = []
    for rank, hit in enumerate(hits, start=1):
        cited = [each for sentence in sentences for each in sentence.citations if each.passage_id == hit.id]
        if rank <= _PASSAGES or cited:
            passage = texts.get(hit.id) or hit.passage or Passage(hit.id, "")
            spans = [(each.start, each.end) for each in cited if each.start is not None and each.end is not None]
            passages.append({"rank": rank, "passage": passage, "pieces": pieces(passage.text, spans)})
    failure = f"failed: {response.error.message}" if response.error else ""
    return {
        "passages": passages,
        "sentences": [(each.text, sorted({ranks[one.passage_id] for one in each.citations})) for each in sentences],
        "outcome": failure or ("" if sentences or not answer else answer.reason or answer.text),
    }


def pieces(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[str, bool]]:
    """Split a text into (piece, whether it is in a span), without the parts far from spans."""
    at, cut = 0, []
    for first, last in sorted(spans):
        dots = "… " if first - _ROOM > at else ""
        cut += [(dots + text[max(at, first - _ROOM) : first], False), (text[max(at, first) : last], True)]
        at = max(at, last)
    dots = " …" if len(text) - _ROOM > at else ""
    return [piece for piece in [*cut, (text[at : at + _ROOM] + dots, False)] if piece[0]]
