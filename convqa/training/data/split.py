"""What is trained on, what is validated on and what is reported on: the written split, and examples of one's own.

Of ``qrecc/dev-turns.json`` the conversations that have a turn with history are sorted by number: positions 1, 3, 5 ...
may train, positions 0, 2, 4 ... are reported on (283 conversations, 413 turns). The 4k file and CANARD's training part
may train; CANARD's dev part is the second set that is reported on. Validation is cut from the 4k file. What trains
shares no conversation and no telling text with either (:func:`convqa.training.data.rewrites.without_overlap`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from convqa.errors import InputError
from convqa.models.kinds.resolver_input import Said
from convqa.training.config import OWN, RewriteSettings
from convqa.training.data.records import named_folder, read_lines
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

FILES = {
    "qrecc/dev-turns.json": "turns of QReCC's dev part with Truth_rewrite and NewContext (a JSON list)",
    "qrecc/train-rewrites-4k.jsonl": "lines of {conversation, question, label} of QReCC's training part",
    "canard/dev.json": "CANARD's dev part as published",
    "canard/train.question.tsv": "id and question of CANARD's training part",
    "canard/train.rewrite.tsv": "id and human rewrite",
    "canard/train.answer.tokens.tsv": "id and content words of the answer",
}
"""What the data folder must hold for the written split."""

VALIDATED = 200
"""Conversations of the 4k file that validate; the seed of their choice is part of the split."""
_CHOICE = 7


@dataclass(frozen=True, slots=True)
class Split:
    """Examples by the name of their set; all are disjoint by conversation and by text."""

    training: Mapping[str, list[Example]]
    validation: list[Example]
    reported: Mapping[str, list[Example]]


def gather(settings: RewriteSettings, data: Path | None) -> tuple[list[Example], dict[str, list[Example]]]:
    """What trains, as often and in the order in which the settings name their sets; and set -> what is measured.

    :raises InputError: if no folder was named, if it lacks files, or if too few examples train.
    """
    data = named_folder(data)
    found = split(data) if settings.sets() - {OWN} else None
    if settings.own:
        found = with_own(found, read_own(data / name for name in settings.own))
    assert found is not None  # mix is never empty
    names = [name for part in settings.mix for _ in range(part.times) for name in part.sets]
    examples = [example for name in names for example in found.training[name]]
    settings.steps(len(examples))  # before the recipe's long work
    return silenced(examples, settings.silent, settings.seed), {"validation": found.validation, **found.reported}


def split(root: Path) -> Split:
    """The written split of QReCC and CANARD.

    :param root: the data folder, with :data:`FILES`.
    :raises InputError: naming what is missing or damaged.
    """
    missing = [f"{name} ({what})" for name, what in FILES.items() if not (root / name).is_file()]
    if missing:
        raise InputError(f"{root}: the data folder lacks {'; '.join(missing)}. docs/training.md says where these are.")
    even, odd = alternate(qrecc_turns(root / "qrecc" / "dev-turns.json"))
    canard = canard_dev(root / "canard" / "dev.json")
    reported = even + canard
    may_train = [odd, qrecc_4k(root / "qrecc" / "train-rewrites-4k.jsonl"), canard_tables(root / "canard")]
    odd, first_4k, tables = (without_overlap(examples, reported) for examples in may_train)
    rest, validation = held_out(first_4k, VALIDATED)
    odd, rest, tables = (without_overlap(examples, validation) for examples in (odd, rest, tables))
    return Split(
        {QRECC_DEV: odd, QRECC_4K: rest, CANARD: tables}, validation, {"qrecc-report": even, "canard-report": canard}
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


def with_own(given: Split | None, own: Sequence[Example]) -> Split:
    """Examples of one's own beside the written split, or alone: then a tenth of their conversations validates.

    :raises InputError: if there are fewer than two conversations to train and validate on, or if the guard against
        overlap leaves none to train on.
    """
    if given is not None:
        measured = [*given.validation, *(one for some in given.reported.values() for one in some)]
        return replace(given, training={**given.training, OWN: _guarded(own, measured)})
    number = len({example.conversation for example in own})
    if number < 2:
        raise InputError(
            f"the own examples have {number} conversations; wanted at least 2, as some validate and the rest trains."
        )
    rest, validation = held_out(own, min(VALIDATED, max(1, number // 10)))
    return Split({OWN: _guarded(rest, validation)}, validation, {})


def _guarded(own: Sequence[Example], measured: Sequence[Example]) -> list[Example]:
    kept = without_overlap(own, measured)
    if not kept:
        raise InputError(
            f"none of the {len(own)} own examples is left to train on: each of their conversations shares a telling "
            "text with one that validates or reports, such as a history question of 7 words or more that all have in "
            "common. docs/training.md names the guard; leave such texts out, or add conversations without them."
        )
    return kept


def silenced(examples: Iterable[Example], share: float, seed: int) -> list[Example]:
    """The same, but a share of them without the answers of their history: in use, answers may be missing."""
    chance = random.Random(seed)
    return [
        replace(one, history=tuple(Said(said.question, "") for said in one.history)) if chance.random() < share else one
        for one in examples
    ]


class _Exchange(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    question: str
    answer: str = ""


class _Record(BaseModel):
    """A line of a file of one's own."""

    model_config = ConfigDict(strict=True, extra="forbid")

    conversation: str | int
    question: str = Field(min_length=1)
    history: list[_Exchange] = Field(min_length=1)
    rewrite: str = Field(min_length=1)


def read_own(paths: Iterable[Path]) -> list[Example]:
    """Examples of one's own: JSON lines {conversation, question, history: [{question, answer}], rewrite}.

    :raises InputError: naming file and line of the first mistake.
    """
    wanted = "JSON lines of {conversation, question, history, rewrite}"
    return [_example(record) for path in paths for record in read_lines(path, _Record, wanted)]


def _example(record: _Record) -> Example:
    history = tuple(Said(said.question, said.answer) for said in record.history)
    return Example(f"own-{record.conversation}", record.question, history, record.rewrite)
