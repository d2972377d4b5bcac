"""The report of an ablation, as one HTML page without scripts and as Markdown."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from convqa.driver.folder import IR_METADATA, RESOLVED
from convqa.experiments.ablate import RECORD
from convqa.experiments.section import HUMAN, Made, section
from convqa.experiments.tables import CAPTION, MARK
from convqa.files import read_json, whole_file
from convqa.validation import read_as

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
