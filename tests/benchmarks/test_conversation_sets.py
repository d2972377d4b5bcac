from __future__ import annotations

import json

import pytest


@pytest.fixture
def folder(tmp_path):
    def make(name, records, rewritten=()):
        made = tmp_path / name
        made.mkdir()
        questions = [{"Conversation_no": 7, "Turn_no": number, **record} for number, record in enumerate(records, 1)]
        truth = [
            {
                "Conversation_no": 7,
                "Turn_no": number,
                "Truth_rewrite": "",
                "Truth_answer": "",
                # The second turn has no gold passage.
                "Truth_passages": [] if number == 2 else [f"p{number}"],
            }
            for number, _ in enumerate(records, 1)
        ]
        human = [{**record, "Question": text} for record, text in zip(questions, rewritten, strict=False)]
        for file, content in (("questions", questions), ("ground-truth", truth), ("questions-rewritten", human)):
            (made / f"{file}.json").write_text(json.dumps(content), encoding="utf-8")
        return made

    return make


def test_a_set_without_contexts_has_its_earlier_questions_as_history(folder):
    from conversation_sets import cases

    made = folder("cast2020", [{"Question": "Who?"}, {"Question": "When?"}, {"Question": "Why?"}], ["A", "B", "C"])
    first, third = cases(made)
    assert first.turn.history == ()
    assert [(said.question, said.answer) for said in third.turn.history] == [("Who?", ""), ("When?", "")]
    assert (third.relevant, third.human, third.odd) == (("p3",), "C", True)


def test_a_set_with_contexts_keeps_them_and_only_sets_with_human_rewrites_have_some(folder):
    from conversation_sets import cases

    context = ["Who?", "Goethe."]
    made = folder("inscit_dev", [{"Question": "Who?"}, {"Question": "When?", "Context": context}], ["A", "B"])
    (first,) = cases(made)
    assert (first.turn.history, first.human) == ((), "")
    more = [{"Question": "Who?"}, {"Question": "x", "Context": context}, {"Question": "y", "Context": [*context] * 2}]
    last = cases(folder("mtrag_un", more))[-1]
    assert [said.answer for said in last.turn.history] == ["Goethe.", "Goethe."]
