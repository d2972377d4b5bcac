"""What a reader trains on, validates on and is reported on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from convqa.errors import InputError
from convqa.tasks.mrqa.contexts import Context, Question
from convqa.training.config import load
from convqa.training.data.reading import FILES, asked_elsewhere, sampled, split

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"


@pytest.fixture(scope="session")
def written():
    if not DATA.is_dir():
        pytest.skip("the real data is not beside the checkout")
    return split(load("reader"), DATA)


def own(folder, contexts=120):
    """A file in MRQA's format, with its header."""
    path = folder / "own.jsonl.gz"
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


def settings(**changes):
    return load("reader", None, {"own": ["own.jsonl.gz"], "mix": [{"sets": ["own"]}], **changes})


def count(contexts):
    return sum(len(context.questions) for context in contexts)


def test_the_written_split(written):
    assert {name: count(contexts()) for name, contexts in written.training.items()} == TRAINED
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
        for one in contexts():
            assert one.text not in texts
            assert one.title not in articles


def test_own_files_train_alone_and_one_context_in_fifty_validates(tmp_path):
    own(tmp_path)
    found = split(settings(), tmp_path)
    assert [context.text for context in found.validation["own"]] == [
        "Person 25 wrote book 25.", "Person 75 wrote book 75.",
    ]  # fmt: skip
    trained = list(found.training["own"]())
    assert count(trained) == 2 * 118
    assert trained[0].text[slice(*trained[0].questions[0].spans[0])] == "book 0"


def test_of_each_own_file_as_many_questions_are_drawn_as_the_settings_say(tmp_path):
    own(tmp_path)
    found = split(settings(each=60), tmp_path)
    trained = count(found.training["own"]())
    assert 35 <= trained <= 85
    assert trained == count(found.training["own"]())


def test_what_is_wrong_in_an_own_file_is_refused(tmp_path):
    path = own(tmp_path)
    with gzip.open(path, "at") as lines:
        lines.write("no JSON\n")
    with pytest.raises(InputError, match="invalid JSON"):
        split(settings(each=1000), tmp_path)


@pytest.mark.parametrize("contexts", [0, 5])
def test_own_files_too_small_to_validate_are_refused(tmp_path, contexts):
    own(tmp_path, contexts)
    with pytest.raises(InputError, match=r"no context|expected at least 50 contexts"):
        split(settings(), tmp_path)


def test_a_missing_file_or_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"squad2-dev-half\.json: no such file"):
        split(load("reader", None, {"mix": [{"sets": ["squad2"]}]}), tmp_path)
    with pytest.raises(InputError, match="missing data folder"):
        split(load("reader"), None)
    assert set(FILES) == {"squad2", "new-wiki", "reddit"}


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
