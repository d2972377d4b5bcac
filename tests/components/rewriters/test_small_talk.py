"""A rewriter that is asked only where the user asks something, and the way of a turn that asks nothing."""

from __future__ import annotations

import pytest

from convqa.components.builders.sentences import Sentences
from convqa.components.rewriters.expansion import Expansion
from convqa.components.rewriters.small_talk import IDLE, SmallTalk
from convqa.domain import Exchange, Hit, Passage, Query, Ranking, Rankings, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.pipeline.compose import compose

ADA = Exchange("Who was Ada Lovelace?", "She worked with Charles Babbage.")
THANKS = Exchange("thanks", "", "thanks", "idle")


def turn(question, *history):
    return Turn(TurnId(1, len(history) + 1), question, history)


def test_what_asks_nothing_has_no_query_and_the_others_are_rewritten_in_their_order():
    turns = [turn("When was she born?", ADA), turn("ok cool", ADA), turn("Who is Goethe?"), turn("hi")]
    made = SmallTalk(rewriter="expansion").rewrite_batch(turns)
    assert made[0] == Expansion().rewrite(turns[0]) and made[2] == Rewrite.unchanged("Who is Goethe?")
    assert made[1] == Rewrite("ok cool", (), (IDLE,)) and made[3] == Rewrite("hi", (), (IDLE,))
    assert SmallTalk(rewriter="expansion").rewrite_batch(turns[1:2]) == [made[1]]


@pytest.mark.parametrize("name", ["expansion", "concatenate", "copy", "edit", "terms", "statements"])
def test_every_rewriter_passes_over_it_afterwards(name):
    made = SmallTalk(rewriter=name)
    made.warm_up()
    chatty = Exchange("Thank you so much, that was really very helpful!", "", None, "idle")
    with_it, without = turn("When was she born?", ADA, chatty), turn("When was she born?", ADA)
    assert made.rewrite_batch([with_it]) == made.rewrite_batch([without])
    # A conversation in which nothing was asked before has not begun.
    assert made.rewrite_batch([turn("When was she born?", THANKS)]) == [Rewrite.unchanged("When was she born?")]


def test_a_reply_to_what_was_asked_back_is_no_small_talk():
    asked = Exchange("Can I apply?", "Are you over 60?", status="asked")
    (made,) = SmallTalk(rewriter="copy").rewrite_batch([turn("Yes", asked)])
    assert made.queries == (Query("Can I apply?"),)


def test_a_builder_answers_nothing_where_nothing_was_asked():
    passage = Passage("a", "Ada Lovelace was born in 1815.")
    found = Ranking((Hit("a", 1.0, passage),))
    rewrites = [Rewrite("thanks", (), (IDLE,)), Rewrite.unchanged("Who?")]
    turns = Turns((turn("thanks"), turn("Who?")))
    first, second = Sentences().run(turns, Rewrites(tuple(rewrites)), Rankings((Ranking(), found)))["answers"]
    assert (first.kind, first.reason, second.kind) == ("none", "nothing was asked", "answer")
    (alone,) = Sentences().run(Turns((turn("hi"),)), Rewrites((rewrites[0],)), Rankings((found,)))["answers"]
    assert (alone.kind, alone.nearest) == ("none", ("a",))


def test_the_rewriter_inside_talk_is_that_of_default():
    """``talk`` has to say its parameters again, because the type of its node is another."""
    default, inner = (
        compose("default").components["rewriter"],
        SmallTalk(**compose("talk").components["rewriter"].init_parameters),
    )
    assert inner.rewriter["type"] == default.type
    assert {**inner.rewriter["init_parameters"], **default.init_parameters} == inner.rewriter["init_parameters"]
