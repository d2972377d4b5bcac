"""Several rewriters on one turn."""

from __future__ import annotations

import pytest
from haystack import Pipeline

from convqa.components.members import describe
from convqa.components.rewriters.concatenate import Concatenate
from convqa.components.rewriters.expansion import Expansion
from convqa.components.rewriters.fused import Fused
from convqa.components.rewriters.small_talk import IDLE
from convqa.domain import Exchange, Query, Rewrite, Turn, TurnId
from convqa.errors import InputError

ADA = (Exchange("Who was Ada Lovelace?", "She worked with Charles Babbage."),)
LATER = Turn(TurnId(1, 2), "When was she born?", ADA)
EXPANDED = Expansion().rewrite(LATER)


def fused(rewriters, turn=LATER, **options):
    (rewrite,) = Fused(rewriters, **options).rewrite_batch([turn])
    return rewrite


def test_the_question_comes_first_and_each_query_has_its_rewriters_weight():
    rewrite = fused(["expansion", Concatenate()], weights=[2.0, 0.5])
    concatenated = "Who was Ada Lovelace? When was she born?"
    assert rewrite == Rewrite(
        EXPANDED.text,
        (
            Query("When was she born?"),
            Query("When was she born?", EXPANDED.queries[0].terms, 2.0),
            Query(concatenated, (), 0.5),
        ),
    )


def test_the_question_may_weigh_otherwise_or_be_left_out():
    assert fused(["expansion"], question=0.25).queries[0] == Query("When was she born?", (), 0.25)
    assert fused(["expansion"], question=0.0) == EXPANDED


def test_the_same_query_is_searched_once():
    rewrite = fused(["copy", "copy", "expansion"], weights=[0.5, 0.25, 1.0])
    assert rewrite.queries == (Query("When was she born?", (), 1.75), EXPANDED.queries[0])
    assert fused(["copy", "copy"]).queries == (Query("When was she born?"),)


def test_a_first_turn_is_the_question_alone():
    for question in (1.0, 0.0):
        rewrite = fused(["expansion", "concatenate"], Turn(TurnId(1, 1), "Who?"), question=question)
        assert rewrite == Rewrite("Who?", (Query("Who?"),))


def test_notes_of_all_are_kept():
    small_talk = {"type": "small_talk", "init_parameters": {"rewriter": "expansion"}}
    assert fused([small_talk, "copy"], Turn(TurnId(1, 2), "ok cool", ADA)).notes == (IDLE,)


def test_batches_keep_their_order():
    first = Turn(TurnId(1, 1), "Who was Ada Lovelace?")
    together = Fused(["expansion"]).rewrite_batch([LATER, first, LATER])
    assert [rewrite.text for rewrite in together] == [EXPANDED.text, first.question, EXPANDED.text]


def test_it_survives_haystacks_yaml():
    graph = Pipeline()
    graph.add_component("rewriter", Fused(["copy", {"type": "expansion", "init_parameters": {"terms": 2}}], [1.0, 2.0]))
    again = Pipeline.loads(graph.dumps(), allowed_modules=["convqa.components"]).get_component("rewriter")
    assert describe(again) == describe(graph.get_component("rewriter"))
    assert again._rewriters[1].terms == 2 and again.weights == [1.0, 2.0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rewriters": []}, "rewriters"),
        ({"rewriters": ["copy", "coppy"]}, r"rewriters\[1\].type: 'coppy' is not known"),
        ({"rewriters": ["copy"], "weights": [1.0, 2.0]}, "weights: found 2; wanted: one for each of the 1"),
        ({"rewriters": ["copy"], "weights": [0.0]}, "weights"),
        ({"rewriters": ["copy"], "question": -1.0}, "question"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises((InputError, ValueError), match=message):
        Fused(**parameters)
