"""The new names of parameters that had another name in an earlier version."""

from __future__ import annotations

from collections.abc import Mapping

_TEXTS = {"texts": "max_texts"}
_PASSAGES = {"passages": "max_passages"}
_CHAT = {"keep": "cache_replies", "otherwise": "fallback"}

RENAMED: Mapping[str, Mapping[str, str]] = {
    "rewriters.concatenate": {"first": "max_questions"},
    "rewriters.edit": {"sure": "min_probability"},
    "rewriters.generate": {"longest_input": "max_input_tokens", "most_tokens": "max_new_tokens"},
    "rewriters.llm": _CHAT,
    "retrievers.bm25": _TEXTS,
    "retrievers.dense": _TEXTS,
    "retrievers.hybrid": _TEXTS,
    "retrievers.recorded": _TEXTS,
    "rerankers.cross_encoder": _TEXTS,
    "rerankers.encoder": _TEXTS,
    "readers.extractive": {**_PASSAGES, "longest": "max_span_tokens", "enough": ""},
    "readers.noun_phrases": _PASSAGES,
    "readers.sentences": _PASSAGES,
    "builders.sentences": {
        "sentences": "max_sentences",
        "words": "target_words",
        "again": "allow_repeats",
        "near": "max_score_gap",
        "fact_words": "",
    },
    "builders.generative": {**_CHAT, **_PASSAGES, "longest": "max_passage_chars", "sentences": ""},
    "convqa.sharc.builder": {**_PASSAGES, "known": "min_condition_score", "relevant": "min_word_overlap"},
}
"""A member's module, in ``convqa.components`` or with its full name -> old name -> new name, "" for none, for the
error message."""
