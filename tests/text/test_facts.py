"""Questions that can be answered yes or no."""

from __future__ import annotations

import pytest

from convqa.text.facts import is_yes_no_question


@pytest.mark.parametrize(
    ("question", "is_one"),
    [
        ("Can I apply?", True), ("Am I eligible", True), ("If I work, do I pay tax?", True), ("What is it?", False),
        ("Can I apply? I live in Rome.", True), ("How much can I earn?", False),
        ("Can you tell me when I get it?", False), ("Could you say whether I can apply?", True),
        ("How much is it, and can I get it?", False), ("I can apply.", False),
    ],
)  # fmt: skip
def test_questions_for_yes_or_no(question, is_one):
    assert is_yes_no_question(question) is is_one
