"""A pipeline that answers from a turn's own passages, without a model."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def qa():
    import convqa

    return convqa.load(Path(__file__).resolve().parents[1] / "fixtures" / "own-passages.yaml")


@pytest.fixture
def line():
    """A line of an MRQA file, as JSON gives it: with tokens and gold."""
    return {
        "id": "",
        "context": "Goethe wrote Faust. Schiller wrote Wallenstein.",
        "context_tokens": [["Goethe", 0], ["wrote", 7]],
        "qas": [
            {
                "qid": "q1",
                "question": "Who wrote Faust?",
                "question_tokens": [["Who", 0]],
                "answers": ["gold of q1"],
                "detected_answers": [{"text": "Goethe", "char_spans": [[0, 5]], "token_spans": [[0, 0]]}],
            },
            {"qid": "q2", "question": "Who wrote Wallenstein?", "answers": ["gold of q2"]},
        ],
    }
