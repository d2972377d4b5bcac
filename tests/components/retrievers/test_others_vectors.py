"""Vectors that others put into a real Elasticsearch: Haystack's document store, or a company's own mapping."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import convqa
from convqa.components.retrievers.dense import Dense
from convqa.components.retrievers.hybrid import Hybrid
from convqa.domain import Passage, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.errors import InputError
from convqa.indexing import add_vectors
from convqa.models import load_encoder
from convqa.stores import create_store, open_store
from convqa.stores.base import WritableStore
from convqa.stores.elasticsearch.client import client
from convqa.stores.elasticsearch.target import IndexTarget

pytestmark = pytest.mark.services

PASSAGES = [
    Passage("g", "Goethe wrote the play Faust.", meta={"kind": "poet", "year": 1749}),
    Passage("s", "Schiller wrote The Robbers, a drama.", meta={"kind": "poet", "year": 1759}),
    Passage("w", "Weimar is a town in Thuringia."),
    Passage("z", "Zebras are striped animals of Africa."),
    Passage("l", "Lightning is an electric discharge in the air."),
]
QUESTION = "Which animals have stripes?"
SIMILARITIES = ["cosine", "dot_product", "max_inner_product"]


@pytest.fixture(scope="module")
def encoder():
    return load_encoder("encoder")


@pytest.fixture(scope="module")
def ours(tmp_path_factory, encoder):
    """The same passages in a folder, with vectors of the same encoder."""
    url = str(tmp_path_factory.mktemp("ours") / "collection")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
    add_vectors(url, encoder)
    return url


@pytest.fixture
def file(index_url, tmp_path):
    """Writes a collection's file for the index."""

    def write(told):
        (tmp_path / "others.yaml").write_text(f"url: {index_url}\n{told}\n")
        return str(tmp_path / "others.yaml")

    yield write
    target = IndexTarget.parse(index_url)
    client(target).options(ignore_status=404).indices.delete(index=target.index)


HAYSTACKS = "vector: embedding\nencoder: encoder"


@pytest.fixture
def haystacks(index_url, file, encoder):
    """An index that Haystack's document store filled, with embeddings of our encoder; ``None``: without."""
    stores = pytest.importorskip("haystack_integrations.document_stores.elasticsearch")
    from haystack import Document

    def fill(vectors=None, passages=PASSAGES, told=HAYSTACKS):
        target = IndexTarget.parse(index_url)
        theirs = stores.ElasticsearchDocumentStore(hosts=target.http, index=target.index)
        made = encoder.encode([passage.text for passage in passages]) if vectors is None else vectors
        theirs.write_documents(
            [
                Document(
                    id=passage.id, content=passage.text, meta=dict(passage.meta),
                    embedding=None if vector is None else [float(number) for number in vector],
                )
                for passage, vector in zip(passages, made, strict=True)
            ]
        )  # fmt: skip
        theirs.client.close()
        return file(told)

    return fill


@pytest.fixture
def filled(index_url, encoder):
    """Fills an index of other fields, whose vectors are of title and text: ``filled(length, **of the field)``."""

    def fill(length=1.0, **field):
        target = IndexTarget.parse(index_url)
        vector = {"type": "dense_vector", "dims": 384, **field}
        fields = {"doc": {"type": "keyword"}, "body": {"type": "text"}, "head": {"type": "text"}, "vec": vector}
        known = client(target)
        known.indices.create(index=target.index, mappings={"properties": fields})
        vectors = length * encoder.encode([f"About\n{passage.text}" for passage in PASSAGES])
        for passage, row in zip(PASSAGES, vectors.tolist(), strict=True):
            document = {"doc": passage.id, "body": passage.text, "head": "About", "vec": row}
            known.index(index=target.index, document=document)
        known.indices.refresh(index=target.index)

    return fill


OTHERS = "fields: {text: body, title: head, id: doc}\nvector: vec\nencoder: encoder"


def ranked(retriever, question=QUESTION, **turn):
    turns, rewrites = (Turn(TurnId(1, 1), question, **turn),), (Rewrite.unchanged(question),)
    return retriever.run(Turns(turns), Rewrites(rewrites))["rankings"].items[0].hits


def test_dense_ranks_what_haystack_filled_as_our_own(haystacks, ours):
    place = haystacks()
    store, info = open_store(place), open_store(place).info()
    assert (info.count, info.vectors, info.encoder.name, info.encoder.dimension) == (5, 5, "encoder", 384)
    assert "vectors" in info.capabilities and not isinstance(store, WritableStore)
    theirs, own = Dense(place), Dense(ours)
    for question in (QUESTION, "Who wrote Faust?", "What is a storm?"):
        found, expected = ranked(theirs, question), ranked(own, question)
        assert [hit.id for hit in found] == [hit.id for hit in expected]
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=2e-6)
    assert found[0].passage == next(passage for passage in PASSAGES if passage.id == found[0].id)
    filtered = ranked(theirs, filter={"year": (1749, 7)})
    assert [hit.id for hit in filtered] == ["g"]
    assert len(ranked(Dense(place, top_k=2))) == 2


def test_a_pipeline_takes_the_collections_encoder(haystacks):
    place = haystacks()
    for pipeline in ("dense", "hybrid", "default", "talk"):
        response = convqa.load(pipeline, place).conversation().ask(QUESTION)
        assert response.error is None and response.ranking.hits[0].id == "z"
    assert response.answer.text == "Zebras are striped animals of Africa."
    hybrid = Hybrid(place)
    assert hybrid._vector_candidates is None and len(ranked(hybrid)) == 5


def test_what_has_no_vector_is_encoded_for_each_turn(haystacks, encoder, caplog):
    vectors = [None if passage.id == "z" else encoder.encode([passage.text])[0] for passage in PASSAGES]
    place = haystacks(vectors)
    assert (open_store(place).info().count, open_store(place).info().vectors) == (5, 4)
    kept = open_store(place).vectors(["g", "z", "nobody"])
    assert np.allclose(kept[0], vectors[0], atol=1e-6) and kept[1:] == [None, None]
    with caplog.at_level(logging.WARNING, "convqa"):
        assert {hit.id for hit in ranked(Hybrid(place), "striped animals of Goethe")} == {"z", "g"}
    assert "for 4 of its 5 passages" in caplog.text
    assert "z" not in {hit.id for hit in ranked(Dense(place))}


def test_vectors_of_another_encoder_are_refused_with_their_similarity(haystacks, encoder):
    place = haystacks(encoder.encode([passage.text for passage in PASSAGES])[::-1])
    for retriever in (Dense(place), Hybrid(place)):
        with pytest.raises(
            InputError, match=r"not of the encoder 'encoder'\. 5 passages, .* cosine of -?0\.\d\d .*0\.95"
        ):
            retriever.warm_up()
    with pytest.raises(InputError, match="not of the encoder"):
        convqa.load("default", place)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("kind", ["hnsw", "int8_hnsw", "bbq_hnsw"])
def test_every_measure_and_precision_gives_inner_products(filled, file, encoder, similarity, kind):
    filled(similarity=similarity, index_options={"type": kind})
    found = ranked(Dense(file(OTHERS)))
    asked = encoder.encode([QUESTION], "query")[0]
    products = dict(zip("gswzl", encoder.encode([f"About\n{one.text}" for one in PASSAGES]) @ asked, strict=True))
    assert {hit.id: hit.score for hit in found} == pytest.approx(products, abs=1e-4)
    assert found[0].passage == Passage("z", PASSAGES[3].text, "About")


def test_lengths_do_not_count(filled, file, encoder):
    filled(3.0, similarity="cosine")
    place = file(OTHERS)
    assert ranked(Dense(place))[0].id == "z"
    expected = encoder.encode(["About\nWeimar is a town in Thuringia."])[0]
    assert np.allclose(open_store(place).vectors(["w"])[0], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("vector: embeding\nencoder: encoder", "no field 'embeding'.*Did you mean 'embedding'"),
        (
            "vector: content\nencoder: encoder",
            r"'content' \(text, float, .*cannot be searched; expected an indexed dense",
        ),
        ("vector: embedding\nencoder: nobody", "unknown model 'nobody'"),
        ("vector: embedding\nencoder: resolver", "expected a model of kind 'encoder'"),
        ("vector: embedding", "expected both or neither of vector .* and encoder"),
        ("encoder: encoder", "expected both or neither"),
    ],
)
def test_mistakes_in_the_file_are_told(haystacks, told, message):
    with pytest.raises(InputError, match=message):
        convqa.load("dense", haystacks(told=told))


def test_vectors_of_another_length_are_refused(haystacks):
    with pytest.raises(InputError, match=r"'encoder' \(2 dimensions\), got a query of 'encoder' \(384 dimensions"):
        convqa.load("dense", haystacks([[1.0, 2.0]] * 5))


@pytest.mark.parametrize("field", [{"index": False}, {"similarity": "l2_norm"}], ids=str)
def test_vectors_that_cannot_be_searched_are_refused(filled, file, field):
    filled(**field)
    with pytest.raises(InputError, match="cannot be searched"):
        open_store(file(OTHERS))


def test_an_encoder_behind_a_server(haystacks, ours, encoder, openai_server):
    server = openai_server(lambda texts, number: encoder.encode(texts).tolist())
    place = haystacks(told=f"vector: embedding\nencoder: {server.url}?model=minilm")
    found, expected = ranked(Dense(place)), ranked(Dense(ours))
    assert [(hit.id, round(hit.score, 4)) for hit in found] == [(hit.id, round(hit.score, 4)) for hit in expected]
    assert convqa.load("default", place).conversation().ask(QUESTION).answer.text == PASSAGES[3].text
    assert {request["model"] for request in server.requests} == {"minilm"}
