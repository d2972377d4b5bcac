"""Both forms read, what is wrong refused by its place, and nothing of the truth in what a pipeline sees."""

from __future__ import annotations

import json

import pytest

from convqa.domain import Exchange, Passage
from convqa.driver.history import History
from convqa.errors import InputError
from convqa.sharc.task import ShARC
from convqa.tasks import find_task
from convqa.text.dialogue import open_question

TASK = ShARC()


def asked(question, answer):
    return {"history": [{"follow_up_question": question, "follow_up_answer": answer}]}


def turns(path):
    return [turn for talk in TASK.read(path) for turn in talk.turns]


def test_follow_up_questions_become_the_history(utterance, write):
    history = [*asked("Do you live here?", "Yes")["history"], *asked("Are you over 60?", "no")["history"]]
    (plain, turn) = turns(write(utterance("a"), utterance("b", history=history, scenario="I am old.")))
    assert (plain.question, plain.history, plain.scenario) == ("May I apply?", (), "")
    assert turn.question == "no" and turn.scenario == "I am old." and str(turn.id) == "b_1"
    assert turn.history == (
        Exchange("May I apply?", "Do you live here?", status="asked"),
        Exchange("Yes", "Are you over 60?", status="asked"),
    )
    assert open_question(turn) == "May I apply?"
    assert turn.passages == (Passage("t", "You may apply if you live here.", url="https://example.org/rules"),)


def test_a_turns_history_is_what_the_driver_gives_it(official):
    for talk in TASK.read(official):
        for mode in ("own", "gold"):
            assert History(talk, mode).before(0) == (talk.turns[0].history, 0)


def test_the_forms_have_their_own_pipelines_and_passages(official, opened):
    assert TASK.pipeline_for(official) == TASK.default_pipeline == "sharc"
    assert TASK.pipeline_for(opened) == TASK.pipeline_for(opened / "open_retrieval_sharc_dev.json") == "sharc-open"
    assert TASK.passages(official) is None
    rules = json.loads((opened / "id2snippet.json").read_text())
    assert [(one.id, one.text) for one in TASK.passages(opened)] == list(rules.items())
    assert all(turn.passages is None for turn in turns(opened))


def test_nothing_of_the_truth_is_in_a_turn(utterance, write):
    told = utterance(answer="SECRET?", evidence=[{"follow_up_question": "SECRET", "follow_up_answer": "Yes"}])
    hidden = {**utterance(open={"gold_snippet_id": "SECRET", "snippet_seen": True}, answer="SECRET")}
    for path in (write(told), write(hidden, lines=True, rules={"SECRET": "x"}, name="open.json")):
        assert "SECRET" not in repr(list(TASK.read(path)))


def test_input_may_lack_the_truth(utterance, write):
    path = write(utterance(answer=..., evidence=...))
    assert len(turns(path)) == 1
    with pytest.raises(InputError, match=r"sharc.json: record 0 \(utterance 'u1'\): answer: is missing"):
        TASK.gold(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scenario": ...}, "scenario: is missing"),
        ({"snippet": " "}, "snippet: is empty"),
        (asked("", "Yes"), r"history\[0\].follow_up_question: is empty"),
        (asked("a?", "\n"), r"history\[0\].follow_up_answer: is empty"),
        (asked("a?", "Maybe"), r"history\[0\].follow_up_answer: expected Yes or No, got 'Maybe'"),
        ({"utterance_id": "u1"}, "utterance_id: is also that of record 0"),
    ],
)  # fmt: skip
def test_a_fault_is_refused_with_its_place(utterance, write, change, message):
    path = write(
        utterance("u1"), {field: value for field, value in (utterance("u2") | change).items() if value is not ...}
    )
    with pytest.raises(InputError, match=rf"sharc\.json: record 1 \(utterance '\w+'\): {message}") as caught:
        turns(path)
    assert "Correct the file" in str(caught.value)


def test_faults_of_the_open_form(utterance, write):
    path = write(utterance(open={}), lines=True, rules={"12": ""})
    with pytest.raises(InputError, match=r"id2snippet\.json: rule '12': expected text, got ''"):
        TASK.passages(path)
    (path.parent / "id2snippet.json").unlink()
    with pytest.raises(InputError, match=r"id2snippet\.json: no such file; expected a JSON object \{id: rule text\}"):
        TASK.passages(path)
    path.write_bytes(b'{"utterance_id": "a"\n')
    with pytest.raises(InputError, match=r"sharc\.json: line 1, column 21: invalid JSON"):
        turns(path)


def test_a_rule_that_is_there_twice(utterance, write):
    path = write(utterance(open={}), lines=True)
    (path.parent / "id2snippet.json").write_bytes(b'\xef\xbb\xbf{"12": "a", "13": "b", "12": "c"}')
    with pytest.raises(InputError, match=r"id2snippet\.json: .*duplicate key '12'"):
        TASK.passages(path)


@pytest.mark.parametrize("content", ["[]", "[3]", '["a"]', "3", "", "[{]"])
def test_what_is_no_utterance(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_text(content)
    assert not TASK.has_input(path)
    with pytest.raises(InputError, match=r"x\.json"):
        turns(path)


def test_a_folder_has_one_file_of_utterances(utterance, write, predict, official, opened):
    path = write(utterance())
    folder = path.parent
    (folder / "predictions.json").write_text('[{"utterance_id": "u1", "answer": "Yes"}]')
    assert [turn.id.conversation for turn in turns(folder)] == ["u1"]
    assert all(find_task("auto", place).name == "sharc" for place in (folder, path, official, opened))
    write(utterance(), name="train.json")
    with pytest.raises(InputError, match=r"expected one file .*, got sharc\.json, train\.json\. Give"):
        turns(folder)


def test_the_published_files_are_read(data, caplog):
    official = data / "sharc" / "sharc1_dev.json"
    found, gold = turns(official), TASK.gold(official)
    assert len(found) == len(gold.turns) == 2270 and sum(len(turn.history) for turn in found) == 2618
    classes = [turn.fields["class"] for turn in gold.turns]
    assert [classes.count(name) for name in ("yes", "no", "more", "irrelevant")] == [804, 766, 562, 138]
    assert caplog.text == ""
    opened = TASK.gold(data / "sharc" / "open-retrieval")
    classes = [turn.fields["class"] for turn in opened.turns]
    assert [classes.count(name) for name in ("yes", "no", "more")] == [426, 366, 313]
    assert sum(turn.fields["snippet_seen"] for turn in opened.turns) == 500
    assert len(list(TASK.passages(data / "sharc" / "open-retrieval"))) == 651
