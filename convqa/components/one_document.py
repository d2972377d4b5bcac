"""Questions about one document as a whole, such as "Summarize lease.pdf", which need all its passages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from convqa.components.filtering import both
from convqa.components.rankings import behind
from convqa.domain import Passage, Query, Ranking, Rewrite, Turn
from convqa.stores.base import SearchParams, Store
from convqa.text.dialogue import open_question

_MAX_PASSAGES = 1000
"""Maximum number of passages of a document that are added to a ranking."""

_SUMMARY = (
    r"\b(?:summar(?:y|i[sz]e)|outline|overview|(?:main|key) points|zusammenfass\w*|fass\w* .*zusammen|\u00fcberblick)\b"
    r"|\bwhat(?: is|'s) .+ about\W*\Z|\bworum geht"
)
_WHOLE = re.compile(_SUMMARY, re.I)
_WHOLE_OF_LAST = re.compile(
    rf"\A(?=.*(?:{_SUMMARY})).*\b(?:this|that|it|the (?:document|file|report|text)|dies\w*|es|das)\b"
    r"|\A(?:and |und )?(?:what|was)\b.{0,9} (?:different|changed|new|anders|neu)\b",
    re.I | re.S,
)
"""Questions about the document that was just cited."""


def document_asked(
    turn: Turn,
    rewrite: Rewrite,
    passages: Sequence[Passage],
) -> list[Passage]:
    """Return those passages, in order, that are of the document which a turn asks about as a whole; [] without one.

    The question names the document, by its file or title, or refers to the only one that the last answer cites.
    """
    question = open_question(turn)
    text = f"{question}\n{rewrite.text}"
    filed = [passage for passage in passages if "file" in passage.meta]
    named = [passage for passage in filed if _is_named(passage, text)] if _WHOLE.search(question) else []
    if not named and _WHOLE_OF_LAST.search(question):
        named = [passage for passage in filed if passage.id in _just_cited(turn)]
    files = {passage.meta["file"] for passage in named}
    own = [passage for passage in filed if len(files) == 1 and passage.meta["file"] in files]
    return sorted(own, key=lambda passage: passage.meta.get("start", 0))


def with_document(
    turn: Turn,
    rewrite: Rewrite,
    ranking: Ranking,
    store: Store,
) -> Ranking:
    """Return a ranking with all passages of the document that a turn asks about as a whole, if it does."""
    cited = store.fetch(_just_cited(turn)) if _WHOLE_OF_LAST.search(open_question(turn)) else ()
    own = document_asked(
        turn,
        rewrite,
        [*ranking.passages(), *filter(None, cited)],
    )
    if not own:
        return ranking
    # All passages of a document have its title.
    params = SearchParams(filter=both(turn.filter, {"file": (str(own[0].meta["file"]),)}))
    (whole,) = store.search(
        [Query(own[0].title)],
        _MAX_PASSAGES,
        params,
        texts=_MAX_PASSAGES,
    )
    others = {hit.id: hit for hit in whole.hits}
    hits = [replace(hit, passage=others.pop(hit.id, hit).passage) for hit in ranking.hits]
    return behind(Ranking(tuple(hits)), [*others.values()])


def _just_cited(turn: Turn) -> Sequence[str]:
    """Return the ids of the passages that the last answer cites."""
    return next((exchange.cited for exchange in reversed(turn.history) if exchange.status != "idle"), ())


def _is_named(passage: Passage, text: str) -> bool:
    names = (PurePosixPath(str(passage.meta["file"])).stem, passage.title)
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.I) for name in names if name)
