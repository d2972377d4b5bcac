"""Which texts of a query are encoded, and the mean of their vectors, with the encoder that ships."""

from __future__ import annotations

import numpy as np
import pytest

from convqa.components.encoding import HISTORY_SHARE, QueryVectors, expanded
from convqa.components.history import said_before
from convqa.domain import Exchange, Query, Rewrite, Turn, TurnId
from convqa.models import load_encoder
from convqa.models.kinds.query_encoder import load_query_encoder

QUESTION, TERMS = "Who wrote it?", (("Faust", 0.3), ("Weimar", 0.3))


def encode(*rows):
    rewrites, queries = zip(*rows, strict=True)
    places, matrix = QueryVectors("encoder").encode(rewrites, queries)
    return places.tolist(), matrix


def vectors(*texts):
    return load_encoder("encoder").encode(texts, role="query")


def mean(*texts):
    summed = vectors(*texts).sum(axis=0)
    return summed / np.linalg.norm(summed)


def test_a_vector_is_the_mean_of_those_of_its_texts():
    places, matrix = encode((Rewrite("Who wrote Faust?", ()), Query(QUESTION, TERMS)))
    assert places == [0]
    assert matrix[0] == pytest.approx(mean(QUESTION, "Who wrote it? Faust Weimar", "Who wrote Faust?"), abs=1e-6)


def test_of_several_queries_each_stands_for_itself():
    """Whatever a rewriter makes of it, the bare question among them has the plain question's vector."""
    queries = Query(QUESTION), Query("Who wrote Faust?", TERMS)
    rewrite = Rewrite("Who wrote Faust?", queries)
    places, matrix = encode(*((rewrite, query) for query in queries))
    assert places == list(range(len(queries)))
    own = [mean(*{query.text: 0, expanded(query): 0}) for query in queries]
    assert matrix == pytest.approx(np.stack(own), abs=1e-6)


def test_without_history_it_is_the_plain_questions():
    _, matrix = encode((Rewrite(QUESTION, ()), Query(QUESTION)))
    assert matrix[0] == pytest.approx(vectors(QUESTION)[0], abs=1e-6)


def test_queries_without_words_have_no_vector():
    rows = [(Rewrite("", ()), Query(" ")), (Rewrite("", ()), Query("", (("Faust", 0.3),)))]
    places, matrix = encode(*rows)
    assert places == [1] and matrix[0] == pytest.approx(vectors("Faust")[0], abs=1e-6)
    places, matrix = encode(rows[0])
    assert places == [] and len(matrix) == 0


def test_each_text_of_a_batch_is_encoded_once(monkeypatch):
    encoder = QueryVectors("encoder")
    asked = []
    remembered = type(encoder.model).remembered

    def counting(self, texts, **role):
        asked.extend(texts)
        return remembered(self, texts, **role)

    monkeypatch.setattr(type(encoder.model), "remembered", counting)
    queries = [Query(QUESTION), Query(QUESTION, TERMS), Query(QUESTION)]
    encoder.encode([Rewrite(QUESTION, ())] * 3, queries)
    assert asked == [QUESTION, "Who wrote it? Faust Weimar"]


def test_two_stations_that_ask_for_the_same_texts_encode_them_once(monkeypatch):
    row = (Rewrite("Who wrote Faust?", (Query(QUESTION, TERMS),)), Query(QUESTION, TERMS))
    _, first = encode(row)
    monkeypatch.setattr(type(load_encoder("encoder")), "_run", lambda *_: pytest.fail("encoded again"))
    _, second = encode(row)
    assert first.tolist() == second.tolist()


GOETHE = Exchange("Who was Goethe?", "A poet of Weimar.")


def in_conversation(turn):
    return QueryVectors(None, None, "query_encoder").with_histories([turn], vectors(turn.question))[0]


def test_a_question_with_a_history_has_three_quarters_of_the_query_encoders_vector():
    asked = Turn(TurnId(1, 2), "When was he born?", (GOETHE,))
    (own,) = load_query_encoder("query_encoder").encode([(asked.question, said_before(asked))])
    expected = HISTORY_SHARE * own + (1 - HISTORY_SHARE) * vectors(asked.question)[0]
    assert in_conversation(asked) == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)
    passage = load_encoder("encoder").encode(["Goethe was born in 1749."])[0]
    assert own @ passage > vectors(asked.question)[0] @ passage + 0.2


def test_the_retriever_and_the_reader_encode_a_history_once(monkeypatch):
    asked = Turn(TurnId(1, 2), "When was he born again?", (GOETHE,))
    first = in_conversation(asked)
    model = load_query_encoder("query_encoder")
    monkeypatch.setattr(type(model), "encode", lambda *_: pytest.fail("encoded again"))
    assert in_conversation(asked).tolist() == first.tolist()


@pytest.mark.parametrize(
    "turn",
    [
        Turn(TurnId(1, 1), "When was he born?"),
        Turn(TurnId(1, 2), "When was he born?", (Exchange("thanks", "", status="idle"),)),
        Turn(TurnId(1, 2), "Wann wurde er geboren?", (GOETHE,), language="de"),
    ],
)
def test_other_questions_have_the_encoders(turn):
    assert in_conversation(turn) == pytest.approx(vectors(turn.question)[0], abs=1e-6)


def test_a_query_encoder_of_another_encoder_is_not_used(monkeypatch):
    queries = QueryVectors(None, None, "query_encoder")
    monkeypatch.setattr(queries.model, "family", "another")
    assert queries.history_model is None and list(queries.models()) == ["encoder"]
