"""run.jsonl: written in the data set's form, read back, checked."""

from __future__ import annotations

import json
import logging
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
    Query,
    Ranking,
    Response,
    Rewrite,
    Sentence,
    TurnId,
)
from convqa.errors import InputError
from convqa.tasks.jwhr.entry import entry_of
from convqa.tasks.jwhr.input import read_entries
from convqa.tasks.jwhr.run import write as write_run
from convqa.tasks.jwhr.task import JWHR

ANSWERS = frozenset({"rewrites", "rankings", "answers"})
ASKED = ["問い"]


def asked(path):
    """The questions of an input, in its order."""
    return [turn.question for conversation in JWHR().read(path) for turn in conversation.turns]


def test_golden(responses, golden, made_up, tmp_path):
    path = JWHR().write(responses, tmp_path, ANSWERS, asked(made_up))
    assert path.name == "run.jsonl"
    assert path.read_text(encoding="utf-8") == (golden / "run.jsonl").read_text(encoding="utf-8")
    assert JWHR().check(made_up, golden) == JWHR().check(made_up, path) == []


def test_the_question_is_the_inputs_whatever_became_of_it(responses, made_up, tmp_path):
    """A turn that failed in the rewriter has no rewrite, and a rewriter may change the text."""
    task = JWHR()
    failed = Response(TurnId(101, 1), error=Failure("rewriter", "ValueError", "no"))
    rewritten = replace(responses[0], rewrite=Rewrite("別の問い", (Query("別の問い"),)))
    path = task.write([rewritten, *responses[1:3], failed, responses[4]], tmp_path, ANSWERS, asked(made_up))
    assert task.check(made_up, path) == []
    entries = task.read_run(path).entries
    assert entries[1].question == "架空川の長さはどれくらいですか。"
    assert entries[1].references[0].search.keywords == ["別の問い"]
    assert entries[101].question == "架空川を最初に泳いで渡ったのは誰ですか。"


def test_a_run_is_in_the_data_sets_form(golden):
    first, _, refused, failed, _ = [entry for _, entry in read_entries(golden / "run.jsonl")]
    page = first.references[0].page
    assert (page.title, page.url) == ("架空川", "https://ja.wikipedia.org/wiki/架空川")
    assert page.quote.text == "長さは42キロメートル[1]。"
    assert first.references[0].search.keywords == ["架空川の長さはどれくらいですか。"]
    assert [sentence.citations for sentence in first.answer.sentences] == [[0], [1]]
    for entry in (refused, failed):
        assert entry.answer is None
    # What was searched and found, without quotes.
    assert [(found.page.title, found.page.quote) for found in refused.references] == [
        ("架空川", None),
        ("灯籠祭り (架空県)", None),
    ]
    assert refused.references[0].search.keywords == ["架空ガラスは何から作られますか?"]
    # What failed says so, in a field that the data set does not have.
    lines = (golden / "run.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line).get("failed") for line in lines] == [None, None, None, True, None]
    assert [bool(entry.failed) for entry in JWHR().read_run(golden).entries.values()] == [0, 0, 0, 1, 0]
    assert JWHR().read_run(golden).entries.keys() == {1, 2, 3, 101, 102}
    assert JWHR().read_run(golden / "run.jsonl") == JWHR().read_run(golden)


def cited(text, *citations, language="ja"):
    """A response over the passage p, whose answer has one sentence for each list of offsets."""
    ranking = Ranking((Hit("p", 1.0, Passage("p", text)), Hit("q", 0.5)))
    sentences = [Sentence(f"文{place}。", tuple(found)) for place, found in enumerate(citations)]
    rewrite = Rewrite("問い", (Query("問い"), Query("別の問い"), Query("問い")))
    return Response(TurnId(5, 1), rewrite, ranking, None, Answer.of(sentences, language))


def test_no_answers_where_the_pipeline_makes_none_or_asks_back(tmp_path):
    response = cited("あい", [Citation("p", 0, 2)])
    (line,) = write_run([response], tmp_path, frozenset({"rankings"}), ASKED).read_text(encoding="utf-8").splitlines()
    search = {"keywords": ["問い", "別の問い"]}
    found = [{"search": search, "page": {"title": title, "url": ""}} for title in "pq"]
    assert json.loads(line) == {"id": 5, "question": "問い", "references": found}
    asks = Response(TurnId(5, 1), None, None, None, Answer("question", "どの県ですか?"))
    assert entry_of(asks, "問い") == {"id": 5, "question": "問い", "references": []}
    assert JWHR().write([], tmp_path, ANSWERS, []).read_bytes() == b""


def test_a_turn_has_failed_if_that_is_why_it_has_no_answer():
    failure = Failure("reader", "ValueError", "no")
    assert entry_of(Response(TurnId(5, 1), error=failure), "問い")["failed"] is True
    # Its builder did without what failed, and said something or refused.
    for answer in (Answer("none", "", reason="x"), Answer("question", "?"), cited("あ", [Citation("p", 0, 1)]).answer):
        assert "failed" not in entry_of(Response(TurnId(5, 1), answer=answer, error=failure), "問い")


TEXT = st.text(min_size=1).filter(str.strip)


@settings(deadline=None)
@given(st.lists(st.tuples(TEXT, st.data()), min_size=1, max_size=3), st.data())
def test_quotes_come_back_code_point_for_code_point(tmp_path_factory, texts, data):
    text = "".join(text for text, _ in texts)
    cuts = data.draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), min_size=1, max_size=4))
    spans = [(min(cut), max(cut)) for cut in cuts]
    response = cited(text, *([Citation("p", *span)] for span in spans))
    file = write_run([response], tmp_path_factory.mktemp("run"), ANSWERS, ASKED)
    (found,) = JWHR().read_run(file).entries.values()
    pages = [found.references[sentence.citations[0]].page for sentence in found.answer.sentences]
    assert [page.text for page in pages] == [text[start:end] for start, end in spans]


def test_check_lists_every_problem(write, made_up, golden):
    good = [json.loads(line) for line in (golden / "run.jsonl").read_text(encoding="utf-8").splitlines()]
    good[0]["answer"]["sentences"][1]["citations"] = [2]
    good[1]["answer"]["text"] += "。"
    good[2] |= {"question": "別の問い", "more": 1}
    good[3]["references"] = [{"search": {"keywords": []}, "link": {"referrer": 0}}]
    file = write(*good, {"id": "x"}, good[3] | {"references": []}, {"id": 9, "question": "?", "references": []}, 3)
    assert [problem.removeprefix(f"{file}: ") for problem in JWHR().check(made_up, file)] == [
        "line 1 (entry 1): answer.sentences[1].citations[0]: expected the index of one of 2 references, got 2",
        "line 2 (entry 2): answer.text: expected its joined sentences '毎年七月には川辺で灯籠祭りが開かれる。', "
        "got '毎年七月には川辺で灯籠祭りが開かれる。。'",
        "line 3 (entry 3): question: expected that of the input, '架空ガラスは何から作られますか?', got '別の問い'",
        "line 4 (entry 101): references[0]: expected either search or link",
        "line 4 (entry 101): references[0]: expected either page or not_found",
        "line 4 (entry 101): references[0].link.referrer: expected the index of an earlier reference, got 0",
        "line 6 (entry 'x'): id: expected a whole number, got 'x'",
        "line 6 (entry 'x'): question: is missing",
        "line 6 (entry 'x'): references: is missing",
        "line 9: expected an object, got 3",
        "1 of 6 entries are not in the input: 9",
        "1 of 6 entries occur more than once: 101",
    ]


def test_what_failed_has_no_answer_and_says_so_with_true(write, made_up, golden, entry, caplog):
    good = [json.loads(line) for line in (golden / "run.jsonl").read_text(encoding="utf-8").splitlines()]
    good[0]["failed"], good[1]["failed"], good[3]["failed"] = True, False, "yes"
    file = write(*good)
    assert [problem.removeprefix(f"{file}: ").partition(": ")[2] for problem in JWHR().check(made_up, file)] == [
        "failed: is true, but there is an answer; expected one of them",
        "failed: expected true or false, got 'yes'",
    ]
    caplog.set_level(logging.WARNING, "convqa")
    JWHR().read_run(write({**entry, "failed": True}, {**entry, "id": 8, "failed": None}))
    (told,) = [record.getMessage() for record in caplog.records]
    assert ": faults that affect the scores: 1. The first: line 1 (entry 7): failed: is true" in told


def test_a_run_that_is_wrong_inside_is_read_and_told(write, entry, caplog):
    caplog.set_level(logging.WARNING, "convqa")
    entry["answer"]["sentences"][0]["citations"] = [0, 5]
    file = write(entry)
    assert JWHR().read_run(file).entries[7].answer.sentences[0].citations == [0, 5]
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith(
        f"{file}: faults that affect the scores: 1. The first: line 1 (entry 7): answer.sentences[0]"
    )
    with pytest.raises(InputError, match=r"line 2 \(entry 7\): id: is also that of line 1"):
        JWHR().read_run(write(entry, entry))
    with pytest.raises(InputError, match=r"line 1 \(entry 7\): references: is missing"):
        JWHR().read_run(write({"id": 7, "question": "?"}))
