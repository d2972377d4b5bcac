"""Retrievers for the benchmarks' comparisons, and their collections with vectors, kept in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from conversation_sets import SETS

from convqa.components.base import Retriever
from convqa.components.retrievers.bm25 import BM25
from convqa.components.retrievers.dense import Dense
from convqa.components.retrievers.hybrid import Hybrid
from convqa.domain import Failure, Ranking, Rewrite, Rewrites, Turn, Turns
from convqa.files import whole_file
from convqa.indexing import add_vectors, index_sources
from convqa.models import load_encoder
from convqa.models.types import Role
from convqa.stores import exists

TOP = 100


def retrievers(encoder: str, firsts: Sequence[int] = ()) -> dict[str, Callable[[str], Retriever]]:
    """Return the retrievers over a collection by name.

    :param firsts: adds a row for each: ``hybrid`` as it ranks this many candidates of a collection without vectors.
    """
    return {
        "bm25": lambda url: BM25(url, TOP, stopwords="long", max_texts=0),
        "dense": lambda url: Dense(url, TOP, encoder, max_texts=0),
        "hybrid": lambda url: Hybrid(url, TOP, encoder=encoder, max_texts=0),
        **{f"first {most}": partial(_first, most=most, encoder=encoder) for most in firsts},
    }


def _first(url: str, most: int, encoder: str) -> Hybrid:
    """Return hybrid over ``most`` candidates, with vectors from the collection, which has them all."""
    retriever = Hybrid(url, TOP, encoder=encoder)
    retriever.max_texts, vars(retriever)["_vector_candidates"] = 0, most
    return retriever


def collection(set_folder: Path, encoder: str, work: Path) -> str:
    """Return the URL of a set's passages with vectors, indexed once into the work folder."""
    model = load_encoder(encoder)
    url = str(work / f"{set_folder.name}-{model.checksum[:16]}")
    if not exists(url):
        index_sources([set_folder / "passages.jsonl"], url)
    add_vectors(url, model)
    return url


def everything(data: Path, encoder: str, work: Path) -> str:
    """Return the URL of the passages of all sets with the leads of Wikipedia."""
    folder = work / "everything"
    if not (folder / "passages.jsonl").exists():
        files = [data / "conversations" / name / "passages.jsonl" for name in SETS]
        lines = [line for file in files for line in file.read_bytes().splitlines(keepends=True)]
        leads = json.loads((data / "wiki" / "summaries-en.json").read_bytes())
        lines += [
            json.dumps({"id": f"wiki:{name}", "title": lead["title"], "text": lead["extract"]}).encode() + b"\n"
            for name, lead in leads.items()
        ]
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / "passages.jsonl") as file:
            file.writelines(lines)
    return collection(folder, encoder, work)


def search(retriever: Retriever, turns: Sequence[Turn], rewrites: Sequence[Rewrite]) -> list[Ranking]:
    """Return the rankings of all turns at once.

    :raises SystemExit: if a turn fails.
    """
    rankings = []
    for turn, ranking in zip(
        turns, retriever.run(Turns(tuple(turns)), Rewrites(tuple(rewrites)))["rankings"], strict=True
    ):
        if isinstance(ranking, Failure):
            raise SystemExit(f"{type(retriever).__name__}, turn {turn.id}: {ranking.error}: {ranking.message}")
        rankings.append(ranking)
    return rankings


def forget(encoder: str) -> None:
    """Make the process's encoder encode all texts again."""
    model = load_encoder(encoder)

    def encode(texts: Sequence[str], role: Role = "passage") -> Any:
        return model.encode(texts, role)

    # Loading this encoder again returns the same object.
    model.remembered = encode  # type: ignore[method-assign]


class Remembered:
    """The process's encoder with a cache: each query text is encoded once over all runs."""

    def __init__(self, name: str, work: Path) -> None:
        model = load_encoder(name)
        work.mkdir(parents=True, exist_ok=True)
        self._file = work / f"queries-{model.checksum[:16]}.npz"
        self._encode = model.remembered
        self._places: dict[str, int] = {}
        self._matrix = np.empty((0, model.dimension), np.float32)
        if self._file.exists():
            with np.load(self._file) as kept:
                self._matrix = kept["matrix"]
                self._places = {text: place for place, text in enumerate(json.loads(str(kept["texts"])))}
        self._saved = len(self._places)
        # Loading this encoder again returns the same object.
        model.remembered = self.encode  # type: ignore[method-assign]

    def encode(self, texts: Sequence[str], role: Role = "passage") -> Any:
        """Encode as :meth:`convqa.models.TextEncoder.remembered`; the collection is the cache of passages."""
        if role == "passage":
            return self._encode(texts, role)
        fresh = [text for text in dict.fromkeys(texts) if text not in self._places]
        if fresh:
            self._matrix = np.concatenate((self._matrix, self._encode(fresh, role)))
            self._places |= {text: place for place, text in enumerate(fresh, len(self._places))}
        return self._matrix[[self._places[text] for text in texts]]

    def save(self) -> None:
        if self._saved < len(self._places):
            with whole_file(self._file) as stream:
                np.savez(stream, texts=np.array(json.dumps(list(self._places))), matrix=self._matrix)
            self._saved = len(self._places)
