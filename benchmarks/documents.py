"""How long does indexing documents take, and how many of their sentences stay whole?

    python benchmarks/documents.py [--documents 200] [--leads 10] [--data ../shared/data]

Prints a table of times. Leads of Wikipedia (wiki/summaries-en.json) are written as documents of all kinds in equal
shares, a heading and a paragraph each. PDFs have running titles and page numbers, and every other one has two columns.
Each time is of a new process. A sentence is whole if one passage contains it, white space aside.
"""

from __future__ import annotations

import html
import io
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import docx
from _common import arguments
from fpdf import FPDF

from convqa.documents.child import DocumentReader
from convqa.documents.find import DocumentFile
from convqa.documents.passages import read_document
from convqa.stores import open_store
from convqa.text.sentences import sentences

Sections = list[tuple[str, str]]


class Pdf(FPDF):
    running = ""

    def header(self) -> None:
        self.set_font("Helvetica", size=8)
        self.cell(0, 6, self.running, align="C", new_x="LMARGIN", new_y="NEXT")

    def footer(self) -> None:
        self.set_y(-15)
        self.cell(0, 6, str(self.page_no()), align="C")


def pdf(sections: Sections, columns: int = 1) -> bytes:
    made = Pdf()
    made.running = f"Collected leads: {sections[0][0]}"
    made.add_page()
    with made.text_columns(ncols=columns, gutter=8, text_align="L") as area:
        for title, text in sections:
            made.set_font("Helvetica", size=14)
            area.write(f"{title}\n")
            made.set_font("Helvetica", size=10)
            area.write(f"{text}\n\n")
    return bytes(made.output())


def two_columns(sections: Sections) -> bytes:
    return pdf(sections, 2)


def word(sections: Sections) -> bytes:
    made, stream = docx.Document(), io.BytesIO()
    for title, text in sections:
        made.add_heading(title, 1)
        made.add_paragraph(text)
    made.save(stream)
    return stream.getvalue()


def page(sections: Sections) -> bytes:
    parts = (f"<h2>{html.escape(title)}</h2><p>{html.escape(text)}</p>" for title, text in sections)
    around = "<nav><a href='/'>Home</a> <a href='/all'>All pages</a></nav>", "<footer>Imprint and privacy</footer>"
    return f"<html><title>Leads</title><body>{around[0]}<main>{''.join(parts)}</main>{around[1]}</body></html>".encode()


def markdown(sections: Sections) -> bytes:
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in sections).encode()


def text(sections: Sections) -> bytes:
    return "\n\n".join(f"{title}\n\n{text}" for title, text in sections).encode()


KINDS = {
    "a.pdf": pdf, "b.pdf": two_columns, "docx": word, "html": page, "md": markdown, "txt": text,
}  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--leads", type=int, default=10, help="leads per document")
    options = parser.parse_args()
    leads = json.loads((options.data / "wiki" / "summaries-en.json").read_text(encoding="utf-8"))
    # The standard PDF fonts have Latin-1 only.
    sections = [
        (lead["title"], " ".join(lead["extract"].split()))
        for lead in (leads.values() if isinstance(leads, dict) else leads)
        if f"{lead['title']}{lead['extract']}".isascii()
    ]
    size = options.leads
    found: Counter[str] = Counter()
    written: Counter[str] = Counter()
    passages: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch, DocumentReader() as reader:
        folder, place = Path(scratch, "documents"), Path(scratch, "collection")
        folder.mkdir()
        for number in range(options.documents):
            kind, own = list(KINDS)[number % len(KINDS)], sections[number * size : (number + 1) * size]
            path = folder / f"{number:04d}.{kind}"
            path.write_bytes(KINDS[kind](own))
            file = DocumentFile(path.name, path.read_bytes)
            read = read_document(file, path.read_bytes(), reader, "en").passages
            texts = [" ".join(passage.text.split()) for passage in read]
            whole = [lead[start:end] for _, lead in own for start, end in sentences(lead)]
            found[kind] += sum(any(sentence in one for one in texts) for sentence in whole)
            written[kind] += len(whole)
            passages[kind] += len(read)
        for kind in KINDS:
            share = found[kind] / written[kind]
            print(f"{kind:6} {written[kind]:6} sentences, {share:.4f} whole, in {passages[kind]} passages")
        command = [sys.executable, "-m", "convqa", "index", str(folder), "--collection", str(place)]
        changed = folder / "0005.txt"
        for what in ("first", "again", "one changed", "with vectors", "one changed, with vectors"):
            if "changed" in what:
                changed.write_text(changed.read_text(encoding="utf-8") + "\n\nOne sentence more.\n", encoding="utf-8")
            start = time.perf_counter()
            done = subprocess.run(
                command + (["--vectors", "encoder"] if "vectors" in what else []),
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            print(f"{what}: {time.perf_counter() - start:.1f} s; {done.stdout.splitlines()[0]}")
        print(open_store(place).info().count, "passages")


if __name__ == "__main__":
    main()
