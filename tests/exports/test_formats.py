"""Each format as others read it: whole files, the rules of the tracks' own checks, and errors that name the place."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from convqa.domain import Answer, Citation, Failure, Hit, Passage, Ranking, Response, Rewrite, Sentence, TurnId
from convqa.errors import InputError
from convqa.exports import FORMATS, OF_ANSWERS, CitedAnswer, Submission, export, find_format
from convqa.exports.trec_rag import words
from convqa.tasks.jwhr.schema import run_faults
from convqa.tasks.jwhr.task import JWHR

GOLDEN = Path(__file__).with_name("golden")
FAILED = Failure("reader", "ValueError", "no")


def written(format, responses):
    pieces = []
    export(responses, FORMATS[format], Submission("a run", "a team"), pieces.append)
    return b"".join(pieces)


@pytest.mark.parametrize("name", ["trec-rag.jsonl", "ikat.jsonl", "jwhr.jsonl", "evidence.json", "text.txt"])
def test_files_are_as_they_were(golden, name):
    assert written(name.partition(".")[0], golden) == (GOLDEN / name).read_bytes()


SEGMENTS = [f"msmarco_v2.1_doc_01_{n}#{n}_{n}" for n in range(120)]


def answer_to(topic, segments=SEGMENTS[:3], words=3):
    """A response to a topic of TREC RAG, which cites a segment a sentence."""
    hits = tuple(Hit(id, 1.0, Passage(id, "text")) for id in segments)
    sentences = [Sentence("Word " * words, (Citation(hit.id, 0, 4),)) for hit in hits]
    return Response(
        TurnId(topic, 1), Rewrite.unchanged("why"), ranking=Ranking(hits), answer=Answer.of(sentences, "en")
    )


@pytest.mark.parametrize(("format", "years", "most"), [("trec-rag", (2024, 2025), 20), ("trec-rag-2025", (2025,), 100)])
def test_what_answers_the_topics_of_trec_rag_passes_the_tracks_checks(readers, format, years, most):
    responses = [answer_to("2024-145979"), answer_to(12, SEGMENTS), Response(TurnId("a", 1), error=FAILED)]
    check = readers.TrecRagCheck(*years, topics={"2024-145979": "why", "12": "why", "a": ""})
    records = written(format, responses).splitlines()
    assert [problem for line in records for problem in check(line)] == []
    assert len(json.loads(records[1])["references"]) == most
    # Whoever goes beyond that is told.
    assert list(readers.TrecRagCheck(*years, topics={"13": ""})(records[0])) == [
        f"TREC RAG {year}'s check refuses a topic that is not in the track" for year in years
    ]


PLACES = "refuses citations that are not indexes into the references"
GOOD = {
    "run_id": "r", "topic_id": "1", "topic": "why", "references": SEGMENTS[:2], "response_length": 2,
    "answer": [{"text": "a b", "citations": [0, 1]}],
    "metadata": {"team_id": "t", "run_id": "r", "narrative_id": "1", "type": "automatic"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        ({}, None, None),
        ({"topic": "why not"}, "refuses a topic whose text", None),
        ({"references": ["p1", "p2"]}, "refuses references that are not segments", None),
        ({"references": SEGMENTS[:1] * 2}, "keeps a reference once", "keeps a reference once"),
        ({"references": SEGMENTS[:21]}, "takes at most 20", None),
        ({"references": SEGMENTS[:101]}, "takes at most 20", "takes at most 100"),
        (
            {"answer": [{"text": "a b", "citations": [2]}]},
            PLACES,
            PLACES,
        ),
        (
            {"answer": [{"text": "a b", "citations": [-1]}]},
            PLACES,
            PLACES,
        ),
        ({"answer": [{"text": "a b", "citations": [0, 0]}]}, "removes a citation", "removes a citation"),
        ({"answer": [{"text": "a b", "citations": SEGMENTS[:2]}]}, PLACES, None),
        (
            {"answer": [{"text": "a b", "citations": [0, SEGMENTS[1]]}]},
            PLACES,
            PLACES,
        ),
        (
            {"answer": [{"text": "a " * 401, "citations": []}], "response_length": 401},
            "cuts sentences",
            "cuts sentences",
        ),
        ({"response_length": 3}, "corrects a response_length", None),
        ({"metadata": {"team_id": "t", "run_id": "r"}}, None, "refuses records without references, answer and, in"),
        ({"metadata": {**GOOD["metadata"], "type": "auto"}}, None, "refuses a type"),
        ({"metadata": None}, None, "refuses records without references, answer and, in"),
        ({"topic_id": "2"}, "refuses a topic that is not in", None),
    ],
)
def test_the_rules_of_each_year(readers, change, old, new):
    """Those of rag24_validation.py and rag25_validation.py."""
    for year, wanted in ((2024, old), (2025, new)):
        found = list(readers.TrecRagCheck(year, topics={"1": "why"})(json.dumps({**GOOD, **change}).encode()))
        assert len(found) == (wanted is not None), found
        assert all(problem.startswith(f"TREC RAG {year}'s check {wanted}") for problem in found)


def test_the_rules_for_a_whole_file(readers):
    line, other = json.dumps(GOOD).encode(), json.dumps({**GOOD, "run_id": "s"}).encode()
    check = readers.TrecRagCheck(2024, 2025)
    assert [list(check(one)) for one in (line, line, other)] == [
        [],
        ["TREC RAG 2024's check refuses two answers to a topic"],
        [
            "TREC RAG 2024's check refuses several run_ids in a file",
            "TREC RAG 2024's check refuses two answers to a topic",
        ],
    ]
    (missing,) = readers.TrecRagCheck(2024)(json.dumps({"run_id": "r"}).encode())
    assert missing.endswith(
        "refuses records without all of run_id, topic_id, topic, references, response_length, answer"
    )


@pytest.mark.parametrize("format", ["trec-rag", "trec-rag-2025"])
def test_why_trec_rag_may_refuse_a_run_is_said_once(golden, caplog, format):
    written(format, [answer_to("2024-145979")])
    assert caplog.messages == []
    written(format, [*golden, answer_to("b", words=150)])
    assert caplog.messages == [
        "TREC RAG has no conversations: topics of several turns, such as 1_1, are not in the track (turns: 5)",
        "TREC RAG only accepts runs over MS MARCO v2.1: some cited passages are not segments of it (turns: 2)",
        "TREC RAG accepts answers of 400 words, and cuts the last sentences of a longer one (turns: 1)",
    ]


def test_jwhr_keeps_the_rules_of_the_data_set(golden, tmp_path):
    """Turns of any run: ids are whole numbers, and sentences joined by nothing are the answer."""
    golden[0] = replace(golden[0], answer=Answer.of([*golden[0].answer.sentences, Sentence("And more.")], "en"))
    alone = [replace(golden[1], id=TurnId(7, 1)), replace(golden[2], id=TurnId(2**70, 3))]
    (tmp_path / "run.jsonl").write_bytes(written("jwhr", [*golden, *alone]))
    entries = list(JWHR().read_run(tmp_path).entries.values())
    assert [entry.turn for entry in entries] == ["12_1", "12_2", "a_b_1", "a_b_2", "a_b_3", None, f"{2**70}_3"]
    assert entries[5].id == 7
    assert [bool(entry.answer) for entry in entries] == [True, True, False, False, False, True, False]
    assert [fault for entry in entries for fault in run_faults(entry)] == []
    assert [reference.page.title for reference in entries[2].references] == ["Faust\nA play", "שלום", "p"]
    nothing = Response(TurnId("x", 1), Rewrite.unchanged("why"), Ranking(), answer=Answer("none", "", reason="no"))
    (searched,) = json.loads(written("jwhr", [nothing]))["references"]
    assert searched == {"search": {"keywords": ["why"]}, "not_found": {"url": ""}}


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


def test_evidence_is_what_a_run_of_qrecc_says(golden):
    from convqa.tasks.qrecc.run import record

    stages = frozenset({"answers"})
    assert json.loads(written("evidence", golden)) == [record(response, stages) for response in golden]


def test_ids_that_break_lists_of_ids_come_back(tmp_path, readers):
    ids = ["a b", "a/b", "a%2Fb", "a:b", "[1]", "a,b", "a\nb", '"', "\\", " ", "é", "e\u0301"]
    ranking = Ranking(tuple(Hit(id, 1.0, Passage(id, "text")) for id in ids))
    answer = Answer.of([Sentence("All.", tuple(Citation(id, 0, 4) for id in ids))], "en")
    for name in set(OF_ANSWERS) - {"jwhr"}:  # which has quotes, and no ids
        path = tmp_path / name
        path.write_bytes(written(name, [Response(TurnId(1, 1), ranking=ranking, answer=answer)]))
        (back,) = readers.READERS[name](path, "en")
        assert [citation.passage_id for citation in back.answer.sentences[0].citations] == ids


def test_words_are_counted_as_the_track_does():
    assert words(" One\u00a0two\r\nthree ﬁ 一二 ") == 5


def test_formats_are_found_by_name():
    assert find_format("ikat") is FORMATS["ikat"]
    with pytest.raises(InputError, match=r"unknown format 'trecrag'; expected trec-rag, .* Did you mean 'trec-rag'"):
        find_format("trecrag")


def test_what_cannot_be_opened_is_not_exported():
    answer = Answer.of([Sentence("A.", (Citation("a", 0, 5),))], "en")
    for hits, problem in [
        ((), "cites 'a', which is not in its ranking"),
        ((Hit("a", 1.0),), r"quotes \[0, 5\) of 'a', which has no text"),
        ((Hit("a", 1.0, Passage("a", "four")),), r"quotes \[0, 5\) of 'a', which has 4 characters"),
    ]:
        with pytest.raises(InputError, match=f"turn 1_1 {problem}"):
            CitedAnswer.of(Response(TurnId(1, 1), ranking=Ranking(hits), answer=answer))
    with pytest.raises(InputError, match="turn 1_1 has no answer: the pipeline of this run makes none"):
        CitedAnswer.of(Response(TurnId(1, 1), ranking=Ranking()))


def test_a_whole_passage_may_be_cited_without_its_text():
    answer = Answer.of([Sentence("A.", (Citation("a"),))], "en")
    cited = CitedAnswer.of(Response(TurnId(1, 1), ranking=Ranking((Hit("a", 1.0),)), answer=answer))
    assert cited.quotes == {Citation("a"): ""}
    assert cited.sources == {}
