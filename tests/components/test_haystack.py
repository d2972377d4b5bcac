"""What the stations that wrap a component of Haystack share."""

from __future__ import annotations

import threading
import time

import pytest
from haystack import Document, component
from haystack.components.rankers import LostInTheMiddleRanker
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from convqa.components.haystack import ranked, to_document, to_passage
from convqa.components.rankings import behind
from convqa.components.rerankers.haystack import HaystackReranker as Reranker
from convqa.components.retrievers.haystack import HaystackRetriever as Retriever
from convqa.domain import Hit, NotFinite, Passage, Ranking, Rankings, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.errors import InputError, RunError


def test_a_passage_survives_being_a_document():
    passage = Passage("p", "Faust 👋", "Goethe", "http://x", {"year": 1808, "old": True, "a": 1.5, "b": "c"})
    document = to_document(Hit("p", 2.5, passage))
    assert (document.id, document.content, document.score) == ("p", "Faust 👋", 2.5)
    assert document.meta == {"year": 1808, "old": True, "a": 1.5, "b": "c", "title": "Goethe", "url": "http://x"}
    assert to_passage(document) == passage
    assert to_passage(to_document(Hit("q", 1.0, Passage("q", "")))) == Passage("q", "")


def test_what_no_passage_can_hold_is_left_out():
    meta = {"title": 7, "url": None, "list": [1], "nan": float("nan"), "none": None, "ok": "\ud800"}
    assert to_passage(Document(id="d", content="a \ud800", meta=meta)) == Passage(
        "d", "a \ufffd", "7", "", {"ok": "\ufffd"}
    )
    assert to_passage(Document(id="d", content=None)) is None


def ids(ranking):
    return [hit.id for hit in ranking.hits]


def test_scores_stay_where_they_agree_with_the_order():
    found = ranked([Hit("a", 3.0), Hit("b", 1.0), Hit("c", 1.0), Hit("a", 0.5)], True)
    assert [(hit.id, hit.score) for hit in found.hits] == [("a", 3.0), ("c", 1.0), ("b", 1.0)]


@pytest.mark.parametrize(("scores", "scored"), [((1.0, 3.0, 2.0), True), ((0.0, 0.0, 0.0), False)])
def test_else_the_order_counts(scores, scored):
    hits = [Hit(id, score) for id, score in zip("abc", scores, strict=True)]
    found = ranked([*hits, hits[0]], scored)
    assert ids(found) == ["a", "b", "c"]
    assert found.hits[1].score == pytest.approx(1 / 62)


def test_a_score_that_is_no_number_is_refused():
    with pytest.raises(NotFinite, match="'a' is nan"):
        ranked([Hit("a", float("nan"))], True)


@pytest.mark.parametrize("score", [3.0, -3.0, 1e30, -1e30, 0.0])
def test_the_rest_stays_behind_in_its_order(score):
    found = behind(ranked([Hit("a", score)], True), [Hit("z", 9.0), Hit("b", 9.0), Hit("y", 7.0)])
    assert ids(found) == ["a", "z", "b", "y"]
    assert all(above.score > below.score for above, below in zip(found.hits, found.hits[1:], strict=False))
    assert ids(behind(ranked([], True), [Hit("z", 9.0)])) == ["z"]


@component
class Greedy:
    """Needs more than a station has."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], mood: str) -> dict:
        return {"documents": []}


@pytest.mark.parametrize(
    ("station", "wrapped", "message"),
    [
        (
            Retriever,
            {"init_parameters": {}},
            r"component: expected a component of Haystack, .*, got \{'init_",
        ),
        (Retriever, InMemoryDocumentStore(), "expected a component of Haystack"),
        (Retriever, LostInTheMiddleRanker(), "LostInTheMiddleRanker takes documents.*expected one that takes query"),
        (Retriever, InMemoryEmbeddingRetriever(InMemoryDocumentStore()), "takes query_embedding.*expected"),
        (Reranker, InMemoryBM25Retriever(InMemoryDocumentStore()), "expected one that takes documents"),
        (Reranker, Greedy(), "takes query, documents, mood .*requires nothing but documents and query,"),
    ],
)
def test_a_component_that_does_not_fit_is_refused_with_its_sockets(station, wrapped, message):
    with pytest.raises(InputError, match=message):
        station(wrapped)


@component
class Remote:
    """Wants to be told where and with what."""

    def __init__(self, hosts: str = "", api_key: object = None, basic_auth: object = None) -> None:
        self.hosts, self.api_key, self.basic_auth = hosts, api_key, basic_auth

    def warm_up(self) -> None:
        raise OSError("no model in this folder")

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict:
        return {"documents": None}


@pytest.mark.parametrize(
    "parameters", [{"api_key": "s3cret"}, {"basic_auth": ["me", "s3cret"]}, {"hosts": "https://me:s3cret@host:9200"}]
)
def test_secrets_in_plain_text_are_refused(parameters):
    with pytest.raises(
        InputError, match=rf"component Remote\.{next(iter(parameters))}: secrets are not allowed"
    ) as caught:
        Retriever(Remote(**parameters))
    assert "s3cret" not in str(caught.value)
    Retriever(Remote("https://host:9200", {"type": "env_var", "env_vars": ["MY_KEY"], "strict": True}))


def test_a_component_that_cannot_be_made_ready_stops_the_run():
    with pytest.raises(RunError, match="Remote cannot be warmed up: OSError: no model in this folder"):
        Retriever(Remote()).warm_up()


def test_what_a_component_does_not_give_is_an_error_of_the_item():
    for made in (None, "abc", ["x"]):
        retriever = Retriever(Remote())
        retriever.wrapped.run = lambda query, made=made: {"documents": made}
        with pytest.raises(ValueError, match=r"test_haystack\.Remote\.run returned no list of documents"):
            retriever._rank("x", Turn(TurnId(1, 1), "x"))


@component
class Waiting:
    """A retriever that waits until so many questions are asked at the same time."""

    def __init__(self, at_once: int = 1):
        self.at_once = at_once
        self._barrier = threading.Barrier(at_once, timeout=10)

    @component.output_types(documents=list[Document])
    def run(self, query: str):
        self._barrier.wait()
        if query == "bad":
            raise ValueError("told to fail")
        return {"documents": [Document(id=query, content=query, score=1.0)]}


@component
class Marking:
    """A ranker that says in which thread it was asked."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]):
        time.sleep(0.05)
        threads.add(threading.get_ident())
        return {"documents": documents[::-1]}


threads = set()


def rewrites_of(*texts):
    turns = Turns(tuple(Turn(TurnId(1, number), text) for number, text in enumerate(texts, 1)))
    return turns, Rewrites(tuple(Rewrite.unchanged(text) for text in texts))


def test_turns_are_asked_at_the_same_time_and_stay_in_order():
    turns, rewrites = rewrites_of("a", "b", "c", "d")
    found = Retriever(Waiting(4), concurrency=4).run(turns=turns, rewrites=rewrites)["rankings"]
    assert [ids(ranking) for ranking in found] == [["a"], ["b"], ["c"], ["d"]]


def test_a_turn_that_fails_beside_others_fails_alone():
    turns, rewrites = rewrites_of("a", "bad", "c")
    found = Retriever(Waiting(1), concurrency=2).run(turns=turns, rewrites=rewrites)["rankings"].items
    assert [ids(found[0]), found[1].error, ids(found[2])] == [["a"], "ValueError", ["c"]]


@pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (3, 3)])
def test_rankers_too(concurrency, most):
    turns, rewrites = rewrites_of("a", "b", "c")
    ranking = Ranking.of([Hit("p", 2.0, Passage("p", "One.")), Hit("q", 1.0, Passage("q", "Two."))])
    rankings = Rankings((ranking,) * 3)
    threads.clear()
    made = Reranker(Marking(), concurrency=concurrency).run(turns=turns, rewrites=rewrites, rankings=rankings)
    assert len(made["rankings"].items) == 3 and 1 <= len(threads) <= most
    assert concurrency == 1 or len(threads) > 1
