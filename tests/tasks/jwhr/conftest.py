"""Entries of our own, runs of them, and files to break."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from convqa.domain import Answer, Citation, Failure, Hit, Query, Ranking, Response, Rewrite, Sentence, TurnId
from convqa.tasks.jwhr.task import JWHR

DATA = Path(__file__).parent / "data"


@pytest.fixture
def made_up():
    """The folder with three answered entries and two that are not."""
    return DATA / "made-up"


@pytest.fixture
def card():
    """The card's example."""
    return DATA / "card" / "entry-1.json"


@pytest.fixture
def golden():
    """The folder of a run over ``made_up``."""
    return DATA / "run"


@pytest.fixture
def entry():
    """A small entry with nothing wrong, to be broken."""
    page = {"title": "東京", "url": "https://ja.wikipedia.org/wiki/東京"}
    return {
        "id": 7,
        "question": "東京とは?",
        "answer": {"text": "首都です。", "sentences": [{"text": "首都です。", "citations": [0]}]},
        "references": [
            {"search": {"keywords": ["東京"]}, "page": {**page, "quote": {"text": "東京は首都である。"}}},
            {"link": {"referrer": 0}, "not_found": {"url": "https://ja.wikipedia.org/w/index.php?search=x"}},
        ],
    }


@pytest.fixture
def write(tmp_path):
    """``write(entry, ...)``: JSON lines in answered.jsonl; strings and bytes are written as they are."""

    def make(*entries, name="answered.jsonl", packed=False):
        lines = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in entries]
        data = "".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass")
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(data) if packed else data)
        return path

    return make


@pytest.fixture
def japanese():
    pytest.importorskip("sudachipy")
    pytest.importorskip("sudachidict_small")


@pytest.fixture
def responses(made_up):
    """What a pipeline could say to ``made_up``: right, with half of the pages, refused wrongly and rightly, made up."""
    passages = list(JWHR().passages(made_up))
    questions = {talk.id: talk.turns[0].question for talk in JWHR().read(made_up)}

    def ranked(text):
        found = sorted(passages, key=lambda passage: text not in passage.text)
        return Ranking.of([Hit(passage.id, 9.0 - place, passage) for place, passage in enumerate(found[:3])])

    def response(id, *quotes, error=None):
        question = questions[id]
        rewrite = Rewrite(question, (Query(question),))
        if error:
            return Response(TurnId(id, 1), rewrite, error=error)
        sentences, ranking = [], ranked(quotes[0] if quotes else "")
        for quote in quotes:
            passage = ranking.hits[0].passage
            start = passage.text.index(quote)
            sentences.append(Sentence(quote, (Citation(passage.id, start, start + len(quote)),)))
        answer = Answer.of(sentences, "ja") if quotes else Answer("none", "", reason="nothing was found")
        return Response(TurnId(id, 1), rewrite, ranking, None, answer).trimmed()

    return [
        response(1, "長さは42キロメートル[1]。", "架空県を流れる川である。"),
        response(2, "毎年七月には川辺で灯籠祭りが開かれる。"),
        response(3),
        response(101, error=Failure("reader", "ValueError", "no")),
        response(102, "架空県知事は架空県の首長である。"),
    ]
