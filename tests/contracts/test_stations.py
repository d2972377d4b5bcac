"""The contracts of the stations, for every member. A new one is found in its folder, and so tested by being there."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil

import pytest
from haystack import component
from haystack.dataclasses import ChatMessage
from hypothesis import given
from hypothesis import strategies as st

import convqa.components
from convqa.components.base import STATIONS
from convqa.components.builders.sentences import SentencesBuilder
from convqa.components.members import ALLOWLIST
from convqa.components.readers.sentences import SentencesReader
from convqa.components.retrievers.given import Given
from convqa.components.rewriters.expansion import Expansion
from convqa.domain import Exchange, Passage, Turn, TurnId
from convqa.errors import InputError
from convqa.plugins import load, plugins
from convqa.testing import (
    BuilderContract,
    DeciderContract,
    ReaderContract,
    RerankerContract,
    RetrieverContract,
    RewriterContract,
    Subject,
)
from convqa.testing.stations import CONVERSED


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
        lines = messages[-1].text.split("\n")
        (first,) = [number for number, line in enumerate(lines) if line.startswith("[1]")]
        text = lines[first + 1].strip() or "Nothing is said"
        return {"replies": [ChatMessage.from_assistant(f"{text.partition('. ')[0]}. [1]")]}


WRAPPED = {
    "rewriter": {"type": f"{__name__}.Chat"},
    "builder": {"type": f"{__name__}.Writer"},
}
"""What members that wrap a component of Haystack are given, as it stands in YAML."""

NEED_TORCH = (".generate", ".cross_encoder")


def members(station):
    """The members of a station in the folders under convqa/components, and those of entry points."""
    found = {load(point) for point in plugins(f"convqa.{station}s").values()}
    for module in pkgutil.walk_packages(convqa.components.__path__, "convqa.components."):
        for _, cls in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            is_member = cls.__module__ == module.name and f"{cls.__module__}.{cls.__name__}" in component.registry
            if is_member and issubclass(cls, STATIONS[station]):
                found.add(cls)
    return sorted(found, key=str)


def for_each_member(contract):
    """Make the contract's class test every member of its station."""
    contract.subject = pytest.fixture(
        params=[
            pytest.param(
                cls,
                id=cls.__module__.removeprefix("convqa.components."),
                marks=[pytest.mark.models] if cls.__module__.endswith(NEED_TORCH) else [],
            )
            for cls in members(contract.station)
        ]
    )(subject_of)
    return contract


def subject_of(self, request, collection, monkeypatch):
    cls = request.param
    monkeypatch.setenv(ALLOWLIST, __name__)
    known = inspect.signature(cls).parameters
    needed = needs(cls, request)
    subject = Subject(cls, {name: value for name, value in needed.items() if name in known}, collection)
    try:
        subject.make()
    except InputError as error:
        if "textblob" not in str(error):
            raise
        pytest.skip(str(error))  # corpora that a test cannot download
    return subject


def needs(cls, request):
    """The parameters without a usable default: a model, members, a component of Haystack."""
    if "component" in inspect.signature(cls).parameters:
        return {"component": WRAPPED[cls.station]}
    if cls.__module__.endswith(".cross_encoder"):
        return {"model": str(request.getfixturevalue("cross_encoder"))}
    if cls.__module__.endswith(".generate"):
        return {"model": request.getfixturevalue("tiny_generator")("t5"), "max_new_tokens": 8}
    if cls.__module__.endswith(".recorded"):
        return {"path": str(request.getfixturevalue("recording"))}
    return {"rewriter": "expansion", "rewriters": ["expansion", "concatenate"]} if cls.station == "rewriter" else {}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A run.json of other systems, of some of the turns that are tried."""
    file = tmp_path_factory.mktemp("recorded") / "run.json"
    passages = {passage.id: 2.0 - place for place, passage in enumerate(CONVERSED)}
    record = {"Model_rewrite": "Who wrote Faust in Weimar?", "Model_passages": {**passages, "unknown": 0.5}}
    records = [{"Conversation_no": c, "Turn_no": t, **record} for c in (0, *range(2, 8)) for t in range(4)]
    file.write_text(json.dumps(records))
    return file


@for_each_member
class TestRewriters(RewriterContract):
    pass


@for_each_member
class TestRetrievers(RetrieverContract):
    pass


@for_each_member
class TestRerankers(RerankerContract):
    pass


@for_each_member
class TestReaders(ReaderContract):
    pass


@for_each_member
class TestBuilders(BuilderContract):
    pass


@for_each_member
class TestDeciders(DeciderContract):
    pass


def test_members_are_found_in_the_folders_and_in_entry_points():
    assert {station for station in STATIONS if len(members(station)) >= 2} == STATIONS.keys() - {"decider"}
    assert "convqa.sharc.rewriter" in {cls.__module__ for cls in members("rewriter")}


wild = st.text(
    # A table row is shown as a sentence of its cells, and what is empty in brackets is left out.
    alphabet=st.one_of(
        st.characters(exclude_characters="|("),
        st.sampled_from(".?!\r\n\t e\u0301\u0627\u0644\u200f\U0001f469\u200d\ud800"),
    ),
    max_size=300,
)
passages = st.lists(wild, max_size=5).map(lambda texts: tuple(Passage(f"p{n}", text) for n, text in enumerate(texts)))


@given(wild, passages, st.lists(st.builds(Exchange, wild, wild), max_size=3))
def test_every_citation_is_a_quote(question, given_passages, history):
    turn = Turn(TurnId(1, 1), question, tuple(history), given_passages)
    rewrite = Expansion().rewrite(turn)
    (ranking,) = Given().retrieve_batch([turn], [rewrite])
    for reading in (SentencesReader().read(turn, rewrite, ranking), None):
        answer = SentencesBuilder().build(turn, rewrite, ranking, reading)
        texts = {passage.id: passage.text for passage in given_passages}
        if any(map(str.isalnum, "".join(texts.values()))):
            assert answer.kind == "answer"
        assert answer.text == " ".join(sentence.text for sentence in answer.sentences)
        for sentence in answer.sentences:
            (citation,) = sentence.citations
            text = texts[citation.passage_id]
            assert 0 <= citation.start < citation.end <= len(text)
            assert sentence.text == " ".join(text[citation.start : citation.end].split())
