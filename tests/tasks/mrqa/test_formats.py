"""MRQA's own files: strict with the place, and never the whole file at once."""

from __future__ import annotations

import gzip
import json

import pytest

from convqa.errors import InputError
from convqa.tasks.mrqa.formats import read_jsonl


def asked(qid="q1", answers=("Goethe",), **more):
    return {"qid": qid, "question": "Who?", "answers": list(answers), **more}


def found(text, *spans):
    return {"text": text, "char_spans": [list(span) for span in spans]}


def context(*qas, text="Goethe wrote Faust."):
    return {"context": text, "qas": list(qas)}


HEADER = {"header": {"dataset": "SQuAD", "split": "dev"}}
GOOD = context(asked("good"))


def test_the_tasks_own_sample(data):
    """Three articles of NewsQA as the task published them: every answer stands exactly where its span is."""
    contexts = list(read_jsonl(data / "mrqa" / "NewsQA_sample.jsonl"))
    questions = [(context, question) for context in contexts for question in context.questions]
    assert (len(contexts), len(questions)) == (3, 17)
    for context, question in questions:
        assert [context.text[start:end] for start, end in question.spans] == list(question.answers)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("header", [(), (HEADER,)])
@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x"])
def test_plain_or_packed_with_or_without_header_whatever_its_name(write, packed, header, name):
    path = write(name, *header, context(asked(detected_answers=[found("Goethe", (0, 5))])), packed=packed)
    (only,) = read_jsonl(path)
    (question,) = only.questions
    assert (only.text, only.title) == ("Goethe wrote Faust.", "")
    assert (question.id, question.text, question.answers, question.spans) == ("q1", "Who?", ("Goethe",), ((0, 6),))


def test_inclusive_spans_become_half_open_and_are_there_once(write):
    detected = [found("42", (14, 15), (18, 19)), found("42", (14, 15)), found("42.", (14, 16))]
    text = "The answer is 42. 42 is the answer."
    (only,) = read_jsonl(write("x", context(asked(detected_answers=detected), text=text)))
    assert only.questions[0].spans == ((14, 16), (18, 20), (14, 17))
    assert [text[start:end] for start, end in only.questions[0].spans] == ["42", "42", "42."]


def test_what_is_to_be_predicted_needs_no_answers_and_unknown_fields_are_no_mistake(write):
    (only,) = read_jsonl(write("x", {"context": "c", "qas": [{"qid": "q", "question": "?", "id": 3}], "more": None}))
    assert (only.questions[0].answers, only.questions[0].spans) == ((), ())


def test_characters_outside_the_first_plane_count_as_one(write):
    detected = [found("Goethe", (2, 7))]
    line = context(asked(detected_answers=detected), text="👋 Goethe")
    for as_ascii in (False, True):
        (only,) = read_jsonl(write("x", json.dumps(line, ensure_ascii=as_ascii).encode()))
        assert only.questions[0].spans == ((2, 8),)


def at(**more):
    return context(asked(detected_answers=[found("Goethe", (0, 5)) | more]))


MISTAKES = [
    (b'{"context": "x", "qas": [', r"line 2, column \d+: invalid JSON"),
    (b'{"context": "\xff", "qas": []}', r"line 2: byte 14 is not UTF-8"),
    ([], r"line 2: the record: expected an object, got \[\]"),
    (HEADER, r"line 2: context: is missing"),
    (context(3), r"line 2: qas\[0\]: expected an object, got 3"),
    (context({"question": "?"}), r"line 2: qas\[0\]\.qid: is missing"),
    (context(asked("")), r"line 2: qas\[0\]\.qid: is empty"),
    (at(char_spans=[[0]]), r"char_spans\[0\]: expected at least 2 items, got \[0\]"),
    (
        at(char_spans=[[0, 5.0]]),
        r"char_spans\[0\]\[1\]: expected a whole number, got 5.0",
    ),
]


@pytest.mark.parametrize(("line", "message"), MISTAKES)
def test_a_mistake_is_refused_with_its_line(write, line, message):
    path = write("x.jsonl", GOOD, line, context(asked("last")))
    with pytest.raises(InputError, match=message) as caught:
        list(read_jsonl(path))
    assert str(caught.value).startswith(f"{path}: line 2")


def test_spans_outside_are_left_out(write):
    path = write("x", at(char_spans=[[0, 5], [0, 99], [-1, 5], [5, 0]]))
    (only,) = read_jsonl(path)
    assert only.questions[0].spans == ((0, 6),)


@pytest.mark.parametrize("cut", [1, 30, -9, -1])
def test_damaged_gzip_is_no_shorter_file(write, cut):
    path = write("x.jsonl.gz", *[context(asked(f"q{number}")) for number in range(2000)], packed=True)
    path.write_bytes(path.read_bytes()[: cut + 20 if cut > 0 else cut])
    with pytest.raises(InputError, match=r"x\.jsonl\.gz: after line \d+: the gzip is damaged"):
        list(read_jsonl(path))
    whole = gzip.compress(json.dumps(GOOD).encode() * 3000)
    path.write_bytes(whole[:40] + bytes(20) + whole[60:])
    with pytest.raises(InputError, match="the gzip is damaged"):
        list(read_jsonl(path))


def test_a_mark_of_byte_order_and_a_last_line_without_end_are_no_mistake(write):
    path = write("x", b"\xef\xbb\xbf" + json.dumps(HEADER).encode(), GOOD, end=b"")
    assert len(list(read_jsonl(path))) == 1
