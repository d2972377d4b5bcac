"""Documents that answer differently: the later one is quoted, the other is named, and they are never joined."""

from __future__ import annotations

import pytest

from convqa.components.builders.sentences import SentencesBuilder
from convqa.domain import Hit, Passage, Ranking, Reading, Rewrite, Span, Turn, TurnId


def answer(question, *texts, gap=1.0):
    """Build an answer of documents as (file, date, text), best first."""
    passages = []
    for number, (file, date, text) in enumerate(texts):
        meta = {"file": file, "date": date} if date else {"file": file}
        passages.append(Passage(str(number), text, meta=meta))
    spans = [
        Span(passage.id, 0, len(passage.text), passage.text, 9.0 - gap * number)
        for number, passage in enumerate(passages)
    ]
    ranking = Ranking(tuple(Hit(passage.id, 9.0 - number, passage) for number, passage in enumerate(passages)))
    builder = SentencesBuilder(max_sentences=4, best_first=True)
    return builder.build(Turn(TurnId(1, 1), question), Rewrite.unchanged(question), ranking, Reading(tuple(spans), 0.0))


OLD = ("leave-2023.md", "2023-01", "Annual leave is 26 days for all.")
NEW = ("leave-2024.md", "2024-01", "Everybody has 28 days of annual leave.")
QUESTION = "How many days of annual leave do I have?"


def test_the_later_document_is_quoted_and_the_older_one_named():
    made = answer(QUESTION, OLD, NEW)
    assert made.text == f"{NEW[2]} Older (leave-2023.md): {OLD[2]}"
    assert [citation.passage_id for sentence in made.sentences for citation in sentence.citations] == ["1", "0"]


def test_the_document_of_the_year_asked_about_is_quoted():
    made = answer("How many days of annual leave were there in 2023?", OLD, NEW)
    assert made.text == f"{OLD[2]} Later (leave-2024.md): {NEW[2]}"


@pytest.mark.parametrize("dates", [("", ""), ("2024", "")])
def test_of_unknown_order_both_are_said_to_disagree(dates):
    one, other = ("rules.md", dates[0], OLD[2]), ("rules-new.md", dates[1], NEW[2])
    assert answer(QUESTION, one, other).text == f"{OLD[2]} rules-new.md says otherwise: {NEW[2]}"


def test_a_date_in_the_name_counts():
    assert answer(QUESTION, (OLD[0], "", OLD[2]), (NEW[0], "", NEW[2])).text.startswith(NEW[2])


def test_another_documents_news_of_the_same_is_later():
    menu = ("canteen.md", "2023", "A meal costs 6 euros.")
    news = ("news.md", "2025-03", "From 1 April a meal costs 7 euros.")
    assert answer("What does a meal cost?", menu, news).text == f"{news[2]} Older (canteen.md): {menu[2]}"


@pytest.mark.parametrize(
    "other",
    [
        ("sauna.md", "2025", "The sauna costs 9 euros."),
        ("pool-2025.md", "2025", "The pool costs 4 euros."),
        ("pool.md", "2025", "The pool costs 5 euros in winter."),
    ],
)
def test_what_is_about_something_else_or_says_the_same_is_no_rival(other):
    made = answer("What does the pool cost?", ("pool.md", "2024", "The pool costs 4 euros."), other)
    assert "Older" not in made.text and "otherwise" not in made.text
    assert made.text.startswith("The pool costs 4 euros.")


def test_a_far_worse_statement_is_no_rival():
    assert answer(QUESTION, OLD, NEW, gap=7.0).text.startswith(OLD[2])
