"""What is searched for a question and the text that a model made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from convqa.components.history import Said
from convqa.components.rewriters._checks import why_not
from convqa.domain import Query, Rewrite
from convqa.text.analysis import analyzer, placed

Search = Literal["terms", "text"]
"""How a rewritten text is searched: its new words as weighted terms of the question, or as a query of its own."""


def rewritten(question: str, text: str, search: Search, weight: float, language: str) -> Rewrite:
    """A rewrite by a text. The question is always searched; what the text adds counts ``weight``.

    >>> rewritten("When was he born?", "When was Goethe born?", "terms", 0.5, "en").queries
    (Query(text='When was he born?', terms=(('Goethe', 0.5),), weight=1.0),)
    >>> [query.text for query in rewritten("When?", "When was Goethe born?", "text", 1.0, "en").queries]
    ['When?', 'When was Goethe born?']
    """
    if text == question:
        return Rewrite.unchanged(question)
    if search == "text":
        return Rewrite(text, (Query(question), Query(text, weight=weight)))
    return Rewrite(text, (Query(question, tuple((term, weight) for term in new_words(question, text, language))),))


def new_words(question: str, text: str, language: str) -> list[str]:
    """The words of a text, as they are written there, that the question has in no form; stop words are left out."""
    analysis = analyzer(language)
    known = set(analysis.tokens(question))
    found: dict[str, str] = {}
    for word, start in placed(text, language):
        stem = analysis.stem(word)
        if word not in analysis.long_stopwords and stem not in known:
            found.setdefault(stem, text[start : start + len(word)])
    return list(found.values())


def settled(
    text: str, doubt: str, question: str, said: Sequence[Said], language: str, search: Search, weight: float, who: str
) -> Rewrite:
    """The rewrite by a model's text, or the unchanged question with a note why.

    :param doubt: why the text is not to be taken, where that is known already.
    :param who: the rewriter, named in the note.
    """
    reason = doubt or ("" if text == question else why_not(text, question, said, language))
    return (
        Rewrite.unchanged(question, f"{who}: {reason}")
        if reason
        else rewritten(question, text, search, weight, language)
    )
