"""Text of messages and back: what a client sends again is what was answered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.domain import (
    TOLD,
    UNSURE,
    Answer,
    Citation,
    Hit,
    Passage,
    Query,
    Ranking,
    Response,
    Rewrite,
    Sentence,
    TurnId,
)
from convqa.server.chat_text import exchange, marks, pieces

RANKING = Ranking(
    (
        Hit("p1", 2.0, Passage("p1", "x" * 50, "A [title]", "https://a.example/b")),
        Hit("p2", 1.0, Passage("p2", "y" * 50)),
    )
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda text: text.split() == [text] or " ".join(text.split()) == text
)
CITED = st.lists(st.sampled_from([Citation("p1", 0, 4), Citation("p1", 5, 9), Citation("p2")]), unique=True, max_size=3)


def response(answer):
    return Response(TurnId("t", 1), Rewrite("q", (Query("q"),)), RANKING, answer=answer)


def content(answer, language="en"):
    return "".join(pieces(response(answer), language))


def test_golden():
    sentences = (
        Sentence("Faust is a play.", (Citation("p1", 0, 4), Citation("p2"))),
        Sentence("See [1]."),
        Sentence("1. Buy.", (Citation("p1", 0, 4),)),
    )
    text = content(Answer.of(sentences, "en"))
    assert text == (
        "Faust is a play. [1][2] See \\[1].\n1. Buy. [1]\n\nSources:\n\n"
        f'- [1] [A (title)](https://a.example/b): "xxxx"\n- [2] p2: "{"y" * 50}"'
    )
    assert [text[start:end] for start, end, _ in marks(text)] == ["[1]", "[2]", "[1]"]
    assert exchange("q", text).answer == "Faust is a play. See [1]. 1. Buy."


@given(
    st.lists(st.tuples(TEXTS, CITED), min_size=1, max_size=4),
    st.sampled_from(["en", "ja"]),
    st.sampled_from([(), (UNSURE,), (TOLD,)]),
)
def test_what_is_sent_again_is_what_was_answered(said, language, notes):
    from dataclasses import replace

    answer = replace(Answer.of([Sentence(text, tuple(cited)) for text, cited in said], language), notes=notes)
    back = exchange("q", content(answer, language))
    assert back.status == "answered"
    if language == "ja":  # its sentences have no blank between them, a new line for a row does
        assert "".join(back.answer.split()) == "".join(answer.text.split())
    else:
        assert back.answer == answer.text.strip()


def test_questions_back_and_no_answers():
    asked = Answer("question", "Do you live in Spain?", (Sentence("Do you live in Spain?"),))
    assert exchange("q", content(asked)).status == "asked" and exchange("q", content(asked)).answer == asked.text
    none = Answer("none", "", reason="nothing was found")
    assert content(none) == "No answer: nothing was found."
    assert exchange("q", content(none)).status == exchange("q", "").status == "unanswered"
    withheld = Answer("none", "", reason="nothing was found", withheld=Sentence("It is.", (Citation("p1", 0, 4),)))
    assert content(withheld) == ('No answer: nothing was found.\n\nClosest: [A (title)](https://a.example/b): "It is."')
    assert exchange("q", content(withheld)).status == "unanswered"


def test_addresses_that_are_none_are_no_links():
    passage = Passage("p", "text", "T", "javascript:alert(1)")
    made = Response(
        TurnId("t", 1),
        Rewrite("q", (Query("q"),)),
        Ranking((Hit("p", 1.0, passage),)),
        answer=Answer.of([Sentence("S.", (Citation("p"),))], "en"),
    )
    assert "javascript" not in "".join(pieces(made, "en"))


def test_no_passage_adds_a_link_a_picture_or_a_tag():
    """Markdown shows nothing of a passage but its text, in sentences and in the list of sources."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    text = r"![x](https://a.example/?q) [a](javascript:1) \[b](c) <img src=x onerror=y> <!-- [1] [d]: e"
    passage = Passage("<b>id</b>", text, "[t](u) <script>", "https://a.example/b")
    ranking = Ranking((Hit(passage.id, 1.0, passage),))
    answer = Answer.of([Sentence(text, (Citation(passage.id, 0, len(text)),))], "en")
    said = "".join(pieces(Response(TurnId("t", 1), ranking=ranking, answer=answer), "en"))
    kinds = [part.type for block in markdown.parse(said) for part in [block, *(block.children or ())]]
    assert not {"image", "html_inline", "html_block"}.intersection(kinds)
    assert kinds.count("link_open") == 1  # the address of the source
    assert [number for _, _, number in marks(said)] == [1]
    assert exchange("q", said).answer == text


MARKUP = [
    *("![", "[", "]", "(", ")", "](", "](https://a.example)", "<", "<b>", "<!--", "`", "``", "```", "~~~", "~"),
    *("\\", "\\[", "#", "-", "|", "[1]", "[1]:", "&lt;", "\n", "\n\n", ">", '"', "*", "a", " "),
]
SAID = st.lists(st.sampled_from(MARKUP), min_size=1, max_size=9).map("".join)


@given(texts=st.lists(SAID, min_size=2, max_size=3), title=SAID, url=st.sampled_from(["", "https://b.example/c"]))
def test_no_markup_of_a_passage_counts(texts, title, url):
    """Every mark is shown, and only sources have links, whatever sentences, quotes and titles hold."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    passages = [Passage(f"p{number}", text, title, url) for number, text in enumerate(texts)]
    sentences = [Sentence(each.text, (Citation(each.id, 0, len(each.text)),)) for each in passages]
    ranking = Ranking(tuple(Hit(each.id, 1.0, each) for each in passages))
    answer = Answer("answer", " ".join(texts), tuple(sentences))
    said = "".join(pieces(Response(TurnId("t", 1), ranking=ranking, answer=answer), "en"))
    parts = [part for block in markdown.parse(said) for part in [block, *(block.children or ())]]
    assert not {"image", "html_inline", "html_block"}.intersection(part.type for part in parts)
    assert {part.attrs["href"] for part in parts if part.type == "link_open"} <= {url}
    shown = "".join(part.content for part in parts if part.type == "text")
    assert all(f"[{number}]" in shown for number in range(1, len(texts) + 1))


def test_the_marks_of_a_table_count():
    table = Sentence("| a |\n| --- |\n| 1 |", (Citation("p1", 0, 4),))
    text = content(Answer.of([table, Sentence("More.", (Citation("p2"),))], "en"))
    assert [number for _, _, number in marks(text)] == [1, 2]
    assert exchange("q", text).answer == "| a | | --- | | 1 | More."
