"""Examples of rewrites, and a tiny real encoder to train."""

from __future__ import annotations

import json

import pytest

from tests.conftest import tiny_bert

PEOPLE = ["Goethe", "Schiller", "Kafka", "Zappa", "Curie", "Darwin", "Noether", "Kahlo", "Lovelace", "Turing"]
WORDS = "who what when where was is did he she it born die write a an the in of and ? . 's answer first passage about"


def examples(people=PEOPLE):
    """Lines of a file of rewrites: two turns of a conversation about each person."""
    for number, name in enumerate(people):
        said = {"question": f"Who was {name}?", "answer": f"{name} was answer {number}."}
        yield {
            "conversation": number,
            "question": "When was he born?",
            "history": [said],
            "rewrite": f"When was {name} born?",
        }
        yield {
            "conversation": number,
            "question": "Where did he die?",
            "history": [said, {"question": "When was he born?"}],
            "rewrite": f"Where did {name} die?",
        }


@pytest.fixture
def own(tmp_path):
    """A folder of examples: nine conversations to train on, and one to validate."""
    folder = tmp_path / "data"
    folder.mkdir()
    lines = [json.dumps(record) + "\n" for record in examples()]
    (folder / "train.jsonl").write_text("".join(lines[:-2]), encoding="utf-8")
    (folder / "validation.jsonl").write_text("".join(lines[-2:]), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory):
    """A real BERT of some thousand random weights, as a folder that transformers wrote."""
    pytest.importorskip("onnx")
    words = [*WORDS.split(), *(name.lower() for name in PEOPLE)]
    return str(tiny_bert(tmp_path_factory.mktemp("tiny-encoder"), "BertModel", words, 128))
