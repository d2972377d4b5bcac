"""Documents that answer differently: the later one is quoted, the other is named, and they are never joined."""

from __future__ import annotations

import pytest

from convqa.components.builders.sentences import SentencesBuilder
from convqa.domain import Hit, Passage, Ranking, Reading, Rewrite, Span, Turn, TurnId


def answer(question, *texts, gap=1.0, titles=("", "", "")):
    """Build an answer of documents as (file, date, text), best first."""
    passages = []
    for number, (file, date, text) in enumerate(texts):
        meta = {"file": file, "date": date} if date else {"file": file}
        passages.append(Passage(str(number), text, titles[number], meta=meta))
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


@pytest.mark.parametrize(
    ("older", "later"),
    [
        ("leave-2023", "leave-2024"),
        ("leave 2024-03", "leave 2024-11"),
        ("20240305 leave", "20241105 leave"),
        ("leave, March 2024", "leave, 2 October 2024"),
        ("leave 9. Mai 2024", "leave 10. Dezember 2024"),
        ("leave v1", "leave v2"),
        ("leave, version 1.4", "leave, version 2.0"),
    ],
)
@pytest.mark.parametrize("date", ["", "2013-12-23"])
def test_dates_and_versions_in_names_count_more_than_properties(older, later, date):
    made = answer(QUESTION, (f"{older}.docx", date, OLD[2]), (f"{later}.docx", date, NEW[2]))
    assert made.text == f"{NEW[2]} Older ({older}.docx): {OLD[2]}"


@pytest.mark.parametrize(
    ("older", "later"),
    [
        ("Valid from 1 January 2023.", "Valid from April 1, 2025."),
        ("Held on 3 May 2024.", "Held on 14 May 2024."),
        ("Printed in Oct. 2024.", "Printed in November 2024."),
        ("In 2022 we count anew.", "In 2024 we count anew."),
    ],
)
def test_a_date_at_the_beginning_of_the_text_counts(older, later):
    made = answer(QUESTION, ("leave-a.md", "", f"{older} {OLD[2]}"), ("leave-b.md", "", f"{later} {NEW[2]}"))
    assert made.text == f"{later} {NEW[2]} Older (leave-a.md): {older} {OLD[2]}"


def test_a_date_far_from_the_beginning_does_not_count():
    texts = [
        (file, "", f"{text} {'So it is. ' * 40} Since {year}.") for file, _, text, year in ((*OLD, 2023), (*NEW, 2024))
    ]
    texts = [(f"{letter}.md", date, text) for letter, (_, date, text) in zip("ab", texts, strict=True)]
    assert "b.md says otherwise" in answer(QUESTION, *texts).text


def test_the_year_asked_about_counts_if_the_later_document_is_the_better():
    made = answer("How many days of annual leave were there in 2023?", NEW, OLD)
    assert made.text == f"{OLD[2]} Later (leave-2024.md): {NEW[2]}"


def test_nothing_else_of_the_other_document_is_joined():
    more = (OLD[0], OLD[1], "Forms are in the office.")
    assert answer(QUESTION, NEW, OLD, more).text == f"{NEW[2]} Older (leave-2023.md): {OLD[2]}"


def test_numbers_in_words_differ_too():
    made = answer(
        "How long are books lent?",
        ("a.md", "", "Books are lent for four weeks."),
        ("b.md", "", "Books are lent for three weeks."),
    )
    assert made.text == "Books are lent for four weeks. b.md says otherwise: Books are lent for three weeks."


def test_most_words_asked_are_enough():
    older = ("old.md", "2023", "All staff of Corran are entitled to 24 days of paid leave.")
    later = ("rules.md", "2025", "At Corran you get 27 days of paid leave.")
    made = answer("How many days of paid leave do I get?", later, older)
    assert made.text == f"{later[2]} Older (old.md): {older[2]}"


@pytest.mark.parametrize(("title", "is_rival"), [("Club rules, edition of May 2024", True), ("Model cars", False)])
def test_a_question_in_other_words_needs_documents_of_one_title(title, is_rival):
    older = ("drones.md", "2023", "The highest altitude is 80 metres.")
    later = ("rules.md", "2024", "The highest altitude is 100 metres.")
    made = answer("How high may I fly?", older, later, titles=("Club rules, edition of March 2023", title))
    assert ("Older (drones.md)" in made.text) == is_rival


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


def test_a_time_of_day_does_not_contradict_a_telephone_number():
    phone = ("club.md", "2024-01", "Safety officer: Maureen Tate, 01632 960 114")
    time = ("safety.md", "2024-02", "The flag is set at 6:00 by the safety officer, Maureen Tate.")
    other = ("old.md", "2024-02", "Safety officer: Maureen Tate, 01632 960 115")
    assert answer("Who is Maureen Tate?", phone, time).text == f"{phone[2]} {time[2]}"
    assert "Older" in answer("Who is Maureen Tate?", phone, other).text


def test_a_far_worse_statement_is_no_rival():
    assert answer(QUESTION, OLD, NEW, gap=7.0).text.startswith(OLD[2])
