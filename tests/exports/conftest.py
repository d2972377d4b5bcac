"""Responses as runs have them: one of each kind, and one that cites much."""

from __future__ import annotations

import pytest

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

FAUST = Passage(
    "doc 1/a%20b:[2]",
    "Faust is a play by Goethe.\r\nIt has two parts. 👩‍👩‍👧 e\u0301",
    "Faust\nA play",
    "http://x/?q=1",
)
HEBREW = Passage("עברית", "שלום [1] עולם", "שלום")
QUERY = Query("who wrote Faust")


def ranked(*passages):
    return Ranking(tuple(Hit(passage.id, 9.5 - place, passage) for place, passage in enumerate(passages)))


@pytest.fixture
def golden():
    """Cited; twice from one passage, and nothing cited; a whole passage; a no-answer; a question; a failure."""
    rewrite, ranking = Rewrite("Who wrote Faust?", (QUERY,)), ranked(FAUST, HEBREW, Passage("p", "Not cited."))
    cited = [
        Sentence("Faust is by Goethe [1].", (Citation(FAUST.id, 0, 26), Citation(HEBREW.id, 0, 4))),
        Sentence("It has two parts."),
        Sentence("Two of them 👩‍👩‍👧.", (Citation(FAUST.id, 28, 45), Citation(FAUST.id, 19, 25))),
    ]
    whole = Sentence("[1] is a\r\nsentence.", (Citation(HEBREW.id),))
    nearest = Answer("none", "", reason="no passage is about it", score=0.25, nearest=(FAUST.id, HEBREW.id))
    asks = Answer("question", "Which Faust?", label="More")
    return [
        Response(TurnId(12, 1), rewrite, ranking, answer=Answer.of(cited, "en", 0.75)),
        Response(TurnId(12, 2), rewrite, ranking, answer=Answer.of([whole], "en")),
        Response(TurnId("a_b", 1), rewrite, ranking, answer=nearest),
        Response(TurnId("a_b", 2), rewrite, ranking, answer=asks),
        Response(TurnId("a_b", 3), error=Failure("reader", "ValueError", "a bad\nturn")),
    ]


@pytest.fixture
def many():
    """An answer of 120 sentences that cite a passage each, the lowest of a ranking of 1,200."""
    hits = tuple(Hit(f"d{n}", -n, Passage(f"d{n}", "text")) for n in range(-1080, 120))
    sentences = [Sentence(f"Sentence {n}.", (Citation(f"d{n}"),)) for n in range(120)]
    return Response(TurnId(1, 1), ranking=Ranking.of(hits), answer=Answer.of(sentences, "en"))
