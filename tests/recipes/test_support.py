"""The sentences that a support check learns from: what is derived from them, and who is held apart."""

from __future__ import annotations

import json
import random

import pytest

from convqa.errors import InputError
from convqa.training.support import SUPPORTED, claims_of, read_claims
from recipes import support
from recipes.support import BM25, CLAPNQ, CONVERSATION, INSCIT, KINDS, OTHER, make, split

CHANCE = random.Random(1)


@pytest.mark.parametrize(
    ("sentence", "evidence", "possible"),
    [
        ("It has 12 parts.", "It has 12 parts.", {f"It has {n} parts." for n in range(13, 22)}),
        ("He had 1,999 men.", "He had 1,999 men.", {f"He had 2,00{n} men." for n in range(9)}),
        ("It has 12 parts.", "Of 13, 14, 15, 16, 17, 18, 19, 20, 21 and 22.",
         {f"It has {n} parts." for n in range(13, 24)}),
        ("It has parts.", "It has 12.", {None}),
        ("On the A4 it rains.", "", {None}),
    ],
)  # fmt: skip
def test_another_number(sentence, evidence, possible):
    assert {support.number(sentence, evidence, CHANCE) for _ in range(50)} <= possible


def test_another_name_is_of_the_evidence():
    evidence = "In May the city of Weimar saw Charlotte von Stein and Goethe again."
    made = {support.name("The poet Goethe came in May.", evidence, CHANCE) for _ in range(20)}
    assert made == {"The poet Weimar came in May.", "The poet Charlotte came in May.", "The poet Stein came in May."}
    assert support.name("The poet came.", evidence, CHANCE) is None
    assert support.name("The poet Goethe came.", "It was Goethe.", CHANCE) is None
    assert support.name("It was Goethe.", "It was Goethe.", CHANCE) is None


@pytest.mark.parametrize(
    ("sentence", "made"),
    [
        ("It isn't old.", "It is old."),
        ("It has been sold.", "It has not been sold."),
        ("They came and were not seen.", "They came and were seen."),
        ("It is never sold.", None),
        ("They came.", None),
    ],
)
def test_a_negation_more_or_less(sentence, made):
    assert support.negation(sentence, "", CHANCE) == made


PEOPLE = ["Goethe", "Schiller", "Kafka", "Zappa", "Curie", "Darwin"]


def said(name, number):
    return f"The work of {name} was printed in {1800 + number} by a small press. Then it was {name} who saw Rome."


@pytest.fixture
def data(tmp_path):
    """A data folder as the recipe wants it: two turns and two passages for each of six conversations."""
    folders = [tmp_path / name for name in ("inscit", "conversations/inscit_dev", "conversations/clapnq_dev")]
    for folder in folders:
        folder.mkdir(parents=True)
    conversations, passages, truths = {}, [], []
    for number, name in enumerate(PEOPLE, 1):
        turns = []
        for turn, text in enumerate([said(name, number), f"The house of {name} is not open, as {name} sold it."], 1):
            key = f"{name}:{turn}"
            passages.append({"id": key, "title": name, "text": f"{text} It rained."})
            labels = [
                {"responseType": kind, "response": text, "evidence": [{"passage_id": key, "passage_text": text}]}
                for kind in ("directAnswer", "clarification")
            ]
            turns.append({"context": [], "labels": labels})
        conversations[name] = {"seedArticle": {}, "turns": turns}
        truths.append({"Conversation_no": number, "Turn_no": 1, "Truth_answer": said(name, number), "Answerable": True,
                       "Truth_passages": [f"{name}:1"]})  # fmt: skip
    truths.append({**truths[0], "Conversation_no": 7, "Answerable": False, "Truth_passages": []})
    lines = "".join(json.dumps(one) + "\n" for one in passages)
    (folders[0] / "dev.json").write_text(json.dumps(conversations), encoding="utf-8")
    (folders[1] / "passages.jsonl").write_text(lines, encoding="utf-8")
    (folders[2] / "passages.jsonl").write_text(lines, encoding="utf-8")
    (folders[2] / "ground-truth.json").write_text(json.dumps(truths), encoding="utf-8")
    return tmp_path


def claims(data):
    """The split, sentence by sentence."""
    training, reported = split(data)
    return claims_of(training), {name: claims_of(examples) for name, examples in reported.items()}


def test_even_conversations_train_and_odd_ones_are_reported_on(data):
    training, reported = claims(data)
    assert {claim.conversation for claim in training} == {2, 4, 6}
    assert {claim.conversation for claim in reported[INSCIT]} == {1, 3, 5}
    assert {claim.conversation for claim in reported[CLAPNQ]} == {1, 2, 3, 4, 5, 6}
    told = {claim.evidence.split("\n")[0] for claim in training}
    assert told == {"Schiller", "Zappa", "Darwin"}  # no passage of what reports, not as a wrong one either
    assert [claim.kind for claim in training].count(SUPPORTED) == 9
    assert {claim.kind for claim in reported[INSCIT]} == {SUPPORTED, *KINDS}


def test_what_a_passage_supports_is_no_wrong_example(data):
    for claim in [claim for reported in claims(data)[1].values() for claim in reported]:
        whole = claim.sentence in claim.evidence
        assert whole == claim.supported, claim


def test_evidence_that_reports_does_not_train(data):
    file = data / "inscit" / "dev.json"
    found = json.loads(file.read_text())
    found["Schiller"]["turns"][0]["labels"][0]["evidence"] = [{"passage_id": "Goethe:1", "passage_text": ""}]
    file.write_text(json.dumps(found))
    training, _ = claims(data)
    assert not any(said("Schiller", 2)[:30] in claim.sentence for claim in training if claim.supported)


def test_wrong_passages_are_those_that_a_search_finds(data):
    some = claims(data)[1][INSCIT]
    (first,) = [claim.origin for claim in some if claim.supported and claim.sentence.startswith("The work of Kafka")]
    kinds = {claim.kind: claim for claim in some if claim.origin == first}
    assert kinds[SUPPORTED].evidence.startswith("Kafka\nThe work")
    assert kinds[BM25].evidence.startswith(("Kafka\nThe house", "Goethe\nThe work", "Curie\nThe work", "Schiller\nThe"))
    assert kinds[CONVERSATION].evidence.startswith("Kafka\nThe house")
    assert kinds[OTHER].evidence == kinds[SUPPORTED].evidence and "Kafka was printed" not in kinds[OTHER].sentence


def test_what_is_written_trains(data, tmp_path):
    training, reported = split(data)
    for name, some in (("train", training), ("report-inscit", reported[INSCIT]), ("report-clapnq", reported[CLAPNQ])):
        assert make(data)[f"{name}.jsonl"] == some
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(one.model_dump_json() + "\n" for one in some))
        assert read_claims([path]) == claims_of(some)


def test_a_data_folder_that_lacks_files_is_refused(data):
    (data / "inscit" / "dev.json").unlink()
    with pytest.raises(InputError, match=r"the data folder lacks inscit/dev.json\. See docs"):
        split(data)
