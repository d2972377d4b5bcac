"""Haystack's retrievers as stations: its in-memory BM25, and one of the test's own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from haystack import Document, component
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from convqa.components.retrievers.haystack import HaystackRetriever as Wrapper
from convqa.domain import Failure, Passage, Query, Ranking, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.errors import InputError, RunError, StoreUnavailable
from convqa.pipeline.load import load

DOCUMENTS = [
    Document(id="goethe", content="Goethe wrote Faust in Weimar.", meta={"title": "Goethe", "url": "u", "year": 1808}),
    Document(id="schiller", content="Schiller wrote The Robbers."),
    Document(id="bridge", content="Bridges of London cross the river."),
]


@pytest.fixture
def store():
    store = InMemoryDocumentStore(index="test-haystack-retriever")
    store.write_documents(DOCUMENTS)
    yield store
    store.delete_documents([document.id for document in DOCUMENTS])


def search(station, *queries):
    turns = [Turn(TurnId(1, number), "?") for number, _ in enumerate(queries, 1)]
    return station.search(turns, queries)


def run(station, *queries):
    turns = Turns(tuple(Turn(TurnId(1, number), "?") for number, _ in enumerate(queries, 1)))
    rewrites = Rewrites(tuple(Rewrite(query.text, (query,)) for query in queries))
    return station.run(turns=turns, rewrites=rewrites)["rankings"].items


def ids(ranking):
    return [hit.id for hit in ranking.hits]


def test_documents_come_back_as_passages_with_the_components_scores(store):
    inner = InMemoryBM25Retriever(store)
    (ranking,) = search(Wrapper(inner), Query("Who wrote Faust?"))
    assert ids(ranking)[:2] == ["goethe", "schiller"]
    assert [hit.score for hit in ranking.hits] == pytest.approx(
        [document.score for document in inner.run("Who wrote Faust?", top_k=100)["documents"]]
    )
    assert ranking.hits[0].passage == Passage("goethe", DOCUMENTS[0].content, "Goethe", "u", {"year": 1808})


def test_top_k_goes_to_the_component_whatever_it_had(store):
    assert len(search(Wrapper(InMemoryBM25Retriever(store, top_k=1), top_k=2), Query("wrote river"))[0].hits) == 2
    assert ids(search(Wrapper(InMemoryBM25Retriever(store), top_k=1), Query("Faust"))[0]) == ["goethe"]


def test_history_terms_follow_as_plain_words(store):
    station = Wrapper(InMemoryBM25Retriever(store), top_k=1)
    assert ids(search(station, Query("the river", (("Schiller", 0.3), ("Robbers", 0.3))))[0]) == ["schiller"]
    assert ids(search(station, Query("the river", (("Schiller", 0.0), ("Robbers", -1.0))))[0]) == ["bridge"]
    assert ids(search(station, Query("", (("Schiller", 0.3),)))[0]) == ["schiller"]


def test_an_empty_query_finds_nothing(store):
    assert search(Wrapper(InMemoryBM25Retriever(store)), Query(""), Query(" \n")) == [Ranking(), Ranking()]


def test_a_turns_filter_goes_to_the_component_beside_its_own(store):
    turn = Turn(TurnId(1, 1), "?", filter={"year": (1808, 3), "title": ("Goethe",)})
    station = Wrapper(InMemoryBM25Retriever(store))
    assert [ids(ranking) for ranking in station.search([turn, replace(turn, filter={})], [Query("wrote")] * 2)] == [
        ["goethe"],
        ["schiller", "goethe"],
    ]
    for value, expected in (("Goethe", ["goethe"]), ("Schiller", [])):
        own = {"field": "meta.title", "operator": "==", "value": value}
        station = Wrapper(InMemoryBM25Retriever(store, filters=own))
        assert ids(station.search([replace(turn, filter={"year": (1808,)})], [Query("wrote")])[0]) == expected


def test_a_component_that_takes_no_filters_stops_the_run_at_a_turn_that_has_one():
    turns = Turns((Turn(TurnId(1, 1), "?", filter={"set": ("wiki",)}),))
    with pytest.raises(RunError, match=r"Odd takes no filters, but a turn has the filter \{'set': \('wiki',\)\}"):
        Wrapper(Odd([["a", "A", 1.0]])).run(turns=turns, rewrites=Rewrites((Rewrite("x", (Query("x"),)),)))


@component
class Odd:
    """Gives what a retriever should not."""

    def __init__(self, given: list | None = None) -> None:
        self.given = given

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict:
        if query == "bad":
            raise KeyError("cause")
        return {"documents": [Document(id=id, content=text, score=score) for id, text, score in self.given or []]}


def test_documents_without_scores_are_scored_by_rank():
    (ranking,) = search(Wrapper(Odd([["a", "A", None], ["b", None, None], ["a", "A", None]]), top_k=5), Query("x"))
    assert ids(ranking) == ["a", "b"]
    assert [hit.score for hit in ranking.hits] == pytest.approx([1 / 61, 1 / 62])
    assert ranking.hits[1].passage is None


def test_more_than_top_k_is_cut_and_ties_go_to_the_higher_id():
    assert ids(search(Wrapper(Odd([["a", "A", 1.0], ["b", "B", 1.0], ["c", "C", 1.0]]), top_k=2), Query("x"))[0]) == [
        "c",
        "b",
    ]


def test_a_query_that_fails_is_a_failure_of_its_own():
    first, second, third = run(Wrapper(Odd([["a", "A", 1.0]])), Query("x"), Query("bad"), Query("y"))
    assert ids(first) == ids(third) == ["a"]
    assert second == Failure("retriever", "KeyError", "'cause'")


def test_a_server_that_is_away_stops_the_run_and_no_turn_is_blamed():
    """Elasticsearch's own retriever, and nothing listens at its port."""
    es = pytest.importorskip("haystack_integrations.components.retrievers.elasticsearch")
    stores = pytest.importorskip("haystack_integrations.document_stores.elasticsearch")
    inner = es.ElasticsearchBM25Retriever(
        document_store=stores.ElasticsearchDocumentStore(hosts="http://127.0.0.1:9", max_retries=0)
    )
    with pytest.raises(StoreUnavailable, match="ElasticsearchBM25Retriever does not reach its server: ConnectionError"):
        run(Wrapper(inner), Query("Faust"))


def test_scores_that_are_no_numbers_stop_the_run():
    with pytest.raises(RunError, match="'a' is inf"):
        run(Wrapper(Odd([["a", "A", float("inf")]])), Query("x"))


BM25 = "haystack.components.retrievers.in_memory.InMemoryBM25Retriever"
STORE = "haystack.document_stores.in_memory.InMemoryDocumentStore"
YAML = f"""
extends: copy-bm25
stations:
  retriever:
    type: haystack
    top_k: 2
    component:
      type: {BM25}
      init_parameters:
        document_store:
          type: {STORE}
          init_parameters: {{index: test-haystack-retriever}}
"""


def pipeline(tmp_path, old="", new=""):
    path = tmp_path / "p.yaml"
    path.write_text(YAML.replace(old, new))
    return path


def test_a_pipeline_names_it_in_yaml_and_survives_its_own_record(store, tmp_path):
    loaded = load(pipeline(tmp_path))
    assert not loaded.needs_collection
    loaded.warm_up()
    (tmp_path / "again.yaml").write_text(loaded.document.to_yaml())
    for one in (loaded, load(tmp_path / "again.yaml")):
        (ranking,) = one.run(Turns((Turn(TurnId(1, 1), "Who wrote Faust?"),))).rankings.items
        assert ids(ranking) == ["goethe", "schiller"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (BM25, "subprocess.Popen", r"retriever.component.type: the module 'subprocess' is not allowed"),
        (BM25, "haystack.utils.auth.os", "component.type: module haystack.utils.auth has no component 'os'"),
        (BM25, "haystack.core.serialization.Any", "module haystack.core.serialization has no component 'Any'"),
        (STORE, "haystack.core.serialization.Any", "retriever.component: "),
        (STORE, "haystack.utils.auth.nothing", "retriever.component: .*haystack.utils.auth.nothing"),
        (STORE, "os.system", "document_store.type: the module 'os' is not allowed"),
        (
            "InMemoryBM25R",
            "InMemoryBM26R",
            "no component 'InMemoryBM26Retriever'. Did you mean",
        ),
        (BM25, "haystack_integrations.no.Such", r"component.type: .* no module 'haystack_integrations.no'"),
        (BM25, "haystack.Document", "retriever.component.type: module haystack has no component 'Document'"),
        (
            f"type: {BM25}",
            "x: y",
            "retriever.component: expected a component of Haystack, as .*init_parameters.*, got {'x': 'y'",
        ),
        ("{index", "{indx", "unexpected keyword argument 'indx'"),
        ("top_k: 2", "top_k: two", "retriever.top_k: expected a whole number, got 'two'"),
        ("component:", "componet:", "Did you mean 'component'"),
    ],
)
def test_mistakes_in_the_yaml_are_named(tmp_path, capfd, old, new, message):
    with pytest.raises(InputError, match=message):
        load(pipeline(tmp_path, old, new))
    assert capfd.readouterr().err == ""
