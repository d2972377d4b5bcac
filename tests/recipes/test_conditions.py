"""What a condition check learns from: who is held apart, and what is open."""

from __future__ import annotations

import json

import pytest

from convqa.errors import InputError
from convqa.sharc.trainer import ConditionExample
from recipes.conditions import DEV, OPEN, apart, examples, make, split, utterances

PLACES = ["Rome", "Cyprus", "France", "Malta", "Spain", "Greece"]


def record(number, place, told, answer, evidence=(), history=(), url=None):
    return {
        "utterance_id": f"u{number}", "tree_id": f"t{place}", "source_url": url or f"https://example.org/{place}",
        "question": "Can I get it?", "scenario": told, "answer": answer,
        "history": [{"follow_up_question": q, "follow_up_answer": a} for q, a in history],
        "evidence": [{"follow_up_question": q, "follow_up_answer": a} for q, a in evidence],
    }  # fmt: skip


def records(places, start):
    made = []
    for number, place in enumerate(places):
        asked = f"Do you live in {place}?"
        told = [f"I live in {place} with my dog.", f"I don't live in {place}.", "I have a question about money."]
        for kind, (text, answer, evidence) in enumerate(
            [(told[0], "Yes", [(asked, "Yes")]), (told[1], "No", [(asked, "No")]), (told[2], asked, [])]
        ):
            made.append(record(f"{start}{number}{kind}", place, text, answer, evidence))
    return made


@pytest.fixture
def data(tmp_path):
    """A data folder as the recipe wants it: three addresses that train and three that are reported on."""
    dev = [{**one, "snippet": f"Rule of {one['tree_id']}"} for one in records(PLACES[:3], "d")]
    places = [*PLACES[3:], "Rome"]
    seen = [{**one, "gold_snippet_id": one["tree_id"], "snippet_seen": True} for one in records(places, "s")]
    unseen = [{**record("x", "Oslo", "I live.", "Yes"), "gold_snippet_id": "tOslo", "snippet_seen": False}]
    files = {
        DEV: json.dumps(dev),
        OPEN: "".join(json.dumps(one) + "\n" for one in [*seen, *unseen]),
        "sharc/open-retrieval/id2snippet.json": json.dumps({f"t{place}": f"A {place}" for place in [*places, "Oslo"]}),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_misspelled_evidence_is_read_and_what_is_none_is_refused(tmp_path):
    """As in the published files."""
    one = {**record("1", "Rome", "I live.", "Yes", [("b?", "yes")]), "snippet": "Rule"}
    one["evidence"].insert(0, {"followup_question": "a?", "followup_answer": "Noe"})
    (tmp_path / "x.json").write_text(json.dumps([one]))
    assert utterances(tmp_path / "x.json")[0].evidence == (("a?", False), ("b?", True))
    (tmp_path / "x.json").write_text(json.dumps([{**one, "evidence": [{"follow_up_question": "b?"}]}]))
    with pytest.raises(InputError, match=r"record 0 \(utterance 'u1'\): evidence\[0\]: .*answer: is missing"):
        utterances(tmp_path / "x.json")


def test_seen_rule_texts_train_and_no_address_does_both(data):
    training, reported = split(data)
    assert {one.source.rpartition("/")[2] for one in training} == set(PLACES[3:])
    assert {one.source.rpartition("/")[2] for one in reported} == set(PLACES[:3])
    assert [one.yes for one in training if not one.foreign] == [True, False] * 3 + [None] * 3
    for one in training:
        if one.foreign:
            assert one.yes is None and one.source.rpartition("/")[2] not in one.question


def test_the_same_rule_text_under_another_address_is_held_apart(data):
    dev = utterances(data / DEV)
    other = [one for one in utterances(data / OPEN) if one.snippet == "A Malta"]
    assert apart(other, dev) == other
    file = data / OPEN.replace("open_retrieval_sharc_dev", "id2snippet")
    file.write_text(file.read_text().replace("A Malta", "Rule  of tRome"))
    assert apart([one for one in utterances(data / OPEN) if one.record.gold_snippet_id == "tMalta"], dev) == []


def test_what_was_asked_earlier_is_no_example_and_answers_win(data):
    dev = utterances(data / DEV)
    asked = "Do you live in Rome?"
    told = dev[0].record.scenario
    again = dev[0].record.model_copy(update={"answer": asked, "evidence": [], "utterance_id": "again"})
    twice = [dev[0], type(dev[0])(again, dev[0].snippet, ())]
    assert [one for one in examples(twice) if not one.foreign] == [
        ConditionExample(told=told, question=asked, yes=True, source="https://example.org/Rome")
    ]


def test_files_of_ones_own_train_too(data):
    own = [{**one, "snippet": "Another"} for one in records(["Oslo"], "o")]
    (data / "mine.json").write_text(json.dumps(own))
    training, _ = split(data, ["mine.json"])
    assert "https://example.org/Oslo" in {one.source for one in training}
    with pytest.raises(InputError, match=r"the data folder lacks other\.json"):
        split(data, ["other.json"])


def test_what_is_written_is_the_split(data):
    training, reported = split(data)
    files, sources = make(data, [])
    assert files == {"train.jsonl": training, "report-sharc-dev.jsonl": reported}
    assert "ShARC" in sources
