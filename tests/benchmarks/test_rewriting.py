from __future__ import annotations

import pytest

from convqa.domain import Exchange, Turn, TurnId


def test_quality_is_that_of_the_texts():
    from rewriting import quality

    asked = Turn(TurnId(1, 2), "When was he born?", (Exchange("Who wrote Faust?", "Goethe"),))
    found = quality([(asked, "When was Goethe born?")] * 2, ["When was he born?", "When was Goethe born?"])
    assert (found.turns, found.tokens, found.changed) == (2, 4, 0.5)
    assert found.f1.mean == pytest.approx(0.875)
    assert found.recall.mean == pytest.approx(0.875)


def test_an_example_of_training_is_a_turn_with_its_history():
    from rewriting import turn

    from convqa.models.kinds.resolver_input import Past
    from recipes.rewrites import example

    made = turn(example("qrecc-7", "When?", (Past("Who?", "Goethe"), Past("Why?", "")), "When did he?"), 3)
    assert (made.question, [(said.question, said.answer, said.status) for said in made.history]) == (
        "When?",
        [("Who?", "Goethe", "answered"), ("Why?", "", "unanswered")],
    )


def test_turns_are_timed_alone_and_together():
    from rewriter_rows import made
    from rewriting import speed

    rates = speed(made({"type": "copy"}), [Turn(TurnId(1, number), "q") for number in range(3)], rounds=1)
    assert list(rates) == ["one at a time", "batched"]
    assert min(rates.values()) > 0
