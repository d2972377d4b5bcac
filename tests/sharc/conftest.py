"""Real utterances, small ones of our own to break, and runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"


@pytest.fixture
def official():
    """A folder with five real utterances: Yes, No, two questions, Irrelevant."""
    return DATA / "official"


@pytest.fixture
def opened():
    """A folder with four real utterances in the open-retrieval form and five rule texts."""
    return DATA / "open"


@pytest.fixture
def utterance():
    """``utterance(id, answer)``: one of the official form with nothing wrong; ``open`` makes it one of the other."""

    def make(id="u1", answer="Yes", open=None, **changes):
        record = {
            "utterance_id": id,
            "tree_id": "t",
            "source_url": "https://example.org/rules",
            "snippet": "You may apply if you live here.",
            "question": "May I apply?",
            "scenario": "",
            "history": [],
            "evidence": [],
            "answer": answer,
        }
        if open is not None:
            del record["snippet"]
            record |= open
        return {field: value for field, value in (record | changes).items() if value is not ...}

    return make


@pytest.fixture
def write(tmp_path):
    """``write(record, ...)``: utterances as a JSON array; ``lines``: as JSON lines; ``rules``: id2snippet.json, too."""

    def make(*records, name="sharc.json", lines=False, rules=None):
        path = tmp_path / "in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(map(json.dumps, records)) if lines else json.dumps(records))
        if rules is not None:
            (path.parent / "id2snippet.json").write_text(json.dumps(rules))
        return path

    return make


@pytest.fixture
def predict(tmp_path):
    """``predict({id: answer})``: a run folder; records are written as they are."""

    def make(answers, name="run"):
        records = answers
        if isinstance(answers, dict):
            records = [{"utterance_id": id, "answer": answer} for id, answer in answers.items()]
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "predictions.json").write_text(json.dumps(records))
        return tmp_path / name

    return make
