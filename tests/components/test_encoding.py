"""Which texts of a query are encoded, and the mean of their vectors, with the encoder that ships."""

from __future__ import annotations

import numpy as np
import pytest

from convqa.components.encoding import QueryEncoder, expanded
from convqa.domain import Query, Rewrite
from convqa.models import load_encoder

QUESTION, TERMS = "Who wrote it?", (("Faust", 0.3), ("Weimar", 0.3))


def encode(*rows):
    rewrites, queries = zip(*rows, strict=True)
    places, matrix = QueryEncoder("encoder").encode(rewrites, queries)
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
    encoder = QueryEncoder("encoder")
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
