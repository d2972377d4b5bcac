"""The rewriters of the shipped resolver."""

import pytest

from convqa.components.rewriters.edit import Edit
from convqa.components.rewriters.terms import Terms
from convqa.domain import Exchange, Turn, TurnId, Turns
from convqa.errors import InputError, RunError

HISTORY = (
    Exchange("What was Frank Zappa known for?", "Frank Zappa was an American musician and composer."),
    Exchange("What band did he lead?", "He led the Mothers of Invention."),
)


def turn(question, history=HISTORY):
    return Turn(TurnId(1, len(history) + 1), question, history)


@pytest.fixture(scope="module")
def edit():
    return Edit()


@pytest.fixture(scope="module")
def terms():
    return Terms()


def test_a_pronoun_is_replaced_by_what_was_said(edit):
    assert edit.rewrite_batch([turn("When did he die?")])[0].text == "When did Frank Zappa die?"


def test_what_is_searched_is_the_question_with_weighted_terms(edit, terms):
    (query,) = edit.rewrite_batch([turn("When did he die?")])[0].queries

    assert query.text == "When did he die?"
    assert {"Frank", "Zappa"} <= {term for term, _ in query.terms}
    assert all(0 < weight <= terms.weight for _, weight in query.terms)
    assert terms.rewrite_batch([turn("When did he die?")])[0].queries == (query,)


def test_the_text_of_terms_is_the_question_with_the_likely_ones(terms):
    text = terms.rewrite_batch([turn("When did he die?")])[0].text
    assert text.startswith("When did he die? Frank Zappa")


@pytest.mark.parametrize("rewriter", [Edit, Terms])
def test_no_history(rewriter):
    (rewrite,) = rewriter().rewrite_batch([turn("When did he die?", ())])

    assert rewrite.text == "When did he die?"
    assert rewrite.queries[0].terms == ()


@pytest.mark.parametrize("rewriter", [Edit, Terms])
def test_alone_and_in_a_batch(rewriter):
    turns = [
        turn(question) for question in ("When did he die?", "", "Why?", "اين ولد؟", "他在哪里出生", "😀?", "x " * 4000)
    ]
    turns += [turn("And then?", HISTORY * 5000), turn("Why?", (Exchange("", ""),) * 3)]
    station = rewriter()

    together = station.run(Turns(tuple(turns)))["rewrites"].items

    assert [station.run(Turns((one,)))["rewrites"].items[0] for one in turns] == list(together)
    assert together[1].text == ""
    assert together[-1].text == "Why?"


def test_an_answer_to_what_was_asked_back(edit):
    asked = Exchange("Can Ada Lovelace apply?", "Is she over sixty?", status="asked")

    (rewrite,) = edit.rewrite_batch([turn("Yes, she is", (asked,))])

    assert rewrite.queries[0].text == "Can Ada Lovelace apply?"


def test_its_identity_names_the_model(edit, terms):
    assert edit.identity() == terms.identity()
    assert edit.identity()["resolver"]


def test_a_model_that_is_no_resolver():
    with pytest.raises(InputError, match="expected a model of kind 'resolver'"):
        Edit("encoder").warm_up()
    with pytest.raises(RunError, match="unknown model 'resolvr'"):
        Edit("resolvr").run(Turns((turn("Why?"),)))
