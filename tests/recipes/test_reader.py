"""What a reader trains on, validates on and is reported on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from convqa.domain import Turn, TurnId
from convqa.errors import InputError
from convqa.indexing import index_sources
from convqa.tasks.mrqa.formats import Context, Question
from recipes import reader
from recipes.reader import split

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@pytest.fixture(scope="session")
def written():
    if not DATA.is_dir():
        pytest.skip("the real data is not beside the checkout")
    return split(DATA)


def count(contexts):
    return sum(len(context.questions) for context in contexts)


def test_the_written_split(written):
    assert {name: count(contexts) for name, contexts in written.training.items()} == TRAINED
    assert {name: count(contexts) for name, contexts in written.validation.items()} == {
        "new-wiki": 648, "reddit": 490, "squad2": 402,
    }  # fmt: skip
    assert {name: count(contexts) for name, contexts in written.reported.items()} == {
        "new-wiki": 619, "reddit": 466, "squad2": 3250,
    }  # fmt: skip


TRAINED = {"new-wiki": 6671, "reddit": 8791, "squad2": 2426}
"""Questions; those of contexts that share a sentence with what is measured on are left out."""


def test_no_title_and_no_text_of_what_trains_is_measured_on(written):
    held = [one for sets in (written.validation, written.reported) for some in sets.values() for one in some]
    texts = {one.text for one in held}
    articles = {one.title for one in held if one.title != "Filtered_Reddit_Comments"}
    for contexts in written.training.values():
        for one in contexts:
            assert one.text not in texts
            assert one.title not in articles


def test_a_folder_that_lacks_files_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"lacks squad-format/squad2-dev-half\.json, "):
        split(tmp_path)


def test_units_that_hold_an_answer_are_labeled():
    text = "Faust was written by Goethe. He lived in Weimar. It is a play."
    question = Question("q", "Who wrote Faust?", ("Goethe",), ((21, 27),))
    contexts = [Context(text, (question,), "Faust"), Context("Kafka wrote novels.", (), "Faust")]
    (made,) = reader.single(contexts, random.Random(1))
    assert made.answer == "Goethe" and made.has_spans
    assert sorted((passage.units[0], passage.answers) for passage in made.passages) == [
        ("Faust was written by Goethe.", [0]),
        ("Kafka wrote novels.", []),
    ]


def test_a_turn_is_read_with_what_is_found_for_it(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(6):
        text = f"# Fees {number}\n\nThe fee of hall {number} is {number}0 euros.\n\nPay soon.\n"
        (folder / f"{number}.md").write_text(text)
    collection = str(tmp_path / "collection")
    index_sources([folder], collection)
    asked = Turn(TurnId("a", 1), "What is the fee of hall 3?")
    unsaid = Turn(TurnId("a", 2), "Who owns hall 3?")
    gold = "The fee of hall 3 is 30 euros."
    turns = [reader.AskedTurn(asked, [gold]), reader.AskedTurn(unsaid, [])]
    first, *others = reader.conversational(collection, turns, random.Random(1))
    (right,) = [passage for passage in first.passages if passage.answers]
    assert first.question == asked.question and [right.units[index] for index in right.answers] == [gold]
    assert [example.question for example in others].count(unsaid.question) == 3
    for example in others:
        assert not any(passage.answers for passage in example.passages)
        texts = [text for passage in example.passages for text in passage.units]
        assert example.question == unsaid.question or gold not in texts


def test_a_unit_is_the_same_without_its_marker():
    assert reader._same("Hall 3 costs 30 euros", "- Hall 3 costs 30 euros")
    assert not reader._same("Hall 4 costs 40 euros", "- Hall 3 costs 30 euros")
    assert not reader._same("Fees", "The fees are due")
