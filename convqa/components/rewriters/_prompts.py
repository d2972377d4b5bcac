"""Prompts with the history and the question, for models that write the self-contained question."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from convqa.components.history import Past
from convqa.components.prompts import load_prompt


def chat(history: Sequence[Past], question: str) -> str:
    """Return one message for a model that follows instructions: task, examples, and the conversation as JSON strings.

    The conversation is not shown as turns of a chat, because models tend to continue it and answer (5 of 20 questions,
    but 1 of 20 with a quoted history: GetKlai/klai, pull request 1487).
    """
    lines = []
    for exchange in history:
        if exchange.question:
            lines.append(f"user: {_quoted(exchange.question)}")
        if exchange.answer:
            lines.append(f"system: {_quoted(exchange.answer)}")
    (message,) = load_prompt("generate").messages({"conversation": "\n".join(lines), "question": _quoted(question)})
    return message.text or ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


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
