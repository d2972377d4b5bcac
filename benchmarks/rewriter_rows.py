"""Rewriters for the benchmarks' comparisons, with their settings, and their rewrites, kept in a folder."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from haystack.core.serialization import component_to_dict

from convqa.components.base import Rewriter
from convqa.components.members import make
from convqa.domain import Failure, Rewrite, Turn, Turns
from convqa.files import whole_file

BATCH = 256

Description = Mapping[str, Any]
"""A rewriter as in YAML: {type: ..., init_parameters: {...}}."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--resolver", default="resolver", help="model of edit: a name or a folder")
    parser.add_argument("--generator", help="model of generate: a name or a folder; without it, that row is left out")
    parser.add_argument("--rewriter", action="append", default=[], metavar="LABEL={type: ..., init_parameters: ...}",
                        help="another row, in YAML, such as llm with its server")  # fmt: skip
    parser.add_argument("--only", nargs="+", metavar="LABEL", help="only these rows")


def descriptions(options: argparse.Namespace, more: Mapping[str, Description] | None = None) -> dict[str, Description]:
    """Return the rewriters by label, in the order of the tables.

    :param more: further rows of one benchmark.
    """
    found: dict[str, Description] = {
        "copy": {"type": "copy"},
        "concatenate": {"type": "concatenate"},
        "expansion": {"type": "expansion"},
        **(more or {}),
        "edit": {"type": "edit", "init_parameters": {"model": options.resolver}},
    }
    if options.generator:
        found["generate"] = {"type": "generate", "init_parameters": {"model": options.generator}}
    for text in options.rewriter:
        label, _, described = text.partition("=")
        found[label] = yaml.safe_load(described)
    unknown = sorted(set(options.only or []) - set(found))
    if unknown:
        raise SystemExit(f"--only {unknown[0]}: the rows are {', '.join(found)}")
    return {label: described for label, described in found.items() if not options.only or label in options.only}


def made(described: Description) -> Rewriter:
    given = described.get("init_parameters") or {}
    return make({"type": described["type"], "init_parameters": given}, described["type"], Rewriter)


class Rewrites:
    """Rewrites of turns. Each rewriter runs once; a folder keeps its rewrites for the next run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def of(self, described: Description, turns: Sequence[Turn]) -> list[Rewrite]:
        rewriter = made(described)
        rewriter.warm_up()
        who = [component_to_dict(rewriter, "rewriter"), dict(rewriter.identity())]
        key = json.dumps([who, list(map(repr, turns))])
        file = self._folder / f"{hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}.json"
        if not file.exists():
            with whole_file(file) as stream:
                stream.write(json.dumps([rewrite.to_json() for rewrite in ask(rewriter, turns)]).encode())
        return [Rewrite.from_json(record) for record in json.loads(file.read_bytes())]


def ask(rewriter: Rewriter, turns: Sequence[Turn], size: int = BATCH) -> list[Rewrite]:
    """Return a rewriter's rewrites, in batches of ``size`` turns.

    :raises SystemExit: if a turn fails.
    """
    rewrites: list[Rewrite] = []
    for start in range(0, len(turns), size):
        some = turns[start : start + size]
        for turn, rewrite in zip(some, rewriter.run(Turns(tuple(some)))["rewrites"], strict=True):
            if isinstance(rewrite, Failure):
                raise SystemExit(f"{type(rewriter).__name__}, turn {turn.id}: {rewrite.error}: {rewrite.message}")
            rewrites.append(rewrite)
    return rewrites
