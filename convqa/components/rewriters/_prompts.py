"""Prompts with the history and the question, for models that write the self-contained question."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from convqa.components.history import Past
from convqa.components.prompts import load_prompt
from convqa.errors import InputError, nearest

PromptFormat = Callable[[Sequence[Past], str], str]
"""(history, question) -> prompt."""


def chat(history: Sequence[Past], question: str) -> str:
    """Return one message for a model that follows instructions: task, examples, and the conversation as JSON strings.

    The conversation is not shown as turns of a chat, because models tend to continue it and answer (5 of 20 questions,
    but 1 of 20 with a quoted history: GetKlai/klai, pull request 1487).
    """
    lines = [f"{speaker}: {_quoted(text)}" for speaker, text in _utterances(history, "user", "system")]
    (message,) = load_prompt("rewrite-1").messages({"conversation": "\n".join(lines), "question": _quoted(question)})
    return message.text or ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _utterances(history: Sequence[Past], user: str, system: str) -> Iterator[tuple[str, str]]:
    """Yield the nonempty utterances with their speakers."""
    for exchange in history:
        if exchange.question:
            yield user, exchange.question
        if exchange.answer:
            yield system, exchange.answer


def canard_t5(history: Sequence[Past], question: str) -> str:
    """Return the input of castorini/t5-base-canard: utterances separated by bars, tokens separated by spaces.

    After chatty_goose/cqr/ntr.py of github.com/castorini/chatty-goose. Its tokens are spaCy's, which these approximate.

    >>> canard_t5([Past("Who wrote Faust?", "")], "Didn't Goethe's wife, too?")
    "Who wrote Faust ? ||| Did n't Goethe 's wife , too ?"
    """
    utterances = [text for exchange in history for text in exchange if text]
    text = " ||| ".join([*utterances, question])
    text = _CONTRACTION.sub(r" \1", text)
    text = _PUNCTUATION.sub(r" \1 ", text)
    return " ".join(text.split())


_CONTRACTION = re.compile(r"(?<=\w)(n['\u2019]t|['\u2019](?:s|re|ve|ll|d|m))\b", re.I)
_PUNCTUATION = re.compile(r"([?!;()\[\]{}\"\u201c\u201d\u2026]|[,:](?!\d)|(?<=\w\w)\.(?=\s|$))")


def _template(text: str) -> PromptFormat:
    """Return the format of a template with ``{question}`` and, optionally, ``{history}``.

    >>> print(_template(PLAIN)([Past("Who wrote Faust?", "Goethe.")], "When?"))
    Question: Who wrote Faust?
    Answer: Goethe.
    Question: When?
    Rewrite:
    """

    def fill(history: Sequence[Past], question: str) -> str:
        lines = [f"{speaker}: {text}" for speaker, text in _utterances(history, "Question", "Answer")]
        texts = {"{history}": "\n".join(lines), "{question}": question}
        # In one pass, so that braces in utterances are not replaced.
        return re.sub(r"\{history\}|\{question\}", lambda match: texts[match[0]], text).lstrip("\n")

    return fill


PLAIN = "{history}\nQuestion: {question}\nRewrite:"
"""Lines with speakers, and a last one that the model completes."""

FORMATS: Mapping[str, PromptFormat] = {
    "canard-t5": canard_t5,
    "chat": chat,
    "plain": _template(PLAIN),
}
"""Formats by name."""


def of_format(name: str) -> PromptFormat:
    """Return a format by name, or that of a template.

    :raises InputError: for any other text.
    """
    if name in FORMATS:
        return FORMATS[name]
    if "{question}" not in name:
        raise InputError(
            f"format: expected {', '.join(FORMATS)}, or a template with {{history}} and {{question}}, got {name!r}."
            + nearest(name, FORMATS)
        )
    return _template(name)
