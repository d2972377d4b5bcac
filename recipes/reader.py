"""Questions with the passages that are read for them, to train a reader on, and their fixed split.

    python -m recipes.reader DATA EXAMPLES

Conversations: ``own-documents`` without the collections of ``untrained.txt``, ``doc2dial_a`` and even questions of
``clapnq_dev``, each with passages that BM25 ranks for the product's own rewrite. Collections and documents of one in
ten are for validation. Single questions: ``squad2`` (half of SQuAD 2's dev part: articles 0, 2, 4 ... are for training,
except the last, which is for validation; articles 1, 3, 5 ... are for reporting), ``new-wiki`` and ``reddit``
(SQuADShifts: one context in twenty is for validation and one for reporting; ``new-wiki``: one whole article in twelve).
Training contexts share no sentence of eight words with the others.
"""

from __future__ import annotations

import random
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from convqa.components.retrievers.bm25 import BM25
from convqa.components.rewriters.edit import Edit
from convqa.domain import Exchange, Passage, Turn, TurnId, Turns
from convqa.indexing import index_sources
from convqa.models.kinds.resolver_input import Past
from convqa.tasks.mrqa.formats import Context, Question, read_squad
from convqa.text.sentences import sentences
from convqa.text.units import units
from convqa.text.words import words
from convqa.training.examples import ReadingExample, ReadPassage
from convqa.validation import Record
from recipes import own_documents as own
from recipes.files import GUARD, Files, main, need_files, read_list

SQUAD2, NEW_WIKI, REDDIT = "squad2", "new-wiki", "reddit"

FILES = {
    SQUAD2: "squad-format/squad2-dev-half.json",
    NEW_WIKI: "squad-format/squadshifts/new_wiki_v1.0.json",
    REDDIT: "squad-format/squadshifts/reddit_v1.0.json",
}
"""Set -> required file of the data folder."""

TRAIN, VALIDATE, REPORT = "train", "validate", "report"

_DISTINCTIVE = 8
"""Minimum words of a sentence that two texts rarely share by chance."""

_RANKED = 10
"""Passages of a ranking."""

_READ = 5
"""Maximum passages of an example."""

_CUT = 0.25
"""Share of the answerable turns that an epoch also has without what answers, as unanswerable ones."""

_UNANSWERABLE_TIMES = 3
"""How often an epoch has an unanswerable turn, each time with other passages."""

_FORGOTTEN = 0.15
"""Share of the examples without the rewrite, and of those without the last answer."""

_HELD_SHARE = 0.9
"""Minimum share of the words of a unit that answers in what counts as that unit."""

_MAX_UNITS = 80
"""Maximum units of a passage."""


@dataclass(frozen=True, slots=True)
class Split:
    """Set -> contexts, in order."""

    training: Mapping[str, list[Context]]
    validation: Mapping[str, list[Context]]
    reported: Mapping[str, list[Context]]


def split(root: Path) -> Split:
    """Split the sets.

    :param root: the data folder, with :data:`FILES`.
    """
    need_files(root, FILES.values())
    validation, reported, training = (
        {name: list(_part(name, root / FILES[name], part)) for name in sorted(FILES)}
        for part in (VALIDATE, REPORT, TRAIN)
    )
    held_out = [context for sets in (validation, reported) for contexts in sets.values() for context in contexts]
    taken = set().union(*(_distinctive(context.text) for context in held_out))
    kept = {
        name: [context for context in contexts if taken.isdisjoint(_distinctive(context.text))]
        for name, contexts in training.items()
    }
    return Split(kept, validation, reported)


def _part(name: str, file: Path, part: str) -> Iterator[Context]:
    """Yield the contexts of a set in one part of the split."""
    article, last = -1, ""
    for number, context in enumerate(read_squad(file)):
        if context.title != last or number == 0:
            article, last = article + 1, context.title
        if _belongs(name, article, number) == part:
            yield context


def _belongs(name: str, article: int, number: int) -> str:
    if name == SQUAD2:
        return REPORT if article % 2 else VALIDATE if article == 14 else TRAIN
    index, period = (article, 12) if name == NEW_WIKI else (number, 20)
    return {period - 1: REPORT, period // 2 - 1: VALIDATE}.get(index % period, TRAIN)


def _distinctive(text: str) -> set[str]:
    """Return the normalized sentences that are long enough to be distinctive."""
    normalized = (" ".join(words(text[start:end])) for start, end in sentences(text, "en"))
    return {sentence for sentence in normalized if sentence.count(" ") + 1 >= _DISTINCTIVE}


class AskedTurn(NamedTuple):
    """A turn of a conversation. ``gold``: texts of the units that answer; none if the documents do not say it."""

    turn: Turn
    gold: Sequence[str]


def single(contexts: Sequence[Context], chance: random.Random) -> Iterator[ReadingExample]:
    """Yield each question with its context, and with another context of the same article."""
    for index, context in enumerate(contexts):
        beside = [contexts[near] for near in (index - 1, index + 1) if 0 <= near < len(contexts)]
        beside = [other for other in beside if other.title == context.title]
        for question in context.questions:
            passages = [_of_context(context, question)]
            if beside:
                passages.append(_of_context(chance.choice(beside), Question("", "")))
            chance.shuffle(passages)
            # An answer that occurs several times may begin anywhere.
            answer = question.answers[0] if question.answers else ""
            yield ReadingExample(question=question.text, passages=passages, answer=answer, has_spans=True)


def _of_context(context: Context, question: Question) -> ReadPassage:
    found = units(Passage("", context.text), "en")[:_MAX_UNITS]
    answers = []
    for index, unit in enumerate(found):
        if any(unit.start <= start and end <= unit.end for start, end in question.spans):
            answers.append(index)
    title = "" if "_" in context.title else context.title
    return ReadPassage(title=title, units=[context.text[unit.start : unit.end] for unit in found], answers=answers)


def conversational(collection: str, turns: Sequence[AskedTurn], chance: random.Random) -> Iterator[ReadingExample]:
    """Yield each turn with passages that are found for it; some also without what answers."""
    if not turns:
        return
    asked = Turns(tuple(turn.turn for turn in turns))
    rewrites = Edit().run(asked)["rewrites"]
    rankings = BM25(collection, top_k=_RANKED, max_texts=_RANKED).run(asked, rewrites)["rankings"]
    for (turn, gold), rewrite, ranking in zip(turns, rewrites, rankings, strict=True):
        passages = [_of_ranking(passage, gold) for passage in ranking.passages()]
        right = [passage for passage in passages if passage.answers]
        others = [passage for passage in passages if not passage.answers]
        if not others or (gold and not right):
            continue
        for _ in range(1 if gold else _UNANSWERABLE_TIMES):
            yield _example(turn, rewrite.text, [*right[:1], *_some(others, chance)], chance)
        if gold and chance.random() < _CUT:
            cut = [shorter for shorter in map(_without_answers, right) if shorter]
            yield _example(turn, rewrite.text, [*cut[: chance.randrange(2)], *_some(others, chance)], chance)


def _some(passages: Sequence[ReadPassage], chance: random.Random) -> list[ReadPassage]:
    """Return some of the passages, mostly of the first ones, which are the hardest."""
    pool = passages[: _READ + 1] if chance.random() < 0.7 else passages
    return chance.sample(pool, min(len(pool), chance.randint(2, _READ - 1)))


def _of_ranking(passage: Passage, gold: Sequence[str]) -> ReadPassage:
    found = units(passage, "en")[:_MAX_UNITS]
    texts = [passage.text[unit.start : unit.end] for unit in found]
    answers = [index for index, text in enumerate(texts) if any(_same(text, unit) for unit in gold)]
    return ReadPassage(title=passage.context, units=texts, answers=answers)


def _same(text: str, unit: str) -> bool:
    """Return whether a text is a unit that answers, or most of it, or has it inside."""
    mine = Counter(re.findall(r"\w+", text.lower()))
    wanted = Counter(re.findall(r"\w+", unit.lower()))
    shared = (mine & wanted).total()
    return shared >= 3 and shared >= _HELD_SHARE * min(mine.total(), wanted.total())


def _without_answers(passage: ReadPassage) -> ReadPassage | None:
    kept = [text for index, text in enumerate(passage.units) if index not in passage.answers]
    return ReadPassage(title=passage.title, units=kept) if kept else None


def _example(turn: Turn, rewrite: str, passages: list[ReadPassage], chance: random.Random) -> ReadingExample:
    chance.shuffle(passages)
    history = [Past(exchange.question, exchange.answer) for exchange in turn.history]
    if history and chance.random() < _FORGOTTEN:
        history[-1] = Past(history[-1].question)
    if chance.random() < _FORGOTTEN:
        rewrite = ""
    return ReadingExample(question=turn.question, history=history, rewrite=rewrite, passages=passages)


def own_documents(data: Path, held_out: bool, chance: random.Random) -> Iterator[ReadingExample]:
    """Yield the examples of people's own documents."""
    for folder in own.collections(data, held_out):
        turns = []
        for number, turn in enumerate(own.turns(folder)):
            history = [Exchange(question, chance.choice(answers)) for question, answers in turn.history]
            turns.append(AskedTurn(Turn(TurnId(turn.conversation, number), turn.question, tuple(history)), turn.gold))
        with tempfile.TemporaryDirectory() as aside:
            collection = str(Path(aside) / "collection")
            index_sources([folder / "documents"], collection)
            yield from conversational(collection, turns, chance)


class _Asked(Record):
    Conversation_no: int
    Turn_no: int
    Question: str
    Context: list[str] = []


class _Truth(Record):
    Conversation_no: int
    Truth_span: str = ""
    Cited_sentences: list[str] = []
    Document: str = ""
    Answerable: bool = True
    Reply_is_question: bool = False


def benchmark(data: Path, name: str, held_out: bool, chance: random.Random) -> Iterator[ReadingExample]:
    """Yield the examples of ``doc2dial_a`` or of even questions of ``clapnq_dev``."""
    folder = data / "conversations" / name
    asked = read_list(folder / "questions.json", _Asked, "records with Conversation_no and Question")
    truths = read_list(folder / "ground-truth.json", _Truth, "records with Conversation_no")
    turns = []
    for turn, truth in zip(asked, truths, strict=True):
        key = truth.Document or str(turn.Conversation_no)
        is_held_out = zlib.crc32(key.encode()) % 10 == 0
        is_reported = name == "clapnq_dev" and turn.Conversation_no % 2 == 1
        if is_reported or is_held_out != held_out or truth.Reply_is_question:
            continue
        gold = [truth.Truth_span[start:end] for start, end in sentences(truth.Truth_span, "en")]
        gold += truth.Cited_sentences
        if bool(gold) == truth.Answerable:
            pairs = zip(turn.Context[::2], turn.Context[1::2], strict=False)
            history = tuple(Exchange(question, answer) for question, answer in pairs)
            id = TurnId(turn.Conversation_no, turn.Turn_no)
            turns.append(AskedTurn(Turn(id, turn.Question, history), gold))
    with tempfile.TemporaryDirectory() as aside:
        collection = str(Path(aside) / "collection")
        index_sources([folder / "passages.jsonl"], collection)
        yield from conversational(collection, turns, chance)


_SOURCES = f"""
- conversations over people's own documents, written for convqa
- Doc2Dial (Feng et al. 2020; CC BY 3.0), half of the documents of the validation part
- CLAP NQ (Rosenthal et al. 2024; Apache-2.0), even questions of the dev part
- SQuAD 2 (Rajpurkar et al. 2018; CC BY-SA 4.0), every other article of half of the dev part
- SQuADShifts, New Wikipedia (Miller et al. 2020; CC BY 4.0), most articles
- SQuADShifts, Reddit (Miller et al. 2020; CC BY 4.0), most posts
{GUARD}
"""


def make(data: Path) -> Files:
    """Return the files of the examples."""
    chance = random.Random(1)
    parts = split(data)
    files: dict[str, list[ReadingExample]] = {}
    for held_out, part in ((False, "train"), (True, "validation")):
        files[f"{part}-own-documents.jsonl"] = list(own_documents(data, held_out, chance))
        for name in ("doc2dial_a", "clapnq_dev"):
            files[f"{part}-{name}.jsonl"] = list(benchmark(data, name, held_out, chance))
    for part, sets in (("train", parts.training), ("validation", parts.validation), ("report", parts.reported)):
        for name, contexts in sets.items():
            files[f"{part}-{name}.jsonl"] = list(single(contexts, chance))
    return files


if __name__ == "__main__":
    main(__doc__, lambda arguments: (make(arguments.data), _SOURCES))
