"""What the extractive reader adds to the sentence reader in conversations, on the gold passage and end to end.

    python benchmarks/reader_conversations.py [--sets inscit_dev clapnq_dev] [--sentences 1 2 3] [--data ../shared/data]

Turns with an answer and a gold passage, with the history that the set gives; F1 is SQuAD's, the maximum over the
references. "gold": the reader reads the first gold passage; else the pipeline ``default`` ranks the set's passages, and
the reader reads the first ten. Answers are whole sentences (the builder ``sentences``) or the best span alone.
Differences are paired, beside the sentence reader with as many sentences; bold where the 95 % interval leaves out 0.
The sentence reader's settings were chosen on the conversations of even number of inscit_dev, so that only those of odd
number are reported; nothing of the extractive reader was.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from _common import arguments, table
from answered_turns import cases
from comparing import difference

import convqa
from convqa.components.builders.sentences import Sentences as SentencesBuilder
from convqa.components.builders.span import Span as SpanBuilder
from convqa.components.readers.extractive import Extractive
from convqa.components.readers.sentences import Sentences
from convqa.domain import Conversation, Hit, Passage, Ranking, Reading, Rewrite, Turn
from convqa.metrics.squad import f1


@dataclass(frozen=True)
class Asked:
    """A turn, what it was rewritten to, what was ranked for it, and what counts as right."""

    turn: Turn
    rewrite: Rewrite
    ranking: Ranking
    gold: Passage
    answers: tuple[str, ...]


def asked(folder: Path) -> list[Asked]:
    """The set's turns, ranked by ``default``."""
    found = {case.turn.id: case for case in cases(folder)}
    conversations = [Conversation(str(id), (case.turn,)) for id, case in found.items()]
    assistant = convqa.load("default", folder / "passages.jsonl", {"retriever.top_k": 10})
    made = []
    given = any(case.turn.history for case in found.values())
    for response in assistant.drive(conversations, "gold" if given else "none"):
        case = found[response.id]
        assert response.rewrite is not None and response.ranking is not None, response.error
        made.append(Asked(case.turn, response.rewrite, response.ranking, case.passages[0], case.answers))
    return made


def readings(reader: Any, some: Sequence[Asked], rankings: Sequence[Ranking]) -> list[Reading]:
    reader.warm_up()
    return list(reader.read_batch([one.turn for one in some], [one.rewrite for one in some], rankings))


def scores(some: Sequence[Asked], rankings: Sequence[Ranking], read: Sequence[Reading], builder: Any) -> list[float]:
    answers = [
        builder.build(one.turn, one.rewrite, ranking, reading).text
        for one, ranking, reading in zip(some, rankings, read, strict=True)
    ]
    return [max(f1(truth, said) for truth in one.answers) for one, said in zip(some, answers, strict=True)]


def rows(name: str, some: Sequence[Asked], sentences: Sequence[int], model: str) -> Iterator[list[str]]:
    gold = [Ranking((Hit(one.gold.id, 1.0, one.gold),)) for one in some]
    for where, rankings in (("gold", gold), ("end to end", [one.ranking for one in some])):
        lexical = readings(Sentences(), some, rankings)
        ways = {"extractive": readings(Extractive(model=model), some, rankings)}
        if where != "gold":
            ways["extractive, mu .7"] = readings(Extractive(model=model, interpolation=0.7), some, rankings)
        for number in sentences:
            floor = scores(some, rankings, lexical, SentencesBuilder(sentences=number))
            yield [name, where, f"sentences, {number}", f"{mean(floor):.3f}", ""]
            for way, read in ways.items():
                made = scores(some, rankings, read, SentencesBuilder(sentences=number))
                yield [name, where, f"{way}, {number} sentences", f"{mean(made):.3f}", str(difference(made, floor))]
        for way, read in ways.items():
            made = scores(some, rankings, read, SpanBuilder())
            yield [name, where, f"{way}, the span alone", f"{mean(made):.3f}", ""]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sets", nargs="+", default=["inscit_dev", "clapnq_dev"])
    parser.add_argument("--sentences", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--model", default="reader")
    options = parser.parse_args()
    found: list[list[str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch
        for name in options.sets:
            every = asked(options.data / "conversations" / name)
            if name == "inscit_dev":
                name, every = f"{name}, odd", [one for one in every if int(one.turn.id.conversation) % 2]
            for row in rows(f"{name} ({len(every)})", every, options.sentences, options.model):
                found.append(row)
                print("done:", row, flush=True)
    table(["set (turns)", "passages", "reader and answer", "F1", "difference"], found)


if __name__ == "__main__":
    main()
