"""The lexical reader: which sentence wins, and that spans are quotes."""

from __future__ import annotations

import pytest

from convqa.components.readers.sentences import SentencesReader
from convqa.domain import Hit, Passage, Query, Ranking, Rewrite, Turn, TurnId

FAUST = Passage(
    "f",
    "Faust is a tragic play in two parts. It was written by Johann Wolfgang von Goethe over sixty years.\n"
    "Who has read it? The first part appeared in 1808 in Tübingen.",
    title="Goethe's Faust",
)
URL = "https://example.org"
OTHER = Passage("o", "Weimar is a city in Thuringia, known for its culture.")


def read(question, *passages, terms=(), scores=(9.0, 8.0, 7.0), **options):
    ranking = Ranking(tuple(Hit(passage.id, score, passage) for passage, score in zip(passages, scores, strict=False)))
    return SentencesReader(**options).read(
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


def test_junk_is_read_only_where_there_is_nothing_else():
    menu, prose = "Home Menu Faust Tickets Contact Us Shop Login", "In Weimar they play a drama in the evenings."
    assert [span.text for span in read("Faust?", Passage("m", f"{menu}\n{prose}", url=URL)).spans] == [prose]
    assert [span.text for span in read("Faust?", Passage("m", f"{menu}\nPrivacy Policy", url=URL)).spans] == [menu]


def test_a_span_begins_behind_its_heading():
    passage = Passage(
        "p",
        "Home Menu Contact Us Nurse Practitioner (NP) A nurse practitioner is a nurse who may treat people.",
        url=URL,
    )
    span = read("What is a nurse practitioner?", passage).spans[0]
    assert span.text == passage.text[span.start : span.end] == "A nurse practitioner is a nurse who may treat people."


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
    assert {span.passage_id for span in read("Weimar?", FAUST, OTHER, max_passages=1).spans} == {"f"}
    ranking = Ranking((Hit("x", 3.0), Hit("o", 2.0, OTHER), Hit("e", 1.0, Passage("e", ""))))
    reading = SentencesReader().read(Turn(TurnId(1, 1), "?"), Rewrite("?", (Query("?"),)), ranking)
    assert [span.passage_id for span in reading.spans] == ["o"]


def test_nothing_to_read():
    reading = read("Who wrote Faust?")
    assert (reading.spans, reading.null_score) == ((), 1.0)


def test_the_score_does_not_depend_on_the_length_of_the_question():
    short, long = "Who has written Faust?", "Who has written Faust? " * 50
    assert read(long, FAUST).spans[0].score == pytest.approx(read(short, FAUST).spans[0].score, abs=0.1)


def test_scores_are_shares():
    scores = [span.score for span in read("Who?", FAUST, OTHER).spans]
    assert len(scores) == 5 and all(0 < score < 1 for score in scores)


def test_a_passage_far_behind_counts_the_same_by_its_score():
    texts = [Passage(name, "Ada wrote the notes on the engine.") for name in "ab"]
    spans = read("Who wrote the notes?", *texts).spans
    level = read("Who wrote the notes?", *texts, scores=(9.0, 9.0)).spans
    assert [span.passage_id for span in spans] == ["a", "b"]
    assert [span.score for span in spans] == [span.score for span in level]


def test_what_is_no_text_is_read_too():
    odd = Passage("w", "A lone \ud800 half. 👍🏽 \x00. ... مرحبا بكم في فايمار.", title="\udfff")
    spans = read("What \ud800 is it?", odd).spans
    assert spans and all(odd.text[span.start : span.end] == span.text for span in spans)
