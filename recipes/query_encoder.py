"""Conversational questions with their human rewrites and their passages, to train the query encoder.

    python -m recipes.query_encoder DATA EXAMPLES

Human rewrites are those of the resolver (recipes/resolver.py), with its changes by talks. Conversations over documents
have the passages that answer: ``own-documents`` without the collections of ``untrained.txt``, ``doc2dial_a`` and even
conversations of ``mtrag_un``, each without every tenth conversation.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from convqa.indexing import index_sources
from convqa.models.kinds.resolver_input import Past
from convqa.stores import open_store
from convqa.training.examples import RewriteExample, SearchExample, SearchPassage
from convqa.validation import Record
from recipes import own_documents as own
from recipes.files import GUARD, Files, Truth, main, need_files, read_list, read_passages
from recipes.resolver import silenced
from recipes.rewrites import CANARD, QRECC_4K, QRECC_DEV, split
from recipes.talks import LEADS, TalkShares, read_contexts, read_leads, talks

WITH_GOLD = ("doc2dial_a", "mtrag_un")

_LEADS = 2_500
"""Leads of Wikipedia that the teacher's and the student's rankings are compared on."""

_HUMAN = 13_000
"""Examples with a human rewrite, of all that the resolver's recipe gives."""

_VAGUE = "interesting aspects"
"""CANARD has 2,000 questions for "any other interesting aspects of this article"."""

_VAGUE_KEPT = 0.3
_GOLD_TIMES = 2
"""How often an example with gold passages is in an epoch, each time with another history."""

_HELD_OUT = 10
"""Every so many conversations validate."""

_FOREIGN = 0.25
"""Share of the self-contained questions that follow another conversation."""

_HELD_SHARE = 0.9
"""Minimum share of a gold unit's words in a passage that answers."""

_SOURCES = """- QReCC (Anantha et al. 2021; CC BY-SA 3.0): 4,000 turns of the training part, turns of the dev part
- CANARD (Elgohary et al. 2019; CC BY-SA 4.0), training part
- leads of Wikipedia (CC BY-SA 4.0), and contexts of SQuAD 2 (CC BY-SA 4.0) and SQuADShifts (CC BY 4.0), as answers
- conversations over people's own documents, written for convqa
- Doc2Dial (Feng et al. 2020; CC BY 3.0), half of the documents of the validation part
- MTRAG (Katsis et al. 2025; Apache-2.0), even conversations
"""


class _Asked(Record):
    Conversation_no: int
    Turn_no: int
    Question: str
    Context: list[str] = []


class Dialog(NamedTuple):
    """A turn with its history as (question, possible answers) and what is known about it."""

    example: SearchExample
    history: Sequence[tuple[str, Sequence[str]]]
    holds_out: bool
    self_contained: bool


def make(data: Path) -> tuple[Files, str]:
    """Return the files of the examples, and their sources."""
    chance = random.Random(1)
    need_files(
        data, [f"conversations/{name}/{file}.json" for name in WITH_GOLD for file in ("questions", "ground-truth")]
    )
    passages: list[SearchPassage] = []
    dialogs: list[Dialog] = []
    parts = [own_documents(data, False), own_documents(data, True), *(with_gold(data, name) for name in WITH_GOLD)]
    for found, texts in parts:
        dialogs += found
        passages += texts
    for number, lead in enumerate(chance.sample(read_contexts(data, [LEADS]), _LEADS)):
        passages.append(SearchPassage(collection="", id=str(number), text=lead))
    training = [_search(example) for example in human(data, chance)]
    known = [dialog for dialog in dialogs if not dialog.holds_out]
    for _ in range(_GOLD_TIMES):
        training += [_told(dialog, known, chance) for dialog in known]
    chance.shuffle(training)
    validation = [_told(dialog, [], chance) for dialog in dialogs if dialog.holds_out and dialog.history]
    files: Files = {"train.jsonl": training, "validation.jsonl": validation, "passages.jsonl": passages}
    return files, _SOURCES + GUARD + "\n\nMade by `python -m recipes.query_encoder`."


def human(data: Path, chance: random.Random) -> list[RewriteExample]:
    """Return examples with human rewrites, after the changes by talks."""
    sets = split(data).training
    examples = [*sets[QRECC_DEV], *sets[QRECC_4K], *sets[CANARD]]
    examples = [example for example in examples if _VAGUE not in example.question or chance.random() < _VAGUE_KEPT]
    shares = TalkShares(alone=30, talks=45)
    changed = talks(silenced(examples, 0.1, 1), read_leads(data), read_contexts(data), 1, shares)
    return chance.sample(changed, _HUMAN)


def own_documents(data: Path, held_out: bool) -> tuple[list[Dialog], list[SearchPassage]]:
    """Return the turns that ask something, and the passages of all documents."""
    dialogs: list[Dialog] = []
    passages: list[SearchPassage] = []
    for folder in own.collections(data, held_out):
        with tempfile.TemporaryDirectory() as aside:
            collection = str(Path(aside) / "collection")
            index_sources([folder / "documents"], collection)
            texts = {passage.id: passage.whole_text for passage in open_store(collection).scan()}
        passages += [SearchPassage(collection=folder.name, id=id, text=text) for id, text in texts.items()]
        for turn in own.turns(folder):
            gold = [id for id, text in texts.items() if turn.gold and _holds(text, turn.gold[0])]
            example = _example(turn.conversation, turn.question, turn.alone, folder.name, gold)
            is_alone = not turn.history or turn.question == turn.alone
            dialogs.append(Dialog(example, turn.history, held_out, is_alone))
    return dialogs, passages


def with_gold(data: Path, name: str) -> tuple[list[Dialog], list[SearchPassage]]:
    """Return the turns of a benchmark with gold passages, and its passages."""
    folder = data / "conversations" / name
    truths = read_list(folder / "ground-truth.json", Truth, "records with Conversation_no and Truth_passages")
    asked = read_list(folder / "questions.json", _Asked, "records with Conversation_no and Question")
    dialogs = []
    is_even = name == "mtrag_un"
    for turn, truth in zip(asked, truths, strict=True):
        number = turn.Conversation_no
        if not truth.Truth_passages or (is_even and number % 2):
            continue
        pairs = zip(turn.Context[::2], turn.Context[1::2], strict=False)
        history = [(question, (answer, answer, "")) for question, answer in pairs]
        rewrite = "" if history else turn.Question
        example = _example(f"{name}-{number}", turn.Question, rewrite, name, truth.Truth_passages[:6])
        dialogs.append(Dialog(example, history, number % _HELD_OUT == 0, not history))
    odd = {id for truth in truths if is_even and truth.Conversation_no % 2 for id in truth.Truth_passages}
    even = {id for truth in truths if not truth.Conversation_no % 2 for id in truth.Truth_passages}
    passages = []
    for line in read_passages(folder / "passages.jsonl"):
        # Passages that answer only held-out conversations are no negatives either.
        if line.id not in odd or line.id in even:
            text = f"{line.title}\n{line.text}" if line.title else line.text
            passages.append(SearchPassage(collection=name, id=line.id, text=text))
    return dialogs, passages


def _told(dialog: Dialog, others: Sequence[Dialog], chance: random.Random) -> SearchExample:
    """Return the example with one of the possible answers in each exchange, some after another conversation."""
    history = dialog.history
    if others and dialog.self_contained and chance.random() < _FOREIGN:
        history = chance.choice(others).history
    elif others and chance.random() < _FOREIGN / 2:
        history = [*chance.choice(others).history, *history]
    past = [Past(question, chance.choice(answers)) for question, answers in history]
    return dialog.example.model_copy(update={"history": past})


def _search(example: RewriteExample) -> SearchExample:
    return SearchExample(**example.model_dump())


def _example(conversation: str, question: str, rewrite: str, collection: str, gold: Iterable[str]) -> SearchExample:
    return SearchExample(
        conversation=conversation,
        question=question,
        history=[],
        rewrite=rewrite,
        collection=collection,
        gold=list(gold),
    )


def _holds(text: str, unit: str) -> bool:
    words = Counter(_words(unit))
    held = words & Counter(_words(text))
    return held.total() >= _HELD_SHARE * words.total()


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in re.finditer(r"\w+", text.lower()))


if __name__ == "__main__":
    main(__doc__, lambda arguments: make(arguments.data))
