"""Acts: turns that ask the passages nothing, such as thanks, and the replies to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from convqa.components.filtering import passes
from convqa.components.history import first_and_latest
from convqa.domain import Answer, Citation, Exchange, Hit, Passage, Ranking, Sentence, Turn
from convqa.stores.base import Store
from convqa.text.analysis import analyzer
from convqa.text.sentences import sentences

SOCIAL: Mapping[str, str] = {
    "thanks": "You're welcome.",
    "greeting": "Hello! What would you like to know?",
    "praise": "Glad to hear it.",
    "bye": "Goodbye!",
    "complaint": "I'm sorry. Please ask in other words; I know only what the passages say.",
    "": "Nothing to look up. Ask whenever you like.",
}
"""Act -> the reply. "" is small talk of any kind."""

AGAIN: Mapping[str, str] = {
    "sure": "I know it only from the passage that I quoted:",
    "repeat": "I said:",
    "shorter": "In short:",
    "simpler": "I can only quote. In short:",
}
"""Act about an earlier answer -> what opens the reply, which quotes the answer."""

_ABOUT_OPENINGS: Mapping[str, str] = {
    "capability": "You can ask me about",
    "documents": "I answer from",
}
ABOUT = tuple(_ABOUT_OPENINGS)
"""Acts that ask what can be asked, or what is read."""

ACTS = (*SOCIAL, *AGAIN, *ABOUT)

NOT_FOUND = "I found no answer to that in the passages."

_SCANNED_PASSAGES = 2000
"""Passages that are searched for names of documents."""

_MAX_DOCUMENTS = 10


def is_reply(text: str) -> bool:
    """Return whether a text is a reply to an act.

    >>> [is_reply(text) for text in ("You're welcome.", "I said: Goethe.", "Goethe wrote it.")]
    [True, True, False]
    """
    openings = (*AGAIN.values(), NOT_FOUND, *_ABOUT_OPENINGS.values())
    return text in SOCIAL.values() or text.startswith(openings)


def passages_of(act: str, turn: Turn, store: Store) -> Ranking:
    """Return the passages that the reply cites: those of the last answer, or the first ones of documents.

    The turn's filter applies, so that nobody learns of a document that the filter hides.
    """
    passages: Iterable[Passage | None] = ()
    if act in AGAIN:
        earlier = meant(act, turn)
        passages = store.fetch(earlier.cited) if earlier else ()
    elif act in ABOUT:
        passages = islice(store.scan(), _SCANNED_PASSAGES)
    found = [passage for passage in passages if passage is not None and passes(passage, turn.filter)]
    if act in ABOUT:
        found = _of_documents(found)
    return Ranking(tuple(Hit(passage.id, float(len(found) - row), passage) for row, passage in enumerate(found)))


def reply(act: str, turn: Turn, ranking: Ranking) -> Answer:
    """Return the answer to an act, of kind ``talk``."""
    if act in ABOUT:
        return _talk(Sentence(_texts_line(act, ranking.passages())))
    if act not in AGAIN:
        return _talk(Sentence(SOCIAL.get(act, SOCIAL[""])))
    earlier = meant(act, turn)
    if earlier is None or not earlier.answer.strip():
        return _talk(Sentence(NOT_FOUND))
    text = earlier.answer
    if act in ("shorter", "simpler"):
        start, end = sentences(text, turn.language)[0]
        text = text[start:end]
    citations = tuple(Citation(hit.id) for hit in ranking.hits)
    return _talk(Sentence(AGAIN[act]), Sentence(text, citations))


def meant(act: str, turn: Turn) -> Exchange | None:
    """Return the exchange that an act is about: the last in which something was asked.

    It may be an earlier one with words of the turn: one word for "What did you say about the drinks?", two for "Are you
    sure that the drinks are free?".
    """
    history = first_and_latest(turn.history, len(turn.history))
    analysis = analyzer(turn.language)
    words = {stem for _, stem in analysis.content_words(turn.question)}
    for exchange in reversed(history):
        texts = f"{exchange.question} {exchange.answer}"
        shared = words.intersection(stem for _, stem in analysis.content_words(texts))
        if len(shared) >= (1 if act == "repeat" else 2):
            return exchange
    return history[-1] if history else None


def _talk(*parts: Sentence) -> Answer:
    return Answer("talk", "", parts)


def _of_documents(passages: Iterable[Passage]) -> list[Passage]:
    """Return the first passage of each document."""
    firsts: dict[object, Passage] = {}
    for passage in passages:
        if "file" in passage.meta:
            firsts.setdefault(passage.meta["file"], passage)
    return list(firsts.values())


def _texts_line(act: str, passages: Sequence[Passage]) -> str:
    names = [passage.title or str(passage.meta["file"]) for passage in passages[:_MAX_DOCUMENTS]]
    more = ["others"] if len(passages) > _MAX_DOCUMENTS else []
    listed = list(dict.fromkeys(names)) + more
    # Titles may have commas.
    source = f"these documents: {'; '.join(listed)}" if listed else "the passages of this collection"
    return f"{_ABOUT_OPENINGS[act]} {source}."
