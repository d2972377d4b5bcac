"""Do documents keep their units in other formats, and their words?

    python benchmarks/document_formats.py [FOLDER] [--data ../shared/data]

Without FOLDER: the Markdown documents of the collections in own-documents/untrained.txt are turned into other formats,
and each gold unit is looked for among the units that convqa reads: one with 90 % of its words and at most 60 others.
Needs pypandoc_binary, markdown and weasyprint.

With FOLDER: the words of the files below it that another reader finds (pypdf, BeautifulSoup, docx2python, python-pptx,
openpyxl, pandoc), and the share of them that convqa reads.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from _common import arguments

from convqa.documents import DocumentFile, Unreadable
from convqa.documents.child import DocumentReader
from convqa.documents.passages import ReadDocument, read_document

RULES = "td, th {border: 1px solid #333; padding: 3px}"
BLANKS = "td, th {padding: 3px 8px; text-align: left}"
COLUMNS = """@page {size: A4; margin: 1.5cm} body {font: 10pt serif; columns: 2; text-align: justify; hyphens: auto}
h1, h2, h3, td, th {text-align: left; hyphens: manual} td, th {border-bottom: 1px solid #999; padding: 2px 5px}
table {font-size: 8.5pt; border-collapse: collapse}"""
PANDOC = {"docx": "docx", "odt": "odt", "epub": "epub", "html": "html", "rst": "rst"}
PDF = {"PDF, tables with rules": RULES, "PDF, tables without rules": BLANKS, "PDF, two narrow columns": COLUMNS}


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", unicodedata.normalize("NFKC", text).replace("\u2019", "'").lower()))


def convert(text: str, kind: str, path: Path) -> Path:
    """Write a Markdown text in a format, and return the file."""
    import pypandoc
    from markdown import markdown
    from weasyprint import HTML

    if kind == "md":
        path = path.with_suffix(".md")
        path.write_text(text, encoding="utf-8")
    elif kind in PANDOC:
        path = path.with_suffix(f".{kind}")
        title = ["--metadata", "title= "] if kind in ("html", "epub") else []
        pypandoc.convert_text(text, PANDOC[kind], "gfm", outputfile=str(path), extra_args=["-s", *title])
    else:
        path = path.with_suffix(".pdf")
        body = markdown(text, extensions=["tables", "sane_lists"])
        style = f"body {{font: 11pt sans-serif}} table {{border-collapse: collapse}} {PDF[kind]}"
        HTML(string=f"<style>{style}</style><div lang=en>{body}</div>").write_pdf(path)
    return path


def read(path: Path, reader: DocumentReader) -> ReadDocument:
    return read_document(DocumentFile(path.name, path.read_bytes), path.read_bytes(), reader, "en")


def units(path: Path, reader: DocumentReader) -> Iterator[tuple[Counter[str], str, str]]:
    """Yield the words, the headings and the header row or introduction of each unit of a document."""
    for passage in read(path, reader).passages:
        for unit in passage.units:
            headings = f"{passage.title} {unit.heading}"
            yield words(passage.text[unit.start : unit.end]), headings, unit.context


def survived(data: Path) -> None:
    folder = data / "own-documents"
    collections = (folder / "untrained.txt").read_text(encoding="utf-8").split()
    in_markdown: dict[tuple[str, str], tuple[str, str]] = {}
    print("| format | gold units | table rows | with the same headings | rows with the same header row |")
    print("|---|---|---|---|---|")
    for kind in ("md", *PANDOC, *PDF):
        counts: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as scratch, DocumentReader() as reader:
            for name in collections:
                candidates: list[tuple[Counter[str], str, str]] = []
                for number, path in enumerate(sorted((folder / name / "documents").rglob("*.md"))):
                    made = convert(path.read_text(encoding="utf-8"), kind, Path(scratch, f"{name}-{number}"))
                    candidates += units(made, reader)
                for line in (folder / name / "turns.jsonl").read_text(encoding="utf-8").splitlines():
                    for gold in json.loads(line).get("gold") or ():
                        key = name, gold
                        if kind == "md" or key in in_markdown:
                            look_for(key, candidates, in_markdown, counts, kind == "md")
        print(
            f"| {kind} | {counts['units']} of {counts['wanted']} | {counts['rows']} of {counts['wanted rows']} | "
            f"{counts['headings']} | {counts['headers']} |"
        )


def look_for(
    key: tuple[str, str],
    candidates: list[tuple[Counter[str], str, str]],
    in_markdown: dict[tuple[str, str], tuple[str, str]],
    counts: Counter[str],
    is_first: bool,
) -> None:
    gold = words(re.sub(r"^\s*([-*]|\d+\.)\s", "", key[1]))
    best, headings, context = max(
        candidates, key=lambda unit: (gold & unit[0]).total() - 0.2 * (unit[0] - gold).total()
    )
    is_found = (gold & best).total() >= 0.9 * gold.total() and (best - gold).total() <= 60
    if is_first and not is_found:
        # The unit is in a text file.
        return
    expected = in_markdown.setdefault(key, (headings, context))
    is_row = key[1].count("|") > 1
    counts["wanted"] += 1
    counts["wanted rows"] += is_row
    if is_found:
        counts["units"] += 1
        counts["rows"] += is_row
        counts["headings"] += words(headings) == words(expected[0])
        counts["headers"] += is_row and words(context) == words(expected[1])


def other_reader(path: Path) -> str:
    """Return the text of a file as another reader finds it."""
    data, suffix = path.read_bytes(), path.suffix.lower()
    if suffix == ".pdf":
        from pypdf import PdfReader

        return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages)
    if suffix == ".docx":
        from docx2python import docx2python

        return str(docx2python(io.BytesIO(data)).text)
    if suffix == ".pptx":
        from pptx import Presentation

        shapes = (shape for slide in Presentation(io.BytesIO(data)).slides for shape in slide.shapes)
        return "\n".join(shape.text_frame.text for shape in shapes if shape.has_text_frame)
    if suffix == ".xlsx":
        from openpyxl import load_workbook

        sheets = load_workbook(io.BytesIO(data), data_only=True).worksheets
        return "\n".join(str(value) for sheet in sheets for row in sheet.values for value in row if value is not None)
    if suffix in (".html", ".htm"):
        from bs4 import BeautifulSoup

        soup = BeautifulSoup(data, "lxml")
        for element in soup(["script", "style", "template", "head", "noscript"]):
            element.decompose()
        return str(soup.get_text(" "))
    if suffix in (".odt", ".md", ".rst"):
        import pypandoc

        return str(pypandoc.convert_file(str(path), "plain", extra_args=["--wrap=none"]))
    return data.decode("utf-8", "replace")


def kept(folder: Path) -> None:
    print("| format | files | read | words | kept |")
    print("|---|---|---|---|---|")
    for suffix in (".docx", ".odt", ".pptx", ".xlsx", ".html", ".pdf", ".rst", ".md", ".txt"):
        files = sorted(folder.rglob(f"*{suffix}"))
        all_words, found, read_files = 0, 0, 0
        with DocumentReader() as reader:
            for path in files:
                try:
                    passages = read(path, reader).passages
                except Unreadable:
                    continue
                read_files += 1
                try:
                    wanted = words(other_reader(path))
                except Exception:  # the other reader cannot read it
                    continue
                all_words += wanted.total()
                found += (wanted & words("\n".join(passage.text for passage in passages))).total()
        if all_words:
            print(f"| {suffix} | {len(files)} | {read_files} | {all_words:,} | {found / all_words:.1%} |")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    options = parser.parse_args()
    if options.folder is None:
        survived(options.data)
    else:
        kept(options.folder)


if __name__ == "__main__":
    main()
