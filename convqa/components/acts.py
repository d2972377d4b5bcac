"""Acts: turns that ask the passages nothing, such as thanks, and the replies to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from convqa.components.filtering import passes
from convqa.components.history import first_and_latest
from convqa.domain import Answer, Citation, Exchange, Hit, Passage, Ranking, Sentence, Turn
from convqa.stores.base import Store
from convqa.text.analysis import analyzer
from convqa.text.quotes import quotable_units, shown_unit
from convqa.text.sentences import sentences
from convqa.text.units import units

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
    "more": "Also:",
}
"""Act about an earlier answer -> what opens the reply, which quotes the answer or, for more, what follows it."""

MORE = "more"

ABOUT: Mapping[str, str] = {
    "capability": "You can ask me about",
    "documents": "I answer from",
}
"""Act that asks what can be asked, or what is read -> what opens the reply."""

ACTS = (*SOCIAL, *AGAIN, *ABOUT)

NOT_FOUND = "I found no answer to that in the passages."
NO_MORE = "I have nothing more to quote on that."

_MAX_MORE = 3
"""Quotes that are added at a time."""

_SCANNED_PASSAGES = 2000
"""Passages that are searched for names of documents."""

_MAX_DOCUMENTS = 10


def is_reply(text: str) -> bool:
    """Return whether a text is a reply to an act.

    >>> [is_reply(text) for text in ("You're welcome.", "I said: Goethe.", "Goethe wrote it.")]
    [True, True, False]
    """
    openings = (*AGAIN.values(), NOT_FOUND, NO_MORE, *ABOUT.values())
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
        # The first passage of each document.
        found = list({passage.meta["file"]: passage for passage in found[::-1] if "file" in passage.meta}.values())
    return Ranking(tuple(Hit(passage.id, float(-row), passage) for row, passage in enumerate(found)))


def reply(act: str, turn: Turn, ranking: Ranking) -> Answer:
    """Return the answer to an act, of kind ``talk``."""
    if act in ABOUT:
        return _talk(_texts_line(act, ranking.passages()))
    if act not in AGAIN:
        return _talk(SOCIAL.get(act, SOCIAL[""]))
    if act == MORE:
        said = [exchange.answer for exchange in turn.history]
        _, after, before = _quotes(ranking, "\n".join(said), turn.language)
        new = (after + before)[:_MAX_MORE]
        return _talk(AGAIN[MORE] if new else NO_MORE, *new)
    earlier = meant(act, turn)
    if earlier is None or not earlier.answer.strip():
        return _talk(NOT_FOUND)
    text = earlier.answer
    quoted, *_ = _quotes(ranking, text, turn.language)
    if act in ("shorter", "simpler"):
        start, end = sentences(text, turn.language)[0]
        quoted = [quote for quote in quoted if text.startswith(quote.text)]
        text = quoted[0].text if quoted else text[start:end]
    citations = [citation for quote in quoted for citation in quote.citations]
    if not quoted:
        citations = [Citation(hit.id) for hit in ranking.hits]
    return _talk(AGAIN[act], Sentence(text, tuple(citations)))


def _quotes(ranking: Ranking, said: str, language: str) -> tuple[list[Sentence], ...]:
    """Return the quotes of passages that a text has, those after the first of these, and those before it."""
    quotes: tuple[list[Sentence], ...] = ([], [], [])
    quoted, after, before = quotes
    for passage in ranking.passages():
        for unit in units(passage, language):
            bounds = quotable_units(
                passage,
                unit.start,
                unit.end,
                language,
            )
            # What introduces a list is quoted with its items.
            if bounds is None or passage.text[bounds[1] - 1] == ":":
                continue
            start, end = bounds
            text = shown_unit(passage, replace(unit, start=start, end=end))
            others = after if quoted else before
            own = quoted if text.removeprefix(f"{unit.context} ") in said else others
            own.append(Sentence(text, (Citation(passage.id, start, end),)))
    return quotes


def meant(act: str, turn: Turn) -> Exchange | None:
    """Return the exchange that an act is about: the last in which something was asked.

    It may be an earlier one with words of the turn: one word for "What did you say about the drinks?", two for "Are you
    sure that the drinks are free?".
    """
    history = first_and_latest(turn.history)
    analysis = analyzer(turn.language)
    words = set(analysis.content(turn.question))
    for exchange in reversed(history):
        texts = f"{exchange.question} {exchange.answer}"
        shared = words.intersection(analysis.content(texts))
        if len(shared) >= (1 if act == "repeat" else 2):
            return exchange
    return history[-1] if history else None


def _talk(text: str, *quotes: Sentence) -> Answer:
    return Answer("talk", "", (Sentence(text), *quotes))


def _texts_line(act: str, passages: Sequence[Passage]) -> str:
    names = sorted({passage.title or str(passage.meta["file"]) for passage in passages}, key=str.casefold)
    names[_MAX_DOCUMENTS:] = ["others"] * (len(names) > _MAX_DOCUMENTS)
    # Titles may have commas.
    source = f"these documents: {'; '.join(names)}" if names else "the passages of this collection"
    return f"{ABOUT[act]} {source}."
