"""The query encoder that ships: vectors of questions with their history."""

from __future__ import annotations

import numpy as np
import pytest

from convqa.errors import InputError
from convqa.models import load_encoder
from convqa.models.kinds.query_encoder import load_query_encoder
from convqa.models.kinds.resolver_input import Past

HISTORY = [Past("Who wrote Faust?", "Johann Wolfgang von Goethe wrote it.")]


def test_vectors_have_length_one_and_the_encoders_dimension():
    model = load_query_encoder("query_encoder")
    vectors = model.encode([("When was he born?", HISTORY), ("", [])])
    assert vectors.shape == (2, load_encoder("encoder").dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert model.family == load_encoder("encoder").family


def test_a_vector_depends_on_no_batch_mate_and_follows_the_history():
    model = load_query_encoder("query_encoder")
    turns = [("When was he born?", HISTORY), ("x " * 900, HISTORY * 60)]
    both = model.encode(turns)
    assert [vector.tolist() for vector in both] == [model.encode([turn])[0].tolist() for turn in turns]
    goethe, kafka = load_encoder("encoder").encode(["Goethe was born in 1749.", "Kafka was born in 1883."])
    assert both[0] @ goethe > both[0] @ kafka + 0.1


def test_another_kind_is_refused():
    with pytest.raises(InputError, match="expected a model of kind 'query_encoder', got kind 'resolver'"):
        load_query_encoder("resolver")
