"""The reader of units with the shipped model: what is read, what becomes a span, and what a model must have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from convqa.components.readers.units import UnitsReader
from convqa.domain import Exchange, Hit, Passage, Ranking, Rewrite, Turn, TurnId
from convqa.errors import InputError
from convqa.models import load_reader
from convqa.models.kinds.unit_reader import AskedQuestion, UnitPassage, UnitReader, load_unit_reader

POOL = Passage(
    "p",
    "# Prices\n\nThe pool opens at eight.\n\n"
    "| | Adults | Children |\n|---|---|---|\n| Day ticket | 6 euros | 3 euros |\n"
    "| Season ticket | 90 euros | 45 euros |\n\nYou can bring:\n- a towel\n- a ball",
    "Town pool",
)
CAFE = Passage("c", "The cafe sells soup and bread. It is closed on Mondays.", "Cafe")
RANKING = Ranking(
    (Hit("p", 2.0, POOL), Hit("c", 1.0, CAFE), Hit("none", 0.5), Hit("blank", 0.4, Passage("blank", " ")))
)


def read(question, history=(), rewrite="", language="en"):
    turn = Turn(TurnId(1, 1), question, history, language=language)
    return UnitsReader().read_batch([turn], [Rewrite.unchanged(rewrite or question)], [RANKING])[0]


def best(question, *history, rewrite=""):
    return read(question, history, rewrite).spans[0].text


def test_the_best_unit_is_a_sentence_a_row_or_an_item():
    assert best("When does the pool open?") == "The pool opens at eight."
    assert best("How much is a season ticket for adults?") == "| Season ticket | 90 euros | 45 euros |"
    assert best("Which day is the cafe closed?") == "It is closed on Mondays."


def test_the_history_and_the_rewrite_are_read():
    before = Exchange("How much is a day ticket?", "Prices, Day ticket: Adults 6 euros, Children 3 euros")
    rewrite = "How much is a season ticket?"
    assert best("And a season ticket?", before, rewrite=rewrite) == "| Season ticket | 90 euros | 45 euros |"
    alone, following = (read("And on Mondays?", history).spans[0].score for history in ((), (before,)))
    assert alone != following


def test_what_is_not_found_is_read_again_with_the_question_before():
    before = Exchange("How much is a season ticket?", "")
    alone = read("and the small ones?")
    following = read("and the small ones?", (before,))
    assert alone.spans[0].score < 0 < following.spans[0].score
    assert following.spans[0].text == "| Season ticket | 90 euros | 45 euros |"


def test_thanks_in_between_are_not_read():
    before = Exchange("How much is a day ticket?", "Prices, Day ticket: Adults 6 euros, Children 3 euros")
    thanks = Exchange("thanks", "You're welcome.", status="idle")
    assert read("And on Mondays?", (before, thanks)) == read("And on Mondays?", (before,))


def test_headings_and_header_rows_are_read_but_never_spans():
    reading = read("What are the prices for adults and children?")
    texts = [span.text for span in reading.spans]
    assert "Prices" not in texts and not any("Adults" in text for text in texts)
    assert [span.score for span in reading.spans] == sorted((span.score for span in reading.spans), reverse=True)
    assert all(RANKING.texts()[span.passage_id][span.start : span.end] == span.text for span in reading.spans)


def test_what_nobody_says_scores_lower_than_what_somebody_says():
    answered, open_question = (read(question).spans[0].score for question in ("When does the pool open?", "Who won?"))
    assert answered > 2 > 0 > open_question


def test_other_languages_are_read_by_words():
    reading = read("Ist das Cafe montags geschlossen?", language="de")
    assert reading.spans and 0 <= reading.null_score <= 1


def test_a_long_passage_is_read_whole_and_units_alone_in_windows():
    texts = tuple(f"The number of room {index} is {index * 7 % 40 + 100}." for index in range(60))
    (reading,) = load_unit_reader().read([(AskedQuestion("What is the number of room 54?"), UnitPassage("", texts))])
    scores = list(reading.units)
    assert len(scores) == 60 and scores.index(max(scores)) == 54
    (empty,) = load_unit_reader().read([(AskedQuestion("Who?"), UnitPassage("", ()))])
    assert empty.units == ()


def test_a_long_question_leaves_room_for_a_long_unit():
    asked = AskedQuestion("word " * 200, "other " * 200, (("a " * 99, "b " * 99), ("c " * 99, "d " * 99)))
    reader = load_unit_reader()
    (reading,) = reader.read([(asked, UnitPassage("title " * 99, ("unit " * 500, "", "short")))])
    assert [score > -100 for score in reading.units] == [True, False, True]


def test_no_result_depends_on_batch_mates():
    pairs = [(AskedQuestion(f"Who is {index}?"), UnitPassage("", (f"{index} is Ada.",) * 3)) for index in range(9)]
    # Each time by a reader that remembers nothing.
    alone = [UnitReader(load_reader()).read([pair])[0] for pair in pairs]
    assert UnitReader(load_reader()).read(pairs) == alone


def test_a_model_that_only_finds_spans_is_refused():
    class Spans:
        name = "spans"
        reads_units = False
        tokenizer = load_reader().tokenizer

    with pytest.raises(InputError, match="does not score units"):
        UnitReader(Spans())


def test_a_turn_in_its_batch_is_read_as_alone():
    turns = [Turn(TurnId(1, 1), "When does the pool open?"), Turn(TurnId(2, 1), "Und wann?", language="de")]
    rewrites = [Rewrite.unchanged(turn.question) for turn in turns]
    together = UnitsReader().read_batch(turns, rewrites, [RANKING, replace(RANKING)])
    model = load_unit_reader()
    model._remembered.clear()
    assert together[0] == read("When does the pool open?")


def ranking_of(answer_at):
    """Return eight passages; the one at an index answers when the pool opens."""
    texts = [f"The library has {index} shelves of maps." for index in range(8)]
    texts[answer_at] = "The pool opens at eight."
    hits = [Hit(f"p{index}", 8.0 - index, Passage(f"p{index}", text)) for index, text in enumerate(texts)]
    return Ranking(tuple(hits))


@pytest.mark.parametrize(("answer_at", "read_passages"), [(0, 4), (6, 8)])
def test_further_passages_are_read_only_without_a_sure_answer(answer_at, read_passages):
    turn = Turn(TurnId(1, 1), "When does the pool open?")
    rewrite = Rewrite.unchanged(turn.question)
    (reading,) = UnitsReader().read_batch([turn], [rewrite], [ranking_of(answer_at)])
    assert reading.spans[0].text == "The pool opens at eight."
    assert len({span.passage_id for span in reading.spans}) == read_passages
