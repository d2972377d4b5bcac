"""Web pages as blocks."""

from __future__ import annotations

import pytest

from convqa.documents import Block, Unreadable
from convqa.documents.html import read_html, read_markup

pytest.importorskip("lxml")


def blocks(markup):
    return list(read_html(markup.encode()).blocks)


def test_headings_lists_and_text_need_no_elements_around_them():
    assert blocks("<body><h1>Bus</h1>It leaves at <b>7:15</b>.<ul><li>Adults pay 3 euros.<li>Children 1.</ul>So.") == [
        Block("heading", "Bus", 1),
        Block("paragraph", "It leaves at 7:15."),
        Block("item", "Adults pay 3 euros."),
        Block("item", "Children 1."),
        Block("paragraph", "So."),
    ]


def test_lists_keep_their_numbers_and_depth():
    markup = "<ol start=4><li>Open<ol type=a><li>the <p>lid</p></ol><li value=9>Close<table><tr><td>a<td>b</table></ol>"
    assert blocks(markup) == [
        Block("item", "Open", marker="4."),
        Block("item", "the\nlid", marker="a."),
        Block("item", "Close", marker="9."),
        Block("row", cells=("a", "b")),
        Block("paragraph"),
    ]


def test_a_definition_is_an_item_and_a_question_a_paragraph():
    assert blocks("<dl><dt>Fee<dd>5 euros<dt>When?<dd>At noon.</dl>") == [
        Block("item", "Fee: 5 euros"),
        Block("paragraph", "When?"),
        Block("paragraph", "At noon."),
    ]


def test_a_table_has_a_caption_a_header_and_the_text_of_spans_in_every_row():
    markup = (
        "<table><caption>Fees</caption><thead><tr><th>Who<th colspan=2>Price</thead>"
        "<tr><td rowspan=2>Kiln<td>Mon<td>5<tr><td>Tue<td>6</table>"
    )
    assert blocks(markup) == [
        Block("caption", "Fees"),
        Block("header", cells=("Who", "Price", "")),
        Block("row", cells=("Kiln", "Mon", "5")),
        Block("row", cells=("Kiln", "Tue", "6")),
        Block("paragraph"),
    ]


def test_tables_for_layout_are_read_as_what_is_in_them():
    assert blocks("<table><tr><td><h2>A</h2>One.<td><p>Two.</table><table><tr><td>Three.</table>") == [
        Block("heading", "A", 2),
        Block("paragraph", "One."),
        Block("paragraph", "Two."),
        Block("paragraph", "Three."),
    ]


def test_huge_spans_are_bounded():
    row, _ = blocks("<table><tr><td colspan=999999>a<td rowspan=999999>b</table>")
    assert row.cells == ("a",)


@pytest.mark.parametrize(
    "junk",
    [
        "<nav><a href=/>Home</a></nav>",
        "<div role=navigation>Home</div>",
        "<div class='cookie-banner'>We use cookies.</div>",
        "<ul><li><a href=/a>Home</a><li><a href=/b>Shop</a><li><a href=/c>Contact</a></ul>",
        "<script>var x</script><style>p {}</style><p hidden>x</p><p style='display: none'>x</p>",
        "<select><option>A</option></select><button>Send</button>",
        "<!-- a comment -->",
    ],
)
def test_what_is_around_the_text_of_a_page_is_left_out(junk):
    assert [block.text for block in blocks(f"<body>{junk}<p>The text.</p>{junk}")] == ["The text."]


def test_a_footer_with_facts_and_a_list_of_long_links_stay():
    footer = "<footer>Open daily from 9 to 5.</footer>"
    links = "".join(f"<li><a href=/{n}>The report on the state of the harbour in the year {n}</a>" for n in range(4))
    assert len(blocks(f"<ul>{links}</ul>{footer}")) == 5


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>Fees | Museum | Museum</title>", "Fees"),
        ("<title>Museum | Opening hours</title><body><h1>Opening hours</h1>", "Opening hours"),
        ("<title>Café Größe – Öffnungszeiten</title>", "Café Größe – Öffnungszeiten"),
    ],
)
def test_the_title_is_that_of_the_page_and_not_of_the_site(head, title):
    assert read_html(f"{head}<p>Text.".encode()).title == title


@pytest.mark.parametrize(
    ("declaration", "encoding"), [("", "utf-8"), ("<meta charset=iso-8859-1>", "latin-1"), ("", "utf-16")]
)
def test_title_and_text_are_decoded_once(declaration, encoding):
    document = read_html(f"<html><head>{declaration}<title>Größe</title></head><p>Öffnung.".encode(encoding))
    assert (document.title, document.blocks[0].text) == ("Größe", "Öffnung.")


def test_date_author_and_language_are_meta():
    date = "<meta property=article:published_time content=2026-05-01T09:00>"
    head = f"<html lang=en><meta name=author content='Ada L.'>{date}"
    assert read_markup(head + "<p>Text.").meta == {"date": "2026-05-01", "author": "Ada L.", "language": "en"}


def test_a_page_without_text_is_refused():
    with pytest.raises(Unreadable):
        read_html(b"  ")
    assert read_html(b"<html><body></body></html>").blocks == ()


@pytest.mark.parametrize("depth", [200, 300, 50_000])
def test_deep_nesting_is_read(depth):
    page = f"<p>Before.{'<div><span>' * depth}<p>Deep.</p>{'</span></div>' * depth}<p>After."
    assert [block.text for block in blocks(page)] == ["Before.", "Deep.", "After."]


def test_tables_that_lie_too_deep_in_one_another_are_said(caplog):
    blocks("<p>Before." + "<table><tr><td>" * 400 + "Deep.")
    assert "more than 250 elements" in caplog.text


@pytest.mark.parametrize(
    "markup",
    [
        "<div class='wy-grid-for-nav'><div class='wy-nav-content'>{}</div></div>",
        "<section id=search>{}</section>",
        "<div class=section id=menu>{}</div>",
        "<div class=menu>{}</div>",
        "<h2 id=navigation>{}</h2>",
        "<h2><a class=toc-backref href=#toc>{}</a></h2>",
        "<h2 class=accordion-header><button class=accordion-button>{}</button></h2>",
        "<button aria-expanded=false>{}</button>",
        "<div class='accordion-collapse' style='display: none'>{}</div>",
    ],
)
def test_text_in_elements_that_are_named_like_navigation_stays(markup):
    page = markup.format("<h2>Menu</h2>Soup is 4 euros.") if "h2" not in markup else markup.format("Soup")
    texts = [block.text for block in blocks(f"<p>We cook every day, and all is fresh.</p>{page}<p>Come in.")]
    assert texts[-2] in ("Soup is 4 euros.", "Soup")


def test_lists_of_links_stay_in_the_text_and_on_a_page_of_links():
    links = "<ul>" + "".join(f"<li><a href=/{name}>{name}</a>" for name in ("Elbe", "Oder", "Rhine")) + "</ul>"
    assert len(blocks(f"<main><h1>Rivers</h1><p>There are three of them.</p>{links}</main>")) == 5
    assert len(blocks(f"<table><tr><td>North<td>{links}</table><p>All the rivers of the north and of the west.")) == 3
    assert len(blocks(f"<nav>{links}</nav>")) == 3


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<span class=a>Soup of the day</span><span class=b>\u20ac4.50</span>", "Soup of the day \u20ac4.50"),
        ("<span class=a>Soup</span><span class=b>4.50</span>", "Soup 4.50"),
        ("An <span>i</span><span>Phone</span> of <span class=a>H</span><span class=b>ans</span>", "An iPhone of Hans"),
        ("It costs 4 euros.<sup><a href='#note-3'>3</a></sup>", "It costs 4 euros.[3]"),
        ("It has 20 m<sup>2</sup>.", "It has 20 m2."),
    ],
)
def test_words_that_a_style_sets_apart_stay_apart(markup, text):
    assert blocks(f"<p>{markup}</p>") == [Block("paragraph", text)]


def test_a_first_row_in_bold_is_a_header():
    header, *_ = blocks("<table><tr><td><b>Day</b><td><p><strong>Hours</strong></p><tr><td>Mon<td>8 to 17</table>")
    assert (header.kind, header.cells) == ("header", ("Day", "Hours"))
    assert blocks("<table><tr><td><b>Mon</b><td>8<tr><td><b>Tue</b><td>9</table>")[0].kind == "row"


def test_formulas_are_read():
    formula = "<math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup><annotation>x</annotation></math>"
    assert blocks(f"<p>So {formula}.") == [Block("paragraph", "So E=mc^2.")]


def test_header_cells_need_no_row():
    header, *_ = blocks("<table><thead><th>Id</th><th>Name</th></thead><tr><td>1</td><td>Ann</td></tr></table>")
    assert header == Block("header", cells=("Id", "Name"))


def test_definitions_within_a_definition_are_read_once():
    inner = "<dl><dt>put(x)<dd>Adds x.</dl>"
    texts = [block.text for block in blocks(f"<dl><dt>class Kiln<dd><p>Fires it.</p><p>So it is.</p>{inner}</dl>")]
    assert texts == ["class Kiln", "Fires it.", "So it is.", "put(x): Adds x."]


def test_images_and_forms_outside_of_navigation_are_counted():
    form = "<form><label>Name</label><input></form>"
    page = f"<nav><img src=a>{form}</nav><p>The <img src=b>kiln.</p><img src=c>{form}"
    document = read_html(page.encode())
    assert document.blocks[0].text == "The kiln."
    assert document.unread == ("images: 2", "forms: 1", "words of navigation: 1")
