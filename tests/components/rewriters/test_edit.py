"""The rewriter with the shipped resolver."""

import pytest

from convqa.components.history import reads
from convqa.components.rewriters.edit import FOREIGN, QUOTED, Edit
from convqa.components.rewriters.expansion import Expansion
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


def test_a_pronoun_is_replaced_by_what_was_said(edit):
    assert edit.rewrite_batch([turn("When did he die?")])[0].text == "When did Frank Zappa die?"


def test_the_query_is_the_question_with_weighted_terms(edit):
    (query,) = edit.rewrite_batch([turn("When did he die?")])[0].queries

    assert query.text == "When did he die?"
    assert {"Frank", "Zappa"} <= {term for term, _ in query.terms}
    assert all(0 < weight <= edit.weight for _, weight in query.terms)


def test_alone_and_in_a_batch(edit):
    questions = ["When did he die?", "", "Why?", "اين ولد؟", "他在哪里出生", "😀?", "x " * 4000]
    turns = [turn(question) for question in questions]
    turns += [turn("And then?", HISTORY * 5000), turn("Why?", (Exchange("", ""),) * 3)]

    together = edit.run(Turns(tuple(turns)))["rewrites"].items

    assert [edit.run(Turns((one,)))["rewrites"].items[0] for one in turns] == list(together)
    assert together[1].text == ""
    assert together[-1].text == "Why?"


def test_an_answer_to_what_was_asked_back(edit):
    asked = Exchange("Can Ada Lovelace apply?", "Is she over sixty?", status="asked")

    (rewrite,) = edit.rewrite_batch([turn("Yes, she is", (asked,))])

    assert rewrite.queries[0].text == "Can Ada Lovelace apply?"


def test_its_identity_names_the_model(edit):
    assert edit.identity()["resolver"]


def test_a_model_that_is_no_resolver():
    with pytest.raises(InputError, match="expected a model of kind 'resolver'"):
        Edit("encoder").warm_up()
    with pytest.raises(RunError, match="unknown model 'resolvr'"):
        Edit("resolvr").run(Turns((turn("Why?"),)))


@pytest.mark.parametrize(
    ("question", "language"), [("Wo wurde er geboren?", "de"), ("\u4ed6\u5728\u54ea\u91cc\u51fa\u751f", "en")]
)
def test_another_language_is_expanded_and_counted(edit, question, language):
    asked = Turn(TurnId(1, 2), question, (Exchange("Wer schrieb Faust?", "Goethe."),), language=language)
    (rewrite,) = edit.rewrite_batch([asked])
    plain = Expansion().rewrite(asked)
    assert (rewrite.text, rewrite.queries, rewrite.notes) == (plain.text, plain.queries, (FOREIGN,))


@pytest.mark.parametrize(
    ("answers", "quoted"), [(("Yes", "no."), True), (("Yes", "No, he was not."), False), (("",), False)]
)
def test_questions_that_were_answered_by_yes_or_no_alone_are_expanded(edit, answers, quoted):
    said = tuple(Exchange("Are you over the state pension age?", answer) for answer in answers)
    (rewrite,) = edit.rewrite_batch([Turn(TurnId(1, 3), "Can I get the grant?", said)])
    assert rewrite.notes == ((QUOTED,) if quoted else ())


ORGAN = Exchange("Who was Johann Sebastian Bach?", "Johann Sebastian Bach was a German composer and organist.")
TOWER = Exchange("What is the Eiffel Tower?", "The Eiffel Tower is a lattice tower in Paris, built by Gustave Eiffel.")


@pytest.mark.parametrize(
    "question",
    ["What is a tamale?", "What's the population of Tokyo?", "Is it raining?", "ok cool", "And what about the Rhine?"],
)
def test_a_question_about_something_else_stays_as_it_is(edit, question):
    (rewrite,) = edit.rewrite_batch([Turn(TurnId(1, 3), question, (ORGAN, TOWER))])
    assert rewrite.text == question


def test_a_question_takes_from_the_topic_that_it_is_about(edit):
    (rewrite,) = edit.rewrite_batch([Turn(TurnId(1, 3), "How high is it?", (ORGAN, TOWER))])
    assert rewrite.text == "How high is the Eiffel Tower?"


def test_signs_and_digits_have_no_language():
    assert reads("1808?", "en") and reads("", "en")


def test_half_characters_fail_no_turn(edit):
    asked = Turn(TurnId(1, 2), "When \ud800 was he born?", (Exchange("Who wrote \udfff Faust?", "Goethe \ud801."),))
    assert "Goethe" in str(edit.rewrite_batch([asked])[0].queries)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When did he die?", "When did Frank Zappa die?"),
        # Nothing is replaced: a phrase at the end is rarely a sentence.
        ("price", "price"),
        # The query encoder does not find "Who else played in Mothers of Invention?" closer.
        ("Who else played in it?", "Who else played in it?"),
    ],
)
def test_edits_are_checked_by_the_query_encoder(question, text):
    checked = Edit(query_encoder="query_encoder")
    plain = Edit()

    (rewrite,) = checked.rewrite_batch([turn(question)])

    assert rewrite.text == text
    assert rewrite.queries == plain.rewrite_batch([turn(question)])[0].queries
