"""Base classes of the stations. A member subclasses its station and implements one method.

A member has the decorator ``@member`` (:mod:`convqa.components.members`) and implements the single-item method
(``rewrite``, ``rerank`` ...) or, for models that process batches, the batched one. All members of a station have the
same sockets, so that they are interchangeable in a pipeline. (``ABC`` is not used, because it clashes with Haystack's
metaclass.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from convqa.components import acts
from convqa.components.checks import failed, located, returned, verified
from convqa.components.framework import component
from convqa.components.one_document import with_document
from convqa.components.rankings import attach, fuse
from convqa.domain import Answer, Failure, NotFinite, Query, Ranking, Reading, Rewrite, Turn
from convqa.domain.batches import Answers, Batch, Rankings, Readings, Rewrites, Turns
from convqa.errors import InputError, RunError
from convqa.models.shared import clock
from convqa.stores import open_store
from convqa.stores.base import Store
from convqa.workers.stopping import stop_check

TIMINGS: ContextVar[dict[str, float] | None] = ContextVar("timings", default=None)
"""Seconds by node of the pipeline run in progress; None outside one."""

ON_OUTPUT: ContextVar[Callable[[str, Batch], None] | None] = ContextVar("on_output", default=None)
"""A callback for each node's name and batch as it is made; None without one."""

B = TypeVar("B", bound=Batch)

PARTIAL = "partial"
"""The name under which a builder passes an answer to :data:`ON_OUTPUT` that it has not finished."""

MaybeReadings = Sequence[Reading | None]
"""A column of readings, None in pipelines without a reader."""


class Station:
    """The base of all stations. It runs batches, isolating the items that fail."""

    station: ClassVar[str]
    makes: ClassVar[str]
    """The label of its output."""

    needs_collection: ClassVar[bool] = False
    """Whether the station requires a collection."""

    inner: Sequence[Station] = ()
    """Nested members, which are warmed up with this one and are part of its identity."""

    def bind(self, collection: str) -> None:
        """Set the URL of the collection to search, before ``warm_up``. Stations that search none ignore it."""
        if hasattr(self, "collection"):
            setattr(self, "collection", collection)  # noqa: B010 - not every station declares it

    @cached_property
    def store(self) -> Store:
        """The collection, opened once: a new version is not searched until the next process."""
        return open_store(getattr(self, "collection", None))

    def attached(
        self,
        rankings: Sequence[Ranking],
        count: int,
    ) -> list[Ranking]:
        """Return the rankings with the passages of their first ``count`` hits, if the station has a collection."""
        has_collection = getattr(self, "collection", None) is not None
        return attach(rankings, count, self.store.fetch) if has_collection else list(rankings)

    def models(self) -> Mapping[str, Any]:
        """Load and return the models that influence the results, by role, such as ``{"encoder": model}``."""
        return {}

    def warm_up(self) -> None:
        """Open the collection and load the models. Called before every run, so that later calls must be fast."""
        for station in self.inner:
            station.warm_up()
        if getattr(self, "collection", None) is not None:
            _ = self.store
        self.models()

    def identity(self) -> Mapping[str, str]:
        """Return the checksums of the models by role, as part of a run's fingerprint. Called after ``warm_up``."""
        inner = {name: checksum for station in self.inner for name, checksum in station.identity().items()}
        return inner | {role: model.identity for role, model in self.models().items()}

    @property
    def _missing(self) -> str:
        return f"{type(self).__name__} implements no method of its station, {self.station}"

    def _each(self, kind: type[B], work: Callable[..., Sequence[Any]], *columns: Iterable[Any]) -> B:
        """Apply ``work`` to the rows without a Failure, keeping length and order. Failures are passed on.

        If the batch raises, its rows are retried one by one, and those that raise again become Failures. No Exception
        leaves a node, because Haystack would write a snapshot into the home folder.

        :raises RunError: for errors that affect every item: a mistake of the user, a score that is not finite; and if
            nobody waits for the results any more.
        """
        stop_check()()
        start = clock()
        rows = list(zip(*columns, strict=True))
        results: list[Any] = [next((item for item in row if isinstance(item, Failure)), None) for row in rows]
        good = [index for index, result in enumerate(results) if result is None]
        values = self._safely(kind.of, work, [rows[index] for index in good])
        for index, value in zip(good, values, strict=True):
            results[index] = value
        batch = kind(tuple(results))
        name = str(getattr(self, "__component_name__", self.station))
        timings = TIMINGS.get()
        if timings is not None:
            timings[name] = timings.get(name, 0.0) + clock() - start
        on_output = ON_OUTPUT.get()
        if on_output is not None and hasattr(self, "__component_name__"):
            on_output(name, batch)
        return batch

    def _safely(
        self,
        kind: type,
        work: Callable[..., Sequence[Any]],
        rows: list[tuple[Any, ...]],
    ) -> list[Any]:
        if not rows:
            return []
        try:
            columns = [list(column) for column in zip(*rows, strict=True)]
            values = returned(work(*columns), kind, len(rows), type(self))
            for value, row in zip(values, rows, strict=True):
                if isinstance(value, Answer):
                    verified(value, row[2])
                elif isinstance(value, Reading):
                    located(value, row[2])
        except InputError as error:
            raise RunError(str(error), error) from error
        except NotFinite as error:
            raise RunError(f"{type(self).__name__}: {error}.") from error
        except Exception as error:
            if len(rows) == 1:
                return [failed(self.station, error)]
            return [value for row in rows for value in self._safely(kind, work, [row])]
        return values


class Rewriter(Station):
    """Turn with history -> self-contained question and its queries. Implement ``rewrite`` or ``rewrite_batch``.

    A turn without history is left unchanged.

    ::

        def rewrite(self, turn: Turn) -> Rewrite:
            return Rewrite.unchanged(turn.question.upper())
    """

    station = "rewriter"
    makes = "rewrites"

    def rewrite(self, turn: Turn) -> Rewrite:
        raise NotImplementedError(self._missing)

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        return list(map(self.rewrite, turns))

    @component.output_types(rewrites=Rewrites)
    def run(self, turns: Turns) -> dict[str, Rewrites]:
        return {"rewrites": self._each(Rewrites, self.rewrite_batch, turns)}


class Retriever(Station):
    """Rewrite -> ranking. Implement ``search``.

    The rankings of several queries are fused by reciprocal rank and the queries' weights. A single query keeps its raw
    scores. If a document is asked about as a whole, its other passages follow (:mod:`convqa.components.one_document`).

    ::

        def search(self, turns: Sequence[Turn], queries: Sequence[Query]) -> Sequence[Ranking]:
            return [Ranking.of([Hit("faust", 1.0)]) for query in queries]
    """

    station = "retriever"
    makes = "rankings"
    top_k: int
    max_texts: int = 0
    """How many of the first hits get their passages."""

    def search(
        self,
        turns: Sequence[Turn],
        queries: Sequence[Query],
    ) -> Sequence[Ranking]:
        """Return the ranking of each query; ``queries[i]`` belongs to ``turns[i]``."""
        raise NotImplementedError(self._missing)

    def search_rewritten(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        queries: Sequence[Query],
    ) -> Sequence[Ranking]:
        """``search`` for members that also use the rewritten question; ``queries[i]`` belongs to ``rewrites[i]``."""
        return self.search(turns, queries)

    def retrieve_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
    ) -> Sequence[Ranking]:
        pairs = [pair for pair in zip(turns, rewrites, strict=True) for _ in pair[1].queries]
        searched = [turn for turn, _ in pairs]
        parents = [rewrite for _, rewrite in pairs]
        queries = [query for rewrite in rewrites for query in rewrite.queries]
        searches = self.search_rewritten(searched, parents, queries)
        results = iter(returned(searches, Ranking, len(queries), type(self)))
        rankings: list[Ranking] = []
        for rewrite in rewrites:
            parts = [(query.weight, next(results)) for query in rewrite.queries]
            rankings += [parts[0][1]] if len(parts) == 1 else self.attached([fuse(parts, self.top_k)], self.max_texts)
        if getattr(self, "collection", None) is None:
            return rankings
        return [self._completed(*row) for row in zip(turns, rewrites, rankings, strict=True)]

    def _completed(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
    ) -> Ranking:
        """Return the ranking with what an act cites, or with the document that is asked about as a whole."""
        if rewrite.act:
            return acts.passages_of(rewrite.act, turn, self.store)
        return with_document(turn, rewrite, ranking, self.store)

    @component.output_types(rankings=Rankings)
    def run(self, turns: Turns, rewrites: Rewrites) -> dict[str, Rankings]:
        return {"rankings": self._each(Rankings, self.retrieve_batch, turns, rewrites)}


class Reranker(Station):
    """Ranking -> ranking in another order. Implement ``rerank`` or ``rerank_batch``.

    ::

        def rerank(self, turn: Turn, rewrite: Rewrite, ranking: Ranking) -> Ranking:
            return Ranking.of([replace(hit, score=1 / len(hit.id)) for hit in ranking.hits])
    """

    station = "reranker"
    makes = "rankings"

    def rerank(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
    ) -> Ranking:
        raise NotImplementedError(self._missing)

    def rerank_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
    ) -> Sequence[Ranking]:
        return list(map(self.rerank, turns, rewrites, rankings))

    @component.output_types(rankings=Rankings)
    def run(
        self,
        turns: Turns,
        rewrites: Rewrites,
        rankings: Rankings,
    ) -> dict[str, Rankings]:
        return {"rankings": self._each(Rankings, self.rerank_batch, turns, rewrites, rankings)}


class Reader(Station):
    """Ranking -> spans of its passages. Implement ``read`` or ``read_batch``.

    ::

        def read(self, turn: Turn, rewrite: Rewrite, ranking: Ranking) -> Reading:
            return Reading((Span(ranking.hits[0].id, 0, 5, "Faust", 1.0),))
    """

    station = "reader"
    makes = "readings"

    def read(self, turn: Turn, rewrite: Rewrite, ranking: Ranking) -> Reading:
        raise NotImplementedError(self._missing)

    def read_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
    ) -> Sequence[Reading]:
        return list(map(self.read, turns, rewrites, rankings))

    @component.output_types(readings=Readings)
    def run(
        self,
        turns: Turns,
        rewrites: Rewrites,
        rankings: Rankings,
    ) -> dict[str, Readings]:
        return {"readings": self._each(Readings, self.read_batch, turns, rewrites, rankings)}


class Builder(Station):
    """Ranking and reading -> answer with citations. Implement ``build`` or ``build_batch``.

    A turn whose rewrite has no queries asks nothing. Every answer is verified
    (:mod:`convqa.components.checks`).

    ::

        def build(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None) -> Answer:
            return nothing(ranking, "no passage was found")
    """

    station = "builder"
    makes = "answers"

    def build(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
        reading: Reading | None,
    ) -> Answer:
        raise NotImplementedError(self._missing)

    def build_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
        readings: MaybeReadings,
    ) -> Sequence[Answer | Failure]:
        """Return an answer for each turn, or a Failure if retrying the turn would not help."""
        return list(map(self.build, turns, rewrites, rankings, readings))

    def build_at(
        self,
        indexes: Sequence[int],
        columns: Sequence[Sequence[Any]],
    ) -> dict[int, Answer | Failure]:
        """Build answers for the rows at these indexes only. :param columns: the arguments of ``build_batch``."""
        answers = self.build_batch(*([column[index] for index in indexes] for column in columns)) if indexes else []
        return dict(zip(indexes, answers, strict=True))

    @component.output_types(answers=Answers)
    def run(
        self,
        turns: Turns,
        rewrites: Rewrites,
        rankings: Rankings,
        readings: Readings | None = None,
    ) -> dict[str, Answers]:
        columns = turns, rewrites, rankings, readings or [None] * len(turns)
        return {"answers": self._each(Answers, self._build_asked, *columns)}

    def _build_asked(self, *columns: Sequence[Any]) -> Sequence[Answer | Failure]:
        """Build answers for the turns with queries. The others are acts."""
        asked = [index for index, rewrite in enumerate(columns[1]) if rewrite.queries]
        if len(asked) == len(columns[1]):
            return self.build_batch(*columns)
        answers = self.build_at(asked, columns)
        for index, (turn, rewrite, ranking, _) in enumerate(zip(*columns, strict=True)):
            if index not in answers:
                answers[index] = acts.reply(rewrite.act, turn, ranking)
        return [answer for _, answer in sorted(answers.items())]


class Decider(Station):
    """Answer -> the answer with its score, or no answer if it is not good enough.

    Implement ``decide`` or ``decide_batch``. Every answer is verified again.

    ::

        def decide(self, turn, rewrite, ranking, reading, answer: Answer) -> Answer:
            return replace(answer, score=0.5)
    """

    station = "decider"
    makes = "answers"

    def decide(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
        reading: Reading | None,
        answer: Answer,
    ) -> Answer:
        raise NotImplementedError(self._missing)

    def decide_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
        readings: MaybeReadings,
        answers: Sequence[Answer],
    ) -> Sequence[Answer]:
        return list(map(self.decide, turns, rewrites, rankings, readings, answers))

    @component.output_types(answers=Answers)
    def run(
        self,
        turns: Turns,
        rewrites: Rewrites,
        rankings: Rankings,
        answers: Answers,
        readings: Readings | None = None,
    ) -> dict[str, Answers]:
        columns = turns, rewrites, rankings, readings or [None] * len(turns), answers
        return {"answers": self._each(Answers, self.decide_batch, *columns)}


STATIONS: Mapping[str, type[Station]] = {
    base.station: base for base in (Rewriter, Retriever, Reranker, Reader, Builder, Decider)
}
