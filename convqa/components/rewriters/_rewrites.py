"""Rewrites of generated texts: extracting the question, checking it, and making queries."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from convqa.components.history import Past
from convqa.domain import Query, Rewrite
from convqa.files import replace_surrogates
from convqa.text.analysis import analyzer, placed
from convqa.text.dialogue import asks

FALLBACKS = ("empty", "unfinished", "loop", "too long", "no question", "strays", "unreadable")
"""Reasons to reject a model's text, as in a run's summary; docs/reference/rewriting.md says when each applies."""

_LABEL = re.compile(r"^(?:rewrit\w*|rewritten question|(?:standalone |self-contained )?question)\s*:\s*", re.I)
_QUOTES = re.compile(r"""^(["'`\u201c\u201e\u00ab])(.*)(["'`\u201d\u201c\u00bb])$""")
_GAP = re.compile(r"\s+([?.!,;:%)\]]|n['\u2019]t\b|['\u2019](?:s|re|ve|ll|d|m)\b)")
_FENCE = re.compile(r"^```\w*\s*(.*?)\s*```$", re.S)
_THOUGHTS = re.compile(r"^.*?</think>", re.S)


def rewritten(question: str, text: str, weight: float, language: str) -> Rewrite:
    """Return the rewrite with a text. The question is searched, with the text's new words as terms with ``weight``.

    >>> rewritten("When was he born?", "When was Goethe born?", 0.5, "en").queries
    (Query(text='When was he born?', terms=(('Goethe', 0.5),), weight=1.0),)
    """
    if text == question:
        return Rewrite.unchanged(question)
    return Rewrite(text, (Query(question, tuple((term, weight) for term in new_words(question, text, language))),))


def new_words(question: str, text: str, language: str) -> list[str]:
    """Return the words of a text that the question lacks in any form, without stop words."""
    analysis = analyzer(language)
    known = set(analysis.tokens(question))
    new: dict[str, str] = {}
    for word, start in placed(text, language):
        stem = analysis.stem(word)
        if word not in analysis.long_stopwords and stem not in known:
            new.setdefault(stem, text[start : start + len(word)])
    return list(new.values())


def settled(
    text: str, doubt: str, question: str, said: Sequence[Past], language: str, weight: float, who: str
) -> Rewrite:
    """Return the rewrite with a model's text, or the unchanged question with a note.

    :param doubt: a known reason to reject the text, or "". :param who: the rewriter's name, for the note.
    """
    reason = doubt or ("" if text == question else why_not(text, question, said, language))
    if reason:
        return Rewrite.unchanged(question, f"{who}: {reason}")
    return rewritten(question, text, weight, language)


def first_line(text: str) -> str:
    """Return the first nonblank line of a text, without label, quotes, and spaces before punctuation.

    >>> first_line('\\nRewrite: "Who is Goethe \\'s wife ?"\\nQuestion: next')
    "Who is Goethe's wife?"
    """
    lines = (line.strip() for line in text.splitlines())
    line = _LABEL.sub("", next((line for line in lines if line), ""))
    line = _QUOTES.sub(r"\2", line)
    return _GAP.sub(r"\1", " ".join(line.split()))


def from_json(reply: str) -> str | None:
    """Return the question of a reply ``{"question": "..."}``, with or without a code fence; None if it is malformed."""
    text = _THOUGHTS.sub("", reply, count=1).strip()
    fenced = _FENCE.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or list(value) != ["question"] or not isinstance(value["question"], str):
        return None
    return " ".join(str(replace_surrogates(value["question"])).split())


def why_not(text: str, question: str, said: Sequence[Past], language: str) -> str:
    """Return the reason to reject a model's text, one of :data:`FALLBACKS`, or ""."""
    words, asked = analyzer(language).words(text), analyzer(language).words(question)
    if not words:
        return "empty"
    if _loops(words):
        return "loop"
    if len(words) > 2 * len(asked) + 30:
        return "too long"
    if asks(question, language) and not asks(text, language):
        return "no question"
    return "strays" if _strays(text, question, said, language) else ""


def _loops(words: Sequence[str]) -> bool:
    """Return whether one word occurs four times in a row, or up to eight words three times."""
    for size in range(1, 9):
        most = size * (3 if size == 1 else 2)
        run = 0
        for word, before in zip(words[size:], words, strict=False):
            run = run + 1 if word == before else 0
            if run >= most:
                return True
    return False


def _strays(text: str, question: str, said: Sequence[Past], language: str) -> bool:
    def content(text: str) -> set[str]:
        return {stem for _, stem in analyzer(language).content_words(text)}

    wrote, asked = content(text), content(question)
    if len(asked) > 1 and not asked & wrote:
        return True
    known = asked.union(*(content(f"{exchange.question} {exchange.answer}") for exchange in said))
    return len(wrote & known) * 2 < len(wrote)
