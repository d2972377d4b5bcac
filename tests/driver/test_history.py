"""Which exchanges a turn sees, by mode."""

from __future__ import annotations

import pytest

from convqa.domain import Answer, Conversation, Exchange, Failure, Response, Rewrite, Turn, TurnId
from convqa.driver.history import History, checked, exchange, response_of
from convqa.errors import InputError


def given(*pairs):
    return tuple(Exchange(question, answer) for question, answer in pairs)


def conversation(*contexts):
    return Conversation(7, tuple(Turn(TurnId(7, n), f"q{n}", context) for n, context in enumerate(contexts, 1)))


def response(number, text):
    return Response(TurnId(7, number), Rewrite(f"r{number}", ()), answer=Answer("answer", text))


def test_without_a_context_own_is_this_runs_turns_in_order():
    past = History(conversation((), (), ()), "own")
    past.add(0, response(1, "a1"))
    past.add(1, response(2, "a2"))
    assert past.before(2) == ((Exchange("q1", "a1", "r1"), Exchange("q2", "a2", "r2")), 2)


def test_own_answers_take_the_place_of_given_ones():
    context = given(("g0", "x0"), ("g1", "x1"), ("g2", "x2"))
    talk = conversation(context[:1], context)
    past = History(talk, "own")
    past.add(0, response(1, "own"))
    # Turn 1 had one given exchange, so it is exchange 1 of turn 2's context; 0 and 2 stay as given.
    assert past.before(1) == ((context[0], Exchange("q1", "own", "r1"), context[2]), 1)


def test_own_never_makes_a_given_context_longer():
    context = given(("g0", "x0"))
    past = History(conversation(context, context), "own")
    past.add(0, response(1, "own"))
    assert past.before(1) == (context, 0)


@pytest.mark.parametrize("has_context", [True, False])
def test_own_answers_of_another_branch_are_not_seen(has_context):
    first, other = given(("q1", "x1")), given(("q1", "x1"), ("q2", "x2"))
    turns = [
        Turn(TurnId(7, "1-1"), "q1", path=()),
        Turn(TurnId(7, "1-3"), "q2", first if has_context else (), path=("1-1",)),
        Turn(TurnId(7, "2-1"), "q3", first if has_context else (), path=("1-1",)),
        Turn(TurnId(7, "1-5"), "q4", other if has_context else (), path=("1-1", "1-3")),
    ]
    (branching,) = checked([Conversation(7, tuple(turns))], "own")
    past = History(branching, "own")
    for position, text in enumerate(["a1", "a2", "a3"]):
        past.add(position, response(turns[position].id.number, text))
    one, two = Exchange("q1", "a1", "r1-1"), Exchange("q2", "a2", "r1-3")
    assert past.before(2) == ((one,), 1)
    assert past.before(3) == ((one, two), 2)


def test_gold_and_none():
    context = given(("g0", "x0"))
    assert History(conversation((), context), "gold").before(1) == (context, 0)
    past = History(conversation((), context), "none")
    past.add(0, response(1, "a"))
    assert past.before(1) == ((), 0)


def test_what_a_turn_leaves_behind():
    turn = Turn(TurnId(1, 1), "q")
    failed = Response(turn.id, error=Failure("reader", "ValueError", "no"))
    assert exchange(turn, failed) == Exchange("q", "", None, "failed")
    none = Response(turn.id, Rewrite.unchanged("r"), answer=Answer("none", "", reason="nothing found"))
    assert exchange(turn, none) == Exchange("q", "", "r", "unanswered")
    idle = Response(turn.id, Rewrite("q", (), ("nothing was asked",)), answer=none.answer)
    assert exchange(turn, idle) == Exchange("q", "", "q", "idle")
    asked = Response(turn.id, answer=Answer("question", "Are you over 60?"))
    assert exchange(turn, asked) == Exchange("q", "Are you over 60?", None, "asked")
    assert exchange(turn, Response(turn.id)).status == "unanswered"


GIVEN = given(("g0", "x0"))


@pytest.mark.parametrize(
    ("talk", "mode", "says"),
    [
        (conversation((), ()), "gold", "no turn of the input has a Context"),
        (conversation(GIVEN, given(("other", "x0"), ("g1", "x1"))), "own", "turn 7_2: its Context does not begin with"),
        (Conversation(7, (Turn(TurnId(7, 1), "q"), Turn(TurnId(7, 1), "q"))), "own", "turn 7_1 occurs twice"),
        (conversation(()), "owm", r"expected one of own, gold, none\. Did you mean 'own'"),
    ],
)
def test_mistakes_are_refused(talk, mode, says):
    with pytest.raises(InputError, match=says):
        list(checked([talk], mode))


@pytest.mark.parametrize(
    ("rewrite", "used"),
    [
        ("Which diet suits a vegan?", ("I am vegan.",)),
        ("Which diet suits me?", ()),
        ("Which train to London?", ()),  # the conversation has both words
    ],
)
def test_the_statements_that_a_rewrite_has_words_of(rewrite, used):
    history = given(("Are trains slow?", "Those to London are."))
    turn = Turn(TurnId("1-1", 2), "Which diet suits me?", history, scenario="I am vegan.\nI like trains.")
    outputs = {"rewrites": Rewrite(rewrite, ()), "rankings": None, "readings": None, "answers": None}
    response = response_of(turn, outputs, {})
    assert response.statements == used
    assert Response.from_json(response.to_json()) == response
