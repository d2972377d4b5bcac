"""Web pages as blocks."""

from __future__ import annotations

import re

import pytest

from convqa.documents import Block, Unreadable
from convqa.documents.html import read_html, read_markup
from convqa.documents.text import clean

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
        Block("header", cells=("Who", "Price", "Price")),
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


def test_an_empty_table_has_no_blocks():
    assert blocks("<p>a<table><tr><td> <td> </table>") == [Block("paragraph", "a")]


def test_huge_spans_are_bounded():
    row, _ = blocks("<table><tr><td colspan=999999>a<td rowspan=999999>b</table>")
    assert row.cells == ("a", "b")


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
        "<footer>© A</footer>",
    ],
)
def test_what_is_around_the_text_of_a_page_is_left_out(junk):
    assert [block.text for block in blocks(f"<body>{junk}<p>The text.</p>{junk}")] == ["The text."]


def test_a_copyright_does_not_end_an_answer_of_the_page():
    page = "<h3>Are there courses in winter?</h3><p>In the library, every second Tuesday.</p>"
    footer = "<footer><p>© 2026 The sailing club</p></footer>"
    assert blocks(page + footer) == blocks(page)


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
        ("It is 10<sup>6</sup> m.", "It is 10^6 m."),
        ("It costs 4.50<sup>1</sup> euros.", "It costs 4.50^1 euros."),
        ("It costs 5<a href='#note-3'><sup>3</sup></a>.", "It costs 5[3]."),
    ],
)
def test_words_that_a_style_sets_apart_stay_apart(markup, text):
    (block,) = blocks(f"<p>{markup}</p>")
    assert clean(block.text) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p><b>E03 is displayed.</b> Send the machine in.", "E03 is displayed.\u2003Send the machine in."),
        ("<p><strong>Stop!\n</strong><a href=x>Call</a> us.", "Stop!\u2003Call us."),
        ("<li>\n<p><strong>Refunds.</strong><br>We pay.", "Refunds.\u2003\nWe pay."),
        ("<p><b>Open?</b> Yes.", "Open?\nYes."),
        ("<p>Pay <b>now.</b> Or not.", "Pay now. Or not."),
        ("<p><b>Members</b> pay less.", "Members pay less."),
        ("<p><b hidden>Note.</b> It is free.", "It is free."),
    ],
)
def test_bold_text_that_begins_a_paragraph_is_set_apart_from_its_text(markup, text):
    (block,) = blocks(markup)
    assert block.text == text


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
    assert document.unread == ("2 images", "1 forms", "1 words of navigation")


def rows_of(markup):
    """The cells of the rows of a table, header rows marked."""
    found = blocks(markup)
    return [("#", *block.cells) if block.kind == "header" else block.cells for block in found if block.cells]


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("<tr><th>Item<th>Price<tr><td>Pear<td>2", [("#", "Item", "Price"), ("Pear", "2")]),
        ("<td>Mon<td>9-17</tr><tr><td>Tue<td>closed", [("Mon", "9-17"), ("Tue", "closed")]),
        ("<tfoot><tr><td>Sum<td>3<tbody><tr><td>Pen<td>3", [("Pen", "3"), ("Sum", "3")]),
        # A cell ends with its part of the table, and never goes over another.
        ("<tbody><tr><td rowspan=0>A<td>1<tr><td>2<tbody><tr><td>B<td>3", [("A", "1"), ("A", "2"), ("B", "3")]),
        ("<tbody><tr><td rowspan=9>A<td>1<tbody><tr><td>B<td>3", [("A", "1"), ("B", "3")]),
        (
            "<tr><td rowspan=3>A<td colspan=2>1<tr><td rowspan=2>2<td>3<tr><td>4",
            [("A", "1", "1"), ("A", "2", "3"), ("A", "2", "4")],
        ),
        (
            "<tr><td rowspan=2 colspan=2>A<td>1<tr><td>2<tr><td>B<td>b<td>3",
            [("A", "A", "1"), ("A", "A", "2"), ("B", "b", "3")],
        ),
        # The names of two header rows.
        (
            "<tr><th rowspan=2>Who<th colspan=2>Week<tr><th>AM<th>PM<tr><td>All<td>5<td>6",
            [("#", "Who", "Week AM", "Week PM"), ("All", "5", "6")],
        ),
        ("<tr><td>no<td>no<tr><td>yes<td>yes<tr><td>on<td>off", [("no", "no"), ("yes", "yes"), ("on", "off")]),
        (
            "<tr><th>Route<th>Fare<tr><th colspan=2>Winter<tr><td>North<td>3",
            [("#", "Route", "Fare"), ("#", "Route", "Fare"), ("North", "3")],
        ),
        # Lists, tables and headings in cells.
        ("<tr><td>A<td><ul><li>one<li>two</ul><tr><td>B<td>c", [("A", "one; two"), ("B", "c")]),
        (
            "<tr><th>Plan<th>Has<tr><td><h3>Pro</h3><td><table><tr><td>Users<td>3<tr><td>Disks<td>4</table>",
            [("#", "Plan", "Has"), ("Pro", "Users 3; Disks 4")],
        ),
    ],
)
def test_tables_are_read_as_browsers_show_them(table, rows):
    assert rows_of(f"<table>{table}</table>") == rows


def test_a_text_over_all_columns_is_the_caption_of_the_rows_below_it():
    table = (
        "<tr><th>Route<th>Fare<tr><td>North<td>4<tr><td colspan=2>Winter<tr><td>North<td>3<tr><td colspan=2>No dogs."
    )
    assert blocks(f"<table>{table}</table>")[1:6] == [
        Block("row", cells=("North", "4")),
        Block("caption", "Winter"),
        Block("header", cells=("Route", "Fare")),
        Block("row", cells=("North", "3")),
        Block("row", cells=("No dogs.", "")),
    ]


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("<table>One.<tr><td>a</td>two<td>b</tr><p>Three.</p>four<tr><td>c<td>d</table>", "One Three four two a b c d"),
        ("<ul>One <li>two</li> three <p>four</p></ul>", "One two three four"),
        (
            "<dl>One<dt>two</dt><dd>three</dd>four<div><dt>five</dt><dd>six</dd></div></dl>",
            "One two three four five six",
        ),
    ],
)
def test_what_stands_between_cells_items_and_definitions_is_read(markup, words):
    found = " ".join(" ".join((block.text, *block.cells)) for block in blocks(markup))
    assert re.findall(r"\w+", found) == words.split()


def test_what_follows_a_table_that_is_not_closed_is_no_cell():
    found = blocks("<table><tr><th>City<th>Fee<tr><td>Rome<td>14<h2>Contact</h2><p>Write to us.<p>Or call.")
    assert [block.text or block.cells for block in found] == [
        ("City", "Fee"), ("Rome", "14"), (), "Contact", "Write to us.", "Or call."
    ]  # fmt: skip


def test_an_answer_that_its_frame_names_is_shown_on_a_click():
    markup = "<div class=faq-item><p>Do you sell food?</p><div style='display:none'>Yes.</div></div>"
    assert [block.text for block in blocks(markup)] == ["Do you sell food?", "Yes."]
