"""What earlier answers said is not said again, unless it is asked for again or the best of the reading."""

from __future__ import annotations

import time

import pytest

from convqa.components.builders.sentences import SentencesBuilder
from convqa.domain import TOLD, Exchange, Hit, Passage, Ranking, Reading, Rewrite, Span, Turn, TurnId

P = Passage("p", "The Great Wall is in China. The Berlin Wall fell in 1989. It was built in 1961.")
RANKING = Ranking((Hit("p", 2.0, P),))
WALL, FELL, BUILT = "The Great Wall is in China.", "The Berlin Wall fell in 1989.", "It was built in 1961."


def asked(question, answer, status="answered"):
    return Exchange(question, answer, status=status)


def build(question, *history, scores=(0.6, 0.58, 0.3), again=False, sentences=2):
    spans = [
        Span("p", P.text.index(text), P.text.index(text) + len(text), text, score)
        for text, score in zip((WALL, FELL, BUILT), scores, strict=True)
    ]
    turn = Turn(TurnId(1, len(history) + 1), question, history)
    member = SentencesBuilder(max_sentences=sentences, allow_repeats=again)
    return member.build(turn, Rewrite.unchanged(question), RANKING, Reading(tuple(spans), 0.0))


def test_what_was_said_is_not_added_to_something_new():
    before = asked("Where is it from?", FELL)
    assert build("And in Berlin?").text == build("And in Berlin?", before, again=True).text == f"{WALL} {FELL}"
    answer = build("And in Berlin?", before)
    assert (answer.text, answer.notes) == (WALL, ())


def test_the_best_sentence_is_said_to_be_said_before_with_its_citation():
    answer = build("What of Berlin?", asked("Where?", WALL))
    assert (answer.text, answer.notes) == (f"{WALL} {FELL}", ())  # the other is new
    assert answer.sentences[0].citations[0].passage_id == "p"
    everything = asked("Tell me all", f"{WALL} {FELL} {BUILT}")
    assert (build("And now?", everything).text, build("And now?", everything).notes) == (WALL, (TOLD,))
    added = asked("When was it built?", f"{BUILT} {WALL} {FELL}")
    assert (build("And now?", added).text, build("And now?", added).notes) == (WALL, ())


@pytest.mark.parametrize(
    "question",
    ["Say that again", "Could you repeat it?"],
)
def test_it_is_said_again_where_it_is_asked_for_again(question):
    answer = build(question, asked("Where is the Great Wall?", WALL))
    assert (answer.text, answer.notes) == (f"{WALL} {FELL}", ())


def test_only_answers_count():
    asked_back = asked("Can I?", WALL, status="asked")
    assert build("And in Berlin?", asked_back).text == f"{WALL} {FELL}"


def test_a_long_history_costs_little():
    history = [asked(f"question {number}?", f"{WALL} {FELL} {BUILT} " * 20) for number in range(2000)]
    start = time.process_time()
    assert build("And in Berlin?", *history).notes == (TOLD,)
    assert time.process_time() - start < 5
