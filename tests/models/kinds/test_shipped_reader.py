"""The reader that ships: it answers, and says when it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from convqa.metrics.squad import f1
from convqa.models import load_reader
from convqa.tasks.mrqa.input import read_contexts

TEXT = "Marbury v. Madison was decided in 1803. The opinion was written by Chief Justice John Marshall. \U0001f469"
SAMPLE = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "mrqa" / "NewsQA_sample.jsonl"


def answer(question, text=TEXT):
    [found] = load_reader().read([(question, text)], 1)
    start, end, _ = found.spans[0]
    return text[start:end], load_reader().null(found.margin)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [("When was Marbury v. Madison decided?", "1803"), ("Who wrote the opinion?", "John Marshall")],
)
def test_it_answers(question, wanted):
    said, null = answer(question)
    assert f1(wanted, said) >= 0.5
    assert null < 0.5


def test_it_says_that_a_text_does_not_answer():
    assert answer("How many people live in Berlin?")[1] > 0.5


def test_the_answer_is_found_far_behind_in_a_long_text():
    text = "The weather was fine and nothing happened at all that day. " * 200 + TEXT
    assert answer("Who wrote the opinion?", text)[0].endswith("John Marshall")


@pytest.mark.slow
def test_it_reads_the_news():
    if not SAMPLE.is_file():
        pytest.skip("the real data is not beside the checkout")
    rows = [(question, context.text) for context in read_contexts(SAMPLE) for question in context.questions]
    made = load_reader().read([(question.text, text) for question, text in rows], 1)
    scores = [
        max(f1(right, text[slice(*found.spans[0][:2])]) for right in question.answers)
        for (question, text), found in zip(rows, made, strict=True)
    ]
    assert sum(scores) / len(scores) > 0.3
