"""Human rewrites from QReCC and CANARD, split into training, validation and report sets.

The conversations of ``qrecc/dev-turns.json`` with history are sorted by number: positions 1, 3, 5 ... are for training,
positions 0, 2, 4 ... for reporting (283 conversations, 413 turns). The 4k file and CANARD's training part are for
training; CANARD's dev part is the second report set. Validation is cut from the 4k file.

QReCC's QuAC part is an edited CANARD: the two share conversations under different numbers. Training examples must
therefore be disjoint from the others by conversation **and** by text (:func:`without_overlap`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import AliasChoices, Field

from convqa.errors import InputError
from convqa.files import read_bytes
from convqa.models.kinds.resolver_input import Past
from convqa.training.examples import RewriteExample, read
from convqa.validation import Record, shorten
from recipes.files import need_files, read_list

QRECC_DEV, QRECC_4K, CANARD = "qrecc-dev", "qrecc-4k", "canard"
"""Names of the training sets."""

FILES = (
    "qrecc/dev-turns.json", "qrecc/train-rewrites-4k.jsonl", "canard/dev.json", "canard/train.question.tsv",
    "canard/train.rewrite.tsv", "canard/train.answer.tokens.tsv",
)  # fmt: skip
"""Required files of the data folder."""

VALIDATED = 200
"""Conversations of the 4k file for validation."""

_LONG, _SHORT = 7, 5
"""Minimum words of a question or rewrite that shows an overlap on its own, and together with another."""

_ANSWER = 10
"""Minimum words of an answer that shows an overlap."""

_ROW = re.compile(r"(\S+_q#\d+)\t([^\t]*)")
"""A line of a CANARD table: dialog and turn number, and a text."""


def example(conversation: str, question: str, history: Sequence[Past], rewrite: str) -> RewriteExample:
    """Return an example; its fields in order."""
    return RewriteExample(conversation=conversation, question=question, history=list(history), rewrite=rewrite)


def texts_of(example: RewriteExample) -> Iterator[tuple[str, bool]]:
    """Yield the texts that may identify the conversation, each with whether it is an answer."""
    yield example.rewrite, False
    for past in example.history:
        yield past.question, False
        yield past.answer, True


class Split(NamedTuple):
    """Set -> examples, disjoint by conversation and by text. ``measured``: the validation and the report sets."""

    training: Mapping[str, list[RewriteExample]]
    measured: Mapping[str, list[RewriteExample]]


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


def held_out(
    examples: Sequence[RewriteExample], conversations: int
) -> tuple[list[RewriteExample], list[RewriteExample]]:
    """Return the other examples, and those of so many random conversations, always the same."""
    names = sorted({example.conversation for example in examples})
    random.Random(7).shuffle(names)
    chosen = set(names[:conversations])
    others = [example for example in examples if example.conversation not in chosen]
    return others, [example for example in examples if example.conversation in chosen]


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


def qrecc_turns(path: Path) -> list[RewriteExample]:
    """Read turns in the shared task's form with ``Truth_rewrite`` and a history (``NewContext`` or ``Context``)."""
    turns = read_list(path, _Turn, "a list of QReCC's turns with Conversation_no, Question, Truth_rewrite, NewContext")
    return [
        example(f"qrecc-{turn.conversation}", turn.question, history, turn.rewrite)
        for turn in turns
        if (history := _past(turn.context))
    ]


def qrecc_4k(path: Path) -> list[RewriteExample]:
    """Read lines of {conversation: "Q: .. A: ..", question, label}. The first question names the conversation."""
    examples = []
    for line in read(path, _Line):
        parts = re.split(r"(?:^|\n)Q: ", line.conversation)[1:]
        history = tuple(Past(*map(str.strip, [*part.split(" A: ", 1), ""][:2])) for part in parts)
        if history:
            examples.append(example(f"4k-{history[0].question}", line.question, history, line.label))
    return examples


def canard_dev(path: Path) -> list[RewriteExample]:
    """Read CANARD as published, without the titles that open each history, which no user says."""
    records = read_list(path, _Published, "a list of CANARD's records with QuAC_dialog_id, Question, Rewrite, History")
    return [
        example(_article(one.dialog), one.question, history, one.rewrite)
        for one in records
        if (history := _past(one.history[2:]))
    ]


def canard_tables(folder: Path) -> list[RewriteExample]:
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
                examples.append(example(_article(dialog), questions[key], tuple(history), rewrites[key]))
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


def alternate(examples: Sequence[RewriteExample]) -> tuple[list[RewriteExample], list[RewriteExample]]:
    """Split into even and odd positions of the conversations, sorted by number."""
    order = sorted({example.conversation for example in examples}, key=lambda name: int(name.rpartition("-")[2]))
    even = set(order[::2])
    even_ones = [example for example in examples if example.conversation in even]
    return even_ones, [example for example in examples if example.conversation not in even]


def without_overlap(training: Iterable[RewriteExample], reported: Iterable[RewriteExample]) -> list[RewriteExample]:
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


def _distinctive(examples: Iterable[RewriteExample]) -> dict[str, set[tuple[str, bool]]]:
    """Return conversation -> normalized texts that are long enough to be distinctive."""
    # Collects first, because every turn repeats the history of the turn before.
    texts_by_conversation: dict[str, set[tuple[str, bool]]] = {}
    for example in examples:
        texts_by_conversation.setdefault(example.conversation, set()).update(texts_of(example))
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
