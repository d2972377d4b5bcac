"""The readers of QReCC and CANARD, and the guard against overlap."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.errors import InputError
from convqa.models.kinds.resolver_input import Past
from recipes.rewrites import (
    alternate,
    canard_dev,
    canard_tables,
    example,
    held_out,
    qrecc_4k,
    qrecc_turns,
    texts_of,
    without_overlap,
)

words = st.text(string.ascii_lowercase, min_size=1, max_size=2)
texts = st.lists(words, min_size=1, max_size=12).map(" ".join)
examples = st.lists(
    st.builds(
        example,
        st.sampled_from(["a", "b", "c", "d", "e"]),
        texts,
        st.lists(st.builds(Past, texts, texts), min_size=1, max_size=2).map(tuple),
        texts,
    ),
    max_size=8,
)


def one(name, rewrite, *asked):
    return example(name, "what?", [Past(text) for text in asked] or [Past("")], rewrite)


def test_one_long_text_in_common_is_overlap_whatever_its_signs():
    reported = [one("r", "Who was the first man on the moon?")]
    assert without_overlap([one("t", "x", "who was the FIRST man, on the moon")], reported) == []


def test_one_short_text_in_common_is_chance_and_two_are_not():
    reported = [one("r", "when was the band formed?", "who was in the band?")]
    once = one("t", "when was the band formed", "how old is she")
    twice = one("u", "when was the band formed", "who was in the band")
    assert without_overlap([once, twice], reported) == [once]


def test_a_conversation_is_dropped_whole_and_by_name():
    reported = [one("r", "who was the first man on the moon?")]
    training = [one("t", "something else"), one("t", "who was the first man on the moon"), one("r", "quite another")]
    assert without_overlap(training, reported) == []


def test_one_long_answer_in_common_is_overlap_and_a_shorter_one_is_chance():
    def answered(name, answer):
        return example(name, "what?", (Past("and then?", answer),), "what was it?")

    ten = "He moved to Weimar in 1775, at the duke's call."
    reported = [answered("r", ten), answered("s", "he wrote a play about a doctor again")]
    nine, other = answered("t", "He wrote a play about a doctor, again!"), answered("u", ten + " Then he stayed.")
    assert without_overlap([answered("v", ten.upper()), nine, other], reported) == [nine, other]


def test_an_answer_is_compared_with_answers_only():
    text = "he was the first of all the men who ever stood on the moon"
    reported = [example("r", "what?", (Past("and?", text),), "what was it?")]
    assert without_overlap([one("t", text)], reported) == [one("t", text)]


@given(examples, examples)
def test_what_is_kept_shares_nothing_telling_and_is_whole(training, reported):
    kept = without_overlap(training, reported)
    assert kept == [example for example in training if example in kept]  # in order, none made
    names = {example.conversation for example in kept}
    assert kept == [example for example in training if example.conversation in names]
    known = {text for example in reported for text in texts_of(example)}
    shared = {}
    for each in kept:
        shared.setdefault(each.conversation, set()).update(known.intersection(texts_of(each)))
    for name, found in shared.items():
        assert name not in {example.conversation for example in reported}
        asked = [len(text.split()) for text, is_answer in found if not is_answer]
        assert max(asked, default=0) < 7
        assert len([length for length in asked if length >= 5]) < 2
        assert max((len(text.split()) for text, is_answer in found if is_answer), default=0) < 10
    assert without_overlap(kept, reported) == kept


def test_conversations_alternate_by_number_not_by_name():
    turns = [one(f"qrecc-{number}", str(number)) for number in (10, 9, 2, 10)]
    even, odd = alternate(turns)
    assert [example.rewrite for example in even] == ["10", "2", "10"]
    assert [example.rewrite for example in odd] == ["9"]


def test_readers(tmp_path):
    turns = [
        {"Conversation_no": 3, "Question": "When?", "Truth_rewrite": "When was A?", "NewContext": ["A?", "Yes."]},
        {"Conversation_no": 3, "Question": "A?", "Truth_rewrite": "A?", "NewContext": []},
    ]
    (tmp_path / "dev.json").write_text(json.dumps(turns))
    assert qrecc_turns(tmp_path / "dev.json") == [example("qrecc-3", "When?", (Past("A?", "Yes."),), "When was A?")]
    line = {"conversation": "Q: Who? A: He.\nQ: Why?", "question": "How?", "label": "How did he?"}
    (tmp_path / "4k.jsonl").write_text(json.dumps(line) + "\n")
    assert qrecc_4k(tmp_path / "4k.jsonl") == [
        example("4k-Who?", "How?", (Past("Who?", "He."), Past("Why?", "")), "How did he?")
    ]


def test_canard_tables_are_put_together_by_turn_number(tmp_path):
    def write(name, rows):
        (tmp_path / name).write_text("".join(f"{key}\t{text}\n" for key, text in rows.items()))

    write("train.question.tsv", {"C_1_0_q#10": "Third?", "C_1_0_q#2": "Second?", "C_1_0_q#1": "First?"})
    write("train.rewrite.tsv", {"C_1_0_q#10": "Third of A?", "C_1_0_q#1": "First of A?"})
    write("train.answer.tokens.tsv", {"C_1_0_q#1": "red | green"})
    assert canard_tables(tmp_path) == [
        example("C_1", "Third?", (Past("First?", "red green"), Past("Second?", "")), "Third of A?")
    ]


TURN = {"Conversation_no": 3, "Question": "When?", "Truth_rewrite": "When was A?", "NewContext": ["A?", "Yes."]}
PUBLISHED = {"QuAC_dialog_id": "C_1_0", "Question": "When?", "Rewrite": "When was A?", "History": ["A", "Life"]}


def without(record, field):
    return {name: value for name, value in record.items() if name != field}


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (qrecc_turns, json.dumps([TURN])[:40], "line 1, column "),
        (qrecc_turns, json.dumps([TURN, without(TURN, "Question")]), "record 1: Question: is missing"),
        (
            qrecc_turns,
            json.dumps([TURN | {"Conversation_no": "x"}]),
            "record 0: Conversation_no: expected a whole number, got 'x'",
        ),
        (
            qrecc_turns,
            json.dumps([TURN | {"NewContext": ["A?", 5]}]),
            "record 0: NewContext[1]: expected a string, got 5",
        ),
        (qrecc_turns, json.dumps(TURN), "expected an object, got"),
        (qrecc_turns, "", "the file is empty"),
        (canard_dev, json.dumps([PUBLISHED])[:-9], "line 1, column "),
        (canard_dev, json.dumps([PUBLISHED, without(PUBLISHED, "History")]), "record 1: History: is missing"),
        (canard_dev, json.dumps([7]), "record 0: the record: expected an object, got 7"),
        (qrecc_4k, '{"conversation": "", "question": "q", "label": "l"}\n{"conv', "line 2, column "),
        (qrecc_4k, '{"conversation": "", "question": "q"}', "line 1: label: is missing"),
    ],
)
def test_damaged_files_are_refused_with_file_place_and_field(tmp_path, read, text, said):
    (tmp_path / "damaged").write_text(text)
    with pytest.raises(InputError) as caught:
        read(tmp_path / "damaged")
    message = str(caught.value)
    assert (
        said in message
        and str(tmp_path / "damaged") in message
        and ("wanted" in message.lower() or "expected" in message.lower())
    )


@pytest.mark.parametrize("line", [b"C_1_0_q#2", b"C_1_0\tSecond?", b"C_1_0_q#x\tSecond?", b"C_1_0_q#2\t\xff"])
def test_damaged_tables_of_canard_are_refused_with_file_and_line(tmp_path, line):
    for name in ("question", "rewrite", "answer.tokens"):
        (tmp_path / f"train.{name}.tsv").write_bytes(b"C_1_0_q#1\tFirst?\n")
    assert canard_tables(tmp_path) == []
    (tmp_path / "train.rewrite.tsv").write_bytes(b"C_1_0_q#1\tFirst?\n" + line)
    with pytest.raises(InputError, match=r"train.rewrite.tsv: line 2: expected a turn id .*; got b"):
        canard_tables(tmp_path)


def test_what_is_held_out_is_whole_conversations_and_always_the_same():
    examples = [example(f"c{number % 5}", str(number), [Past("q")], "r") for number in range(20)]
    rest, held = held_out(examples, 2)
    assert len({one.conversation for one in held}) == 2
    assert not {one.conversation for one in held} & {one.conversation for one in rest}
    assert len(rest) + len(held) == 20
    assert held_out(list(reversed(examples)), 2)[1] == list(reversed(held))
