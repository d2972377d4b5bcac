"""Human rewrites to learn from: QReCC's, CANARD's and one's own; what trains, what validates, what is reported on.

Of ``qrecc/dev-turns.json`` the conversations that have a turn with history are sorted by number: positions 1, 3, 5 ...
may train, positions 0, 2, 4 ... are reported on (283 conversations, 413 turns). The 4k file and CANARD's training part
may train; CANARD's dev part is the second set that is reported on. Validation is cut from the 4k file.

QReCC's QuAC part is CANARD, edited: the two share conversations under different numbers. What trains must therefore be
disjoint from the others by conversation **and** by text (:func:`without_overlap`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pydantic import AliasChoices, Field

from convqa.errors import InputError
from convqa.files import read_bytes
from convqa.metrics.rouge1 import rouge1
from convqa.models.kinds.resolver_input import Past
from convqa.training.config import OWN, ResolverSettings
from convqa.training.data.records import named_folder, need_files, read_lines, read_list
from convqa.validation import Record, shorten

QRECC_DEV, QRECC_4K, CANARD = "qrecc-dev", "qrecc-4k", "canard"
"""Names of what may train, beside files of one's own."""

FILES = (
    "qrecc/dev-turns.json", "qrecc/train-rewrites-4k.jsonl", "canard/dev.json", "canard/train.question.tsv",
    "canard/train.rewrite.tsv", "canard/train.answer.tokens.tsv",
)  # fmt: skip
"""Files that the data folder must hold for the written split."""

VALIDATED = 200
"""Conversations of the 4k file that validate; the seed of their choice is part of the split."""
_CHOICE = 7


_LONG, _SHORT = 7, 5
"""Words of a question or a rewrite that is shared by chance so rarely that one is enough, and that two are enough."""

_ANSWER = 10
"""Words of an answer that is shared by chance so rarely that one is enough; shorter ones tell nothing."""

_ROW = re.compile(r"(\S+_q#\d+)\t([^\t]*)")
"""A line of a table of CANARD: dialog and number of the turn, and a text."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question, its history (oldest first), its human rewrite, and the conversation it comes from."""

    conversation: str
    question: str
    history: tuple[Past, ...]
    rewrite: str

    def texts(self) -> Iterator[tuple[str, bool]]:
        """Texts that may tell this conversation from others: rewrite, questions and answers of the history; with each,
        whether it is an answer."""
        yield self.rewrite, False
        for said in self.history:
            yield said.question, False
            yield said.answer, True


class Split(NamedTuple):
    """Set -> examples, disjoint by conversation and by text. ``measured``: "validation", and what is reported on."""

    training: Mapping[str, list[Example]]
    measured: Mapping[str, list[Example]]


def gather(settings: ResolverSettings, data: Path | None) -> tuple[list[Example], Mapping[str, list[Example]]]:
    """The examples to train on, as often and in the order in which the settings name them; set -> those to measure."""
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
    """The other examples, and those of so many conversations, chosen by chance with a fixed seed."""
    names = sorted({example.conversation for example in examples})
    random.Random(_CHOICE).shuffle(names)
    chosen = set(names[:conversations])
    return (
        [example for example in examples if example.conversation not in chosen],
        [example for example in examples if example.conversation in chosen],
    )


def with_own(given: Split, own: Sequence[Example]) -> Split:
    """Examples of one's own beside the written split; or alone, and then a tenth of their conversations validates."""
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
        replace(one, history=tuple(Past(said.question, "") for said in one.history)) if chance.random() < share else one
        for one in examples
    ]


class _Turn(Record):
    """A record of QReCC in the shared task's form."""

    conversation: int = Field(alias="Conversation_no")
    question: str = Field(alias="Question")
    rewrite: str = Field(alias="Truth_rewrite")
    context: list[str] = Field([], validation_alias=AliasChoices("NewContext", "Context"))


class _Line(Record):
    """A line of QReCC's training part."""

    conversation: str
    question: str
    label: str


class _Published(Record):
    """A record of CANARD as published."""

    dialog: str = Field(alias="QuAC_dialog_id")
    question: str = Field(alias="Question")
    rewrite: str = Field(alias="Rewrite")
    history: list[str] = Field(alias="History")


def qrecc_turns(path: Path) -> list[Example]:
    """Turns in the shared task's form with ``Truth_rewrite`` and a history (``NewContext`` or ``Context``)."""
    turns = read_list(path, _Turn, "a list of QReCC's turns with Conversation_no, Question, Truth_rewrite, NewContext")
    found = (Example(f"qrecc-{one.conversation}", one.question, _said(one.context), one.rewrite) for one in turns)
    return [example for example in found if example.history]


def qrecc_4k(path: Path) -> list[Example]:
    """Lines of {conversation: "Q: .. A: ..", question, label}; a conversation is named by its first question."""
    found = []
    for line in read_lines(path, _Line, "JSON lines of {conversation, question, label}"):
        parts = re.split(r"(?:^|\n)Q: ", line.conversation)[1:]
        history = tuple(Past(*map(str.strip, [*part.split(" A: ", 1), ""][:2])) for part in parts)
        if history:
            found.append(Example(f"4k-{history[0].question}", line.question, history, line.label))
    return found


def canard_dev(path: Path) -> list[Example]:
    """CANARD as published; the titles that open each history are left out, because no user says them."""
    records = read_list(path, _Published, "a list of CANARD's records with QuAC_dialog_id, Question, Rewrite, History")
    found = (Example(_article(one.dialog), one.question, _said(one.history[2:]), one.rewrite) for one in records)
    return [example for example in found if example.history]


def canard_tables(folder: Path) -> list[Example]:
    """CANARD's training part from three tables; of its answers there are content words only."""
    questions, rewrites, answers = (
        _table(folder / f"train.{name}.tsv") for name in ("question", "rewrite", "answer.tokens")
    )
    dialogs: dict[str, list[tuple[int, str]]] = {}
    for key in questions:
        dialog, _, number = key.rpartition("_q#")
        dialogs.setdefault(dialog, []).append((int(number), key))
    found = []
    for dialog, turns in dialogs.items():
        history: list[Past] = []
        for _, key in sorted(turns):
            if history and rewrites.get(key):
                found.append(Example(_article(dialog), questions[key], tuple(history), rewrites[key]))
            history.append(Past(questions[key], answers.get(key, "").replace(" | ", " ")))
    return found


def _said(utterances: Sequence[str]) -> tuple[Past, ...]:
    """Exchanges of questions and answers that alternate."""
    return tuple(Past(*utterances[i : i + 2]) for i in range(0, len(utterances) - 1, 2))


def _table(path: Path) -> dict[str, str]:
    wanted = "on each line the id of a turn, which ends in _q# and a number, a tab, and a text, in UTF-8"
    found = {}
    for number, line in enumerate(read_bytes(path, wanted).splitlines(), 1):
        try:
            row = _ROW.match(line.decode("utf-8"))
        except UnicodeDecodeError:
            row = None
        if row:
            found[row[1]] = row[2]
        elif line.strip():
            raise InputError(f"{path}: line {number}: found {shorten(line)}; wanted {wanted}.")
    return found


def alternate(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Split by the position of the conversation in the order of its number: even positions, odd positions."""
    order = sorted({example.conversation for example in examples}, key=lambda name: int(name.rpartition("-")[2]))
    even = set(order[::2])
    return (
        [example for example in examples if example.conversation in even],
        [example for example in examples if example.conversation not in even],
    )


def without_overlap(training: Iterable[Example], reported: Iterable[Example]) -> list[Example]:
    """The examples of ``training`` that share no conversation with ``reported``, by name or by text.

    A conversation is dropped whole if it has a rewrite or a history question of 7 words or more, or two of 5 or more,
    or a history answer of 10 or more, that occur word for word in a reported conversation: answers among answers.
    Answers that are told in other words, cut elsewhere or stripped to their content words are not found.
    """
    kept = list(training)
    known = _telling(reported)
    telling = set().union(*known.values())
    dropped = set(known)
    for name, texts in _telling(kept).items():
        shared = texts & telling
        if len(shared) > 1 or any(_words(text) >= _LONG for text, _ in shared):
            dropped.add(name)
    return [example for example in kept if example.conversation not in dropped]


def _telling(examples: Iterable[Example]) -> dict[str, set[tuple[str, bool]]]:
    """Of each conversation the texts that are long enough to tell something, in plain form."""
    # Every turn repeats the history of the turn before: each text is looked at once.
    said: dict[str, set[tuple[str, bool]]] = {}
    for example in examples:
        said.setdefault(example.conversation, set()).update(example.texts())
    return {
        name: {
            (plain, is_answer)
            for text, is_answer in texts
            if _words(plain := _normal(text)) >= (_ANSWER if is_answer else _SHORT)
        }
        for name, texts in said.items()
    }


def _article(dialog: str) -> str:
    """QuAC numbers the dialogs about one article's sections: they share what they talk about."""
    return dialog.rpartition("_")[0]


def _normal(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _words(text: str) -> int:
    return text.count(" ") + 1


def mean_rouge(examples: Sequence[Example], texts: Sequence[str]) -> tuple[float, float]:
    """Mean ROUGE-1 recall and F1 of texts against the human rewrites."""
    made = [rouge1(one.rewrite, text) for one, text in zip(examples, texts, strict=True)]
    return sum(one.recall for one in made) / len(made), sum(one.f1 for one in made) / len(made)


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
    """Examples of one's own: JSON lines {conversation, question, history: [{question, answer}], rewrite}."""
    wanted = "JSON lines of {conversation, question, history, rewrite}"
    return [
        Example(
            f"own-{one.conversation}",
            one.question,
            tuple(Past(said.question, said.answer) for said in one.history),
            one.rewrite,
        )
        for path in paths
        for one in read_lines(path, _Own, wanted)
    ]
