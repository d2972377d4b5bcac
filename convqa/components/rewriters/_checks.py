"""From what a model wrote to a question, or to the reason why it is none."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from convqa.components.history import Said
from convqa.files import mend
from convqa.text.analysis import analyzer
from convqa.text.dialogue import asks

FALLBACKS = ("empty", "unfinished", "loop", "too long", "no question", "strays", "unreadable")
"""Why a model's text is not taken, in the words of a run's summary; docs/rewriting.md says when."""

_LABEL = re.compile(r"^(?:rewrit\w*|rewritten question|(?:standalone |self-contained )?question)\s*:\s*", re.I)
_QUOTES = re.compile(r"""^(["'`\u201c\u201e\u00ab])(.*)(["'`\u201d\u201c\u00bb])$""")
_GAP = re.compile(r"\s+([?.!,;:%)\]]|n['\u2019]t\b|['\u2019](?:s|re|ve|ll|d|m)\b)")
_FENCE = re.compile(r"^```\w*\s*(.*?)\s*```$", re.S)
_THOUGHTS = re.compile(r"^.*?</think>", re.S)


def first_line(text: str) -> str:
    """What a model wrote on its first line that is not blank, without a label, quotes, or blanks before signs.

    >>> first_line('\\nRewrite: "Who is Goethe \\'s wife ?"\\nQuestion: next')
    "Who is Goethe's wife?"
    """
    lines = (line.strip() for line in text.splitlines())
    line = _LABEL.sub("", next((line for line in lines if line), ""))
    line = _QUOTES.sub(r"\2", line)
    return _GAP.sub(r"\1", " ".join(line.split()))


def from_json(reply: str) -> str | None:
    """The question in a reply ``{"question": "..."}``, in a code fence or not; None where it is anything else."""
    text = _THOUGHTS.sub("", reply, count=1).strip()
    fenced = _FENCE.match(text)
    try:
        found = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or list(found) != ["question"] or not isinstance(found["question"], str):
        return None
    return " ".join(str(mend(found["question"])[0]).split())


def why_not(text: str, question: str, said: Sequence[Said], language: str) -> str:
    """Why a model's text cannot stand for the question, as one of :data:`FALLBACKS`; "" where it can."""
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
    """One word four times in a row, or up to eight words three times."""
    for size in range(1, 9):
        times = 4 if size == 1 else 3
        run = 0
        for place in range(size, len(words)):
            run = run + 1 if words[place] == words[place - size] else 0
            if run >= size * (times - 1):
                return True
    return False


def _strays(text: str, question: str, said: Sequence[Said], language: str) -> bool:
    wrote, asked = _content(text, language), _content(question, language)
    if len(asked) > 1 and not asked & wrote:
        return True
    known = asked.union(*(_content(f"{exchange.question} {exchange.answer}", language) for exchange in said))
    return len(wrote & known) * 2 < len(wrote)


def _content(text: str, language: str) -> set[str]:
    """The stems of a text's words but for stop words."""
    analysis = analyzer(language)
    words = (word for word in analysis.words(text) if word not in analysis.long_stopwords)
    return {analysis.stem(word) for word in words}
