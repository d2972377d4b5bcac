"""Either format, told apart by what is in the file; every SQuAD-format set at hand is read whole."""

from __future__ import annotations

import json
import os

import pytest

from convqa.errors import InputError
from convqa.tasks.mrqa.input import data_sets, form_of, read_contexts
from convqa.tasks.mrqa.sets import domain_of
from convqa.tasks.mrqa.task import MRQA

LINE = {"context": "c", "qas": [{"qid": "q", "question": "?", "answers": ["c"]}]}
HEADER = {"header": {"dataset": "DuoRC.ParaphraseRC", "split": "dev"}}
PARAGRAPH = {"context": "c", "qas": [{"id": "q", "question": "?", "answers": [{"text": "c", "answer_start": 0}]}]}
SQUAD = {"version": "1.1", "data": [{"title": "t", "paragraphs": [PARAGRAPH]}]}


@pytest.mark.parametrize(
    ("name", "contexts", "questions", "unanswerable"),
    [
        ("squad2-dev-half.json", 646, 6078, 3168),
        ("squadshifts/new_wiki_v1.0.json", 1581, 7938, 0),
        ("squadshifts/reddit_v1.0.json", 2035, 9803, 0),
        ("xquad.de.json", 240, 1190, 0),
        ("xquad.en.json", 240, 1190, 0),
        ("xquad.zh.json", 240, 1190, 0),
        ("jsquad-valid-v1.3.json", 1145, 4442, 0),
        ("poquad-sample.json", 481, 2377, 466),
    ],
)
def test_every_set_in_squads_format(data, name, contexts, questions, unanswerable):
    found = list(read_contexts(data / "squad-format" / name))
    asked = [(context, question) for context in found for question in context.questions]
    assert (len(found), len(asked)) == (contexts, questions)
    assert len({question.id for _, question in asked}) == questions  # PoQuAD's have none: they are named by their place
    assert sum(not question.answers for _, question in asked) == unanswerable
    assert all(
        [context.text[start:end] for start, end in question.spans] == list(question.answers)
        for context, question in asked
    )


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (json.dumps(LINE), "mrqa"),
        (json.dumps(HEADER) + "\n" + json.dumps(LINE), "mrqa"),
        ("\ufeff\n " + json.dumps({"id": 1, **LINE}), "mrqa"),
        (json.dumps({**LINE, "said": ["data", "paragraphs"]}), "mrqa"),
        (json.dumps(SQUAD), "squad"),
        (json.dumps({"my-version": "1", **SQUAD}), "squad"),
        (json.dumps(SQUAD, indent=4), "squad"),
        ("\ufeff" + json.dumps({"by": "me", **SQUAD}, indent=1), "squad"),
        ("", None),
        ("[]", None),
        ('[{"Conversation_no": 1, "Turn_no": 1, "Question": "context qas"}]', None),
        ('{"id": "p1", "contents": "text"}\n', None),
        ('{"context": "text"}', None),
        ('{"q1": "an answer"}', None),
        ('{"version": "1.0", "data": 3}', None),
        ('{"title": "t", "paragraphs": []}', None),
        ("\x00\x01", None),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_content_tells_the_format(write, content, form, packed):
    path = write("any.name", content.encode(), packed=packed)
    assert form_of(path) == form
    assert MRQA().has_input(path) == (form is not None)


def test_both_formats_give_the_same(write):
    one, other = write("a", LINE), write("b", SQUAD)
    (first,), (second,) = list(read_contexts(one)), list(read_contexts(other))
    assert (first.text, first.questions[0].id, first.questions[0].answers) == ("c", "q", ("c",))
    assert (second.text, second.questions[0].id, second.questions[0].answers) == ("c", "q", ("c",))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", b"no", r"x\.jsonl: line 1, column 1: invalid JSON"),
        ("x.jsonl.gz", b'{"contxt": ""}', r"x\.jsonl\.gz: line 1: context: is missing"),
        ("x.json", b"no", r"x\.json: line 1, column 1: invalid JSON"),
        ("x.json", b"[]", r"x\.json: .*Expected: SQuAD-format JSON"),
        (
            "x.json",
            json.dumps({"data": [{"paragraphs": [{"qas": []}]}]}).encode(),
            r"data\[0\]\.paragraphs\[0\]\.context",
        ),
    ],
)
def test_what_is_neither_is_explained_by_the_reader_of_its_name(write, name, content, message):
    with pytest.raises(InputError, match=message):
        list(read_contexts(write(name, content)))


def test_shifted_answers_have_no_span_and_are_scored_all_the_same(write):
    """As in COVID-QA: the official script never looks at answer_start."""
    answers = [[{"text": "b", "answer_start": start}] for start in (0, 2, 99, -1)]
    asked = [{"id": f"q{number}", "question": "?", "answers": found} for number, found in enumerate(answers)]
    path = write("shifted.json", {"data": [{"title": "t", "paragraphs": [{"context": "a b c", "qas": asked}]}]})
    task = MRQA()
    (context,) = read_contexts(path)
    assert [question.spans for question in context.questions] == [(), ((2, 3),), (), ()]
    assert [question.answers for question in context.questions] == [("b",)] * 4
    assert [turn.answers for turn in task.gold(path).turns] == [("b",)] * 4


def test_gzip_that_is_cut_off_is_a_data_set_all_the_same(write):
    path = write("x.jsonl.gz", LINE, packed=True)
    path.write_bytes(path.read_bytes()[:-9])
    assert form_of(path) == "mrqa" and MRQA().has_input(path)
    with pytest.raises(InputError, match=r"x\.jsonl\.gz: after line \d: the gzip is damaged"):
        list(read_contexts(path))


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "x.jsonl")
    with pytest.raises(InputError, match=r"x\.jsonl: cannot be read twice"):
        form_of(tmp_path / "x.jsonl")


# --- data sets ----------------------------------------------------------------------------------------------------


def test_a_set_has_its_name_from_the_header_or_the_file_and_its_domain_from_the_name(write, tmp_path):
    write("in/DuoRC.jsonl.gz", HEADER, LINE, packed=True)
    write("in/NaturalQuestionsShort.jsonl", LINE)
    write("in/mine.jsonl", {"header": {"dataset": "Mine"}}, LINE)
    write("in/SQuAD.jsonl", {"header": {"dataset": "SQuAD-v2-release"}}, LINE)
    write("in/other.json", SQUAD)
    (tmp_path / "in" / ".hidden.json").write_text("")
    (tmp_path / "in" / "README.md").write_text("")
    found = {one.name: domain_of(one.name) for one in data_sets(tmp_path / "in")}
    assert found == {
        "DuoRC": "out-of-domain",
        "NaturalQuestions": "in-domain",
        "SQuAD": "in-domain",
        "Mine": "",
        "other": "",
    }


@pytest.mark.parametrize(
    ("name", "language"), [("xquad.de.json", "de"), ("xquad.zh.json", "zh"), ("jsquad-valid-v1.3.json", "en")]
)
def test_a_file_is_in_the_language_of_its_name_if_that_can_be_analyzed(data, name, language):
    (only,) = data_sets(data / "squad-format" / name)
    assert only.language == language
    assert next(MRQA().read(only.path)).turns[0].language == language


def test_folders_that_cannot_be_read_as_sets(write, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty: has no file \.jsonl, \.jsonl\.gz, \.json; expected files with MRQA"):
        data_sets(tmp_path / "empty")
    write("two/SQuAD.jsonl", LINE)
    write("two/x.jsonl", {"header": {"dataset": "SQuAD"}}, LINE)
    with pytest.raises(InputError, match=r"SQuAD\.jsonl and .*x\.jsonl are both called SQuAD"):
        data_sets(tmp_path / "two")
    write("same/a.jsonl", LINE)
    write("same/b.jsonl", LINE)
    for read in (lambda path: list(MRQA().read(path)), MRQA().gold):
        with pytest.raises(InputError, match=r"b\.jsonl: question 'q' is also in a\.jsonl"):
            read(tmp_path / "same")


def test_a_question_is_a_conversation_that_brings_its_passage(data):
    talks = list(MRQA().read(data / "mrqa" / "NewsQA_sample.jsonl"))
    assert len(talks) == 17 and all(len(talk.turns) == 1 for talk in talks)
    first, second = talks[0].turns[0], talks[1].turns[0]
    assert (first.id.conversation, first.id.number) == (talks[0].id, 1) == ("849240180c584f71bc56c0c92c5df5fd", 1)
    assert first.question == "What will be nominated?" and first.passages == second.passages
    assert first.passages[0].text.startswith("(CNN) -- What could be more powerful")
