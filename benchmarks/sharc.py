"""How good is the pipeline ``sharc``? Compares its condition check with baselines.

    python benchmarks/sharc.py --data ../shared/data

Prints tables over the development set, whose rule texts trained nothing. The baselines are the majority class and
replies alone. The shipped check was trained on 500 utterances of the training part. Open retrieval: the check again,
with the rule text to be found among 651; the half whose rule texts trained the check is shown separately.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from _common import arguments

from convqa.domain import Answer, Conversation, Response
from convqa.driver.waves import drive
from convqa.evaluation.result import summaries
from convqa.indexing import collection_for
from convqa.pipeline.load import load
from convqa.sharc.task import ShARC
from convqa.sharc.truth import ShARCGold

DEV = "sharc/sharc1_dev.json"
OPEN = "sharc/open-retrieval/open_retrieval_sharc_dev.json"
"""Files of the data folder."""

OFFICIAL = ("Micro accuracy", "Macro accuracy", "BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "Combined")
OPENED = ("Micro accuracy %", "seen", "unseen", "Macro accuracy %", "F1_BLEU-1", "F1_BLEU-4", "R@1")


def main() -> None:
    parser = arguments(__doc__)
    args = parser.parse_args()
    task, dev, opened = ShARC(), args.data / DEV, args.data / OPEN
    gold, conversations = task.gold(dev), list(task.read(dev))
    rows = {
        "always Yes": constant(conversations),
        "no scenario read": answers(conversations, known=1.0),
        "shipped check (500 utterances of the training part)": answers(conversations),
    }
    print(f"| ShARC dev, {len(conversations)} | {' | '.join(OFFICIAL)} |\n|{'---|' * (len(OFFICIAL) + 1)}")
    for name, made in rows.items():
        print_row(task, gold, name, made, OFFICIAL)
    gold, conversations = task.gold(opened), list(task.read(opened))
    url = collection_for(task, opened, None, task.language)
    print(f"\n| OR-ShARC dev, {len(conversations)} | {' | '.join(OPENED)} |\n|{'---|' * (len(OPENED) + 1)}")
    for name, made in {
        "always Yes": constant(conversations),
        "shipped check": answers(conversations, url=url),
    }.items():
        print_row(task, gold, name, made, OPENED)


def constant(conversations: Sequence[Conversation]) -> Iterator[Response]:
    for conversation in conversations:
        yield Response(conversation.turns[0].id, answer=Answer("answer", "Yes"), timings={})


def answers(
    conversations: Sequence[Conversation], known: float | None = None, url: str | None = None
) -> Iterator[Response]:
    """Return the responses of the task's pipeline. ``known``: minimum score of a settled condition."""
    settings = {} if known is None else {"builder.min_condition_score": known}
    pipeline = load("sharc" if url is None else "sharc-open", settings)
    if url is not None:
        pipeline.bind(url)
    pipeline.warm_up()
    for wave in drive(pipeline, list(conversations)):
        yield from wave.responses


def print_row(task: ShARC, gold: ShARCGold, name: str, made: Iterable[Response], wanted: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        task.write(made, Path(folder), frozenset({"answers", "rankings"}))
        columns = task.score(gold, task.read_run(Path(folder)), task.options())
    means: dict[str, float | None] = {name: summary.mean for name, summary in summaries(columns).items()}
    seen = {turn.id for turn in gold.turns if turn.fields.get("snippet_seen")}
    unseen = {turn.id for turn in gold.turns} - seen
    for part, turns in (("seen", seen), ("unseen", unseen)):
        column = columns[0].of(turns)
        summary = summaries([column]).get(column.measure.name)
        means[part] = summary.mean if summary else None
    ranking = {column.measure.label: column.measure.name for column in columns if column.measure.line.startswith("MRR")}
    cells = [means.get(ranking.get(measure, measure)) for measure in wanted]
    print(f"| {name} | {' | '.join('-' if cell is None else f'{cell:.4g}' for cell in cells)} |", flush=True)


if __name__ == "__main__":
    main()
