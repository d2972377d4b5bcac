"""Where the resolver does not read, the history is searched all the same; and what it makes of changes of topic."""

import pytest

from convqa.components.rewriters._resolver import FOREIGN, QUOTED, reads
from convqa.components.rewriters.edit import Edit
from convqa.components.rewriters.expansion import Expansion
from convqa.domain import Exchange, Turn, TurnId


@pytest.mark.parametrize(
    ("question", "language"), [("Wo wurde er geboren?", "de"), ("\u4ed6\u5728\u54ea\u91cc\u51fa\u751f", "en")]
)
def test_another_language_is_expanded_and_counted(question, language):
    turn = Turn(TurnId(1, 2), question, (Exchange("Wer schrieb Faust?", "Goethe."),), language=language)
    (rewrite,) = Edit().rewrite_batch([turn])
    plain = Expansion().rewrite(turn)
    assert (rewrite.text, rewrite.queries, rewrite.notes) == (plain.text, plain.queries, (FOREIGN,))


@pytest.mark.parametrize(
    ("answers", "quoted"), [(("Yes", "no."), True), (("Yes", "No, he was not."), False), (("",), False)]
)
def test_questions_that_were_answered_by_yes_or_no_alone_are_expanded(answers, quoted):
    said = tuple(Exchange("Are you over the state pension age?", answer) for answer in answers)
    (rewrite,) = Edit().rewrite_batch([Turn(TurnId(1, 3), "Can I get the grant?", said)])
    assert rewrite.notes == ((QUOTED,) if quoted else ())


ORGAN = Exchange("Who was Johann Sebastian Bach?", "Johann Sebastian Bach was a German composer and organist.")
TOWER = Exchange("What is the Eiffel Tower?", "The Eiffel Tower is a lattice tower in Paris, built by Gustave Eiffel.")


@pytest.mark.parametrize(
    "question",
    ["What is a tamale?", "What's the population of Tokyo?", "Is it raining?", "ok cool", "And what about the Rhine?"],
)
def test_a_question_about_something_else_stays_as_it_is(question):
    (rewrite,) = Edit().rewrite_batch([Turn(TurnId(1, 3), question, (ORGAN, TOWER))])
    assert rewrite.text == question


def test_a_question_takes_from_the_topic_that_it_is_about():
    (rewrite,) = Edit().rewrite_batch([Turn(TurnId(1, 3), "How high is it?", (ORGAN, TOWER))])
    assert rewrite.text == "How high is the Eiffel Tower?"


def test_signs_and_digits_have_no_language():
    assert reads("1808?", "en") and reads("", "en")


def test_half_characters_fail_no_turn():
    turn = Turn(TurnId(1, 2), "When \ud800 was he born?", (Exchange("Who wrote \udfff Faust?", "Goethe \ud801."),))
    assert "Goethe" in str(Edit().rewrite_batch([turn])[0].queries)
