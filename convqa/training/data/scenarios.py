"""Scenarios of users with yes/no questions that they answer or leave open: the examples of the condition check.

From ShARC's files: a scenario answers the questions of its evidence, and leaves open the one that is asked back after
it. What was asked earlier in the history is left out: some of that the scenario answers too, and the file does not say
which. Questions about other rule texts are added, which a scenario mostly leaves open.

The open-retrieval dev file has 500 utterances of ShARC's training part (``snippet_seen``); these train. ShARC's dev
file is reported on: no utterance that shares an address or a rule text with it takes part in training.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import AliasChoices, Field

from convqa.tasks.sharc.answers import normalise
from convqa.tasks.sharc.input import read_records, rule_texts, source
from convqa.tasks.sharc.schema import ADVICE, Official, Open
from convqa.training.data.records import need_files
from convqa.validation import Record, read_as

DEV = "sharc/sharc1_dev.json"
OPEN = "sharc/open-retrieval/open_retrieval_sharc_dev.json"
"""Files that the data folder must hold; ``id2snippet.json`` beside the second."""

_FOREIGN = 0.5
"""Questions about other rule texts that are added for each scenario."""


@dataclass(frozen=True, slots=True)
class Example:
    """``yes``: the answer that is told; None: what is told leaves the question open. ``source``: what no split parts.

    ``foreign``: the question is about another rule text.
    """

    told: str
    question: str
    yes: bool | None
    source: str
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Utterance:
    """An utterance with its rule text and what the truth says of it; ``answer`` in small letters for a label."""

    record: Official | Open
    snippet: str
    evidence: tuple[tuple[str, bool], ...]

    @property
    def follow_ups(self) -> list[tuple[str, bool]]:
        """The questions asked back before, with the replies."""
        return [(one.follow_up_question, one.follow_up_answer.lower() == "yes") for one in self.record.history]


def split(root: Path, own: Sequence[str] = ()) -> tuple[list[Example], list[Example]]:
    """The examples to train on and those to report on.

    :param root: the data folder, with :data:`DEV` and :data:`OPEN`. :param own: further files of ShARC's form there,
        such as its training part.
    """
    beside = Path(OPEN).with_name("id2snippet.json").as_posix()
    need_files(root, (DEV, OPEN, beside, *own))
    dev = utterances(root / DEV)
    seen = [one for one in utterances(root / OPEN) if isinstance(one.record, Open) and one.record.snippet_seen]
    further = [one for name in own for one in utterances(root / name)]
    return examples(apart([*seen, *further], dev)), examples(dev)


class _Evidence(Record):
    """A question that a scenario answers. The published files once call the fields ``followup_...``."""

    question: str = Field(validation_alias=AliasChoices("follow_up_question", "followup_question"))
    answer: str = Field(validation_alias=AliasChoices("follow_up_answer", "followup_answer"))


def utterances(path: Path) -> list[Utterance]:
    """The utterances of a file in either form, each with its rule text."""
    found = source(path)
    rules = rule_texts(found) if found.form == "open" else {}
    made = []
    for placed in read_records(found):
        record = placed.record
        snippet = record.snippet if isinstance(record, Official) else rules.get(record.gold_snippet_id or "", "")
        told = [
            read_as(_Evidence, entry, f"{placed.where}: evidence[{index}]", ADVICE)
            for index, entry in enumerate(record.evidence)
        ]
        evidence = tuple((one.question, one.answer.lower().startswith("y")) for one in told)
        made.append(Utterance(record, snippet, evidence))
    return made


def apart(some: Iterable[Utterance], others: Iterable[Utterance]) -> list[Utterance]:
    """Those of ``some`` that share neither an address nor a rule text with ``others``."""
    others = list(others)
    addresses = {one.record.source_url for one in others}
    texts = {_plain(one.snippet) for one in others}
    return [one for one in some if one.record.source_url not in addresses and _plain(one.snippet) not in texts]


def examples(some: Sequence[Utterance]) -> list[Example]:
    """Every pair of scenario and question once; where it is both answered and open, it is answered."""
    found: dict[tuple[str, str], Example] = {}
    questions: list[tuple[str, str]] = []
    for one in some:
        told, address = one.record.scenario.strip(), one.record.source_url
        questions += [(question, address) for question, _ in (*one.follow_ups, *one.evidence)]
        if not told:
            continue
        for question, yes in one.evidence:
            found.setdefault((told, question), Example(told, question, yes, address))
    for one in some:
        told, answer = one.record.scenario.strip(), one.record.answer or ""
        if told and answer and normalise(answer, "official").asks:
            found.setdefault((told, answer), Example(told, answer, None, one.record.source_url))
    return [*found.values(), *_foreign(list(found.values()), questions)]


def _foreign(known: Sequence[Example], questions: Sequence[tuple[str, str]]) -> list[Example]:
    chance = random.Random(1)
    told = [(one.told, one.source) for one in known]
    made: dict[tuple[str, str], Example] = {}
    for _ in range(int(_FOREIGN * len(known))):
        (text, address), (question, other) = chance.choice(told), chance.choice(questions)
        if address != other:
            made.setdefault((text, question), Example(text, question, None, address, foreign=True))
    return list(made.values())


def _plain(text: str) -> str:
    return " ".join(text.split())
