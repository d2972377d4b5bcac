"""What every member of every station promises. Members are found in the folders: a new one is tested by being there."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from functools import cache

import pytest
from haystack import Document, component
from haystack import Pipeline as Graph
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from hypothesis import given
from hypothesis import strategies as st

import convqa.components
from convqa.components.base import STATIONS
from convqa.components.builders.sentences import SentencesBuilder as Builder
from convqa.components.members import ALLOWLIST
from convqa.components.readers.sentences import SentencesReader as Reader
from convqa.components.retrievers.given import Given
from convqa.components.rewriters.expansion import Expansion
from convqa.domain import (
    Answer,
    Answers,
    Exchange,
    Failure,
    Hit,
    Passage,
    Query,
    Ranking,
    Rankings,
    Readings,
    Rewrite,
    Rewrites,
    Turn,
    TurnId,
    Turns,
)
from convqa.errors import InputError
from convqa.indexing import add_vectors
from convqa.models import load_encoder
from convqa.pipeline.load import load
from convqa.plugins import load as plugins_load
from convqa.plugins import plugins
from convqa.stores import create_store

SOCKETS = {
    "rewriter": ({"turns"}, "rewrites"),
    "retriever": ({"turns", "rewrites"}, "rankings"),
    "reranker": ({"turns", "rewrites", "rankings"}, "rankings"),
    "reader": ({"turns", "rewrites", "rankings"}, "readings"),
    "builder": ({"turns", "rewrites", "rankings", "readings"}, "answers"),
    "decider": ({"turns", "rewrites", "rankings", "readings", "answers"}, "answers"),
}
TYPES = {
    "turns": Turns,
    "rewrites": Rewrites,
    "rankings": Rankings,
    "readings": Readings,
    "answers": Answers,
}

PASSAGES = (
    Passage("goethe", "Goethe wrote Faust. He was born in Frankfurt in 1749. He lived in Weimar.", title="Goethe"),
    Passage("schiller", "Schiller wrote The Robbers.\r\nHe met Goethe in Jena 👋🏽. Did they write together?"),
    Passage("faust", "Faust is a play in two parts. The first one appeared in 1808.", title="Faust (play)"),
    Passage("none", "مرحبا بكم في فايمار. كيف حالك؟"),
)
QUESTIONS = ("Who wrote Faust?", "When was he born?", "Where did they meet?", "Zeppelin?", "", "كيف حالك؟ 👍🏽 \x00")


@component
class Chat:
    """A chat generator of Haystack's kind: adds a name to whatever it is asked last."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict:
        question = json.loads(messages[-1].text.rpartition("Last question: ")[2])
        return {"replies": [ChatMessage.from_assistant(json.dumps({"question": f"{question} Weimar?"}))]}


@component
class Writer:
    """A chat generator of Haystack's kind: says what the first passage begins with, and cites it."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict:
        (first,) = [line for line in messages[-1].text.split("\n") if line.startswith("[1] ")]
        *_, text = json.loads("[" + first[4:].replace('": "', '", "', 1) + "]")  # a title may stand before it
        return {"replies": [ChatMessage.from_assistant(f"{text.partition('. ')[0]}. [1]")]}


_STORE = {"type": "haystack.document_stores.in_memory.InMemoryDocumentStore", "init_parameters": {"index": "contract"}}
WRAPPED = {
    "rewriter": {"type": f"{__name__}.Chat"},
    "retriever": {
        "type": "haystack.components.retrievers.in_memory.InMemoryBM25Retriever",
        "init_parameters": {"document_store": _STORE},
    },
    "reranker": {"type": "haystack.components.rankers.LostInTheMiddleRanker"},
    "builder": {"type": f"{__name__}.Writer"},
}
"""What members that wrap a component of Haystack are given, as it stands in YAML."""


@cache
def members():
    """(station, class) of every member, by the folders under convqa/components."""
    found = []
    for module in pkgutil.walk_packages(convqa.components.__path__, "convqa.components."):
        for _, cls in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if cls.__module__ == module.name and f"{cls.__module__}.{cls.__name__}" in component.registry:
                found += stations_of(cls)
    for station in STATIONS:
        found += [(station, plugins_load(point)) for point in plugins(f"convqa.{station}s").values()]
    return sorted(set(found), key=str)


def stations_of(cls):
    return [(station, cls) for station, base in STATIONS.items() if issubclass(cls, base)]


NEED_TORCH = (".generate", ".cross_encoder", ".sparse")


def of_station(*stations):
    """A test of every member, or of the members of some stations."""

    def mark(test):
        test.stations = stations or tuple(STATIONS)
        return test

    return mark


def pytest_generate_tests(metafunc):
    """Give tests of members ours, found in their folders, and those of ``--convqa-member``."""
    wanted = getattr(metafunc.function, "stations", ())
    if not wanted:
        return
    outside = [pair for cls in metafunc.config.outside if isinstance(cls, type) for pair in stations_of(cls)]
    metafunc.parametrize(
        ("station", "cls"),
        [
            pytest.param(
                station, cls, id=f"{station}-{cls.__module__.removeprefix('convqa.components.')}",
                marks=[pytest.mark.models] if cls.__module__.endswith(NEED_TORCH) else [],
            )
            for station, cls in members() + outside
            if station in wanted
        ],
    )  # fmt: skip


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    url = str(tmp_path_factory.mktemp("store") / "collection")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
        store.commit()
    add_vectors(url, load_encoder("encoder"))
    documents = [Document(id=passage.id, content=passage.text) for passage in PASSAGES]
    InMemoryDocumentStore(index="contract").write_documents(documents, DuplicatePolicy.OVERWRITE)
    return url


@pytest.fixture(scope="module")
def weighed(tmp_path_factory, sparse_encoder):
    """A collection of the same passages with token weights."""
    url = str(tmp_path_factory.mktemp("weighed") / "collection")
    with create_store(url, "en") as store:
        store.add(PASSAGES)
    add_vectors(url, load_encoder(str(sparse_encoder), sparse=True))
    return url


@pytest.fixture(autouse=True)
def _allowed(monkeypatch, pytestconfig):
    """What a pipeline may load beside convqa: this module's components, and those of ``--convqa-member``."""
    outside = [cls.__module__ for cls in pytestconfig.outside if isinstance(cls, type)]
    monkeypatch.setenv(ALLOWLIST, ",".join([__name__, *outside]))


def ready(member):
    """Warmed up; what needs corpora that cannot be downloaded by a test is skipped where they are missing."""
    try:
        member.warm_up()
    except InputError as error:
        if "textblob" not in str(error):
            raise
        pytest.skip(str(error))
    return member


def needed(cls, request):
    """What members need that has no default: a model, or others in them."""
    if cls.__module__.endswith(".generate"):
        return {"model": request.getfixturevalue("tiny_generator")("t5"), "max_new_tokens": 8}
    if cls.__module__.endswith(".recorded"):
        return {"path": str(request.getfixturevalue("recording"))}
    return {"rewriter": "expansion", "rewriters": ["expansion", "concatenate"]} if cls.station == "rewriter" else {}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A run.json of other systems, of some of the turns that are tried."""
    file = tmp_path_factory.mktemp("recorded") / "run.json"
    passages = {passage.id: 2.0 - place for place, passage in enumerate(PASSAGES)}
    record = {"Model_rewrite": "Who wrote Faust in Weimar?", "Model_passages": {**passages, "unknown": 0.5}}
    records = [{"Conversation_no": c, "Turn_no": t, **record} for c in (0, *range(2, 8)) for t in range(4)]
    file.write_text(json.dumps(records))
    return file


@pytest.fixture
def make(collection, request):
    """Make a member with its defaults, and with the least where it has no default."""

    def made(cls):
        known = inspect.signature(cls.__init__).parameters
        if "component" in known:
            return ready(cls(component=WRAPPED[cls.station]))
        minimal = {"collection": collection}
        if known.get("model") and cls.__module__.endswith(".cross_encoder"):
            minimal["model"] = str(request.getfixturevalue("cross_encoder"))
        if cls.__module__.endswith(".sparse"):
            minimal["collection"] = request.getfixturevalue("weighed")
        minimal |= needed(cls, request)
        return ready(cls(**{name: value for name, value in minimal.items() if name in known}))

    return made


def rows(number):
    """Values for every socket, ``number`` of them; each socket's batch is made of one column."""
    turns, rewrites, rankings, readings, answers = [], [], [], [], []
    for index in range(number):
        question = QUESTIONS[index % len(QUESTIONS)]
        history = tuple(Exchange(QUESTIONS[place % 3], "It was Goethe in Weimar.") for place in range(index % 4))
        turns.append(Turn(TurnId(index // 4, index % 4), question, history, PASSAGES))
        term = (("Goethe", 0.3),) if index % 2 else ()
        second = (Query("Weimar", weight=0.5),) if index % 3 == 0 else ()
        rewrites.append(Rewrite(question, (Query(question, term), *second)))
        order = PASSAGES[index % 4 :] + PASSAGES[: index % 4]
        rankings.append(Ranking(tuple(Hit(passage.id, 9.0 - place, passage) for place, passage in enumerate(order))))
        readings.append(Reader().read(turns[-1], rewrites[-1], rankings[-1]))
        answers.append(Builder().build(turns[-1], rewrites[-1], rankings[-1], readings[-1]))
    return {
        "turns": turns,
        "rewrites": rewrites,
        "rankings": rankings,
        "readings": readings,
        "answers": answers,
    }


def run(member, station, columns, chosen=slice(None)):
    inputs, output = SOCKETS[station]
    batches = {name: TYPES[name](tuple(columns[name][chosen])) for name in inputs}
    return member.run(**batches)[output].items


def close(left, right):
    """The same values, with scores within 1e-4."""
    if isinstance(left, float) and isinstance(right, float):
        return left == pytest.approx(right, abs=1e-4)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(close, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(close(left[key], right[key]) for key in left)
    return left == right


def test_there_is_a_member_of_every_station_of_the_shipped_pipelines():
    assert {"rewriter", "retriever", "reader", "builder"} <= {station for station, _ in members()}
    assert len(members()) >= 8


@of_station()
def test_its_sockets_are_those_of_its_station(station, cls, make):
    graph = Graph()
    graph.add_component("node", make(cls))
    inputs, output = SOCKETS[station]
    found = graph.inputs()["node"]
    assert {name: details["type"] for name, details in found.items() if name != "readings"} == {
        name: TYPES[name] for name in inputs - {"readings"}
    }
    assert [name for name, details in found.items() if not details["is_mandatory"]] == (
        ["readings"] if station in ("builder", "decider") else []
    )
    assert graph.outputs()["node"] == {output: {"type": TYPES[output]}}


@of_station()
def test_it_keeps_length_and_order_at_any_batch_size(station, cls, make):
    columns, member = rows(64), make(cls)
    whole = run(member, station, columns)
    assert len(whole) == 64
    assert not [item for item in whole if isinstance(item, Failure)]
    for size in (1, 7):
        parts = [run(member, station, columns, slice(start, start + size)) for start in range(0, 64, size)]
        together = [item.to_json() for part in parts for item in part]
        assert close(together, [item.to_json() for item in whole])


@of_station()
def test_an_empty_batch_gives_an_empty_batch(station, cls, make):
    assert run(make(cls), station, rows(0)) == ()


@of_station()
def test_it_is_deterministic(station, cls, make):
    columns = rows(12)
    assert run(make(cls), station, columns) == run(make(cls), station, columns)


@of_station()
def test_it_passes_failures_on(station, cls, make):
    columns, member = rows(3), make(cls)
    whole = run(member, station, columns)
    failure = Failure("earlier", "ValueError", "it went wrong")
    for name in SOCKETS[station][0]:
        damaged = {**columns, name: [columns[name][0], failure, columns[name][2]]}
        assert run(member, station, damaged) == (whole[0], failure, whole[2])


class Broken:
    """An item that no member can handle."""

    def __getattr__(self, name):
        raise RuntimeError(f"no {name} here")


@of_station()
def test_one_bad_item_spoils_no_other(station, cls, make):
    columns, member = rows(3), make(cls)
    whole = run(member, station, columns)
    damaged = {name: [column[0], Broken(), column[2]] for name, column in columns.items()}
    first, failed, last = run(member, station, damaged)
    assert (first, last) == (whole[0], whole[2])
    assert isinstance(failed, Failure) and (failed.stage, failed.error) == (station, "RuntimeError")


@of_station()
def test_it_survives_haystacks_yaml(station, cls, make):
    graph = Graph()
    graph.add_component("node", make(cls))
    again = Graph.loads(graph.dumps(), allowed_modules=[cls.__module__]).get_component("node")
    again.warm_up()
    columns = rows(6)
    assert run(again, station, columns) == run(make(cls), station, columns)


@of_station("rewriter", "retriever", "reader", "builder", "decider")
def test_it_takes_the_place_of_any_other_in_a_shipped_pipeline(station, cls, collection, request):
    known = inspect.signature(cls.__init__).parameters
    settings = {f"{station}.{name}": value for name, value in needed(cls, request).items() if name in known}
    settings[f"{station}.type"] = f"{cls.__module__}.{cls.__name__}"
    if "component" in known:
        settings[f"{station}.component"] = WRAPPED[station]
    pipeline = load("expansion-bm25", settings)
    pipeline.bind(request.getfixturevalue("weighed") if cls.__module__.endswith(".sparse") else collection)
    made = ready(pipeline).run(Turns(tuple(rows(6)["turns"])))
    assert made.answers is not None
    assert all(isinstance(item, Answer) for item in made.answers)
    assert all(answer.kind in ("answer", "question") for answer in list(made.answers)[:3])


@of_station("rewriter")
def test_a_first_turn_is_left_as_it_is(station, cls, make):
    for question in QUESTIONS:
        (rewrite,) = make(cls).run(Turns((Turn(TurnId(1, 1), question),)))["rewrites"]
        assert rewrite == Rewrite(question, (Query(question),))


wild = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from(".?!\r\n\t e\u0301\u0627\u0644\u200f\U0001f469\u200d\ud800")),
    max_size=300,
)
passages = st.lists(wild, max_size=5).map(lambda texts: tuple(Passage(f"p{n}", text) for n, text in enumerate(texts)))


@given(wild, passages, st.lists(st.builds(Exchange, wild, wild), max_size=3))
def test_every_citation_is_a_quote(question, given_passages, history):
    turn = Turn(TurnId(1, 1), question, tuple(history), given_passages)
    rewrite = Expansion().rewrite(turn)
    (ranking,) = Given().retrieve_batch([turn], [rewrite])
    for reading in (Reader().read(turn, rewrite, ranking), None):
        answer = Builder().build(turn, rewrite, ranking, reading)
        texts = {passage.id: passage.text for passage in given_passages}
        assert (answer.kind == "none") == (not any(text.strip() for text in texts.values()))
        assert answer.text == " ".join(sentence.text for sentence in answer.sentences)
        for sentence in answer.sentences:
            (citation,) = sentence.citations
            text = texts[citation.passage_id]
            assert 0 <= citation.start < citation.end <= len(text)
            assert sentence.text == " ".join(text[citation.start : citation.end].split())
