"""Rewrites of generated texts: extracting the question, checking it, and making queries."""

from __future__ import annotations

import json
import re
from contextlib import suppress

from convqa.components.history import OpenQuestion
from convqa.domain import Query, Rewrite
from convqa.files import replace_surrogates
from convqa.text.analysis import analyzer, placed
from convqa.text.dialogue import asks
from convqa.text.words import words as split_words

_LABEL = re.compile(r"^(?:rewrit\w*|rewritten question|(?:standalone |self-contained )?question|query)\s*:\s*", re.I)
_QUOTES = re.compile(r"""^(["'`\u201c\u201e\u00ab])(.*)(["'`\u201d\u201c\u00bb])$""")
_SPACE_BEFORE_MARK = re.compile(r"\s+([?.!,;:%)\]]|n['\u2019]t\b|['\u2019](?:s|re|ve|ll|d|m)\b)")
_QUERY = re.compile(
    r"""["'](?:query|question)["']\s*:\s*(?:(?P<null>null|None|""|'')|"(?P<double>(?:[^"\\]|\\.)+)\""""
    r"""|'(?P<single>.+?)'\s*[,}])""",
    re.S,
)
_ANSWER = re.compile(r'"answer"\s*:\s*("(?:[^"\\]|\\.)*")', re.S)
_MARKUP = re.compile(r"[{}<>\[\]]")
_THOUGHTS = re.compile(r"^.*?</think>", re.S)


def rewritten(question: OpenQuestion, text: str, weight: float) -> Rewrite:
    """Return the rewrite with a text. The question is searched, with the text's new words as terms with ``weight``.

    A text that shares no word with the question, as one in another language, is searched itself.

    >>> rewritten(OpenQuestion(0, "When was he born?", [], "en"), "When was Goethe born?", 0.5).queries
    (Query(text='When was he born?', terms=(('Goethe', 0.5),), weight=1.0),)
    """
    words = set(split_words(question.text))
    if words and words.isdisjoint(split_words(text)):
        return Rewrite(text, (Query(text),))
    terms = tuple((word, weight) for word in _new_words(question, text))
    return Rewrite(text, (Query(question.text, terms),))


def _new_words(question: OpenQuestion, text: str) -> list[str]:
    """Return the words of a text that the question lacks in any form, without stop words."""
    analysis = analyzer(question.language)
    question_stems = set(analysis.tokens(question.text))
    new: dict[str, str] = {}
    for word, start in placed(text, question.language):
        stem = analysis.stem(word)
        if word not in analysis.long_stopwords and stem not in question_stems:
            new.setdefault(stem, text[start : start + len(word)])
    return list(new.values())


def first_line(text: str) -> str:
    """Return the first nonblank line of a text, without label, quotes, and spaces before punctuation.

    >>> first_line('\\nRewrite: "Who is Goethe \\'s wife ?"\\nQuestion: next')
    "Who is Goethe's wife?"
    """
    lines = text.strip().splitlines()
    line = lines[0].strip() if lines else ""
    line = _QUOTES.sub(r"\2", _LABEL.sub("", line))
    return _SPACE_BEFORE_MARK.sub(r"\1", " ".join(line.split()))


def from_json(reply: str) -> str | None:
    """Return the query of a reply with ``{"query": "..."}`` or a plain line, "" for null; None if it is malformed.

    >>> from_json("Sure! {'query': 'Who is Goethe?', 'why': 'he'}"), from_json('{"query": null}'), from_json("{oops}")
    ('Who is Goethe?', '', None)
    """
    text = _THOUGHTS.sub("", reply, count=1).strip()
    match = _QUERY.search(text)
    if match:
        value = "" if match["null"] else match["double"] or match["single"]
        if match["double"]:
            with suppress(ValueError):
                value = json.loads(f'"{value}"')
        return " ".join(str(replace_surrogates(value)).split())
    lines = text.splitlines()
    is_plain = len(lines) == 1 and not _MARKUP.search(text)
    return first_line(text) if is_plain else None


def guessed_answer(reply: str) -> str:
    """Return the answer in the JSON of a reply, "" if it has none.

    >>> guessed_answer('{"query": "Who is he?", "answer": "A poet."}'), guessed_answer('{"query": "Who is he?"}')
    ('A poet.', '')
    """
    match = _ANSWER.search(_THOUGHTS.sub("", reply, count=1))
    with suppress(ValueError):
        return " ".join(str(replace_surrogates(json.loads(match[1]))).split()) if match else ""
    return ""


def why_not(text: str, question: OpenQuestion) -> str:
    """Return the reason to reject a model's text, as docs/reference/rewriting.md lists them, or ""."""
    analysis = analyzer(question.language)
    words = analysis.words(text)
    if not words:
        return "empty"
    if len(words) > 2 * len(analysis.words(question.text)) + 30:
        return "too long"
    if asks(question.text, question.language) and not asks(text, question.language):
        return "no question"
    return "strays" if _strays(text, question) else ""


def _strays(text: str, question: OpenQuestion) -> bool:
    """Return whether a text has other content words than the question and its history."""

    def content(text: str) -> set[str]:
        return {stem for _, stem in analyzer(question.language).content_words(text)}

    written = content(text)
    known = content(question.text)
    if len(known) > 1 and not known & written:
        return True
    for exchange in question.history:
        known |= content(f"{exchange.question} {exchange.answer}")
    return 2 * len(written & known) < len(written)
