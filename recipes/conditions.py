"""User scenarios with yes/no questions that they answer or leave open: the examples of the condition check.

    python -m recipes.conditions DATA EXAMPLES [--own FILE ...]

In ShARC's files, a scenario answers the questions of its evidence and leaves open the one asked back after it. Earlier
questions of the history are left out, because the scenario may answer them without the file saying so. Questions about
other rule texts are added; a scenario leaves most of them open.

Training uses the 500 utterances of ShARC's training part in the open-retrieval dev file (``snippet_seen``). ShARC's dev
file is for reporting: training uses no utterance that shares an address or a rule text with it. ``--own``: further
training files of DATA in ShARC's format, such as its own training part.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import AliasChoices, Field

from convqa.sharc.input import form_of, read_records, rule_texts, source
from convqa.sharc.schema import ADVICE, Official, Open, normalize
from convqa.sharc.trainer import ConditionExample
from convqa.validation import Record, read_as
from recipes.files import GUARD, Files, main, need_files

DEV = "sharc/sharc1_dev.json"
OPEN = "sharc/open-retrieval/open_retrieval_sharc_dev.json"
"""Required files of the data folder, with ``id2snippet.json`` next to the second."""

_FOREIGN = 0.5
"""Questions about other rule texts to add per scenario."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """An utterance with its rule text and its evidence: pairs of a question and whether the answer is yes."""

    record: Official | Open
    snippet: str
    evidence: tuple[tuple[str, bool], ...]


def split(root: Path, own: Sequence[str] = ()) -> tuple[list[ConditionExample], list[ConditionExample]]:
    """Return the training and the report examples.

    :param root: the data folder, with :data:`DEV` and :data:`OPEN`.
    :param own: further training files there in ShARC's format, such as its training part.
    """
    rules = Path(OPEN).with_name("id2snippet.json").as_posix()
    need_files(root, (DEV, OPEN, rules, *own))
    dev = utterances(root / DEV)
    seen = [one for one in utterances(root / OPEN) if isinstance(one.record, Open) and one.record.snippet_seen]
    further = [one for name in own for one in utterances(root / name)]
    return examples(apart([*seen, *further], dev)), examples(dev)


class _Evidence(Record):
    """A question that a scenario answers. One published record calls the fields ``followup_...``."""

    question: str = Field(validation_alias=AliasChoices("follow_up_question", "followup_question"))
    answer: str = Field(validation_alias=AliasChoices("follow_up_answer", "followup_answer"))


def utterances(path: Path) -> list[Utterance]:
    """Read the utterances of a file in either format, each with its rule text."""
    file = source(path)
    rules = rule_texts(file) if form_of(file) == "open" else {}
    result = []
    for label, record in read_records(file):
        snippet = record.snippet if isinstance(record, Official) else rules.get(record.gold_snippet_id or "", "")
        entries = [
            read_as(_Evidence, entry, f"{file}: {label}: evidence[{index}]", ADVICE)
            for index, entry in enumerate(record.evidence)
        ]
        evidence = tuple((entry.question, entry.answer.lower().startswith("y")) for entry in entries)
        result.append(Utterance(record, snippet, evidence))
    return result


def apart(utterances: Iterable[Utterance], others: Iterable[Utterance]) -> list[Utterance]:
    """Return the utterances that share neither an address nor a rule text with ``others``."""
    others = list(others)
    addresses = {other.record.source_url for other in others}
    texts = {_plain(other.snippet) for other in others}
    return [one for one in utterances if one.record.source_url not in addresses and _plain(one.snippet) not in texts]


def examples(utterances: Sequence[Utterance]) -> list[ConditionExample]:
    """Return each pair of scenario and question once. A pair that is both answered and open counts as answered."""
    answered: dict[tuple[str, str], ConditionExample] = {}
    asked_back: dict[tuple[str, str], ConditionExample] = {}
    questions: list[tuple[str, str]] = []
    for utterance in utterances:
        record = utterance.record
        told, address, answer = record.scenario.strip(), record.source_url, record.answer or ""
        asked = [one.follow_up_question for one in record.history] + [question for question, _ in utterance.evidence]
        questions += [(question, address) for question in asked]
        if told:
            for question, yes in utterance.evidence:
                answered.setdefault((told, question), _example(told, question, yes, address))
            if answer and normalize(answer, "official").asks:
                asked_back.setdefault((told, answer), _example(told, answer, None, address))
    for pair, example in asked_back.items():
        answered.setdefault(pair, example)
    known = list(answered.values())
    return [*known, *_foreign(known, questions)]


def _foreign(known: Sequence[ConditionExample], questions: Sequence[tuple[str, str]]) -> list[ConditionExample]:
    chance = random.Random(1)
    result: dict[tuple[str, str], ConditionExample] = {}
    for _ in range(int(_FOREIGN * len(known))):
        example, (question, address) = chance.choice(known), chance.choice(questions)
        if example.source != address:
            foreign = _example(example.told, question, None, example.source, foreign=True)
            result.setdefault((example.told, question), foreign)
    return list(result.values())


def _example(told: str, question: str, yes: bool | None, source: str, foreign: bool = False) -> ConditionExample:
    return ConditionExample(told=told, question=question, yes=yes, source=source, foreign=foreign)


def _plain(text: str) -> str:
    return " ".join(text.split())


_SOURCES = f"""
- ShARC (Saeidi et al. 2018; CC BY-SA 3.0), the 500 utterances of its training part that OR-ShARC's dev file has (Gao et
  al. 2021){{own}}
{GUARD}
"""


def make(data: Path, own: Sequence[str]) -> tuple[Files, str]:
    """Return the files of the examples, and their sources."""
    training, reported = split(data, own)
    files = {"train.jsonl": training, "report-sharc-dev.jsonl": reported}
    return files, _SOURCES.format(own="".join(f"\n- {name}" for name in own))


if __name__ == "__main__":
    main(__doc__, lambda arguments: make(arguments.data, arguments.own), own={"nargs": "+", "default": []})
