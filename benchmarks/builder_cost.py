"""What building an answer costs: microseconds per turn of each builder, of the invariant and of the decision.

    python benchmarks/builder_cost.py [--turns 100] [--passages 10 100] [--rounds 5] [--data ../shared/data]

A turn has a question of inscit_dev and as many of its passages; the sentence reader has read ten of them before.
"seen" is a turn whose passages were cut into sentences before, by the reader or in an earlier turn, "new" one whose
texts are new to the builder. Built is through ``run``, as a pipeline does it, with ``verified``; the decision is apart.
It is the time of the processor that counts, of the best round.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from _common import arguments, table

from convqa.components.base import Builder
from convqa.components.builders.sentences import Sentences
from convqa.components.builders.span import Span
from convqa.components.citations import verified
from convqa.components.deciders._decision import load_decision, signals
from convqa.components.readers.sentences import Sentences as Reader
from convqa.domain import (
    Answer,
    Hit,
    Passage,
    Query,
    Ranking,
    Rankings,
    Reading,
    Readings,
    Rewrite,
    Rewrites,
    Turn,
    TurnId,
    Turns,
)

SEED = 1


@dataclass(frozen=True)
class Batch:
    """Turns as a builder gets them."""

    turns: Turns
    rewrites: Rewrites
    rankings: Rankings
    readings: Readings

    def rows(self) -> Iterator[tuple[Turn, Rewrite, Ranking, Reading]]:
        """Turn by turn; nothing here is a Failure."""
        yield from zip(self.turns, self.rewrites, self.rankings, self.readings, strict=True)  # type: ignore[misc]


def batch(folder: Path, turns: int, number: int, mark: str) -> Batch:
    """``mark`` ends every text: other texts, to whatever remembers some."""
    chance = random.Random(SEED)
    records = [json.loads(line) for line in (folder / "passages.jsonl").read_text(encoding="utf-8").splitlines()]
    passages = [Passage(one["id"], one["text"] + mark, one["title"]) for one in records]
    asked = json.loads((folder / "questions.json").read_bytes())[:turns]
    rows: list[tuple[Turn, Rewrite, Ranking, Reading]] = []
    for place, record in enumerate(asked):
        drawn = chance.sample(passages, number)
        ranking = Ranking(tuple(Hit(one.id, float(number - rank), one) for rank, one in enumerate(drawn)))
        turn = Turn(TurnId(place, 1), record["Question"])
        rewrite = Rewrite(turn.question, (Query(turn.question),))
        rows.append((turn, rewrite, ranking, Reader().read(turn, rewrite, ranking)))
    columns = list(zip(*rows, strict=True))
    return Batch(Turns(columns[0]), Rewrites(columns[1]), Rankings(columns[2]), Readings(columns[3]))


def seconds(work: Callable[..., object], *given: object) -> float:
    start = time.process_time()
    work(*given)
    return time.process_time() - start


def ways() -> dict[str, Callable[[Batch], object]]:
    builders: dict[str, Builder] = {
        "sentences": Sentences(),
        "span": Span(),
    }

    def building(builder: Builder) -> Callable[[Batch], object]:
        return lambda one: builder.run(one.turns, one.rewrites, one.rankings, one.readings)

    return {name: building(builder) for name, builder in builders.items()}


def apart(some: Batch, answers: Sequence[Answer]) -> dict[str, Callable[[], object]]:
    """What the base class does with an answer, alone."""
    decision = load_decision("sentences")
    rows = list(zip(some.rows(), answers, strict=True))
    return {
        "verified": lambda: [verified(answer, row[2]) for row, answer in rows],
        "decision": lambda: [decision.score(signals(*row), row[2], answer, row[0].language) for row, answer in rows],
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--passages", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    folder = options.data / "conversations" / "inscit_dev"
    found: dict[str, list[str]] = {}
    for number in options.passages:
        some = batch(folder, options.turns, number, "")
        for name, build in ways().items():
            others = (batch(folder, options.turns, number, f" {name}{turn}") for turn in range(options.rounds))
            new = min(seconds(build, other) for other in others)
            build(some)
            seen = min(seconds(build, some) for _ in range(options.rounds))
            found.setdefault(name, []).extend(f"{1e6 * one / options.turns:.0f}" for one in (seen, new))
        answers = [Sentences().build(*row) for row in some.rows()]
        for name, work in apart(some, answers).items():
            work()
            seen = min(seconds(work) for _ in range(options.rounds))
            found.setdefault(name, []).extend([f"{1e6 * seen / options.turns:.0f}", "-"])
    head = [f"{number} passages, {kind}" for number in options.passages for kind in ("seen", "new")]
    table(["microseconds per turn", *head], [[name, *cells] for name, cells in found.items()])


if __name__ == "__main__":
    main()
