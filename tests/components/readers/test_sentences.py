"""The lexical reader: which sentence wins, and that spans are quotes."""

from __future__ import annotations

import pytest

from convqa.components.readers._sentence_scoring import expected
from convqa.components.readers.sentences import SentencesReader
from convqa.domain import Exchange, Hit, Passage, Query, Ranking, Rewrite, Turn, TurnId

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
    scores = [span.score for encoder in (None, "encoder") for span in read("Who?", FAUST, OTHER, encoder=encoder).spans]
    assert len(scores) == 10 and all(0 < score < 1 for score in scores)


def test_a_passage_far_behind_counts_less_beside_vectors_and_the_same_by_words():
    texts = [Passage(name, "Ada wrote the notes on the engine.") for name in "ab"]
    for encoder in (None, "encoder"):
        spans = read("Who wrote the notes?", *texts, encoder=encoder).spans
        level = read("Who wrote the notes?", *texts, scores=(9.0, 9.0), encoder=encoder).spans
        assert [span.passage_id for span in spans] == ["a", "b"]
        assert spans[0].score == level[0].score
        assert (spans[1].score < level[1].score) == (encoder is not None)


def evidence(passage, question, *answers, encoder="encoder"):
    history = tuple(Exchange("And?", answer) for answer in answers)
    turn, rewrite = Turn(TurnId(1, 2), question, history), Rewrite(question, (Query(question),))
    ranking = Ranking((Hit(passage.id, 1.0, passage),))
    ((sentences, _),) = SentencesReader(encoder=encoder).evidence([turn], [rewrite], [ranking])
    return [one.evidence for one in sorted(sentences, key=lambda one: one.start)]


def test_what_an_earlier_answer_said_counts_less():
    passage = Passage("p", "Ada wrote notes on the engine. Ada wrote notes on the loom.")
    assert [one.repeated for one in evidence(passage, "What did she write?")] == [0.0, 0.0]
    told = evidence(passage, "What else did she write?", "Ada met Babbage.", "Ada wrote notes on the engine.")
    assert [one.repeated for one in told] == [1.0, pytest.approx(3 / 4)]
    assert expected(told[0]) < expected(told[0]._replace(repeated=0.0))


def test_sentences_further_down_in_a_passage_count_less_beside_vectors_alone():
    first, second = evidence(Passage("p", "Ada wrote notes. Ada wrote notes."), "What did she write?")
    assert (first.opening, second.opening) == (1.0, 0.5)
    assert expected(second) < expected(second._replace(opening=1.0))
    plain = second._replace(cosine=None)
    assert expected(plain) == expected(plain._replace(opening=1.0, repeated=1.0))


def test_the_vector_of_a_sentence_finds_what_no_word_of_it_does():
    passage = Passage("p", "Ada liked music and the harp a lot. Ada passed away when she was very ill in 1852.")
    assert best("When did she die?", passage).startswith("Ada liked")
    assert best("When did she die?", passage, encoder="encoder").startswith("Ada passed away")


def test_vectors_know_the_title():
    """What a sentence says of "it" is said of the title: two that are equal differ by theirs."""
    question = "For how long has there been the fiddle?"
    passages = [Passage(name, "It has a long history.", title=name) for name in ("Weimar", "Violin", "")]
    ranking = Ranking(tuple(Hit(passage.id, 1.0, passage) for passage in passages))
    reader, rewrite = SentencesReader(encoder="encoder"), Rewrite(question, (Query(question),))
    ((sentences, _),) = reader.evidence([Turn(TurnId(1, 1), question)], [rewrite], [ranking])
    town, fiddle, nothing = (
        next(one.evidence.cosine for one in sentences if one.passage == passage) for passage in passages
    )
    assert fiddle > max(town, nothing) and town != nothing


def test_without_a_word_to_ask_the_encoder_is_not_asked():
    ranking = Ranking((Hit("f", 1.0, FAUST),))
    turn, rewrite = Turn(TurnId(1, 1), ""), Rewrite("", (Query(""),))
    with_encoder, without = (SentencesReader(encoder=name).read(turn, rewrite, ranking) for name in ("encoder", None))
    assert with_encoder == without


def test_each_different_sentence_of_a_batch_is_encoded_once(monkeypatch):
    reader = SentencesReader(encoder="encoder")
    reader.warm_up()
    model, seen = reader._queries.model, []
    remembered = type(model).remembered

    def counting(self, texts, role="passage"):
        seen.append((role, list(texts)))
        return remembered(self, texts, role)

    monkeypatch.setattr(type(model), "remembered", counting)
    questions = ("Who wrote Faust?", "When did it appear?")
    turns = [Turn(TurnId(number, 1), question) for number, question in enumerate(questions)]
    rewrites = [Rewrite(question, (Query(question),)) for question in questions]
    readings = reader.read_batch(turns, rewrites, [Ranking((Hit("f", 1.0, FAUST),))] * 2)
    assert [(role, len(texts)) for role, texts in seen] == [("query", 2), ("passage", 4)]
    assert [len(reading.spans) for reading in readings] == [4, 4]


def test_an_encoder_belongs_to_the_identity_of_a_run():
    assert SentencesReader().identity() == {}
    reader = SentencesReader(encoder="encoder")
    reader.warm_up()
    assert reader.identity() == {"encoder": reader._queries.model.identity}


def test_what_is_no_text_has_a_vector_too():
    odd = Passage("w", "A lone \ud800 half. 👍🏽 \x00. ... مرحبا بكم في فايمار.", title="\udfff")
    spans = read("What \ud800 is it?", odd, encoder="encoder").spans
    assert spans and all(odd.text[span.start : span.end] == span.text for span in spans)
