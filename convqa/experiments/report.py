"""The report of an ablation, as one HTML page without scripts and as Markdown, with a section for each input."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from convqa.driver.folder import IR_METADATA, RESOLVED
from convqa.experiments.record import RECORD, AblationRecord
from convqa.experiments.section import HUMAN, section
from convqa.experiments.tables import CAPTION, MARK
from convqa.files import read_json, whole_file
from convqa.validation import read_as

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")


def report(output: Path, file: Path | None = None) -> tuple[Path, Path]:
    """Write the report of an ablation's folder. Return the paths of the page and of the Markdown file next to it.

    :param file: the path of the page; None: ``OUTPUT/report.html``.
    :raises InputError: if the folder has no ablation, or a malformed one.
    """
    path = output / RECORD
    data = read_json(path, "the record of convqa ablate")
    record = read_as(AblationRecord, data, str(path), "Run convqa ablate again.")
    pipelines = {row.name: _text(output, record, row.name, RESOLVED).splitlines() for row in record.rows}
    base = pipelines.pop(record.base, [])
    diffs = {
        row: list(difflib.unified_diff(base, lines, record.base, row, lineterm="", n=2))
        for row, lines in pipelines.items()
        if base and lines
    }
    variables = {
        "record": record,
        "sections": [section(record, source, output) for source in record.inputs],
        "base": base,
        "diffs": diffs,
        "metadata": _text(output, record, record.base, IR_METADATA),
        "mark": MARK,
        "human": HUMAN,
        "caption": CAPTION.format(against=record.base),
    }
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=lambda name: bool(name and name.endswith(".html")),
    )
    environment.filters["md"] = markdown
    page = (file or output / "report").with_suffix(".html")
    text = page.with_suffix(".md")
    for target in (page, text):
        content = environment.get_template(f"report{target.suffix}").render(variables)
        with whole_file(target) as stream:
            stream.write(content.encode(errors="replace"))
    return page, text


def markdown(text: object) -> str:
    """Return a text on one line, with the characters of Markdown and HTML escaped."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))


def _text(
    output: Path,
    record: AblationRecord,
    row: str,
    name: str,
) -> str:
    """Return the text of a file of the row's first cell that has it, or ""."""
    for cell in record.cells:
        path = output / cell.folder / name
        if cell.row == row and path.is_file():
            return path.read_text(encoding="utf-8", errors="replace")
    return ""
