"""Conversations over people's own documents: how many turns are answered, refused and taken as talk, and MRR@10.

    python benchmarks/own_documents.py DATA [COLLECTION ...] [--pipeline talk] [--set STATION.FIELD=VALUE ...]

DATA is ``own-documents``: ``COLLECTION/documents`` and ``COLLECTION/turns.jsonl``, and ``untrained.txt``, the default
collections, which no shipped model was trained on. Each collection is indexed alone, as ``convqa index`` does, and each
conversation is held in order with the program's own answers as history. A turn is answered if the quotes or the
sentences shown hold 90 % of the words of its first gold unit, in at most 60 words more. MRR@10 is that of the first
passage with the gold unit. "Sure" answers are those without "Not sure". Prints a JSON object.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

import convqa
from convqa.domain import UNSURE

MIN_SHARE = 0.9
MAX_MORE_WORDS = 60


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def holds(text: str, unit: str, most: float = float("inf")) -> bool:
    """Return whether a text of at most so many words has a unit's words."""
    wanted, own = words(unit), words(text)
    return own.total() <= most and (own & wanted).total() >= MIN_SHARE * wanted.total()


def is_answered(response: Any, unit: str) -> bool:
    passages = {hit.id: hit.passage.text for hit in response.ranking.hits if hit.passage is not None}
    quotes = []
    for sentence in response.answer.sentences:
        for citation in sentence.citations:
            if citation.start is not None:
                quotes.append(passages[citation.passage_id][citation.start : citation.end])
    most = words(unit).total() + MAX_MORE_WORDS
    return any(holds(text, unit, most) for text in (" ".join(quotes), response.answer.text))


def reciprocal_rank(response: Any, unit: str) -> float:
    for rank, hit in enumerate(response.ranking.hits[:10], 1):
        if hit.passage is not None and holds(hit.passage.whole_text, unit):
            return 1 / rank
    return 0.0


def groups(turn: dict[str, Any], unit: str) -> tuple[str, str]:
    """Return what kind of unit answers, and whether the question needs its history."""
    kind = "sentences"
    if unit.lstrip().startswith("|"):
        kind = "rows"
    elif re.match(r"\s*([-*+]|\d+[.)])\s", unit):
        kind = "items"
    return kind, "self-contained" if turn["question"] == turn["alone"] else "with history"


def count(qa: Any, lines: list[dict[str, Any]], totals: Counter[str]) -> list[float]:
    """Hold the conversations of a collection and add to the counts. Return 1 / rank of the gold passages."""
    ranks = []
    conversations: dict[str, Any] = {}
    for turn in lines:
        conversation = conversations.setdefault(turn["conversation"], qa.conversation())
        response = conversation.ask(turn["question"])
        kind = response.answer.kind
        totals[turn["kind"]] += 1
        is_sure = kind == "answer" and UNSURE not in response.answer.notes
        if turn["kind"] == "answerable":
            unit = turn["gold"][0]
            is_right = is_answered(response, unit)
            totals["answered"] += is_right
            for group in groups(turn, unit):
                totals[group] += 1
                totals[f"{group} answered"] += is_right
            totals["answerable, refused"] += kind == "none"
            totals["answerable, sure"] += is_sure
            totals["answerable, sure, answered"] += is_sure and is_right
            totals["rewritten"] += response.rewrite.text != turn["question"]
            ranks.append(reciprocal_rank(response, unit))
        elif turn["kind"] == "unanswerable":
            totals["unanswerable, refused"] += kind == "none"
            totals["unanswerable, sure"] += is_sure
        else:
            totals["talk taken as talk"] += kind == "talk"
    return ranks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("collections", nargs="*")
    parser.add_argument("--pipeline", default="talk")
    parser.add_argument("--set", action="append", default=[], metavar="STATION.FIELD=VALUE")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    overrides = {name: yaml.safe_load(value) for name, _, value in (text.partition("=") for text in arguments.set)}
    names = arguments.collections or (arguments.data / "untrained.txt").read_text(encoding="utf-8").split()
    totals: Counter[str] = Counter()
    ranks: list[float] = []
    for name in names:
        with tempfile.TemporaryDirectory() as aside:
            convqa.index(arguments.data / name / "documents", collection=f"{aside}/collection")
            qa = convqa.load(arguments.pipeline, f"{aside}/collection", overrides)
            lines = (arguments.data / name / "turns.jsonl").read_text(encoding="utf-8").splitlines()
            ranks += count(qa, [json.loads(line) for line in lines], totals)
    print(json.dumps({**totals, "MRR@10": round(sum(ranks) / max(1, len(ranks)), 3)}, indent=2))


if __name__ == "__main__":
    main()
