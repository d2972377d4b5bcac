"""Real documents of every kind, made by the libraries that make them."""

from __future__ import annotations

import io

import pytest

SAFETY = (
    "Never open the housing, since high voltages remain for several minutes after it has been disconnected. "
    "A qualified electrician should check the device once a year."
)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def make_pdf(pages, title="", header="", password="", numbers=True):
    """A PDF with a running title and page numbers; each page is a list of paragraphs, ``#`` before a heading."""
    fpdf = pytest.importorskip("fpdf")

    class Pdf(fpdf.FPDF):
        def header(self):
            if header:
                self.set_font("Helvetica", size=8)
                self.cell(0, 5, header, align="C", new_x="LMARGIN", new_y="NEXT")

        def footer(self):
            if numbers:
                self.set_y(-15)
                self.set_font("Helvetica", size=8)
                self.cell(0, 5, f"Page {self.page_no()} of {{nb}}", align="C")

    pdf = Pdf()
    if title:
        pdf.set_title(title)
    if password:
        pdf.set_encryption(owner_password="owner", user_password=password)
    for paragraphs in pages:
        pdf.add_page()
        for paragraph in paragraphs:
            pdf.set_font("Helvetica", size=16 if paragraph.startswith("#") else 11)
            pdf.multi_cell(0, 6, paragraph.removeprefix("#").strip(), new_x="LMARGIN", new_y="NEXT", align="L")
            pdf.ln(3)
    return bytes(pdf.output())


def make_columns(text):
    """A PDF of one page with two narrow columns."""
    fpdf = pytest.importorskip("fpdf")
    pdf = fpdf.FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    with pdf.text_columns(ncols=2, gutter=8) as columns:
        columns.write(text)
    return bytes(pdf.output())


def make_docx(title=""):
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.core_properties.title = title
    document.add_heading("Rules of the house", 1)
    document.add_paragraph("Guests are welcome until ten o'clock. After that the door is locked.")
    document.add_heading("Prices", 1)
    table = document.add_table(2, 2)
    for row, cells in zip(table.rows, [("Room", "Price"), ("Single", "80 euros")], strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    document.add_paragraph("Breakfast is included.")
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


HTML = """<!doctype html><html><head><title>How to brew coffee</title><style>p {color: red}</style></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/shop">Shop</a></li></ul></nav>
<div class="cookie-banner">We use cookies. Accept all</div>
<div><div><main><h1>Brewing</h1><p>Take <b>twenty</b> grams of coffee and <code>grind</code> them finely. Then boil the
water, and wait until it is at ninety degrees.</p><h2>Steps</h2><ul><li>Grind the beans finely.</li><li>Pour the water
slowly.</li></ul>
<pre><code>brew --cups 2</code></pre><p>The file_name_of_it is *.brew, in [brackets].</p>
<table><tr><th>Kind</th><th>Grams</th></tr><tr><td>Espresso</td><td>18</td></tr></table>
<p>Drink it while it is hot, and do not forget to clean the machine afterwards.</p></main></div></div>
<footer>Copyright 2024 Imprint Privacy</footer><script>var x = 1</script></body></html>"""

MARKDOWN = """---
title: The handbook
---
# First steps

The *device* needs `12 V`, see [the manual](manual.pdf).

## Installation

```sh
pip install device   # the hash is no heading
```

| Part | Number |
|------|--------|
| Lamp | 4711 |

Żółć i gęś: Grüße aus München. 東京は日本の首都です。
"""


@pytest.fixture
def folder(tmp_path):
    """A folder of documents, one of each kind, and what is none."""
    made = tmp_path / "docs"
    (made / "sub" / "deep").mkdir(parents=True)
    (made / ".git").mkdir()
    files = {
        "manual.PDF": make_pdf([["# 1 Safety", SAFETY], ["# 2 Repair", "The lamp is changed from behind."]], "Manual"),
        "sub/rules.docx": make_docx(),
        "sub/coffee.html": HTML.encode(),
        "sub/deep/handbook.md": MARKDOWN.encode(),
        "notes.txt": "Meeting in Rome\n\nWe agreed to paint the bridge green.\n".encode("utf-8-sig"),
        ".git/config.txt": b"hidden",
        "sub/~$rules.docx": b"Word's own",
        "picture.png": b"no document",
    }
    for name, data in files.items():
        (made / name).write_bytes(data)
    return made


@pytest.fixture
def make():
    """What makes documents."""

    class Make:
        pdf, docx, columns = staticmethod(make_pdf), staticmethod(make_docx), staticmethod(make_columns)
        html, markdown, safety = HTML, MARKDOWN, SAFETY

    return Make
