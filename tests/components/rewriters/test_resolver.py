"""Where the resolver does not read, the history is searched all the same."""

import pytest

from convqa.components.rewriters._resolver import FOREIGN, reads
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


def test_signs_and_digits_have_no_language():
    assert reads("1808?", "en") and reads("", "en")


def test_half_characters_fail_no_turn():
    turn = Turn(TurnId(1, 2), "When \ud800 was he born?", (Exchange("Who wrote \udfff Faust?", "Goethe \ud801."),))
    assert "Goethe" in str(Edit().rewrite_batch([turn])[0].queries)
