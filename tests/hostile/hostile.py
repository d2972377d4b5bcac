"""Hostile input: what people have in their files by accident, and what strangers put there on purpose.

A case is a command on a small folder of good files (``GOOD``) of which some were changed::

    case("a list as the run", "validate qrecc qrecc-run", {"qrecc-run/run.json": "[]"}, says="run.json")

A file ``test_*.py`` of this folder has a list ``CASES``; each becomes a test. Whatever comes in, a call ends in bounded
time and memory, with an exit code of the contract and a message, never with a traceback. A case says what it expects
beyond that.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Content = str | bytes | None | Callable[[Path], None]
"""A file's text, its bytes, None where it is deleted, or a function that makes it."""


@dataclass(frozen=True)
class Case:
    """A command line, the files that were changed before it, and what is expected of it."""

    name: str
    command: str
    files: Mapping[str, Content] = field(default_factory=dict)
    exits: tuple[int, ...] = (2,)
    says: tuple[str, ...] = ()
    """Words of the output (both streams), in any order; capital letters count."""
    hides: tuple[str, ...] = ()
    """Words that the output must not contain."""
    stdin: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


def case(
    name: str,
    command: str,
    files: Mapping[str, Content] | None = None,
    *,
    exits: int | tuple[int, ...] = 2,
    says: str | tuple[str, ...] = (),
    hides: str | tuple[str, ...] = (),
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
) -> Case:
    """A case; one exit code, or word, may stand without its tuple."""
    codes = (exits,) if isinstance(exits, int) else exits
    words = tuple((texts,) if isinstance(texts, str) else texts for texts in (says, hides))
    return Case(name, command, files or {}, codes, *words, stdin, environment or {})


def lines(*records: Any) -> str:
    """JSON lines; text stays as it is."""
    return "".join((one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)) + "\n" for one in records)


QUESTIONS = [
    {"Conversation_no": 1, "Turn_no": 1, "Question": "Who wrote Faust?"},
    {"Conversation_no": 1, "Turn_no": 2, "Question": "When was he born?"},
]
TRUTH = [
    {**turn, "Truth_rewrite": rewrite, "Truth_passages": [passage], "Truth_answer": answer}
    for turn, rewrite, passage, answer in (
        (QUESTIONS[0], "Who wrote Faust?", "faust", "Goethe wrote Faust."),
        (QUESTIONS[1], "When was Goethe born?", "goethe", "He was born in 1749."),
    )
]
RUN = [
    {
        "Conversation_no": 1, "Turn_no": turn, "Model_rewrite": rewrite,
        "Model_passages": {passage: 2.5}, "Model_answer": answer,
    }
    for turn, rewrite, passage, answer in (
        (1, "Who wrote Faust?", "faust", "Goethe wrote Faust."),
        (2, "When was Goethe born?", "faust", "In 1749."),
    )
]  # fmt: skip
PASSAGES = [
    {"id": "faust", "title": "Faust", "contents": "Faust is a tragedy in two parts. Goethe wrote Faust."},
    {"id": "goethe", "title": "Goethe", "contents": "Johann Wolfgang von Goethe was a poet. He was born in 1749."},
    {"id": "weimar", "title": "Weimar", "contents": "Weimar is a city in Thuringia. Goethe lived there."},
]

MRQA = [
    {"header": {"dataset": "Small", "split": "dev"}},
    {
        "id": "c1",
        "context": "Goethe wrote Faust in Weimar.",
        "context_tokens": [["Goethe", 0], ["wrote", 7], ["Faust", 13], ["in", 19], ["Weimar", 22], [".", 28]],
        "qas": [
            {
                "qid": "q1", "question": "Who wrote Faust?", "question_tokens": [["Who", 0]], "answers": ["Goethe"],
                "detected_answers": [{"text": "Goethe", "char_spans": [[0, 5]], "token_spans": [[0, 0]]}],
            }
        ],
    },
]  # fmt: skip
SHARC = [
    {
        "utterance_id": "u1", "tree_id": "t", "source_url": "https://example.org/rules",
        "snippet": "You may apply if you live here.", "question": "May I apply?", "scenario": "", "history": [],
        "evidence": [], "answer": "Do you live here?",
    }
]  # fmt: skip
POLEVAL_PASSAGES = [
    {"id": "1-0", "title": "Wisła", "text": "Najdłuższa rzeka Polski.", "meta": {"article_id": 1}},
    {"id": "2-0", "title": "Odra", "text": "Rzeka płynie przez Wrocław.", "meta": {"article_id": 2}},
]
PAGE = {"title": "東京", "url": "https://ja.wikipedia.org/wiki/東京"}
JWHR = [
    {
        "id": 7,
        "question": "東京とは?",
        "answer": {"text": "首都です。", "sentences": [{"text": "首都です。", "citations": [0]}]},
        "references": [{"search": {"keywords": ["東京"]}, "page": {**PAGE, "quote": {"text": "東京は首都である。"}}}],
    }
]
PIPELINE = "extends: copy-bm25\n"

GOOD: dict[str, str | bytes] = {
    "qrecc/questions.json": json.dumps(QUESTIONS),
    "qrecc/ground-truth.json": json.dumps(TRUTH),
    "qrecc/passages.jsonl": lines(*PASSAGES),
    "qrecc-run/run.json": json.dumps(RUN),
    "mrqa/dev.jsonl.gz": gzip.compress(lines(*MRQA).encode(), mtime=0),
    "mrqa-run/predictions.json": json.dumps({"q1": "Goethe"}),
    "squad/dev.json": json.dumps(
        {"data": [{"title": "t", "paragraphs": [{"context": "Goethe wrote Faust.", "qas": [
            {"id": "q1", "question": "Who wrote Faust?", "answers": [{"text": "Goethe", "answer_start": 0}]}
        ]}]}]}
    ),
    "sharc/sharc.json": json.dumps(SHARC),
    "sharc-run/predictions.json": json.dumps([{"utterance_id": "u1", "answer": "Do you live here?"}]),
    "poleval/in.tsv": "wiki\tKtóra rzeka płynie przez Wrocław?\n",
    "poleval/expected.tsv": "2-0\n",
    "poleval/passages.jl": lines(*POLEVAL_PASSAGES),
    "poleval-run/out.tsv": "2-0\t1-0\n",
    "jwhr/answered.jsonl": lines(*JWHR),
    "jwhr-run/run.jsonl": lines(*JWHR),
    "passages.jsonl": lines(*PASSAGES),
    "pipeline.yaml": PIPELINE,
}  # fmt: skip
"""The good files. Beside them are ``collection``, of ``passages.jsonl``, and ``vectors``, the same with
vectors, and ``done``, a run over ``qrecc``."""
