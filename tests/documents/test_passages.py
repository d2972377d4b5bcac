"""Real documents of every kind as passages."""

from __future__ import annotations

import sys
import uuid
from itertools import pairwise

import pytest

import convqa
from convqa.documents import DocumentFile, Unreadable
from convqa.documents.child import DocumentReader
from convqa.documents.passages import read_document
from convqa.domain import Query
from convqa.errors import InputError
from convqa.indexing import index_sources
from convqa.stores import open_store
from convqa.stores.base import SearchParams
from convqa.text.quotes import table_row


@pytest.fixture(scope="module")
def reader():
    with DocumentReader() as reader:
        yield reader


@pytest.fixture
def read(reader):
    def of(name, data, language="en", base_url="", **meta):
        file = DocumentFile(name, lambda: data, meta)
        return read_document(file, data, reader, language, base_url).passages

    return of


def whole(passages):
    return "\n".join(passage.text for passage in passages)


def test_a_pdf_keeps_its_title_and_pages(read, make):
    words = make.safety.split()
    texts = [" ".join(["About", *words[number:], *words[:number]]) + "." for number in range(1, 19)]
    data = make.pdf([["# 1 Safety", *texts[:9]], ["# 2 Repair", *texts[9:]]], "The Manual", "ACME 2024")
    passages = read("a/manual.pdf", data)
    assert [passage.id for passage in passages] == [f"a/manual.pdf_p{n}" for n in range(1, len(passages) + 1)]
    assert {passage.title for passage in passages} == {"The Manual"}
    assert [passage.meta["page"] for passage in passages] == [1, 1, 2, 2]
    assert "\n2 Repair\n\nAbout " in whole(passages)
    assert passages[0].meta | {"digest": "", "end": 0, "date": ""} == {
        "file": "a/manual.pdf", "start": 0, "end": 0, "page": 1, "date": "", "digest": "",
    }  # fmt: skip
    assert "digest" not in passages[1].meta and passages[1].url == ""


def test_offsets_are_into_one_text_of_which_passages_are_parts(read, make):
    passages = read("x.md", ("# Title\n\n" + f"{make.safety}\n\n" * 30).encode())
    assert len(passages) > 3
    for passage in passages:
        assert len(passage.text) == passage.meta["end"] - passage.meta["start"]
    assert all(first.meta["end"] < second.meta["start"] for first, second in pairwise(passages))


def test_pages_of_the_web_lose_what_is_around_their_text(read, make):
    (passage,) = read("coffee.html", make.html.encode())
    assert passage.title == "How to brew coffee"
    assert "Take twenty grams of coffee and grind them finely." in " ".join(passage.text.split())
    assert "- Grind the beans finely." in passage.text and "| Espresso | 18 |" in passage.text
    assert "brew --cups 2" in passage.text and "The file_name_of_it is *.brew, in [brackets]." in passage.text
    for junk in ("cookie", "Home", "var x", "#", "**", "`", "---", "\\"):
        assert junk not in passage.text


def test_markdown_is_plain_text_in_any_language(read, make):
    (passage,) = read("handbook.md", make.markdown.encode())
    assert passage.title == "The handbook"
    assert passage.text.startswith(
        "First steps\n\nThe device needs 12 V, see the manual.\n\nInstallation\n\npip install"
    )
    assert "# the hash is no heading" in passage.text
    assert "| Lamp | 4711 |" in passage.text and "|--" not in passage.text
    assert passage.text.endswith("Żółć i gęś: Grüße aus München. 東京は日本の首都です。")


def test_text_is_read_with_any_byte_order_mark(read):
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (passage,) = read("n.txt", "Überschrift\r\n\r\nDer erste Satz.\r\n".encode(encoding), "de")
        assert (passage.title, passage.text) == ("Überschrift", "Überschrift\n\nDer erste Satz.")


def test_the_file_name_is_the_title_where_there_is_no_other(read, make):
    assert read("2024/report.txt", b"It all begins with a sentence.")[0].title == "report"
    assert read("r.pdf", make.pdf([["It begins with a sentence."]], "Microsoft Word - r.doc"))[0].title == "r"
    for title in ("untitled", "about:blank"):
        assert read("r.pdf", make.pdf([["It begins with a sentence."]], title))[0].title == "r"


def test_a_date_in_title_or_name_counts_where_nothing_else_says_one(read):
    def date(name, text, **meta):
        return read(name, text.encode(), **meta)[0].meta.get("date")

    assert date("2024/minutes-2025-03-14.md", "Text.") == "2025-03-14"
    assert date("minutes-2025-03-14.md", "# Budget of 2026\n\nText.") == "2026"
    assert date("minutes_202503.md", "Text.", date="2024-01-01") == "2024-01-01"
    assert date("order-1234567.md", "Text.") is None


def test_soft_hyphens_ligatures_and_control_characters_are_no_part_of_words(read):
    (passage,) = read("n.txt", "The of\ufb01ce is o\u00adpen\x07.".encode())
    assert passage.text == "The office is open."


def test_what_stands_on_a_page_of_a_short_pdf_is_cited_from_that_page(read, make):
    holiday = "Employees have 28 days of holiday a year. Up to five days can be carried over to the next year."
    canteen = "The canteen moves to building B in October. Its new cook is Ana Costa."
    data = make.pdf([["# Handbook"], [holiday], [canteen], ["Parking costs 3 euros a day.", "Ask at the gate."]])
    passages = read("a.pdf", data, base_url="https://x.org")
    assert [(passage.text.split("\n")[0], passage.url.partition("#")[2]) for passage in passages] == [
        ("Handbook", "page=1"), (canteen, "page=3"), ("Parking costs 3 euros a day.", "page=4"),
    ]  # fmt: skip


def test_the_url_leads_to_the_document_and_its_page(read, make):
    data = make.pdf([["The first page."], ["# Two", make.safety * 3]])
    assert read("a b/ü.pdf", data, base_url="https://x.org/docs/")[-1].url == (
        "https://x.org/docs/a%20b/%C3%BC.pdf#page=" + str(read("a.pdf", data)[-1].meta["page"])
    )
    assert read("n.txt", b"Some text.", base_url="https://x.org")[0].url == "https://x.org/n.txt"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"", "it is empty"),
        ("a.pdf", b" \n", "it is empty"),
        ("a.txt", b"\x89PNG\x00\x80\x81b", "it contains binary data"),
        ("a.txt", b"- . ! -", "it has no text"),
        ("a.html", b"<html><body></body></html>", "it has no text"),
        ("a.html", b"\x00\x01\x02", "it has no text|binary|damaged"),
        ("a.docx", b"PK\x03\x04 damaged", "it is damaged or of another type"),
        ("a.docx", b"no zip", "it is damaged or of another type"),
        ("a.pdf", b"%PDF-1.4 damaged", "it is damaged or no PDF"),
        ("a\nb.txt", b"Some text.", r"its name has the character U\+000A; rename it"),
        ("a\udcfc.txt", b"Some text.", r"its name has the character U\+DCFC"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why(caplog, read, name, data, message):
    with pytest.raises(Unreadable, match=message):
        read(name, data)
    assert caplog.records == []


OUTSIDE = """
from convqa.documents import Block, Document, DocumentFile, DocumentFormat, Unreadable


def read(data):
    if data == b"odd":
        raise Unreadable("it is odd")
    pages = data.decode().split("+")
    return Document(tuple(Block("paragraph", page, page=number) for number, page in enumerate(pages, 1)), "The title")


form = DocumentFormat((".form",), read)


def shelf(location):
    for name in ("a.form", "b.form", "c.unknown"):
        yield DocumentFile(name, lambda name=name: contents[name], {"shelf": location})


contents = {"a.form": b"The first page of it. +The second page of it.", "b.form": b"odd"}
"""


@pytest.fixture
def outside(installed):
    """Installs a package with a format and a source of documents."""
    name = f"outside_{uuid.uuid4().hex[:8]}"
    installed(name, "convqa.document_formats", f"form = {name}:form", OUTSIDE)
    installed(f"{name}_source", "convqa.document_sources", f"shelf = {name}:shelf", "")
    yield name
    sys.modules.pop(name, None)


def test_a_format_of_another_package_is_read_as_convqas_own(outside, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "A.FORM").write_text("One sentence. +And another one.")
    (tmp_path / "docs" / "b.txt").write_text("A text.")
    indexed = index_sources([tmp_path / "docs"], str(tmp_path / "c"))
    first, text = sorted(open_store(str(tmp_path / "c")).scan(), key=lambda passage: passage.id)
    assert (indexed.read, first.title, first.text) == (2, "The title", "One sentence.\n\nAnd another one.")
    assert first.meta["page"] == 1 and text.title == "b"


def test_a_source_of_another_package_yields_documents_with_meta(outside, tmp_path):
    url = str(tmp_path / "c")
    indexed = index_sources(["shelf:top//left"], url)
    (passage,) = open_store(url).scan()
    assert (indexed.read, indexed.unread) == (1, {"b.form": "it is odd"})
    assert (passage.id, passage.meta["shelf"], passage.meta["file"]) == ("a.form_p1", "shelf:top//left", "a.form")
    assert index_sources(["shelf:top//left"], url).same == 1
    # Changed meta is a changed document.
    assert index_sources(["shelf:bottom"], url).read == 1
    with pytest.raises(InputError, match=r"\*\.form.*shelf:"):
        index_sources(["shelves:x"], url)


@pytest.mark.parametrize(
    ("source", "message"), [("form = 3", "form .*DocumentFormat, got 3"), ("", "form: the entry point")]
)
def test_a_format_that_breaks_the_rules_is_named(installed, tmp_path, source, message):
    name = f"broken_{uuid.uuid4().hex[:8]}"
    installed(name, "convqa.document_formats", f"form = {name}:form", source)
    with pytest.raises(InputError, match=message):
        index_sources([tmp_path], str(tmp_path / "c"))


def test_a_filter_answers_from_the_documents_of_a_folder_with_that_meta(tmp_path):
    for team, hour in (("law", "nine"), ("tax", "ten")):
        folder = tmp_path / "docs" / team
        folder.mkdir(parents=True)
        (folder / "meta.yaml").write_text(f"team: {team}\n")
        (folder / "hours.md").write_text(f"---\nauthor: Ada\nteam: other\n---\nThe office opens at {hour}.")
    index_sources([tmp_path / "docs"], str(tmp_path / "c"))
    talk = convqa.load("copy-bm25", collection=str(tmp_path / "c")).conversation()
    for team, hour in (("law", "nine"), ("tax", "ten")):
        response = talk.ask("When does the office open?", filter={"team": [team]})
        assert response.answer.text == f"The office opens at {hour}."
        assert [hit.passage.meta["author"] for hit in response.ranking.hits] == ["Ada"]


def test_pages_and_tables_are_counted(make, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.pdf").write_bytes(make.pdf([["# Handbook"], ["It opens at nine."]]))
    (tmp_path / "docs" / "b.md").write_text("| a | b |\n|---|---|\n| 1 | 2 |\n\n| c | d |\n|---|---|\n| 3 | 4 |\n")
    indexed = index_sources([tmp_path / "docs"], str(tmp_path / "c"))
    assert indexed.counts == {"pages": 2, "tables": 2, "recognized pages": 0}


def test_a_filter_accepts_any_value_of_a_list(tmp_path):
    folder = tmp_path / "contracts"
    folder.mkdir()
    (folder / "meta.yaml").write_text("team: [law, tax]\n")
    (folder / "a.txt").write_text("The office opens at nine.")
    index = str(tmp_path / "index")
    convqa.index(str(folder), index, vectors=False)
    for team, count in (("law", 1), ("tax", 1), ("law, tax", 0)):
        found = open_store(index).search([Query("office")], 10, SearchParams(filter={"team": (team,)}))
        assert len(found[0].hits) == count
    assert next(open_store(index).scan()).meta["team"] == ["law", "tax"]


def test_a_bar_in_a_cell_stays_in_it(tmp_path):
    (tmp_path / "a.csv").write_text('name,sign\npipe,"a | b"\n')
    index = str(tmp_path / "index")
    convqa.index(str(tmp_path / "a.csv"), index, vectors=False)
    passage = next(open_store(index).scan())
    assert table_row(passage, passage.units[-1]).cells == ["pipe", "a | b"]


def test_points_in_numbers_end_no_sentence(read):
    assert read("a.txt", b"1.25|" * 260_000)


@pytest.mark.parametrize(
    ("data", "meta", "said"),
    [
        (b"It is free.", {"note": "x" * 10_001}, "its properties have more than 10,000 characters"),
        (b"# " + b"x" * 2**20 + b"\n\nIt is free.", {}, "expected at most 1,048,576 bytes"),
        (b"Yes. " * 250_002, {}, "it has more than 250,000 sentences and lines; split it"),
    ],
)
def test_a_document_whose_passages_would_be_too_large_or_too_many_is_unreadable(read, data, meta, said):
    with pytest.raises(Unreadable, match=said):
        read("a.md", data, **meta)
