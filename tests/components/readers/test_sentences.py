"""The lexical reader: which sentence wins, and that spans are quotes."""

from __future__ import annotations

import pytest

from convqa.components.readers.sentences import Sentences
from convqa.domain import Hit, Passage, Query, Ranking, Rewrite, Turn, TurnId

FAUST = Passage(
    "f",
    "Faust is a tragic play in two parts. It was written by Johann Wolfgang von Goethe over sixty years.\n"
    "Who has read it? The first part appeared in 1808 in Tübingen.",
    title="Goethe's Faust",
)
OTHER = Passage("o", "Weimar is a city in Thuringia, known for its culture.")


def read(question, *passages, terms=(), **options):
    ranking = Ranking(tuple(Hit(passage.id, 9.0 - place, passage) for place, passage in enumerate(passages)))
    return Sentences(**options).read(
        Turn(TurnId(1, 1), question), Rewrite(question, (Query(question, terms),)), ranking
    )


def best(*args, **options):
    return read(*args, **options).spans[0].text


def test_the_sentence_with_the_questions_words_wins():
    assert best("Who has written Faust?", OTHER, FAUST).startswith("It was written by")
    assert best("When did the first part appear?", FAUST) == "The first part appeared in 1808 in Tübingen."
    assert best("What is Weimar known for?", FAUST, OTHER) == OTHER.text


def test_history_terms_decide_where_the_question_says_nothing():
    assert best("And what about it?", FAUST, OTHER, terms=(("Thuringia", 0.3),)) == OTHER.text
    assert best("Which parts are there?", FAUST, terms=(("1808", 0.3),)) != best("Which parts are there?", FAUST)


def test_a_sentence_that_asks_is_no_answer_but_the_one_behind_it_may_be():
    faq = Passage("q", "Opening hours. Can I pay by card? Sure, all of them are welcome. Our shop is in Weimar.")
    assert best("Can I pay by card?", faq) == "Sure, all of them are welcome."


def test_a_menu_is_no_answer_even_if_it_names_what_was_asked():
    menu = "Home Services Poets Goethe Schiller Faust Tickets Contact Jobs Weimar Theatre Shop Login Imprint."
    assert best("Faust in Weimar?", Passage("m", f"{menu} In Weimar they play Faust on each of the evenings.")) != menu


def test_spans_are_quotes_best_first():
    reading = read("Who wrote Faust?", FAUST, OTHER)
    texts = {passage.id: passage.text for passage in (FAUST, OTHER)}
    assert len(reading.spans) == 5
    assert all(texts[span.passage_id][span.start : span.end] == span.text for span in reading.spans)
    assert [span.score for span in reading.spans] == sorted((span.score for span in reading.spans), reverse=True)


def test_the_null_score_says_how_much_of_the_question_was_not_found():
    assert read("Who wrote Faust?", FAUST).null_score < read("Who wrote Faust?", FAUST).spans[0].score
    assert read("Which zeppelin burned?", FAUST).null_score == 1.0
    assert read("Which zeppelin burned?", Passage("s", "No.")).spans[0].score < 1.0
    assert read("Goethe Faust", FAUST).null_score == pytest.approx(0.0)


def test_only_so_many_passages_are_read_and_those_without_text_are_passed_over():
    assert {span.passage_id for span in read("Weimar?", FAUST, OTHER, passages=1).spans} == {"f"}
    ranking = Ranking((Hit("x", 3.0), Hit("o", 2.0, OTHER), Hit("e", 1.0, Passage("e", ""))))
    reading = Sentences().read(Turn(TurnId(1, 1), "?"), Rewrite("?", (Query("?"),)), ranking)
    assert [span.passage_id for span in reading.spans] == ["o"]


def test_nothing_to_read():
    reading = read("Who wrote Faust?")
    assert (reading.spans, reading.null_score) == ((), 1.0)


def test_the_score_does_not_depend_on_the_length_of_the_question():
    long = "Please do tell me now: who has written Faust? " * 50
    assert read(long, FAUST).spans[0].score < 2.5
