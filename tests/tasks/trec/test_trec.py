"""Topics as the tracks publish them, from the file to a submission."""

from __future__ import annotations

import json

import pytest

from convqa.errors import InputError
from convqa.tasks import find_task
from convqa.tasks.trec.task import Trec

IKAT_2025 = [
    {
        "number": "1-1",
        "title": "Acid reflux",
        "ptkb": ["I eat dinner late at night.", "I'm a software engineer."],
        "responses": [
            {"turn_id": 1, "user_utterance": "Which food is good for it?", "resolved_utterance": "Which food is good "
             "for acid reflux?", "response": "Do you mean of the stomach?", "relevant_ptkbs": [], "citations": []},
            {"turn_id": 2, "user_utterance": "Yes.", "response": "Bananas.",
             "relevant_ptkbs": [], "citations": ["clueweb22-en0022-52-08268:1"]},
        ],
    }
]  # fmt: skip
IKAT_2024 = [
    {
        "number": 0,
        "title": "Egypt",
        "ptkb": {"1": "I practice yoga.", "2": "I am from San Francisco."},
        "turns": [
            {"turn_id": 1, "utterance": "When should I go?", "resolved_utterance": "When should I go to Egypt?",
             "response": "In winter.", "ptkb_provenance": [], "response_provenance": ["clueweb22-en0017-23-13494:0"]},
            {"turn_id": 2, "utterance": "Do I need a visa?", "resolved_utterance": "Do I need a visa for Egypt?",
             "response": "Yes.", "ptkb_provenance": [2], "response_provenance": []},
        ],
    }
]  # fmt: skip
CAST_2019 = [
    {"number": 31, "description": "Throat cancer.", "title": "head and neck cancer", "turn": [
        {"number": 1, "raw_utterance": "What is throat cancer?"}, {"number": 2, "raw_utterance": "Is it treatable?"}
    ]}
]  # fmt: skip
CAST_2021 = [
    {"number": 106, "turn": [
        {"number": 1, "raw_utterance": "What are the most common types?", "passage": "Ductal carcinoma.",
         "manual_rewritten_utterance": "Types of cancer?", "canonical_result_id": "MARCO_D59865", "passage_id": 7},
        {"number": 2, "raw_utterance": "How likely is it to spread?", "passage": "Not likely."},
    ]}
]  # fmt: skip
RAG_2024 = "2024-145979\twhat is vicarious trauma\n2024-158743\thow to cope with it\n"
RAG_2025 = [{"id": "14", "narrative": "I want to know how it began."}, {"id": "22", "narrative": "And how it ended."}]


def topics(tmp_path, content, name="topics.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("content", "names", "question", "history", "scenario"),
    [
        (IKAT_2025, ["1-1_1", "1-1_2"], "Yes.", "Do you mean of the stomach?",
         "I eat dinner late at night.\nI'm a software engineer."),
        (IKAT_2024, ["0_1", "0_2"], "Do I need a visa?", "In winter.", "I practice yoga.\nI am from San Francisco."),
        (CAST_2019, ["31_1", "31_2"], "Is it treatable?", None, ""),
        (CAST_2021, ["106_1", "106_2"], "How likely is it to spread?", "Ductal carcinoma.", ""),
    ],
)  # fmt: skip
def test_conversations_with_what_was_answered_and_who_asks(tmp_path, content, names, question, history, scenario):
    path = topics(tmp_path, content)
    assert find_task("auto", path).name == find_task("auto", tmp_path).name == "trec"
    (conversation,) = Trec().read(path)
    assert [str(turn.id) for turn in conversation.turns] == names
    last = conversation.turns[-1]
    assert (last.question, last.scenario) == (question, scenario)
    assert [exchange.answer for exchange in last.history] == ([] if history is None else [history])


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("topics.rag24.test.txt", RAG_2024, ["2024-145979", "2024-158743"]),
        ("trec_rag_2025_queries.jsonl", "".join(json.dumps(one) + "\n" for one in RAG_2025), ["14", "22"]),
        ("trec_rag_2025_queries.json", RAG_2025, ["14", "22"]),
    ],
)
def test_topics_of_rag_are_conversations_of_one_turn(tmp_path, name, content, ids):
    path = topics(tmp_path, content, name)
    assert find_task("auto", path).name == "trec"
    conversations = list(Trec().read(path))
    assert [conversation.id for conversation in conversations] == ids
    assert all(len(conversation.turns) == 1 and conversation.turns[0].question for conversation in conversations)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            [{"number": 132, "turn": [{"number": "1-3", "parent": "1-2", "participant": "User", "utterance": "Why?"}]}],
            r"turn 1-3: its parent '1-2' is not before it",
        ),
        (
            [
                {
                    "number": 132,
                    "turn": [
                        {"number": "1-1", "parent": "1-2", "participant": "User", "utterance": "Why?"},
                        {"number": "1-2", "parent": "1-1", "participant": "System", "response": "So."},
                    ],
                }
            ],
            r"turn 1-1: its parent '1-2' is not before it",
        ),
        ([{"number": 1, "turn": []}], "record 0: the topic has no turns"),
        ([{"number": 1, "turn": [{"number": 1, "raw_utterance": " "}]}], "record 0: got the turn"),
        ('[{"number": 1, "turn": [', "topics.json"),
    ],
)
def test_mistakes_are_named(tmp_path, content, says):
    with pytest.raises(InputError, match=says):
        list(Trec().read(topics(tmp_path, content)))


def test_two_files_of_topics_in_a_folder_have_to_be_told_apart(tmp_path):
    topics(tmp_path, CAST_2019)
    topics(tmp_path, CAST_2021, "others.json")
    with pytest.raises(InputError, match=r"expected one file with topics of .*, got others.json, topics.json"):
        list(Trec().read(tmp_path))


def user(number, parent, text):
    return {"number": number, "parent_turn": parent, "participant": "User", "utterance": text}


def system(number, parent, text):
    return {"number": number, "parent_turn": parent, "participant": "System", "response": text}


def path(*turns):
    named = ("number", "utterance", "response")
    return {"number": 132, "turn": [dict(zip(named, turn, strict=True)) for turn in turns]}


FIRST = ("1-1", "What is COP26?", "A summit.")
TREE = [
    {"number": 132, "turn": [
        user("1-1", "", "What is COP26?"), system("1-2", "1-1", "A summit."), user("1-3", "1-2", "Of whom?"),
        system("1-4", "1-3", "Of states."), user("2-1", "1-2", "Where was it?"), system("3-1", "1-1", "Which one?"),
        user("3-2", "3-1", "Glasgow."),
    ]}
]  # fmt: skip
PATHS = [
    path(FIRST, ("1-3", "Of whom?", "Of states.")),
    path(FIRST, ("2-1", "Where was it?", "")),
    path(("1-1", "What is COP26?", "Which one?"), ("3-2", "Glasgow.", "")),
]


@pytest.mark.parametrize("content", [TREE, PATHS])
def test_history_follows_the_branch(tmp_path, content):
    """Both of CAsT 2022's files: every utterance with its parent, and every path as a topic."""
    (conversation,) = Trec().read(topics(tmp_path, content))
    assert [str(turn.id) for turn in conversation.turns] == ["132_1-1", "132_1-3", "132_2-1", "132_3-2"]
    assert [turn.path for turn in conversation.turns] == [(), ("1-1",), ("1-1",), ("1-1",)]
    answers = [[exchange.answer for exchange in turn.history] for turn in conversation.turns]
    assert answers == [[], ["A summit."], ["A summit."], ["Which one?"]]
