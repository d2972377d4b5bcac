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


def test_ids_that_break_lists_of_ids_come_back(tmp_path, readers):
    ids = ["a b", "a/b", "a%2Fb", "a:b", "[1]", "a,b", "a\nb", '"', "\\", " ", "é", "e\u0301"]
    ranking = Ranking(tuple(Hit(id, 1.0, Passage(id, "text")) for id in ids))
    answer = Answer.of([Sentence("All.", tuple(Citation(id, 0, 4) for id in ids))], "en")
    for name in FORMATS:
        path = tmp_path / name
        path.write_bytes(written(name, [Response(TurnId(1, 1), ranking=ranking, answer=answer)]))
        (back,) = readers.READERS[name](path, "en")
        assert [citation.passage_id for citation in back.answer.sentences[0].citations] == ids


def test_words_are_counted_as_the_track_does():
    assert words(" One\u00a0two\r\nthree ﬁ 一二 ") == 5


def test_formats_are_found_by_name():
    assert find_format("ikat") is FORMATS["ikat"]
    with pytest.raises(
        InputError, match=r"format 'trecrag' is not known; there are trec-rag, .* Did you mean 'trec-rag'"
    ):
        find_format("trecrag")


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
