"""``convqa ask``: a cited answer, an explicit no-answer, and errors."""

from __future__ import annotations

import re

import orjson

from convqa.domain import Response

FEW = ("--set", "retriever.candidates=5", "--set", "reader.max_passages=5")
"""Few passages, which are read fast."""


def test_an_answer_with_numbered_citations(call, indexed):
    code, out, err = call("ask", "What does a physician's assistant earn?", "--collection", indexed, *FEW)
    assert (code, err) == (0, "")
    answer, _, sources = out.partition("\n\n")
    numbers = set(re.findall(r"\[(\d+)\]", answer))
    assert numbers and numbers == set(re.findall(r"^\[(\d+)\]", sources, re.M))
    assert "assistant" in answer.lower()
    quoted = re.findall("»(.*?)«", sources)
    assert quoted and all(quote in answer for quote in quoted)


def test_no_answer_is_said(call, indexed):
    code, out, _ = call("ask", "zzqx wvvk", "--collection", indexed)
    assert code == 0 and out.startswith("No answer: ")


def test_without_a_question_nothing_is_answered(call):
    for question in ("", " \n"):
        code, out, err = call("ask", question)
        assert (code, out) == (2, "") and "question" in err


def test_a_filter_narrows_what_is_searched(call, tmp_path):
    passages = tmp_path / "passages.jsonl"
    rows = [{"id": name, "text": f"Faust was written by {name}.", "meta": {"set": kind, "year": 1}}
            for name, kind in (("Goethe", "plays"), ("Marlowe", "lies"))]  # fmt: skip
    passages.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    asked = ("ask", "Who wrote Faust?", "--collection", passages, "--filter")
    assert "Goethe" in (out := call(*asked, "set=plays", "--filter", "year=[1, 2]")[1]) and "Marlowe" not in out
    assert call(*asked, "year=2")[1].startswith("No answer: ")
    code, _, err = call(*asked, "set")
    assert code == 2 and "--filter set: expected FIELD=VALUE" in err


def test_ask_needs_a_collection(call):
    code, _, err = call("ask", "Who wrote Faust?")
    assert code == 2 and "--collection" in err and "CONVQA_COLLECTION" in err


def test_a_default_collection(call, indexed, monkeypatch):
    question = "What is a physician's assistant?"
    expected = call("ask", question, "--pipeline", "expansion-bm25", "--collection", indexed)[1]
    monkeypatch.setenv("CONVQA_COLLECTION", str(indexed))
    assert call("ask", question, "--pipeline", "expansion-bm25")[1] == expected


def test_a_question_of_standard_input(call, indexed):
    question = "What is a physician's assistant?"
    command = ("ask", "--pipeline", "expansion-bm25", "--collection", indexed)
    assert call(*command, "-", stdin=f"{question}\n")[1] == call(*command, question)[1]
    code, _, err = call("ask", "-", "--collection", indexed, stdin=" \n")
    assert code == 2 and "the question is empty" in err


def test_json_is_the_whole_response(call, indexed):
    code, out, _ = call("ask", "What is a physician's assistant?", "--collection", indexed, *FEW, "--json")
    response = Response.from_json(orjson.loads(out))
    assert code == 0 and response.answer.score is not None and response.ranking.hits[0].passage.text
