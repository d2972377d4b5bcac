"""What is trained on, what is validated on and what is reported on: the written split, and examples of one's own.

Of ``qrecc/dev-turns.json`` the conversations that have a turn with history are sorted by number: positions 1, 3, 5 ...
may train, positions 0, 2, 4 ... are reported on (283 conversations, 413 turns). The 4k file and CANARD's training part
may train; CANARD's dev part is the second set that is reported on. Validation is cut from the 4k file. What trains
shares no conversation and no telling text with either (:func:`convqa.training.data.rewrites.without_overlap`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from convqa.errors import InputError
from convqa.models.kinds.resolver_input import Said
from convqa.training.config import OWN, RewriteSettings
from convqa.training.data.records import Record, named_folder, need_files, read_lines
from convqa.training.data.rewrites import (
    Example,
    alternate,
    canard_dev,
    canard_tables,
    qrecc_4k,
    qrecc_turns,
    without_overlap,
)

QRECC_DEV, QRECC_4K, CANARD = "qrecc-dev", "qrecc-4k", "canard"
"""Names of what may train, beside files of one's own."""

FILES = (
    "qrecc/dev-turns.json", "qrecc/train-rewrites-4k.jsonl", "canard/dev.json", "canard/train.question.tsv",
    "canard/train.rewrite.tsv", "canard/train.answer.tokens.tsv",
)  # fmt: skip
"""What the data folder must hold for the written split."""

VALIDATED = 200
"""Conversations of the 4k file that validate; the seed of their choice is part of the split."""
_CHOICE = 7


class Split(NamedTuple):
    """Set -> examples, disjoint by conversation and by text. ``measured``: "validation", and what is reported on."""

    training: Mapping[str, list[Example]]
    measured: Mapping[str, list[Example]]


def gather(settings: RewriteSettings, data: Path | None) -> tuple[list[Example], Mapping[str, list[Example]]]:
    """What trains, as often and in the order in which the settings name their sets; and set -> what is measured.

    :raises InputError: if no folder was named, if it lacks files, or if too few examples train.
    """
    data = named_folder(data)
    found = split(data) if settings.sets() - {OWN} else Split({}, {})
    if settings.own:
        found = with_own(found, read_own(data / name for name in settings.own))
    names = [name for part in settings.mix for _ in range(part.times) for name in part.sets]
    examples = [example for name in names for example in found.training[name]]
    settings.steps(len(examples))  # before the recipe's long work
    return silenced(examples, settings.silent, settings.seed), found.measured


def split(root: Path) -> Split:
    """The written split of QReCC and CANARD.

    :param root: the data folder, with :data:`FILES`.
    :raises InputError: naming what is missing or damaged.
    """
    need_files(root, FILES)
    even, odd = alternate(qrecc_turns(root / "qrecc" / "dev-turns.json"))
    canard = canard_dev(root / "canard" / "dev.json")
    may_train = [odd, qrecc_4k(root / "qrecc" / "train-rewrites-4k.jsonl"), canard_tables(root / "canard")]
    odd, first_4k, tables = (without_overlap(examples, even + canard) for examples in may_train)
    rest, validation = held_out(first_4k, VALIDATED)
    odd, rest, tables = (without_overlap(examples, validation) for examples in (odd, rest, tables))
    return Split(
        {QRECC_DEV: odd, QRECC_4K: rest, CANARD: tables},
        {"validation": validation, "qrecc-report": even, "canard-report": canard},
    )


def held_out(examples: Sequence[Example], conversations: int) -> tuple[list[Example], list[Example]]:
    """What remains, and the examples of so many conversations, chosen by chance with a fixed seed."""
    names = sorted({example.conversation for example in examples})
    random.Random(_CHOICE).shuffle(names)
    chosen = set(names[:conversations])
    return (
        [example for example in examples if example.conversation not in chosen],
        [example for example in examples if example.conversation in chosen],
    )


def with_own(given: Split, own: Sequence[Example]) -> Split:
    """Examples of one's own beside the written split; or alone, and then a tenth of their conversations validates.

    :raises InputError: if there are fewer than two conversations to train and validate on, or if the guard against
        overlap leaves none to train on.
    """
    measured, rest = given.measured, list(own)
    if not measured:
        number = len({example.conversation for example in own})
        if number < 2:
            raise InputError(
                f"the own examples have {number} conversations; wanted at least 2, as some validate and the rest "
                "trains."
            )
        rest, validation = held_out(own, min(VALIDATED, max(1, number // 10)))
        measured = {"validation": validation}
    kept = without_overlap(rest, [one for some in measured.values() for one in some])
    if not kept:
        raise InputError(
            f"none of the {len(rest)} own examples is left to train on: each of their conversations shares a telling "
            "text with one that validates or reports, such as a history question of 7 words or more that all have in "
            "common. docs/training.md names the guard; leave such texts out, or add conversations without them."
        )
    return Split({**given.training, OWN: kept}, measured)


def silenced(examples: Iterable[Example], share: float, seed: int) -> list[Example]:
    """The same, but a share of them without the answers of their history: in use, answers may be missing."""
    chance = random.Random(seed)
    return [
        replace(one, history=tuple(Said(said.question, "") for said in one.history)) if chance.random() < share else one
        for one in examples
    ]


class _Exchange(Record, extra="forbid"):
    question: str
    answer: str = ""


class _Own(Record, extra="forbid"):
    """A line of a file of one's own."""

    conversation: str | int
    question: str = Field(min_length=1)
    history: list[_Exchange] = Field(min_length=1)
    rewrite: str = Field(min_length=1)


def read_own(paths: Iterable[Path]) -> list[Example]:
    """Examples of one's own: JSON lines {conversation, question, history: [{question, answer}], rewrite}.

    :raises InputError: naming file and line of the first mistake.
    """
    wanted = "JSON lines of {conversation, question, history, rewrite}"
    return [
        Example(
            f"own-{one.conversation}",
            one.question,
            tuple(Said(said.question, said.answer) for said in one.history),
            one.rewrite,
        )
        for path in paths
        for one in read_lines(path, _Own, wanted)
    ]
