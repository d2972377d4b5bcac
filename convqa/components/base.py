"""Base classes of the stations: they do the plumbing, and a member implements one method.

A member subclasses its station, carries ``@component`` and implements the single-item method (``rewrite``,
``rank`` ...) or, where a model wants batches, the batched form. Sockets are the same for every member, so that any
member can take the place of any other in a pipeline. (No ``ABC``: it clashes with Haystack's metaclass.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from inspect import isfunction
from typing import Any, ClassVar, TypeVar

from convqa.components.citations import NOTHING_ASKED, located, nothing, verified
from convqa.components.framework import component
from convqa.components.rankings import attach, fuse
from convqa.components.returned import failed, path_of, returned
from convqa.domain import Answer, Failure, NotFinite, Passage, Query, Ranking, Reading, Rewrite, Turn
from convqa.domain.batches import Answers, Batch, Rankings, Readings, Rewrites, Turns
from convqa.errors import InputError, RunError
from convqa.models.shared import clock

TIMINGS: ContextVar[dict[str, float] | None] = ContextVar("timings", default=None)
"""Seconds by node of the pipeline run in progress; None outside one."""

MADE: ContextVar[Callable[[str, Batch], None] | None] = ContextVar("made", default=None)
"""Called with a node's name and its batch as soon as it is made; None where nobody waits for it."""

B = TypeVar("B", bound=Batch)

MaybeReadings = Sequence[Reading | None]
"""A column of readings; None where the pipeline has no reader."""


class Station:
    """The base of all stations: it runs a batch without letting one bad item spoil the others."""

    station: ClassVar[str]
    needs_collection: ClassVar[bool] = False
    """Whether the station cannot work without a collection."""

    inner: Sequence[Station] = ()
    """Members that this one holds: made ready with it, and part of its identity."""

    def bind(self, collection: str) -> None:
        """Search this collection, named by its URL. Called before ``warm_up``; most stations search none."""
        if hasattr(self, "collection"):
            setattr(self, "collection", collection)  # noqa: B010 - stations without one declare none

    def models(self) -> Mapping[str, Any]:
        """The loaded models that shape the results, by their part, such as ``{"encoder": model}``."""
        return {}

    def warm_up(self) -> None:
        """Load what is heavy. Called before every run, so it must return at once the second time."""
        for station in self.inner:
            station.warm_up()
        self.models()

    def identity(self) -> Mapping[str, str]:
        """Checksums of the models that shape this station's results, by their part, such as ``{"encoder": checksum}``.

        It belongs to a run's fingerprint, and is asked for once the station is warm.
        """
        inner = {name: checksum for station in self.inner for name, checksum in station.identity().items()}
        return inner | {part: model.identity for part, model in self.models().items()}

    def forecast(self, turns: int) -> str:
        """A warning for the user before so many turns are answered, such as how long it may take; "" for none."""
        return ""

    def _each(self, kind: type[B], work: Callable[..., Sequence[Any]], *columns: Iterable[Any]) -> B:
        """Apply ``work`` to the rows that have no Failure; pass failures on; keep length and order.

        When the batch raises, its rows are tried one by one, and only those that raise again become Failures. No
        Exception leaves a node, because Haystack would write a snapshot of it into the home folder.

        :raises RunError: for what would fail every item alike: a mistake of the user's, a score that is no number.
        """
        start = clock()
        rows = list(zip(*columns, strict=True))
        results: list[Any] = [next((item for item in row if isinstance(item, Failure)), None) for row in rows]
        good = [index for index, result in enumerate(results) if result is None]
        for index, value in zip(good, self._safely(kind.of, work, [rows[index] for index in good]), strict=True):
            results[index] = value
        if (timings := TIMINGS.get()) is not None:
            name = str(getattr(self, "__component_name__", self.station))
            timings[name] = timings.get(name, 0.0) + clock() - start
        batch = kind(tuple(results))
        if (made := MADE.get()) is not None and hasattr(self, "__component_name__"):
            made(self.__component_name__, batch)
        return batch

    def _safely(self, wanted: type, work: Callable[..., Sequence[Any]], rows: list[tuple[Any, ...]]) -> list[Any]:
        if not rows:
            return []
        name = type(self).__name__
        try:
            made = work(*(list(column) for column in zip(*rows, strict=True)))
            values = returned(made, wanted, len(rows), type(self), self._method)
            self._verify(values, rows)
        except InputError as error:
            raise RunError(str(error), error) from error
        except NotFinite as error:
            raise RunError(f"{name}: {error}.") from error
        except Exception as error:
            if isinstance(error, NotImplementedError) and not self._method:
                raise RunError(f"{name} implements no method of its station, {self.station}.") from error
            if len(rows) == 1:
                return [failed(self.station, error, path_of(type(self), self._method))]
            return [value for row in rows for value in self._safely(wanted, work, [row])]
        return values

    @property
    def _method(self) -> str:
        """The name of the station's method that the member implements; empty where it implements none."""
        known = {name: method for name, method in vars(STATIONS[self.station]).items() if isfunction(method)}
        return next((name for name, method in known.items() if getattr(type(self), name) is not method), "")

    def _verify(self, values: Sequence[Any], rows: Sequence[tuple[Any, ...]]) -> None:
        """Hold answers and readings to their turns' rankings. :raises ValueError: for one that is not borne out."""
        for value, row in zip(values, rows, strict=True):
            try:
                if isinstance(value, Answer):
                    verified(value, row[2])
                elif isinstance(value, Reading):
                    located(value, row[2])
            except ValueError as error:
                raise ValueError(f"{path_of(type(self), self._method)}: {error}") from None


class Rewriter(Station):
    """Turn with history -> self-contained question and its queries. Implement ``rewrite`` or ``rewrite_batch``.

    A first turn, which has no history, stays as it is.
    """

    station = "rewriter"

    def rewrite(self, turn: Turn) -> Rewrite:
        raise NotImplementedError

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        return [self.rewrite(turn) for turn in turns]

    @component.output_types(rewrites=Rewrites)
    def run(self, turns: Turns) -> dict[str, Rewrites]:
        return {"rewrites": self._each(Rewrites, self.rewrite_batch, turns)}


class Retriever(Station):
    """Rewrite -> ranking. Implement ``search``; a rewrite with several queries is fused here.

    One query keeps its raw scores; several are fused by reciprocal rank with the queries' weights.
    """

    station = "retriever"
    top_k: int
    texts: int = 0
    """How many of the first hits carry their passage when the ranking leaves the station."""

    def search(self, turns: Sequence[Turn], queries: Sequence[Query]) -> Sequence[Ranking]:
        """Rank the passages for each query; ``turns[i]`` is the turn that ``queries[i]`` belongs to."""
        raise NotImplementedError

    def search_rewritten(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], queries: Sequence[Query]
    ) -> Sequence[Ranking]:
        """``search`` for members that look at the rewritten question too: ``rewrites[i]`` has ``queries[i]``."""
        return self.search(turns, queries)

    def retrieve_batch(self, turns: Sequence[Turn], rewrites: Sequence[Rewrite]) -> Sequence[Ranking]:
        rows = [
            (turn, rewrite, query) for turn, rewrite in zip(turns, rewrites, strict=True) for query in rewrite.queries
        ]
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
        found = iter(returned(self.search_rewritten(*columns), Ranking, len(rows), type(self), self._method))
        rankings: list[Ranking] = []
        for rewrite in rewrites:
            parts = [(query.weight, next(found)) for query in rewrite.queries]
            rankings += [parts[0][1]] if len(parts) == 1 else attach([fuse(parts, self.top_k)], self.texts, self.fetch)
        return rankings

    def fetch(self, ids: Sequence[str]) -> Sequence[Passage | None]:
        """The passages of these ids, for hits that several queries lifted to the top; None where they are not known."""
        return [None] * len(ids)

    @component.output_types(rankings=Rankings)
    def run(self, turns: Turns, rewrites: Rewrites) -> dict[str, Rankings]:
        return {"rankings": self._each(Rankings, self.retrieve_batch, turns, rewrites)}


class Joiner(Station):
    """Several rankings -> one. ``inputs`` names the ranking sockets, so that no order of arrival decides anything."""

    station = "joiner"

    def _declare(self, inputs: Sequence[str]) -> None:
        """Give the node its named sockets; every member calls this in its constructor."""
        component.set_input_types(self, **dict.fromkeys(inputs, Rankings))

    def join(self, rankings: Mapping[str, Ranking]) -> Ranking:
        raise NotImplementedError

    @component.output_types(rankings=Rankings)
    def run(self, **rankings: Rankings) -> dict[str, Rankings]:
        names = list(rankings)

        def join_batch(*columns: Sequence[Ranking]) -> list[Ranking]:
            return [self.join(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]

        return {"rankings": self._each(Rankings, join_batch, *(rankings[name] for name in names))}


class Reranker(Station):
    """Ranking -> ranking in another order. Implement ``rerank`` or ``rerank_batch``."""

    station = "reranker"

    def rerank(self, turn: Turn, rewrite: Rewrite, ranking: Ranking) -> Ranking:
        raise NotImplementedError

    def rerank_batch(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking]
    ) -> Sequence[Ranking]:
        return [self.rerank(*row) for row in zip(turns, rewrites, rankings, strict=True)]

    @component.output_types(rankings=Rankings)
    def run(self, turns: Turns, rewrites: Rewrites, rankings: Rankings) -> dict[str, Rankings]:
        return {"rankings": self._each(Rankings, self.rerank_batch, turns, rewrites, rankings)}


class Reader(Station):
    """Ranking -> spans of its passages. Implement ``read`` or ``read_batch``."""

    station = "reader"

    def read(self, turn: Turn, rewrite: Rewrite, ranking: Ranking) -> Reading:
        raise NotImplementedError

    def read_batch(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking]
    ) -> Sequence[Reading]:
        return [self.read(*row) for row in zip(turns, rewrites, rankings, strict=True)]

    @component.output_types(readings=Readings)
    def run(self, turns: Turns, rewrites: Rewrites, rankings: Rankings) -> dict[str, Readings]:
        return {"readings": self._each(Readings, self.read_batch, turns, rewrites, rankings)}


class Builder(Station):
    """Ranking and reading -> answer with citations. Implement ``build`` or ``build_batch``.

    A turn whose rewrite has no queries asked nothing, and is answered by nothing. Every answer is verified here
    (:mod:`convqa.components.citations`).
    """

    station = "builder"

    def build(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None) -> Answer:
        raise NotImplementedError

    def build_batch(
        self, turns: Sequence[Turn], rewrites: Sequence[Rewrite], rankings: Sequence[Ranking], readings: MaybeReadings
    ) -> Sequence[Answer | Failure]:
        """One answer for each turn; a Failure where a member knows that trying the turn again would not help."""
        return [self.build(*row) for row in zip(turns, rewrites, rankings, readings, strict=True)]

    @component.output_types(answers=Answers)
    def run(
        self, turns: Turns, rewrites: Rewrites, rankings: Rankings, readings: Readings | None = None
    ) -> dict[str, Answers]:
        columns = turns, rewrites, rankings, [None] * len(turns) if readings is None else readings
        return {"answers": self._each(Answers, self._build_asked, *columns)}

    def _build_asked(self, *columns: Sequence[Any]) -> Sequence[Answer | Failure]:
        """Build for the turns that ask something; the others get an empty answer."""
        rows = list(zip(*columns, strict=True))
        asked = [index for index, row in enumerate(rows) if row[1].queries]
        if len(asked) == len(rows):
            return self.build_batch(*columns)
        built = self.build_batch(*([column[index] for index in asked] for column in columns)) if asked else []
        made = dict(zip(asked, built, strict=True))
        return [made[index] if index in made else nothing(row[2], NOTHING_ASKED) for index, row in enumerate(rows)]


class Decider(Station):
    """Answer -> the same with its score, or none where it is not good enough. Implement ``decide`` or ``decide_batch``.

    Every answer is verified here once more.
    """

    station = "decider"

    def decide(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None, answer: Answer) -> Answer:
        raise NotImplementedError

    def decide_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
        readings: MaybeReadings,
        answers: Sequence[Answer],
    ) -> Sequence[Answer]:
        return [self.decide(*row) for row in zip(turns, rewrites, rankings, readings, answers, strict=True)]

    @component.output_types(answers=Answers)
    def run(
        self, turns: Turns, rewrites: Rewrites, rankings: Rankings, answers: Answers, readings: Readings | None = None
    ) -> dict[str, Answers]:
        columns = turns, rewrites, rankings, [None] * len(turns) if readings is None else readings, answers
        return {"answers": self._each(Answers, self.decide_batch, *columns)}


STATIONS: Mapping[str, type[Station]] = {
    base.station: base for base in (Rewriter, Retriever, Joiner, Reranker, Reader, Builder, Decider)
}
