"""Each format as others read it: whole files, the rules of the tracks' own checks, and errors that name the place."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.domain import Answer, Citation, Failure, Hit, Passage, Ranking, Response, Rewrite, Sentence, TurnId
from convqa.errors import InputError
from convqa.exports import CitedAnswer, Submission, export, find_format, formats
from convqa.exports.text import escape
from convqa.exports.trec_rag import words

GOLDEN = Path(__file__).with_name("golden")
FAILED = Failure("reader", "ValueError", "no")


def written(format, responses):
    pieces = []
    export(responses, find_format(format), Submission("a run", "a team"), pieces.append)
    return b"".join(pieces)


@pytest.mark.parametrize("name", ["trec-rag.jsonl", "ikat.jsonl", "text.txt"])
def test_files_are_as_they_were(golden, name):
    assert written(name.partition(".")[0], golden) == (GOLDEN / name).read_bytes()


SEGMENTS = [f"msmarco_v2.1_doc_01_{n}#{n}_{n}" for n in range(120)]


def answer_to(topic, segments=SEGMENTS[:3]):
    """A response to a topic of TREC RAG, which cites a segment a sentence."""
    hits = tuple(Hit(id, 1.0, Passage(id, "text")) for id in segments)
    sentences = [Sentence("Word " * 3, (Citation(hit.id, 0, 4),)) for hit in hits]
    return Response(
        TurnId(topic, 1), Rewrite.unchanged("why"), ranking=Ranking(hits), answer=Answer.of(sentences, "en")
    )


def test_records_keep_the_rules_of_trec_rag():
    """Those of rag25_validation.py."""
    responses = [answer_to("2024-145979"), answer_to(12, SEGMENTS), Response(TurnId("a", 1), error=FAILED)]
    records = [json.loads(line) for line in written("trec-rag", responses).splitlines()]
    assert [record["topic_id"] for record in records] == ["2024-145979", "12", "a"]
    assert [len(record["references"]) for record in records] == [3, 100, 0]
    for record in records:
        assert record["metadata"]["narrative_id"] == record["topic_id"]
        assert record["metadata"]["type"] in {"manual", "automatic"}
        assert len(set(record["references"])) == len(record["references"])
        assert record["response_length"] == sum(words(sentence["text"]) for sentence in record["answer"])
        for sentence in record["answer"]:
            assert set(sentence["citations"]) <= set(range(len(record["references"])))
    # Sentence n cites passage n, as far as it is a reference.
    assert [sentence["citations"] for sentence in records[1]["answer"]] == [[n] for n in range(100)] + [[]] * 20


def test_a_conversation_of_one_turn_is_a_topic(golden):
    ids = [TurnId("2024-145979", 1), TurnId(12, 1), TurnId("7_8", 1), TurnId("7_8", 2), TurnId(3, 4)]
    records = written("trec-rag", [replace(golden[0], id=id) for id in ids]).splitlines()
    assert [json.loads(record)["topic_id"] for record in records] == ["2024-145979", "12", "7_8_1", "7_8_2", "3"]


def test_ikat_keeps_the_rules_of_the_track(golden, many):
    """What validate_trec_ikat25.py asks for; generate_run.py reads turn_id and references."""
    for line in written("ikat", [*golden, many]).splitlines():
        record = json.loads(line)
        assert {"team_id", "run_id", "run_type"} <= record["metadata"].keys()
        assert record["metadata"]["run_type"] in {"manual", "automatic", "generation-only"}
        assert record["turn_id"] == record["metadata"]["turn_id"]
        assert len(record["references"]) <= 1000
        assert all(isinstance(score, float | int) for score in record["references"].values())
        for response in record["responses"]:
            assert isinstance(response["text"], str)
            assert "ptkb_provenance" in response
            assert response["citations"].items() <= record["references"].items()


@pytest.mark.parametrize("format", ["ikat", "trec-rag"])
def test_ids_of_any_characters_are_kept(format):
    ids = ["a b", "a/b", "a%2Fb", "a:b", "[1]", "a,b", "a\nb", '"', "\\", " ", "é", "e\u0301"]
    ranking = Ranking(tuple(Hit(id, 1.0, Passage(id, "text")) for id in ids))
    answer = Answer.of([Sentence("All.", tuple(Citation(id, 0, 4) for id in ids))], "en")
    record = json.loads(written(format, [Response(TurnId(1, 1), ranking=ranking, answer=answer)]))
    assert list(record["references"]) == ids


def test_ikat_keeps_a_thousand_references_and_all_that_are_cited(many):
    record = json.loads(written("ikat", [many]))
    assert len(record["references"]) == 1000
    assert {f"d{number}" for number in range(120)} <= record["references"].keys()
    scores = list(record["references"].values())
    assert scores == sorted(scores, reverse=True)


@given(st.text(st.characters(), max_size=20))
def test_escaped_text_is_one_harmless_line(text):
    assert len(escape(text).splitlines()) <= 1
    assert "\x1b" not in escape(text)
    escape(text).encode()


ANSWERS = [name for name, format in formats().items() if format.needs_answers]


@pytest.mark.parametrize("format", ANSWERS)
def test_a_journal_keeps_what_an_export_needs(golden, format):
    assert written(format, [response.trimmed() for response in golden]) == written(format, golden)


@pytest.mark.parametrize("format", ANSWERS)
def test_one_conversation_after_the_other(golden, format):
    """No more than a conversation is held back."""
    pieces = []

    def one_by_one():
        for number, response in enumerate(golden):
            assert len(pieces) == {0: 0, 1: 0, 2: 0, 3: 2, 4: 2}[number]
            yield response

    tally = export(one_by_one(), find_format(format), Submission("a run"), pieces.append)
    assert tally == {"answered": 3, "unanswered": 1, "failed": 1}


def test_an_export_of_nothing_is_empty():
    assert {name: written(name, []) for name in ANSWERS} == dict.fromkeys(ANSWERS, b"")


def test_a_text_without_sentences_is_one_sentence(golden):
    (record,) = map(json.loads, [written("ikat", [replace(golden[0], answer=Answer("answer", "Yes", label="Yes"))])])
    assert [response["text"] for response in record["responses"]] == ["Yes"]


def test_formats_are_found_by_name(installed, caplog):
    assert find_format("ikat").name == "ikat"
    with pytest.raises(InputError, match=r"unknown format 'trecrag'.*'trec-rag'"):
        find_format("trecrag")
    source = "from convqa.exports import Format\nMINE = Format('mine', lambda cited, submission: b'x')\n"
    installed("export_for_test", "convqa.exports", "mine = export_for_test:MINE\nbroken = export_for_test:NONE", source)
    assert written("mine", [Response(TurnId(1, 1), error=FAILED)]) == b"x"
    assert "broken" not in formats() and "export_for_test:NONE" in caplog.text


def test_a_turn_without_an_answer_is_not_exported():
    with pytest.raises(InputError, match="turn 1_1 has no answer: the pipeline of this run makes none"):
        CitedAnswer.of(Response(TurnId(1, 1), ranking=Ranking()))


def test_a_whole_passage_may_be_cited_without_its_text():
    answer = Answer.of([Sentence("A.", (Citation("a"),))], "en")
    cited = CitedAnswer.of(Response(TurnId(1, 1), ranking=Ranking((Hit("a", 1.0),)), answer=answer))
    assert cited.quotes == {Citation("a"): ""}
    assert cited.passages == {}
