"""Each format as others read it: whole files, the rules of the tracks' own checks, and errors that name the place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from convqa.domain import Answer, Citation, Hit, Passage, Ranking, Response, Sentence, TurnId
from convqa.errors import InputError
from convqa.exports import FORMATS, CitedAnswer, Submission, export, find_format
from convqa.exports.trec_rag import words

GOLDEN = Path(__file__).with_name("golden")


def written(format, responses):
    pieces = []
    export(responses, FORMATS[format], Submission("a run", "a team"), pieces.append)
    return b"".join(pieces)


@pytest.mark.parametrize("name", ["trec-rag.jsonl", "ikat.jsonl", "evidence.json", "text.txt"])
def test_files_are_as_they_were(golden, name):
    assert written(name.partition(".")[0], golden) == (GOLDEN / name).read_bytes()


def test_trec_rag_keeps_the_rules_of_the_track(golden, many):
    """What Ragnarök's check of 2025 asks for, and the fields of its results of 2024."""
    for line in written("trec-rag", [*golden, many]).splitlines():
        record = json.loads(line)
        assert {"run_id", "topic_id", "topic", "references", "response_length", "answer"} <= record.keys()
        assert {"team_id", "run_id", "narrative_id", "narrative", "type"} <= record["metadata"].keys()
        assert record["metadata"]["type"] in {"automatic", "manual"}
        assert len(set(record["references"])) == len(record["references"]) <= 100
        for sentence in record["answer"]:
            assert all(0 <= place < len(record["references"]) for place in sentence["citations"])
            assert len(set(sentence["citations"])) == len(sentence["citations"])
        assert record["response_length"] == sum(len(sentence["text"].split()) for sentence in record["answer"])


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


def test_ids_that_break_lists_of_ids_come_back(tmp_path):
    ids = ["a b", "a/b", "a%2Fb", "a:b", "[1]", "a,b", "a\nb", '"', "\\", " ", "é", "e\u0301"]
    ranking = Ranking(tuple(Hit(id, 1.0, Passage(id, "text")) for id in ids))
    answer = Answer.of([Sentence("All.", tuple(Citation(id, 0, 4) for id in ids))], "en")
    for name, format in FORMATS.items():
        path = tmp_path / name
        path.write_bytes(written(name, [Response(TurnId(1, 1), ranking=ranking, answer=answer)]))
        (back,) = format.read(path, "en")
        assert [citation.passage_id for citation in back.answer.sentences[0].citations] == ids


def test_words_are_counted_as_the_track_does():
    assert words(" One\u00a0two\r\nthree ﬁ 一二 ") == 5


def test_formats_are_found_by_name():
    assert find_format("ikat") is FORMATS["ikat"]
    with pytest.raises(
        InputError, match=r"format 'trecrag' is not known; there are trec-rag, .* Did you mean 'trec-rag'"
    ):
        find_format("trecrag")


TREC = {"topic_id": "1_1", "references": ["a"], "answer": [{"text": "A.", "citations": [0]}]}
IKAT = {"metadata": {"turn_id": "1_1"}, "references": {"a": 1}, "responses": [{"text": "A.", "citations": {"a": 1}}]}
CITED = {"passage_id": "a", "start": 0, "end": 1, "text": "A", "sentence": "A."}
EVIDENCE = {"Conversation_no": 1, "Turn_no": 1, "Model_answer": "A.", "Model_citations": [CITED]}
TURN = "Conversation 1, turn 1\n"


def changed(record, **fields):
    return json.dumps({**record, **fields}).encode()


@pytest.mark.parametrize(
    ("format", "data", "message"),
    [
        ("trec-rag", b"{", "line 1 is no JSON"),
        ("trec-rag", b"\n\n[]", "line 3: the record: found"),
        ("trec-rag", changed(TREC, references="a"), "line 1: references: found 'a'"),
        (
            "trec-rag",
            changed(TREC, references=[]),
            r"answer\[0\].citations: found 0; wanted places among the 0 references",
        ),
        ("trec-rag", changed(TREC, answer=[{"text": "A.", "citations": [-1]}]), r"answer\[0\].citations: found -1"),
        (
            "trec-rag",
            changed(TREC, answer=[{"text": "A.", "citations": ["a"]}]),
            r"answer\[0\].citations\[0\]: found 'a'",
        ),
        ("trec-rag", changed(TREC, topic_id=None), "topic_id .* is missing"),
        ("ikat", changed(IKAT, references=["a"]), r"references: found \['a'\]"),
        ("ikat", changed(IKAT, references={"b": 1}), r"responses\[0\].citations: 'a' is not among the references"),
        ("ikat", changed(IKAT, metadata={}), "metadata.turn_id: is missing"),
        ("evidence", b"{}", "found no array"),
        ("evidence", b"[{}]", "record 0: Conversation_no: is missing"),
        ("evidence", b"[" + changed(EVIDENCE, Model_answer="B.") + b"]", "the sentence 'A.' is not in Model_answer"),
        (
            "evidence",
            b"[" + changed(EVIDENCE, Model_citations=[CITED | {"end": None}]) + b"]",
            "only one of start and end",
        ),
        ("text", b"A.\n", "the turn at line 1: found 'A.', which begins no turn"),
        ("text", f"{TURN}A. [1]\n".encode(), r"the turn at line 1: \[1\] has no source"),
        ("text", f"{TURN}A. [1]\n[1] T\n    i: a\n".encode(), "found 'i: a' in a numbered source"),
        ("text", f"{TURN}A. [1]\n[1] T\n    id: a\n    characters 4-1: A\n".encode(), r"offsets \[4, 1\)"),
        ("text", f"{TURN}    id: a\n".encode(), "before a numbered source"),
        ("text", f"{TURN}A.\nScore: much\n".encode(), "could not convert"),
        ("text", TURN.encode() + b"\xff\n", "line 2 is not UTF-8"),
    ],
)
def test_what_is_not_in_a_format_is_named(tmp_path, format, data, message):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(InputError, match=f"^{path}: .*{message}"):
        list(FORMATS[format].read(path, "en"))


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_is_not_there(tmp_path, format):
    with pytest.raises(InputError, match=r"no such file|cannot be read"):
        list(FORMATS[format].read(tmp_path / "none", "en"))


def test_trec_rag_reads_what_others_write(tmp_path):
    """Ragnarök's ids may be numbers, and records of 2025 have no topic_id; further fields are passed over."""
    path = tmp_path / "file"
    answer = [{"text": "A.", "citations": [1, 0]}]
    old = {
        "run_id": "r",
        "topic_id": 23287,
        "topic": "T?",
        "references": [7, "b"],
        "response_length": 1,
        "answer": answer,
    }
    new = {"metadata": {"narrative_id": "100", "narrative": "N?"}, "references": ["a", "b"], "answer": answer}
    path.write_text(f"{json.dumps(old)}\n{json.dumps(new)}\n", encoding="utf-8")
    one, other = FORMATS["trec-rag"].read(path, "en")
    assert (one.id, one.question) == (TurnId(23287, 1), "T?")
    assert one.answer == Answer.of([Sentence("A.", (Citation("b"), Citation("7")))], "en")
    assert (other.id, other.question) == (TurnId(100, 1), "N?")


def test_what_cannot_be_opened_is_not_exported():
    answer = Answer.of([Sentence("A.", (Citation("a", 0, 5),))], "en")
    for hits, problem in [
        ((), "cites 'a', which is not in its ranking"),
        ((Hit("a", 1.0),), r"quotes \[0, 5\) of 'a', which has no text here"),
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


def test_text_that_went_through_another_editor_is_still_read(tmp_path, golden):
    path = tmp_path / "file"
    path.write_bytes(written("text", golden).replace(b"\n", b"\r\n").replace(b"\r\n\r\n", b"\r\n"))
    assert [cited.answer for cited in FORMATS["text"].read(path, "en")][:4] == [one.answer for one in golden[:4]]
