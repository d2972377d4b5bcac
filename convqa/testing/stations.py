"""What every member of a station promises."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest
from haystack import Pipeline as Graph

from convqa.components.base import STATIONS, Station
from convqa.components.builders.sentences import SentencesBuilder
from convqa.components.members import ALLOWLIST, full_name, import_type
from convqa.components.readers.sentences import SentencesReader
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
from convqa.indexing import add_vectors
from convqa.models import load_encoder
from convqa.pipeline.load import load
from convqa.stores import create_store

SOCKETS = {
    "rewriter": ({"turns"}, "rewrites"),
    "retriever": ({"turns", "rewrites"}, "rankings"),
    "reranker": ({"turns", "rewrites", "rankings"}, "rankings"),
    "reader": ({"turns", "rewrites", "rankings"}, "readings"),
    "builder": ({"turns", "rewrites", "rankings", "readings"}, "answers"),
    "decider": ({"turns", "rewrites", "rankings", "readings", "answers"}, "answers"),
}
"""The inputs and the output of each station."""

TYPES: dict[str, Any] = {
    "turns": Turns,
    "rewrites": Rewrites,
    "rankings": Rankings,
    "readings": Readings,
    "answers": Answers,
}

CONVERSED = (
    Passage("goethe", "Goethe wrote Faust. He was born in Frankfurt in 1749. He lived in Weimar.", title="Goethe"),
    Passage("schiller", "Schiller wrote The Robbers.\r\nHe met Goethe in Jena 👋🏽. Did they write together?"),
    Passage("faust", "Faust is a play in two parts. The first one appeared in 1808.", title="Faust (play)"),
    Passage("none", "مرحبا بكم في فايمار. كيف حالك؟"),
)
"""The passages of the collection, of every ranking, and of every turn."""

QUESTIONS = ("Who wrote Faust?", "When was he born?", "Where did they meet?", "Zeppelin?", "", "كيف حالك؟ 👍🏽 \x00")

Columns = Mapping[str, Sequence[Any]]
"""The items of each socket by its name."""


class UnusableItem:
    """An item that no member can handle."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name} here")


@dataclass(frozen=True)
class Subject:
    """A member under test: its class, its parameters as in YAML, and a collection to search."""

    cls: type[Station]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    collection: str = ""

    @property
    def station(self) -> str:
        return self.cls.station

    def make(self) -> Any:
        """Create the member and warm it up."""
        parameters = dict(self.parameters)
        if "collection" in inspect.signature(self.cls).parameters:
            parameters["collection"] = self.collection
        member = self.cls(**parameters)
        member.warm_up()
        return member

    def run(
        self,
        member: Any,
        columns: Columns,
        chosen: slice = slice(None),
    ) -> tuple[Any, ...]:
        """Return what a member makes of the chosen rows."""
        inputs, output = SOCKETS[self.station]
        batches = {name: TYPES[name](tuple(columns[name][chosen])) for name in inputs}
        return tuple(member.run(**batches)[output].items)


class StationContract:
    """The facts that all stations share. Subclass the contract of your station instead."""

    station: ClassVar[str]
    member: ClassVar[str | type]
    """Its class, its dotted path, or its short name if an entry point gives it one."""
    parameters: ClassVar[Mapping[str, Any]] = {}
    """Parameters as in YAML, for a member whose defaults are not enough."""

    @pytest.fixture(autouse=True)
    def _member_allowed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let pipelines name the member's module."""
        member = getattr(self, "member", "")
        module = member.rpartition(".")[0] if isinstance(member, str) else member.__module__
        monkeypatch.setenv(ALLOWLIST, ",".join(filter(None, [os.environ.get(ALLOWLIST), module])))

    @pytest.fixture
    def collection(self, tmp_path_factory: pytest.TempPathFactory) -> str:
        """The URL of a collection of ``CONVERSED`` with vectors. Override it for a member that needs another."""
        return small_collection(tmp_path_factory.getbasetemp())

    @pytest.fixture
    def subject(self, collection: str, _member_allowed: None) -> Subject:
        cls: Any = self.member
        if isinstance(cls, str):
            cls = import_type(full_name(cls, "member", [self.station]), "member")
        base = STATIONS[self.station]
        assert issubclass(cls, base), f"{cls.__module__}.{cls.__name__} is not a subclass of {base.__name__}"
        return Subject(cls, self.parameters, collection)

    def test_its_sockets_are_those_of_its_station(self, subject: Subject) -> None:
        graph = Graph()
        graph.add_component("node", subject.make())
        inputs, output = SOCKETS[subject.station]
        sockets = graph.inputs()["node"]
        types = {name: details["type"] for name, details in sockets.items() if name != "readings"}
        assert types == {name: TYPES[name] for name in inputs - {"readings"}}
        optional = [name for name, details in sockets.items() if not details["is_mandatory"]]
        assert optional == (["readings"] if subject.station in ("builder", "decider") else [])
        assert graph.outputs()["node"] == {output: {"type": TYPES[output]}}

    def test_it_keeps_length_and_order_at_any_batch_size(self, subject: Subject) -> None:
        columns = rows(64)
        member = subject.make()
        whole = subject.run(member, columns)
        assert len(whole) == 64
        failures = [item for item in whole if isinstance(item, Failure)]
        assert failures == [], "it fails at ordinary turns"
        expected = [item.to_json() for item in whole]
        for size in (1, 7):
            parts = [subject.run(member, columns, slice(start, start + size)) for start in range(0, 64, size)]
            together = [item.to_json() for part in parts for item in part]
            different = [row for row in range(64) if not close(together[row], expected[row])]
            assert different == [], f"these rows differ between batches of {size} and of 64"

    def test_an_empty_batch_gives_an_empty_batch(self, subject: Subject) -> None:
        assert subject.run(subject.make(), rows(0)) == ()

    def test_it_is_deterministic(self, subject: Subject) -> None:
        columns = rows(12)
        assert subject.run(subject.make(), columns) == subject.run(subject.make(), columns)

    def test_it_passes_failures_on(self, subject: Subject) -> None:
        columns = rows(3)
        member = subject.make()
        whole = subject.run(member, columns)
        failure = Failure("earlier", "ValueError", "it went wrong")
        for name in SOCKETS[subject.station][0]:
            damaged = {**columns, name: [columns[name][0], failure, columns[name][2]]}
            assert subject.run(member, damaged) == (whole[0], failure, whole[2]), f"a failure among the {name}"

    def test_one_bad_item_spoils_no_other(self, subject: Subject) -> None:
        columns = rows(3)
        member = subject.make()
        whole = subject.run(member, columns)
        damaged = {name: [column[0], UnusableItem(), column[2]] for name, column in columns.items()}
        first, failed, last = subject.run(member, damaged)
        assert (first, last) == (whole[0], whole[2])
        assert isinstance(failed, Failure), "a bad item is no failure"
        assert (failed.stage, failed.error) == (subject.station, "RuntimeError")

    def test_it_survives_haystacks_yaml(self, subject: Subject) -> None:
        graph = Graph()
        graph.add_component("node", subject.make())
        again: Any = Graph.loads(graph.dumps(), allowed_modules=[subject.cls.__module__]).get_component("node")
        again.warm_up()
        columns = rows(6)
        assert subject.run(again, columns) == subject.run(subject.make(), columns)

    def test_a_shipped_pipeline_answers_with_it(self, subject: Subject) -> None:
        settings = {f"{subject.station}.{name}": value for name, value in subject.parameters.items()}
        settings[f"{subject.station}.type"] = f"{subject.cls.__module__}.{subject.cls.__name__}"
        pipeline = load("expansion-bm25", settings)
        pipeline.bind(subject.collection)
        pipeline.warm_up()
        answers = pipeline.run(Turns(tuple(rows(6)["turns"]))).answers
        assert answers is not None
        items = list(answers)
        assert [item for item in items if not isinstance(item, Answer)] == []
        kinds = [item.kind for item in items[:3]]
        assert set(kinds) <= {"answer", "question"}, "a turn that the passages answer is unanswered"


class RewriterContract(StationContract):
    """Set ``member`` and, where defaults are not enough, ``parameters``.

    ::

        class TestShout(RewriterContract):
            member = "my_package.shout.Shout"
            parameters = {"mark": "?!"}
    """

    station = "rewriter"

    def test_a_first_turn_is_left_as_it_is(self, subject: Subject) -> None:
        member = subject.make()
        for question in QUESTIONS:
            (rewrite,) = member.run(Turns((Turn(TurnId(1, 1), question),)))["rewrites"]
            assert rewrite == Rewrite(question, (Query(question),))


class RetrieverContract(StationContract):
    """Set ``member``, and ``parameters`` where defaults are not enough. A parameter ``collection`` is given.

    ::

        class TestShelves(RetrieverContract):
            member = "my_package.shelves.Shelves"
            parameters = {"top_k": 5}
    """

    station = "retriever"


class RerankerContract(StationContract):
    """Set ``member`` and, where defaults are not enough, ``parameters``.

    ::

        class TestNewest(RerankerContract):
            member = "my_package.newest.Newest"
    """

    station = "reranker"


class ReaderContract(StationContract):
    """Set ``member`` and, where defaults are not enough, ``parameters``.

    ::

        class TestDates(ReaderContract):
            member = "my_package.dates.Dates"
    """

    station = "reader"


class BuilderContract(StationContract):
    """Set ``member`` and, where defaults are not enough, ``parameters``.

    Citations of passages outside the ranking, or of offsets outside the text, are failures of their turn.

    ::

        class TestOpening(BuilderContract):
            member = "my_package.opening.Opening"
    """

    station = "builder"


class DeciderContract(StationContract):
    """Set ``member`` and, where defaults are not enough, ``parameters``.

    ::

        class TestCautious(DeciderContract):
            member = "my_package.cautious.Cautious"
    """

    station = "decider"


@cache
def small_collection(folder: Path) -> str:
    """Create the collection of this session, once."""
    url = str(folder / "contract-collection")
    with create_store(url, "en", replace=True) as store:
        store.add(CONVERSED)
    add_vectors(url, load_encoder("encoder"))
    return url


def rows(number: int) -> dict[str, list[Any]]:
    """Return values for every socket, ``number`` of them."""
    columns: dict[str, list[Any]] = {name: [] for name in TYPES}
    for index in range(number):
        question = QUESTIONS[index % len(QUESTIONS)]
        history = tuple(Exchange(QUESTIONS[place % 3], "It was Goethe in Weimar.") for place in range(index % 4))
        turn = Turn(TurnId(index // 4, index % 4), question, history, CONVERSED)
        terms = (("Goethe", 0.3),) if index % 2 else ()
        second = (Query("Weimar", weight=0.5),) if index % 3 == 0 else ()
        rewrite = Rewrite(question, (Query(question, terms), *second))
        order = CONVERSED[index % 4 :] + CONVERSED[: index % 4]
        ranking = Ranking(tuple(Hit(passage.id, 9.0 - place, passage) for place, passage in enumerate(order)))
        reading = SentencesReader().read(turn, rewrite, ranking)
        columns["turns"].append(turn)
        columns["rewrites"].append(rewrite)
        columns["rankings"].append(ranking)
        columns["readings"].append(reading)
        columns["answers"].append(SentencesBuilder().build(turn, rewrite, ranking, reading))
    return columns


def close(left: Any, right: Any) -> bool:
    """Whether values are the same, with scores within 1e-4."""
    if isinstance(left, float) and isinstance(right, float):
        return bool(left == pytest.approx(right, abs=1e-4))
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(close, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(close(left[key], right[key]) for key in left)
    return bool(left == right)
