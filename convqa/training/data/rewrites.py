"""Human rewrites from QReCC, CANARD and the user, split into training, validation and report sets.

The conversations of ``qrecc/dev-turns.json`` with history are sorted by number: positions 1, 3, 5 ... are for training,
positions 0, 2, 4 ... for reporting (283 conversations, 413 turns). The 4k file and CANARD's training part are for
training; CANARD's dev part is the second report set. Validation is cut from the 4k file.

QReCC's QuAC part is an edited CANARD: the two share conversations under different numbers. Training examples must
therefore be disjoint from the others by conversation **and** by text (:func:`without_overlap`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
"""Names of the training sets other than the user's own."""

FILES = (
    "qrecc/dev-turns.json", "qrecc/train-rewrites-4k.jsonl", "canard/dev.json", "canard/train.question.tsv",
    "canard/train.rewrite.tsv", "canard/train.answer.tokens.tsv",
)  # fmt: skip
"""Required files of the data folder."""

VALIDATED = 200
"""Conversations of the 4k file for validation."""
_SEED = 7
"""Seed of their choice, part of the split."""

_LONG, _SHORT = 7, 5
"""Minimum words of a question or rewrite that shows an overlap on its own, and together with another."""

_ANSWER = 10
"""Minimum words of an answer that shows an overlap."""

_ROW = re.compile(r"(\S+_q#\d+)\t([^\t]*)")
"""A line of a CANARD table: dialog and turn number, and a text."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question, its history (oldest first), its human rewrite, and its conversation."""

    conversation: str
    question: str
    history: tuple[Past, ...]
    rewrite: str

    def texts(self) -> Iterator[tuple[str, bool]]:
        """Yield the texts that may identify the conversation, each with whether it is an answer."""
        yield self.rewrite, False
        for past in self.history:
            yield past.question, False
            yield past.answer, True


class Split(NamedTuple):
    """Set -> examples, disjoint by conversation and by text. ``measured``: "validation" and the report sets."""

    training: Mapping[str, list[Example]]
    measured: Mapping[str, list[Example]]


def gather(settings: ResolverSettings, data: Path | None) -> tuple[list[Example], Mapping[str, list[Example]]]:
    """Return the training examples in the order and number of ``settings.mix``, and set -> examples to measure."""
    data = named_folder(data)
    parts = split(data) if settings.sets() - {OWN} else Split({}, {})
    if settings.own:
        parts = with_own(parts, read_own(data / name for name in settings.own))
    names = [name for part in settings.mix for _ in range(part.times) for name in part.sets]
    examples = [example for name in names for example in parts.training[name]]
    settings.steps(len(examples))  # fails early, before the recipe's long work
    return silenced(examples, settings.silent, settings.seed), parts.measured


def split(root: Path) -> Split:
    """Split QReCC and CANARD.

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
    """Return the other examples, and those of so many random conversations."""
    names = sorted({example.conversation for example in examples})
    random.Random(_SEED).shuffle(names)
    chosen = set(names[:conversations])
    return _divided(examples, lambda example: example.conversation not in chosen)


def _divided(examples: Sequence[Example], condition: Callable[[Example], bool]) -> tuple[list[Example], list[Example]]:
    return [one for one in examples if condition(one)], [one for one in examples if not condition(one)]


def with_own(split: Split, own: Sequence[Example]) -> Split:
    """Add the user's examples to a split. If it is empty, a tenth of their conversations is for validation."""
    measured, rest = split.measured, list(own)
    if not measured:
        count = len({example.conversation for example in own})
        if count < 2:
            raise InputError(
                f"own: expected at least 2 conversations, got {count}; some are for validation, the rest for training."
            )
        rest, validation = held_out(own, min(VALIDATED, max(1, count // 10)))
        measured = {"validation": validation}
    kept = without_overlap(rest, [example for examples in measured.values() for example in examples])
    if not kept:
        raise InputError(
            f"own: none of the {len(rest)} examples is left to train on. Each of their conversations shares a "
            "distinctive text with the validation or report sets, such as a history question of 7 words or more that "
            "all have in common. Leave such texts out, or add conversations without them; see "
            "docs/reference/training.md."
        )
    return Split({**split.training, OWN: kept}, measured)


def silenced(examples: Iterable[Example], share: float, seed: int) -> list[Example]:
    """Remove the history's answers from a share of the examples, because answers may be missing in use."""
    chance = random.Random(seed)

    def silent(example: Example) -> Example:
        return replace(example, history=tuple(Past(past.question, "") for past in example.history))

    return [silent(example) if chance.random() < share else example for example in examples]


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
    """Read turns in the shared task's form with ``Truth_rewrite`` and a history (``NewContext`` or ``Context``)."""
    turns = read_list(path, _Turn, "a list of QReCC's turns with Conversation_no, Question, Truth_rewrite, NewContext")
    examples = (
        Example(f"qrecc-{turn.conversation}", turn.question, _past(turn.context), turn.rewrite) for turn in turns
    )
    return [example for example in examples if example.history]


def qrecc_4k(path: Path) -> list[Example]:
    """Read lines of {conversation: "Q: .. A: ..", question, label}. The first question names the conversation."""
    examples = []
    for line in read_lines(path, _Line, "JSON lines of {conversation, question, label}"):
        parts = re.split(r"(?:^|\n)Q: ", line.conversation)[1:]
        history = tuple(Past(*map(str.strip, [*part.split(" A: ", 1), ""][:2])) for part in parts)
        if history:
            examples.append(Example(f"4k-{history[0].question}", line.question, history, line.label))
    return examples


def canard_dev(path: Path) -> list[Example]:
    """Read CANARD as published, without the titles that open each history, which no user says."""
    records = read_list(path, _Published, "a list of CANARD's records with QuAC_dialog_id, Question, Rewrite, History")
    examples = (Example(_article(one.dialog), one.question, _past(one.history[2:]), one.rewrite) for one in records)
    return [example for example in examples if example.history]


def canard_tables(folder: Path) -> list[Example]:
    """Read CANARD's training part from three tables, which keep only the content words of answers."""
    questions, rewrites, answers = (
        _table(folder / f"train.{name}.tsv") for name in ("question", "rewrite", "answer.tokens")
    )
    dialogs: dict[str, list[tuple[int, str]]] = {}
    for key in questions:
        dialog, _, number = key.rpartition("_q#")
        dialogs.setdefault(dialog, []).append((int(number), key))
    examples = []
    for dialog, turns in dialogs.items():
        history: list[Past] = []
        for _, key in sorted(turns):
            if history and rewrites.get(key):
                examples.append(Example(_article(dialog), questions[key], tuple(history), rewrites[key]))
            history.append(Past(questions[key], answers.get(key, "").replace(" | ", " ")))
    return examples


def _past(utterances: Sequence[str]) -> tuple[Past, ...]:
    """Pair alternating questions and answers."""
    return tuple(Past(*utterances[i : i + 2]) for i in range(0, len(utterances) - 1, 2))


def _table(path: Path) -> dict[str, str]:
    expected = "a turn id that ends in _q# and a number, a tab, and a text on each line, in UTF-8"
    texts = {}
    for number, line in enumerate(read_bytes(path, expected).splitlines(), 1):
        try:
            row = _ROW.match(line.decode("utf-8"))
        except UnicodeDecodeError:
            row = None
        if row:
            texts[row[1]] = row[2]
        elif line.strip():
            raise InputError(f"{path}: line {number}: expected {expected}; got {shorten(line)}.")
    return texts


def alternate(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Split into even and odd positions of the conversations, sorted by number."""
    order = sorted({example.conversation for example in examples}, key=lambda name: int(name.rpartition("-")[2]))
    even = set(order[::2])
    return _divided(examples, lambda example: example.conversation in even)


def without_overlap(training: Iterable[Example], reported: Iterable[Example]) -> list[Example]:
    """Return the examples of ``training`` that share no conversation with ``reported``, by name or by text.

    Drops a whole conversation if a rewrite or history question of 7 words or more, two of 5 or more, or a history
    answer of 10 or more occurs verbatim in a reported conversation (answers among answers). Does not detect answers
    that are paraphrased, cut elsewhere or reduced to their content words.
    """
    kept = list(training)
    known = _distinctive(reported)
    distinctive = set().union(*known.values())
    dropped = set(known)
    for name, texts in _distinctive(kept).items():
        shared = texts & distinctive
        if len(shared) > 1 or any(_words(text) >= _LONG for text, _ in shared):
            dropped.add(name)
    return [example for example in kept if example.conversation not in dropped]


def _distinctive(examples: Iterable[Example]) -> dict[str, set[tuple[str, bool]]]:
    """Return conversation -> normalized texts that are long enough to be distinctive."""
    # Collects first, because every turn repeats the history of the turn before.
    texts_by_conversation: dict[str, set[tuple[str, bool]]] = {}
    for example in examples:
        texts_by_conversation.setdefault(example.conversation, set()).update(example.texts())
    return {
        name: {
            (normal, is_answer)
            for text, is_answer in texts
            if _words(normal := _normal(text)) >= (_ANSWER if is_answer else _SHORT)
        }
        for name, texts in texts_by_conversation.items()
    }


def _article(dialog: str) -> str:
    """Return the article of a QuAC dialog; dialogs about sections of one article share its topic."""
    return dialog.rpartition("_")[0]


def _normal(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _words(text: str) -> int:
    return text.count(" ") + 1


def mean_rouge(examples: Sequence[Example], texts: Sequence[str]) -> tuple[float, float]:
    """Return mean ROUGE-1 recall and F1 of texts against the human rewrites."""
    scores = [rouge1(example.rewrite, text) for example, text in zip(examples, texts, strict=True)]
    return sum(score.recall for score in scores) / len(scores), sum(score.f1 for score in scores) / len(scores)


class _Exchange(Record, extra="forbid"):
    question: str
    answer: str = ""


class _Own(Record, extra="forbid"):
    """A line of the user's own file."""

    conversation: str | int
    question: str = Field(min_length=1)
    history: list[_Exchange] = Field(min_length=1)
    rewrite: str = Field(min_length=1)


def read_own(paths: Iterable[Path]) -> list[Example]:
    """Read the user's examples: JSON lines {conversation, question, history: [{question, answer}], rewrite}."""
    examples = []
    for path in paths:
        for line in read_lines(path, _Own, "JSON lines of {conversation, question, history, rewrite}"):
            history = tuple(Past(past.question, past.answer) for past in line.history)
            examples.append(Example(f"own-{line.conversation}", line.question, history, line.rewrite))
    return examples
