"""PDFs are read by the places of their words: columns, tables, lists, headings and paragraphs, and nothing is lost."""

import time
import types
from datetime import datetime
from io import BytesIO

import pytest

from convqa.documents.blocks import Unreadable
from convqa.documents.pdf import read_pdf
from convqa.documents.pdf_lines import joined

fpdf = pytest.importorskip("fpdf")
pytest.importorskip("pypdfium2")

PROSE = (
    "The mill was built in 1790 by a family of bakers from the north. It stands on the river bank and still grinds "
    "flour for the town, though most of the grain now comes by rail from the plains beyond the hills. "
)


@pytest.fixture(autouse=True)
def without_ocr(monkeypatch):
    monkeypatch.setattr("convqa.documents.pdf_page._recognizer", lambda: None)


def filled(document):
    """The blocks that have a text: an empty one ends each table."""
    return [block for block in document.blocks if block.text or block.cells]


def make(*pages, draw=None, **settings):
    """A PDF whose pages hold paragraphs; those that begin with # are headings."""
    pdf = fpdf.FPDF(**settings)
    for page in pages:
        pdf.add_page()
        for paragraph in page:
            write(pdf, paragraph)
    if draw:
        draw(pdf)
    return bytes(pdf.output())


def write(pdf, text, height=6):
    pdf.set_font("Helvetica", size=11)
    if text.startswith("#"):
        pdf.set_font("Helvetica", "B", size=16)
    pdf.multi_cell(0, height, text.lstrip("#"), new_x="LMARGIN", new_y="NEXT", align="L")
    pdf.ln(3)


def drawn(*texts, size=11):
    """A PDF of texts at places: (x, y, text) in millimetres."""
    pdf = fpdf.FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=size)
    for x, y, text in texts:
        pdf.text(x, y, text)
    return bytes(pdf.output())


def table_pdf(rows, borders="ALL", bold_header=True, widths=(40, 60, 60), pages_before=0):
    pdf = fpdf.FPDF()
    pdf.add_page()
    write(pdf, PROSE * 2)
    with pdf.table(borders_layout=borders, col_widths=widths, first_row_as_headings=bold_header) as table:
        for row in rows:
            table.row(row)
    write(pdf, PROSE)
    return bytes(pdf.output())


def shown(data):
    """The blocks of a PDF as (kind, text or cells)."""
    return [(block.kind, block.text or block.cells) for block in filled(read_pdf(data))]


def texts(data):
    return [block.text for block in read_pdf(data).blocks]


def all_text(data):
    return "\n".join(block.text or " | ".join(block.cells) for block in read_pdf(data).blocks)


def test_wrapped_lines_are_joined_and_a_paragraph_goes_on_on_the_next_page():
    data = make(["Once. " + PROSE * 30])
    document = read_pdf(data)
    assert document.pages == 2
    assert [block.text for block in document.blocks] == ["Once. " + (PROSE * 30).strip()]
    assert document.blocks[0].page == 1


@pytest.mark.parametrize("hyphen", ["-", "\u2010"])
def test_hyphens_at_the_end_of_lines_are_told(hyphen):
    assert joined([f"the exhi{hyphen}", "bition"]) == "the exhibition"


def test_words_broken_at_hyphens_are_joined():
    lines = ["A word that is broken at the end of the long line is joi-", "ned again, and goes on."]
    data = drawn(*[(20, 20 + 5 * place, line) for place, line in enumerate(lines)])
    assert "joined again, and goes on." in all_text(data)


def test_headings_have_levels_by_size_and_weight():
    pdf = fpdf.FPDF()
    pdf.add_page()
    for style, size, text in [("", 22, "Handbook"), ("B", 15, "1 Safety"), ("B", 11, "Power"), ("B", 15, "2 Use")]:
        pdf.set_font("Helvetica", style, size)
        pdf.cell(0, 12, text, new_x="LMARGIN", new_y="NEXT")
        write(pdf, PROSE)
    blocks = read_pdf(bytes(pdf.output())).blocks
    headings = [(block.level, block.text) for block in blocks if block.kind == "heading"]
    assert headings == [(1, "Handbook"), (2, "1 Safety"), (3, "Power"), (2, "2 Use")]


def test_list_items_have_numbers_and_their_wrapped_lines():
    pdf = fpdf.FPDF()
    pdf.add_page()
    write(pdf, "Before you start, check these:")
    for indent, text in [
        (15, "1. Fill the tank."),
        (15, "2. " + PROSE.strip()),
        (25, "a) with cold water"),
        (25, "b) up to the line"),
        (15, "3. Switch it on."),
    ]:
        pdf.set_left_margin(indent)
        pdf.set_x(indent)
        pdf.multi_cell(0, 6, text, new_x="LMARGIN", new_y="NEXT", align="L")
    blocks = read_pdf(bytes(pdf.output())).blocks
    assert [block.marker for block in blocks[1:]] == ["1.", "2.", "a)", "b)", "3."]
    assert blocks[2].text == PROSE.strip()
    assert blocks[0].kind == "paragraph"


def test_bullets_are_items_without_a_marker_and_clauses_keep_their_numbers():
    data = make(
        ["- a red apple\n- a green pear", "7.1 The tenant pays the rent.\n7.2 The landlord keeps the roof dry."]
    )
    blocks = read_pdf(data).blocks
    assert [(block.kind, block.marker, block.text) for block in blocks] == [
        ("item", "", "a red apple"),
        ("item", "", "a green pear"),
        ("item", "7.1", "The tenant pays the rent."),
        ("item", "7.2", "The landlord keeps the roof dry."),
    ]


@pytest.mark.parametrize("row_by_row", [True, False])
@pytest.mark.parametrize("columns", [2, 3])
def test_columns_are_read_one_after_the_other(row_by_row, columns):
    sides = [
        ["The mill was built by", "a family of bakers. It", "stands on the bank and", "grinds flour for the town."],
        ["The kiln was built by", "two brothers of Ghent. It", "burns wood and is fired", "every week by potters."],
        ["The dock was built by", "the guild of boatmen. It", "keeps forty boats and is", "dredged in every spring."],
    ][:columns]
    places = [(20 + 55 * side, 40 + 5 * row, sides[side][row]) for side in range(columns) for row in range(4)]
    if row_by_row:
        places.sort(key=lambda place: place[1])
    data = drawn(
        (20, 30, "The works of the town, its mills, kilns and docks, with the years of each of them, in full"), *places
    )
    assert texts(data)[1:] == [" ".join(side) for side in sides]


def test_a_table_above_columns_stays_above():
    left = ["The mill was built by", "a family of bakers. It", "stands on the bank and", "grinds flour for the town."]
    right = ["The kiln was built by", "two brothers of Ghent. It", "burns wood and is fired", "every week by potters."]
    title = "The works of the town, its mills and kilns, with the years of each of them, as they were in 1903"
    cells = [
        (20, 20, "Name"),
        (70, 20, "Year"),
        (120, 20, "Hands"),
        (20, 26, "Mill"),
        (70, 26, "1790"),
        (120, 26, "12"),
    ]
    cells += [(20, 32, "Kiln"), (70, 32, "1903"), (120, 32, "4"), (20, 40, title)]
    rows = [
        (x, 50 + 5 * row, text)
        for row, pair in enumerate(zip(left, right, strict=True))
        for x, text in zip((20, 90), pair, strict=True)
    ]
    assert shown(drawn(*cells, *rows)) == [
        ("header", ("Name", "Year", "Hands")),
        ("row", ("Mill", "1790", "12")),
        ("row", ("Kiln", "1903", "4")),
        ("paragraph", title),
        ("paragraph", " ".join(left)),
        ("paragraph", " ".join(right)),
    ]


ROWS = [
    ("Problem", "Cause", "What to do"),
    ("No coffee", "The tank is empty, or it was not pushed in until it clicked", "Fill it; use coarser coffee"),
    ("Too cold", "The machine was not warm", "Run one shot without any coffee in it before the first cup of the day"),
    ("No steam", "The tip is blocked", "Clean it"),
]


@pytest.mark.parametrize("borders", ["ALL", "SINGLE_TOP_LINE", "HORIZONTAL_LINES", "MINIMAL", "NONE"])
def test_tables_have_a_header_and_rows_with_wrapped_cells_joined(borders):
    data = table_pdf(ROWS, borders)
    tables = [cells for kind, cells in shown(data) if kind in ("header", "row")]
    assert tables == ROWS
    assert shown(data)[1][0] == "header"
    assert shown(data)[0] == ("paragraph", (PROSE * 2).strip())


def test_a_header_without_bold_differs_by_its_digits():
    rows = [("Room", "Nights", "Price"), ("Single", "1", "80"), ("Double", "2", "190"), ("Suite", "1", "240")]
    assert [kind for kind, _ in shown(table_pdf(rows, "NONE", bold_header=False))][1:-1] == [
        "header",
        "row",
        "row",
        "row",
    ]


def test_a_table_over_pages_has_all_its_rows():
    rows = [("Name", "Year", "Hands"), *((f"Mill {number}", str(1800 + number), str(number)) for number in range(90))]
    for borders in ("ALL", "NONE"):
        tables = [cells for kind, cells in shown(table_pdf(rows, borders)) if kind in ("header", "row")]
        assert list(dict.fromkeys(tables)) == rows


@pytest.mark.parametrize("last", ["4.20", "17"])
def test_what_dots_lead_to_is_a_cell(last):
    lines = [("Tea", "3"), ("Coffee", "12"), ("Cake", last)]
    names = [(20, 20 + 6 * n, f"{name} {'.' * 60}") for n, (name, _) in enumerate(lines)]
    values = [(100, 20 + 6 * n, value) for n, (_, value) in enumerate(lines)]
    assert shown(drawn(*names, *values)) == [("row", cells) for cells in lines]


def test_text_drawn_twice_is_read_once():
    text = "The kiln in the cellar was built in 1903."
    assert texts(drawn((20, 20, text), (20.2, 20.2, text))) == [text]
    letters = [(20 + 3 * place, 20, letter) for place, letter in enumerate("feet")]
    assert texts(drawn(*letters, *((x + 0.15, y, letter) for x, y, letter in letters))) == ["f e e t"]


def test_a_shadow_of_a_text_is_read_once():
    document = read_pdf(drawn((20, 50, "The kiln is hot."), (20.4, 50.3, "The kiln is hot."), (20, 90, "It is hot.")))
    assert [block.text for block in document.blocks] == ["The kiln is hot.", "It is hot."]


def test_cells_that_are_centred_are_whole():
    texts = [(70, 38, "Volume per"), (20, 40, "Reagent"), (120, 40, "Storage"), (70, 42, "sample")]
    for row, name in enumerate(("PEG", "Salt", "Carrier")):
        y = 52 + 12 * row
        texts += [(120, y - 2, "at room"), (20, y, name), (70, y, f"{row} ml"), (120, y + 2, "temperature")]
    texts += [(20, 86, "DNA"), (70, 88, "9 ml"), (120, 88, "cold"), (20, 90, "in salt"), (20, 110, "It is boiled.")]
    blocks = filled(read_pdf(drawn(*texts)))
    assert [block.cells for block in blocks[:-1]] == [
        ("Reagent", "Volume per sample", "Storage"),
        ("PEG", "0 ml", "at room temperature"),
        ("Salt", "1 ml", "at room temperature"),
        ("Carrier", "2 ml", "at room temperature"),
        ("DNA in salt", "9 ml", "cold"),
    ]
    assert blocks[-1].text == "It is boiled."


def test_columns_with_headings_and_short_lines_stay_apart():
    pdf = fpdf.FPDF()
    pdf.add_page()
    for x, words in ((15, "mill"), (106, "kiln")):
        pdf.set_font("Helvetica", "B", size=18)
        pdf.text(x, 26 + x / 50, f"The {words} of the old town")
        pdf.set_font("Helvetica", size=10)
        for line in range(12):
            short = "Ann, Bob" if line % 3 else f"This is the line of the {words} with number {line}, and it"
            pdf.text(x, 40 + 6 * line + x / 50, short)
    texts = [block.text for block in read_pdf(bytes(pdf.output())).blocks]
    assert texts.index("The kiln of the old town") > len(texts) / 3
    assert not any("mill" in text and "kiln" in text for text in texts)


def test_values_of_forms_are_read():
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, TextStringObject

    writer = PdfWriter(clone_from=PdfReader(BytesIO(drawn((20, 20, "Name of the tenant:")))))
    field = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Annot"),
            NameObject("/Subtype"): NameObject("/Widget"),
            NameObject("/FT"): NameObject("/Tx"),
            NameObject("/T"): TextStringObject("name"),
            NameObject("/V"): TextStringObject("Ada Holm"),
            NameObject("/DA"): TextStringObject("/Helv 11 Tf 0 g"),
            NameObject("/F"): FloatObject(4),
            NameObject("/Rect"): ArrayObject([FloatObject(n) for n in (200, 770, 400, 790)]),
        }
    )
    reference = writer._add_object(field)
    writer.pages[0][NameObject("/Annots")] = ArrayObject([reference])
    form = DictionaryObject({NameObject("/Fields"): ArrayObject([reference])})
    writer.root_object[NameObject("/AcroForm")] = form
    output = BytesIO()
    writer.write(output)
    assert "Ada Holm" in all_text(output.getvalue())


def test_running_titles_and_page_numbers_are_dropped_after_the_first():
    class Book(fpdf.FPDF):
        def header(self):
            self.set_font("Helvetica", size=9)
            self.cell(0, 10, "Handbook of the mill 2026", new_x="LMARGIN", new_y="NEXT")

        def footer(self):
            self.set_y(-15)
            self.cell(0, 10, f"Page {self.page_no()} of {{nb}}", align="C")

    pdf = Book()
    for number in range(5):
        pdf.add_page()
        write(pdf, f"In {1900 + number} the harbour handled {312 + number} ships.")
        write(pdf, PROSE)
    text = all_text(bytes(pdf.output()))
    assert text.count("Handbook of the mill") == 1
    assert "Page" not in text
    assert all(str(1900 + number) in text for number in range(5))


def test_invoices_of_one_layout_lose_nothing():
    customers = ["Bakery Holm", "Mill Ostra", "Dairy Lund", "Bakery Holm"]
    pages = [
        [
            f"Invoice {1001 + n}",
            f"Customer: {name}",
            "One lathe, serviced in the workshop.",
            f"Total due: {250 + 7 * n} euros",
        ]
        for n, name in enumerate(customers)
    ]
    assert texts(make(*pages)) == [line for page in pages for line in page]


def test_numbers_of_slides_are_no_page_numbers():
    pages = [["#Satisfaction", "95 %"], ["#Returned", "3 %"], ["#Founded", "1843"], ["#Price", "$4"], ["#Price", "$5"]]
    assert [text for text in texts(make(*pages)) if text[0] not in "SRFP"] == ["95 %", "3 %", "1843", "$4", "$5"]


def with_pictures(*pages):
    """A PDF of paragraphs and, where a page has none, of a drawing."""
    pdf = fpdf.FPDF()
    for text in pages:
        pdf.add_page()
        if text:
            write(pdf, text)
        else:
            pdf.rect(20, 20, 100, 100)
    return bytes(pdf.output())


def test_pages_without_text_are_pictures():
    assert read_pdf(with_pictures(PROSE, "")).unread == ("page 2 is a picture",)
    document = read_pdf(with_pictures(PROSE, "", PROSE, "", PROSE))
    assert document.unread == ("2 of 5 pages are pictures: 2, 4",)
    with pytest.raises(Unreadable, match="it has no text: run OCR on a scan first"):
        read_pdf(with_pictures("", ""))


def test_blank_pages_are_only_counted():
    document = read_pdf(make([PROSE], [], [PROSE]))
    assert document.unread == ()


def test_a_pdf_of_numbers_is_read():
    assert "2025" in all_text(drawn((20, 20, "2024"), (60, 20, "118"), (20, 26, "2025"), (60, 26, "131")))


def test_encrypted_and_damaged_pdfs_say_what_to_do():
    def protected(user):
        return make([PROSE], draw=lambda pdf: pdf.set_encryption(owner_password="owner", user_password=user))

    assert read_pdf(protected("")).blocks
    with pytest.raises(Unreadable, match="it is encrypted; save it without its password"):
        read_pdf(protected("x"))
    for data in (b"", b"%PDF-1.7", make([PROSE])[:200]):
        with pytest.raises(Unreadable, match="damaged"):
            read_pdf(data)


def test_title_author_and_date_are_properties():
    def draw(pdf):
        pdf.set_title("The mill")
        pdf.set_author("A. Berg")
        pdf.set_creation_date(datetime(2024, 3, 9))

    document = read_pdf(make([PROSE], draw=draw))
    assert document.title == "The mill"
    assert document.meta == {"author": "A. Berg", "date": "2024-03-09"}


def test_pages_that_are_turned_are_read():
    from pypdf import PdfReader, PdfWriter, Transformation

    for turn in (90, 180, 270):
        writer = PdfWriter(clone_from=PdfReader(BytesIO(make([PROSE * 3]))))
        page = writer.pages[0]
        page.rotate(turn)
        turned = BytesIO()
        writer.write(turned)
        assert texts(turned.getvalue()) == [(PROSE * 3).strip()]
        page.add_transformation(
            Transformation().rotate(turn).translate(*{90: (842, 0), 180: (595, 842), 270: (0, 595)}[turn])
        )
        if turn != 180:
            page.mediabox.upper_right = (842, 842)
        turned = BytesIO()
        writer.write(turned)
        assert texts(turned.getvalue()) == [(PROSE * 3).strip()]


def raw_pdf(unicode, kids="[3 0 R]", count=1):
    """A PDF whose letter # is the UTF-16 unit ``unicode``."""
    cmap = f"""/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <ff> endcodespacerange
1 beginbfrange <20> <7e> <0020> endbfrange 1 beginbfchar <23> <{unicode}> endbfchar endcmap end"""
    content = "BT /F 12 Tf 72 720 Td (The loss is #5 percent.) Tj ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids {kids} /Count {count} >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
        f"<< /Length {len(cmap)} >>\nstream\n{cmap}\nendstream",
    ]
    body = "".join(f"{number} 0 obj\n{each}\nendobj\n" for number, each in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer << /Root 1 0 R >>\n%%EOF".encode()


@pytest.mark.parametrize(
    ("unicode", "text"),
    [("0000", "5"), ("0001", "5"), ("00AD", "5"), ("D835", "\ufffd5"), ("FB03", "ffi5"), ("D835DFD8", "\U0001d7d85")],
)
def test_controls_are_dropped_surrogates_replaced_and_ligatures_unfolded(unicode, text):
    assert texts(raw_pdf(unicode)) == [f"The loss is {text} percent."]


def test_a_pdf_without_pages_is_unreadable():
    with pytest.raises(Unreadable):
        read_pdf(raw_pdf("0041", kids="[]", count=0))


def test_pages_that_are_pictures_are_recognized(monkeypatch):
    numpy = pytest.importorskip("numpy")

    def recognize(picture):
        places = [(100, 100, 900, 124), (100, 128, 400, 152)]
        boxes = [[(x0, y0), (x1, y0), (x1, y1), (x0, y1)] for x0, y0, x1, y1 in places]
        lines = ("The mill was built in 1790 by a family of bakers from the", "north of the town.")
        return types.SimpleNamespace(boxes=numpy.array(boxes, float), txts=lines, scores=(0.9, 0.9))

    monkeypatch.setattr("convqa.documents.pdf_page._recognizer", lambda: recognize)
    document = read_pdf(with_pictures(PROSE, ""))
    assert document.blocks[1].text == "The mill was built in 1790 by a family of bakers from the north of the town."
    assert document.blocks[1].page == 2
    assert document.recognized == {2}
    assert document.unread == ()


def test_a_page_named_many_times_is_bounded():
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import ArrayObject, NameObject, NumberObject

    writer = PdfWriter(clone_from=PdfReader(BytesIO(drawn((20, 20, "The mill.")))))
    tree = writer.root_object["/Pages"]
    page = tree["/Kids"][0]
    tree[NameObject("/Kids")] = ArrayObject([page] * 100_000)
    tree[NameObject("/Count")] = NumberObject(100_000)
    output = BytesIO()
    writer.write(output)
    start = time.monotonic()
    document = read_pdf(output.getvalue())
    assert time.monotonic() - start < 30
    assert document.unread == ("pages 5,001 to 100,000 were not read, because it is too long",)


def test_a_row_over_the_whole_table_is_its_caption_and_years_are_header_cells():
    rows = [("Region", "2024", "2025"), ("North", "1,204", "1,310"), ("South", "987", "1,002")]
    pdf = fpdf.FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    with pdf.table(first_row_as_headings=False) as table:
        table.row().cell("Revenue in thousands", colspan=3)
        for row in rows:
            table.row(row)
    assert shown(bytes(pdf.output())) == [
        ("caption", "Revenue in thousands"),
        ("header", rows[0]),
        ("row", rows[1]),
        ("row", rows[2]),
    ]


def test_a_cell_over_several_rows_belongs_to_each():
    pdf = fpdf.FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    with pdf.table() as table:
        table.row(("Day", "Part", "Who"))
        row = table.row()
        row.cell("Monday", rowspan=2)
        row.cell("morning")
        row.cell("Ada")
        table.row(("evening", "Bo"))
    assert shown(bytes(pdf.output()))[1:] == [
        ("row", ("Monday", "morning", "Ada")),
        ("row", ("Monday", "evening", "Bo")),
    ]


def test_labels_and_values_are_rows():
    labels = ["Name:", "Street:", "City:", "Phone:"]
    values = ["Ada Holm", "Mill Road 3", "Ostra", "0800 55"]
    places = [(x, 20 + 7 * row, text) for x, side in ((20, labels), (70, values)) for row, text in enumerate(side)]
    assert shown(drawn(*places)) == [("row", pair) for pair in zip(labels, values, strict=True)]


def test_a_page_number_between_ragged_columns_keeps_them_apart():
    lines = [f"The mill of the town was built in the year {year}, and" for year in range(1700, 1708)]
    lines[3] = lines[7] = "So it was."
    texts = [(15, 30 + 5 * n, line) for n, line in enumerate(lines)]
    texts += [(110, 30 + 5 * n, line.replace("mill", "kiln")) for n, line in enumerate(lines)]
    blocks = filled(read_pdf(drawn(*texts, (102, 280, "1"), size=9)))
    assert not any("mill" in block.text and "kiln" in block.text for block in blocks)
    assert not any(block.cells for block in blocks)


def test_exponents_and_marks_of_footnotes_are_no_digits():
    pdf = fpdf.FPDF()
    pdf.add_page()
    for text, place in (
        ("It costs 4.50", "LINE"),
        ("1", "SUP"),
        (" euros for 10", "LINE"),
        ("6", "SUP"),
        (" m", "LINE"),
    ):
        pdf.set_font("Helvetica", size=11)
        pdf.char_vpos = place
        pdf.write(6, text)
    assert [block.text for block in read_pdf(bytes(pdf.output())).blocks] == ["It costs 4.50^1 euros for 10^6 m"]


def test_a_cell_over_several_columns_belongs_to_each():
    pdf = fpdf.FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    with pdf.table(num_heading_rows=1) as table:
        head = table.row()
        head.cell("Who")
        head.cell("Week", colspan=2)
        table.row(("", "AM", "PM"))
        table.row(("All", "5", "6"))
        table.row().cell("Winter", colspan=3)
        last = table.row()
        last.cell("All")
        last.cell("4", colspan=2)
    header = ("header", ("Who", "Week AM", "Week PM"))
    assert shown(bytes(pdf.output())) == [
        header,
        ("row", ("All", "5", "6")),
        ("caption", "Winter"),
        header,
        ("row", ("All", "4", "4")),
    ]


def test_a_table_that_is_wider_than_its_column_leaves_the_columns_apart():
    pdf = fpdf.FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=8)
    for x, word in ((10, "mill"), (75, "kiln"), (140, "barn")):
        for line in range(40):
            pdf.text(x, 20 + 4 * line, f"the {word} of the town has line {line + 10} and more")
    for row in range(4):
        pdf.text(198, 60 + 4 * row, f"{row} kg")
    text = " ".join(" ".join((block.text, *block.cells)) for block in read_pdf(bytes(pdf.output())).blocks)
    found = [word for word in text.split() if word in ("mill", "kiln", "barn")]
    assert found == ["mill"] * 40 + ["kiln"] * 40 + ["barn"] * 40
