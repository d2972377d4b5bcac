from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.domain import (
    Answer,
    Citation,
    Failure,
    Hit,
    Passage,
    Ranking,
    Response,
    Rewrite,
    Sentence,
    TurnId,
    float32,
)
from convqa.errors import InputError
from convqa.tasks.qrecc.task import QReCC

ALL = frozenset({"rewrites", "rankings", "readings", "answers"})
TASK = QReCC()


def response(turn=1, conversation=1):
    passage = Passage("p#1", "Ada was born in London. She wrote notes.")
    sentences = (
        Sentence("Ada was born in London.", (Citation("p#1", 0, 23),)),
        Sentence("She wrote.", (Citation("p#1"), Citation("far"))),
    )
    return Response(
        TurnId(conversation, turn),
        Rewrite("Where was Ada born?", ()),
        Ranking((Hit("p#1", 15.1, passage), Hit("far", 2.0))),
        None,
        Answer("answer", "Ada was born in London. She wrote.", sentences),
    )


def written(responses, directory, stages=ALL):
    return json.loads(TASK.write(responses, directory, stages).read_text())


def test_official_fields_evidence_and_citations(tmp_path):
    assert written([response()], tmp_path) == [
        {
            "Conversation_no": 1,
            "Turn_no": 1,
            "Model_rewrite": "Where was Ada born?",
            "Model_passages": {"p#1": 15.1, "far": 2.0},
            "Model_answer": "Ada was born in London. She wrote.",
            "Model_evidence": {"passage_id": "p#1", "text": "Ada was born in London."},
            "Model_citations": [
                {
                    "passage_id": "p#1",
                    "start": 0,
                    "end": 23,
                    "text": "Ada was born in London.",
                    "sentence": "Ada was born in London.",
                },
                {
                    "passage_id": "p#1",
                    "start": None,
                    "end": None,
                    "text": "Ada was born in London. She wrote notes.",
                    "sentence": "She wrote.",
                },
                {"passage_id": "far", "start": None, "end": None, "text": "", "sentence": "She wrote."},
            ],
        }
    ]


@pytest.mark.parametrize(
    "made",
    [
        Response(TurnId(1, 1), error=Failure("rewriter", "ValueError", "no")),
        Response(TurnId(1, 1), Rewrite("", ()), Ranking(), None, Answer("none", "", reason="nothing found")),
    ],
)
def test_failed_and_unanswered_turns_have_every_field(tmp_path, made):
    assert written([made], tmp_path) == [
        {
            "Conversation_no": 1,
            "Turn_no": 1,
            "Model_rewrite": "",
            "Model_passages": {},
            "Model_answer": "",
            "Model_evidence": {},
            "Model_citations": [],
        }
    ]


@pytest.mark.parametrize(
    ("stages", "fields"),
    [
        ({"rewrites"}, {"Model_rewrite"}),
        ({"rewrites", "rankings"}, {"Model_rewrite", "Model_passages"}),
        ({"readings", "answers"}, {"Model_answer", "Model_evidence", "Model_citations"}),
    ],
)
def test_a_stage_that_is_not_there_omits_its_fields(tmp_path, stages, fields):
    failed = Response(TurnId(1, 2), error=Failure("reader", "ValueError", "no"))
    for record in written([response(), failed], tmp_path, frozenset(stages)):
        assert set(record) == {"Conversation_no", "Turn_no"} | fields


def test_conversation_numbers_keep_their_type(tmp_path):
    found = written([response(1, 7), response(1, "7a")], tmp_path)
    assert [record["Conversation_no"] for record in found] == [7, "7a"]


@pytest.mark.parametrize("score", [15.1, 0.1, 1e-45, 3.4e38, -0.0, 16777217.0, 1 / 3, 100.0])
def test_scores_are_the_shortest_that_read_back_as_the_same_32_bit_float(tmp_path, score):
    ranking = Ranking((Hit("a", score),))
    text = TASK.write([Response(TurnId(1, 1), ranking=ranking)], tmp_path, frozenset({"rankings"})).read_text()
    (found,) = json.loads(text)[0]["Model_passages"].values()
    assert float32(found) == float32(score)
    assert len(text.partition('{"a":')[2].partition("}")[0]) <= len(repr(float32(score)))


ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20) | st.sampled_from(
    ["http://a.b/c?d=e,f%20g_p1", "x" * 1400, "ключ/é ü\n", "\0", '"\\']
)
scores = st.floats(width=32, allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(deadline=None)
@given(
    conversation=st.integers(-(2**62), 2**62) | texts.filter(bool),
    turn=st.integers(0, 10**6),
    rewrite=texts,
    passages=st.dictionaries(ids, scores, max_size=5),
    answer=texts,
)
def test_what_is_written_is_read(tmp_path_factory, conversation, turn, rewrite, passages, answer):
    ranking = Ranking.of([Hit(id, score) for id, score in passages.items()])
    made = Response(TurnId(conversation, turn), Rewrite(rewrite, ()), ranking, None, Answer("answer", answer))
    folder = tmp_path_factory.mktemp("run")
    TASK.write([made], folder, ALL)
    run = TASK.read_run(folder)
    key = f"{conversation}_{turn}"
    assert run.turns == (made.id,)
    assert run.rewrites == {key: rewrite}
    assert {id: float32(score) for id, score in run.passages[key].items()} == passages
    assert run.answers == {key: answer}


def test_an_answers_score_is_written_where_there_is_one(tmp_path):
    decided = [replace(response(turn).answer, score=score) for turn, score in ((1, 0.75), (2, None))]
    found = written([replace(response(turn), answer=answer) for turn, answer in enumerate(decided, 1)], tmp_path)
    assert found[0]["Model_answer_score"] == 0.75 and "Model_answer_score" not in found[1]
    assert TASK.read_run(tmp_path).scores == {"1_1": 0.75}


# --- reading back ---------------------------------------------------------------------------------------------------


def test_null_rewrites_and_answers_are_absent(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps([{"Conversation_no": 1, "Turn_no": 1, "Model_rewrite": None, "Model_answer": None}]))
    run = TASK.read_run(path)
    assert (run.rewrites, run.passages, run.answers) == ({}, {}, {})
    assert run.turns == (TurnId(1, 1),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, r"expected a JSON array of \{Conversation_no, Turn_no, Model_rewrite.*, got \{\}"),
        ([{"Turn_no": 1}], "record 0: Conversation_no: is missing"),
        ([{"Conversation_no": float("nan"), "Turn_no": 1}], "Conversation_no: expected a .*number, got nan"),
        ([{"Conversation_no": 1, "Turn_no": "1"}], r"record 0 \(turn 1_1\): Turn_no: expected a .*number, got '1'"),
    ],
)
def test_bad_runs_are_refused_with_the_place(tmp_path, content, message):
    (tmp_path / "run.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=message):
        TASK.read_run(tmp_path)


@pytest.mark.parametrize("content", [b'\xef\xbb\xbf[{"Conversation_no": 1, "Turn_no": 1}]', b"\xef\xbb\xbf[]"])
def test_a_byte_order_mark_is_refused_as_officially(tmp_path, content):
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(InputError, match=r"run\.json: begins with a byte order mark \(BOM\), which the official"):
        TASK.read_run(tmp_path)


def test_missing_run(tmp_path):
    with pytest.raises(InputError, match=r"run\.json: no such file; expected a JSON array"):
        TASK.read_run(tmp_path)
