"""How good is the pipeline ``sharc``? Compares condition checks with baselines and with perfect facts.

    python benchmarks/sharc.py --data ../shared/data

Prints tables over the development set, whose rule texts trained nothing. The baselines are the majority class and
replies alone. The shipped check was trained on 500 utterances of the training part (docs/reference/training.md).
Cross-validated: for each of the 24 addresses of the development set, a check trained on the other 23, alone or with
those 500. Perfect facts: the truth about the scenario (``evidence``) replaces the check, so the remaining errors are
those of parsing the rule. Open retrieval: each check again, with the rule text to be found among 651; the half whose
rule texts trained the shipped check is shown separately.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from _common import arguments

from convqa.domain import Answer, Conversation, Response
from convqa.driver.waves import drive
from convqa.evaluation.result import summaries
from convqa.indexing import collection_for
from convqa.models.kinds.encoder import load_encoder
from convqa.pipeline.load import load
from convqa.sharc.replies import asking_sentences
from convqa.sharc.rules import rules
from convqa.sharc.task import ShARC
from convqa.sharc.trainer import ConditionsSettings, lines, rows_of, write
from convqa.sharc.truth import ShARCGold
from convqa.sharc.verdict import SAME, Fact, apply_rules, as_condition
from convqa.training.config import load as load_settings
from recipes.conditions import DEV, OPEN, Utterance, apart, examples, utterances

RELEVANT = 0.12
"""The setting of the pipeline ``sharc``."""

OFFICIAL = ("Micro accuracy", "Macro accuracy", "BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "Combined")
OPENED = ("Micro accuracy %", "seen", "unseen", "Macro accuracy %", "F1_BLEU-1", "F1_BLEU-4", "R@1")


def main() -> None:
    parser = arguments(__doc__)
    args = parser.parse_args()
    task, dev, opened = ShARC(), args.data / DEV, args.data / OPEN
    gold, conversations = task.gold(dev), list(task.read(dev))
    seen = [one for one in utterances(args.data / OPEN) if getattr(one.record, "snippet_seen", False)]
    rows = {
        "always Yes": constant(conversations),
        "no scenario read": answers(conversations, "conditions", known=1.0),
        "shipped check (500 utterances of the training part)": answers(conversations, "conditions"),
        "cross-validated, the other 23 addresses": held_out(conversations, args.data, []),
        "cross-validated, the other 23 addresses and the 500": held_out(conversations, args.data, seen),
        "perfect facts": perfect(utterances(args.data / DEV), conversations),
    }
    print(f"| ShARC dev, {len(conversations)} | {' | '.join(OFFICIAL)} |\n|{'---|' * (len(OFFICIAL) + 1)}")
    for name, made in rows.items():
        print_row(task, gold, name, made, OFFICIAL)
    gold, conversations = task.gold(opened), list(task.read(opened))
    url = collection_for(task, opened, None, task.language)
    print(f"\n| OR-ShARC dev, {len(conversations)} | {' | '.join(OPENED)} |\n|{'---|' * (len(OPENED) + 1)}")
    for name, made in {
        "always Yes": constant(conversations),
        "shipped check": answers(conversations, "conditions", url=url),
    }.items():
        print_row(task, gold, name, made, OPENED)


def constant(conversations: Sequence[Conversation]) -> Iterator[Response]:
    for conversation in conversations:
        yield Response(conversation.turns[0].id, answer=Answer("answer", "Yes"), timings={})


def answers(
    conversations: Sequence[Conversation], conditions: str, known: float | None = None, url: str | None = None
) -> Iterator[Response]:
    """Return the responses of the task's pipeline with a condition check."""
    settings = {"builder.conditions": conditions, **({} if known is None else {"builder.min_condition_score": known})}
    pipeline = load("sharc" if url is None else "sharc-open", settings)
    if url is not None:
        pipeline.bind(url)
    pipeline.warm_up()
    for wave in drive(pipeline, list(conversations)):
        yield from wave.responses


def held_out(conversations: Sequence[Conversation], data: Path, further: Sequence[Utterance]) -> Iterator[Response]:
    """Answer each address with a check trained on the others, in the conversations' order."""
    settings, encoder = load_settings("conditions"), load_encoder("encoder")
    assert isinstance(settings, ConditionsSettings)
    dev = utterances(data / DEV)
    every = examples([*further, *dev])
    known = {(one.told, one.question): row for one, row in zip(every, rows_of(encoder, every), strict=True)}
    made: dict[str, Response] = {}
    by_id = {str(conversation.id): conversation for conversation in conversations}
    for address in sorted({one.record.source_url for one in dev}):
        held = [one for one in dev if one.record.source_url == address]
        training = examples(apart([*further, *dev], held))
        missing = [one for one in training if (one.told, one.question) not in known]
        known |= {(one.told, one.question): row for one, row in zip(missing, rows_of(encoder, missing), strict=True)}
        rows = np.array([known[one.told, one.question] for one in training])
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder) / "model", settings, encoder, lines(rows, training), {})
            found = answers([by_id[one.record.utterance_id] for one in held], str(Path(folder) / "model"))
            made |= {str(response.id.conversation): response for response in found}
    for conversation in conversations:
        yield made[str(conversation.id)]


def perfect(some: Sequence[Utterance], conversations: Sequence[Conversation]) -> Iterator[Response]:
    """Evaluate the rules with the true facts of the scenario."""
    for one, conversation in zip(some, conversations, strict=True):
        past = one.record.history
        replies = [Fact(reply.follow_up_question, reply.follow_up_answer.lower() == "yes") for reply in past]
        conditions = [part for rule in rules(one.snippet) for part in rule.group.conditions()]
        facts = (as_condition(Fact(*pair), conditions, SAME) for pair in one.evidence)
        told = [fact for fact in facts if fact is not None]
        found = apply_rules(one.snippet, asking_sentences(one.record.question), replies, told, RELEVANT)
        text = found.open.question if found.open else found.answer
        yield Response(conversation.turns[0].id, answer=Answer("answer", text), timings={})


def print_row(task: ShARC, gold: ShARCGold, name: str, made: Iterable[Response], wanted: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        task.write(made, Path(folder), frozenset({"answers", "rankings"}))
        columns = task.score(gold, task.read_run(Path(folder)), task.options())
    means = {measure: summary.mean for measure, summary in summaries(columns, 1).items()}
    seen = {turn.id for turn in gold.turns if turn.fields.get("snippet_seen")}
    unseen = {turn.id for turn in gold.turns} - seen
    for part, turns in (("seen", seen), ("unseen", unseen)):
        column = columns[0].of(turns)
        means[part] = summaries([column], 1)[column.measure.name].mean
    ranking = {column.measure.label: column.measure.name for column in columns if column.measure.line.startswith("MRR")}
    cells = [means.get(ranking.get(measure, measure)) for measure in wanted]
    print(f"| {name} | {' | '.join('-' if cell is None else f'{cell:.4g}' for cell in cells)} |", flush=True)


if __name__ == "__main__":
    main()
