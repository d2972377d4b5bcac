"""The contexts that a reader trains on, validates on and is reported on."""

from __future__ import annotations

import gzip
import json

import pytest

from convqa.errors import InputError
from convqa.tasks.mrqa.formats import Context, Question
from convqa.training.config import load
from convqa.training.questions import asked_elsewhere, gather, sampled


def written(folder, contexts=120):
    """A file in MRQA's format, with its header."""
    path = folder / "train.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.write('{"header": {"dataset": "own", "split": "train"}}\n')
        for number in range(contexts):
            said = f"Person {number} wrote book {number}."
            asked, answer = f"What did person {number} write?", f"book {number}"
            qas = [
                {"qid": f"{number}-{part}", "question": asked, "answers": [answer],
                 "detected_answers": [{"text": answer, "char_spans": [[said.index("book"), len(said) - 2]]}]}
                for part in range(2)
            ]  # fmt: skip
            lines.write(json.dumps({"context": said, "qas": qas}) + "\n")
    return path


def gathered(folder, **changes):
    """Lists of contexts to train on, file by file, and what validates and is reported on."""
    training, validation, reported = gather(load("reader", None, changes), folder)
    return [list(contexts) for contexts in training], validation, reported


def count(contexts):
    return sum(len(context.questions) for context in contexts)


def test_without_a_validation_file_one_context_in_fifty_validates(tmp_path):
    written(tmp_path)
    [trained], validation, reported = gathered(tmp_path)
    assert [context.text for context in validation["validation"]] == [
        "Person 25 wrote book 25.", "Person 75 wrote book 75.",
    ]  # fmt: skip
    assert count(trained) == 2 * 118 and reported == {}
    assert trained[0].text[slice(*trained[0].questions[0].spans[0])] == "book 0"


def test_files_are_named_by_the_settings_or_by_themselves(tmp_path):
    written(tmp_path)
    (tmp_path / "train.jsonl.gz").rename(tmp_path / "NewsQA.jsonl.gz")
    squad = {"data": [{"title": "t", "paragraphs": [{"context": "A text.", "qas": [{"question": "?"}]}]}]}
    for name in ("validation-x.json", "report.json", "train.json"):
        (tmp_path / name).write_text(json.dumps(squad))
    trained, validation, reported = gathered(tmp_path, train=["NewsQA.jsonl.gz", "train.json"])
    assert [len(contexts) for contexts in trained] == [120, 1]
    assert [len(contexts) for contexts in gathered(tmp_path)[0]] == [1]
    assert (list(validation), list(reported)) == (["x validation"], ["report"])


def test_of_each_file_as_many_questions_are_drawn_as_the_settings_say(tmp_path):
    written(tmp_path)
    [trained], *_ = gathered(tmp_path, each=60)
    assert 35 <= count(trained) <= 85
    assert [trained] == gathered(tmp_path, each=60)[0]


def test_what_is_wrong_in_a_file_is_refused(tmp_path):
    path = written(tmp_path)
    with gzip.open(path, "at") as lines:
        lines.write("no JSON\n")
    with pytest.raises(InputError, match="invalid JSON"):
        gathered(tmp_path)


@pytest.mark.parametrize("contexts", [0, 5])
def test_files_too_small_to_validate_are_refused(tmp_path, contexts):
    written(tmp_path, contexts)
    with pytest.raises(InputError, match=r"no context|expected at least 50 contexts"):
        gathered(tmp_path)


def test_a_question_is_asked_elsewhere_of_the_nearest_text_without_its_answer():
    texts = ["Zappa recorded many albums.", "The band of Zappa toured Europe.", "Rivers flow to the sea."]
    contexts = [Context(text, ()) for text in texts]
    question = Question("q", "Where did the band of Zappa tour?", ("Europe",), ((0, 6),))
    asked = list(asked_elsewhere(iter([*contexts, Context("Europe was where.", (question,))]), 1.0, seed=1))
    assert asked[0] == (question, "Europe was where.")
    assert asked[1] == (Question("q", question.text), texts[0])


def test_unanswerable_questions_are_asked_once():
    contexts = [Context("A text.", ()), Context("Another.", (Question("q", "Why?"),))]
    assert len(list(asked_elsewhere(iter(contexts), 1.0, seed=1))) == 1


def test_drawing_all_draws_all():
    contexts = [Context("A.", (Question("1", "?"), Question("2", "?")))]
    assert list(sampled(iter(contexts), 1.5, 1)) == contexts
