"""Builds answers of whole sentences, each with its citation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from operator import attrgetter
from typing import Annotated

from pydantic import Field, FiniteFloat

from convqa.components.base import Builder
from convqa.components.builders._versions import Rival, latest_first
from convqa.components.checks import nothing
from convqa.components.history import MAX_EXCHANGES
from convqa.components.members import member
from convqa.components.parameters import Count
from convqa.domain import TOLD, Answer, Citation, Passage, Ranking, Reading, Rewrite, Sentence, Span, Turn, Unit
from convqa.text.analysis import analyzer_or_words
from convqa.text.quotes import quotable_units, shown, shown_unit, whole_units
from convqa.text.sentences import sentences
from convqa.text.units import units

_MAX_SHARED_WORDS = 0.7
"""Two sentences with more than this share of common words are duplicates."""

_MIN_REPEATED_WORDS = 0.95
"""Share of its words from which on a sentence repeats an earlier one. Rows of a table share most of their words."""

_MAX_CANDIDATES = 20
"""Maximum number of sentences to choose from, unless more are wanted."""

_MAX_LIST_WORDS = 80
"""Maximum words of a list that is quoted with its introduction."""

_MAX_STEPS_WORDS = 150
"""Maximum words of steps that are quoted together."""

_ITEMS = ("item", "step")

_COLONS = (":", "\uff1a")

_ASKS_AGAIN = re.compile(r"\b(?:again|repeat\w*|once more|nochmals?|noch einmal|wiederhole?n?)\b", re.I)

_DEPENDS = re.compile(
    r"(?:and|but|or|so|then|also|otherwise|however|therefore|instead|afterwards|in (?:that|this) case|if (?:so|not)|it|"
    r"they|he|she|this|that|these|those|its|their|his|her|both|neither|such)\b|no \w+ either\b|\(",
    re.I,
)
"""The beginning of an English sentence that refers to the one before."""

_MAX_ANTECEDENT_WORDS = 40

TargetWords = Annotated[float, Field(gt=0, allow_inf_nan=False)]
ScoreGap = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@member
class SentencesBuilder(Builder):
    """Quote the best sentences of a reading, in the order of the ranking and of their texts.

    A span is quoted with the whole units that contain it, and the introduction of a list with its items; so are all
    items and steps of a document's list if the question has more words of what introduces it. Duplicates and
    overlaps of better spans are skipped. Without a reading, or with an empty one, the answer is the beginning of the
    best passage with a text. If documents answer differently, the later one is quoted, and the other is named.

    Example::

        builder: {type: sentences, init_parameters: {max_sentences: 4, target_words: 50, max_score_gap: 3.0}}

    :param max_sentences: maximum number of sentences.
    :param target_words: target length: a sentence is added if that brings the answer closer to this many words. None =
        no target.
    :param max_score_gap: maximum distance of the other sentences' scores to the best one's. None = any.
    :param min_score: minimum score of the other sentences; that of no answer is 0 for the reader ``units``. None = any.
    :param best_first: whether the best sentence comes first, then the others of its passage, and only the rest is in
        order.
    :param allow_repeats: whether sentences of earlier answers are repeated. If not, only the best one is, and an answer
        with nothing new has a note; if the user says "again" or "repeat", all are.
    :param antecedents: whether a sentence that refers to the one before ("It includes lunch.") is quoted with it.
        English.
    """

    max_sentences: Count = 2
    target_words: TargetWords | None = None
    max_score_gap: ScoreGap | None = None
    min_score: FiniteFloat | None = None
    best_first: bool = False
    allow_repeats: bool = True
    antecedents: bool = False

    def build(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
        reading: Reading | None,
    ) -> Answer:
        candidates, rival = self._candidates(turn, ranking, reading)
        chosen = self._chosen(turn, candidates)
        is_repeat = False
        if not self.allow_repeats:
            chosen, is_repeat = without_repeats(chosen, turn)
        if not chosen:
            reason = "no passage that was found has a text to quote" if ranking.hits else "no passage was found"
            return nothing(ranking, reason)
        passages = ranking.by_id()
        if self.antecedents and turn.language == "en":
            chosen = with_antecedents(chosen, passages)
        ordered = _with_whole_lists(
            self._ordered(chosen, ranking),
            rewrite,
            passages,
            turn.language,
        )
        quoted = _sentences(ordered, passages, turn.language)
        if rival is not None:
            for sentence in _sentences([rival.span], passages, turn.language):
                text = rival.shown(sentence.text, passages[rival.span.passage_id])
                quoted.append(replace(sentence, text=text))
        answer = Answer.of(quoted, turn.language)
        return replace(answer, notes=(TOLD,)) if is_repeat else answer

    def _candidates(
        self,
        turn: Turn,
        ranking: Ranking,
        reading: Reading | None,
    ) -> tuple[list[Span], Rival | None]:
        """Return the sentences to choose from, best first, and what an older document says instead."""
        spans = [span for span in reading.spans if span.text.strip()] if reading else []
        if not spans:
            spans = _beginning(ranking, turn.language)
        passages = ranking.by_id()
        quotes = _quotes(spans, passages, turn.language)
        quotes, rival = latest_first(
            quotes,
            passages,
            turn.question,
            turn.language,
        )
        count = max(_MAX_CANDIDATES, self.max_sentences)
        return list(islice(_distinct(quotes, turn.language), count)), rival

    def _chosen(self, turn: Turn, candidates: Sequence[Span]) -> list[Span]:
        """Return the best candidates that are good enough, at least one, up to the number and length of sentences."""
        analysis = analyzer_or_words(turn.language)
        target = self.target_words
        chosen: list[Span] = []
        total = 0
        for span in candidates:
            count = len(analysis.words(span.text))
            is_too_long = target is not None and total > 0 and total + count / 2 > target
            is_too_far = self.max_score_gap is not None and candidates[0].score - span.score > self.max_score_gap
            is_unlikely = self.min_score is not None and len(chosen) > 0 and span.score < self.min_score
            if is_too_long or is_too_far or is_unlikely or len(chosen) == self.max_sentences:
                break
            chosen.append(span)
            total += count
        return chosen

    def _ordered(self, chosen: Sequence[Span], ranking: Ranking) -> list[Span]:
        ranks = {hit.id: rank for rank, hit in enumerate(ranking.hits)}
        first = list(chosen[:1]) if self.best_first else []
        if first:
            ranks[first[0].passage_id] = -1
        others = sorted(chosen[len(first) :], key=lambda span: (ranks.get(span.passage_id, len(ranks)), span.start))
        return [*first, *others]


def with_antecedents(spans: Sequence[Span], passages: Mapping[str, Passage]) -> list[Span]:
    """Return the spans, each with the sentence that it refers to unless that is quoted, without those contained."""
    extended: list[Span] = []
    for span in spans:
        passage = passages.get(span.passage_id)
        start = span.start if passage is None else _antecedent_start(span, passage)
        whole = _extended(span, passage.text, start, span.end) if passage else span
        if not _overlaps(whole, extended):
            extended.append(whole)
        elif not _overlaps(span, extended):
            extended.append(span)
    return extended


def _overlaps(span: Span, others: Sequence[Span]) -> bool:
    own = [other for other in others if other.passage_id == span.passage_id]
    return any(span.start < other.end and other.start < span.end for other in own)


def _antecedent_start(span: Span, passage: Passage) -> int:
    """Return the start of a span with its antecedent, the sentence that its first words refer to."""
    text = passage.text
    if not _DEPENDS.match(text, span.start):
        return span.start
    before = [unit for unit in units(passage, "en") if unit.end <= span.start]
    if not before or before[-1].kind != "sentence" or "\n" in text[before[-1].end : span.start]:
        return span.start
    start = before[-1].start
    is_long = len(text[start : span.start].split()) > _MAX_ANTECEDENT_WORDS
    return span.start if is_long or quotable_units(passage, start, span.end, "en") is None else start


def _sentences(
    spans: Sequence[Span],
    passages: Mapping[str, Passage],
    language: str,
) -> list[Sentence]:
    """Return quotes as sentences, the items of a list with its introduction only once."""
    made = []
    introduction = ""
    for span in spans:
        passage = passages.get(span.passage_id)
        quoted = whole_units(passage, span.start, span.end, language) if passage is not None else []
        is_whole = bool(quoted) and (quoted[0].start, quoted[-1].end) == (span.start, span.end)
        is_list = passage is not None and _is_list(quoted, passage.text)
        if passage is None or not is_whole or not (len(quoted) == 1 or is_list):
            made.append(Sentence(shown(span.text), (Citation(span.passage_id, span.start, span.end),)))
            introduction = ""
            continue
        has_introduction = len(quoted) > 1 and quoted[0].kind not in _ITEMS
        for unit in quoted[has_introduction:]:
            is_next_item = unit.context != "" and unit.context == introduction and unit.kind != "row"
            text = shown(passage.text[unit.start : unit.end]) if is_next_item else shown_unit(passage, unit)
            introduction = unit.context
            made.append(Sentence(text, (Citation(span.passage_id, unit.start, unit.end),)))
    return made


def _is_list(quoted: Sequence[Unit], text: str) -> bool:
    """Return whether the units are items of a list, or the first introduces all others."""
    if not quoted or all(unit.kind in _ITEMS for unit in quoted):
        return True
    first, *others = quoted
    return all(_introduces(text[first.start : first.end], unit) for unit in others)


def _introduces(line: str, unit: Unit) -> bool:
    return line.endswith(_COLONS) and unit.context.startswith(line)


def _quotes(
    spans: Iterable[Span],
    passages: Mapping[str, Passage],
    language: str,
) -> list[Span]:
    """Return the spans extended to whole units, if the passage has a text, without those that are not quotable.

    If none is quotable, return the first.
    """
    quotes = []
    whole_spans = []
    for span in spans:
        passage = passages.get(span.passage_id)
        if passage is None or not passage.text:
            quotes.append(span)
            continue
        quoted = whole_units(passage, span.start, span.end, language)
        whole_spans.append(_extended(span, passage.text, quoted[0].start, quoted[-1].end) if quoted else span)
        bounds = quotable_units(passage, span.start, span.end, language)
        if bounds and passage.text[bounds[1] - 1] in _COLONS:
            bounds = _with_items(passage, quoted[-1], bounds[0], language)
        if bounds:
            quotes.append(_extended(span, passage.text, *bounds))
    return quotes or whole_spans[:1]


def _with_items(
    passage: Passage,
    line: Unit,
    start: int,
    language: str,
) -> tuple[int, int] | None:
    """Return the characters from ``start`` to the last item that a line introduces; None if it introduces none."""
    text = passage.text
    end = None
    for unit in units(passage, language):
        is_long = len(text[start : unit.end].split()) > _MAX_LIST_WORDS
        if unit.start >= line.end and unit.is_quotable:
            if is_long or not _introduces(text[line.start : line.end], unit):
                break
            end = unit.end
    return None if end is None else (start, end)


def _with_whole_lists(
    spans: Sequence[Span],
    rewrite: Rewrite,
    passages: Mapping[str, Passage],
    language: str,
) -> list[Span]:
    """Return spans with the lists that are asked for as a whole in place of their items.

    A list can go on in the next passage of its document, such as on the next page.
    """
    asked = set(analyzer_or_words(language).content(rewrite.text))
    whole: list[Span] = []
    for span in spans:
        if any(span.passage_id == other.passage_id and other.start <= span.start < other.end for other in whole):
            continue
        passage = passages.get(span.passage_id)
        bounds = passage and _list_asked_for(passage, span, asked, language)
        if not passage or not bounds:
            whole.append(span)
            continue
        start, end = bounds
        whole = [other for other in whole if other.passage_id != span.passage_id or not start <= other.start < end]
        whole.append(_extended(span, passage.text, start, end))
        if end == passage.units[-1].end:
            whole += _rest_of_list(passage, passages, span.score)
    return whole


_list_of = attrgetter("kind", "heading", "context")
"""Kind, headings and introduction of a unit, which are the same for all items of a list."""


def _rest_of_list(
    passage: Passage,
    passages: Mapping[str, Passage],
    score: float,
) -> Iterator[Span]:
    """Yield the items with which the next passage goes on, if it was found."""
    name, _, number = passage.id.rpartition("_p")
    following = passages.get(f"{name}_p{int(number) + 1}") if number.isdecimal() else None
    for unit in following.units if following else ():
        if _list_of(unit) != _list_of(passage.units[-1]):
            break
        assert following is not None
        yield Span(following.id, unit.start, unit.end, following.text[unit.start : unit.end], score)


def _list_asked_for(
    passage: Passage,
    span: Span,
    asked: set[str],
    language: str,
) -> tuple[int, int] | None:
    """Return the characters of the list of which a span is an item, with its introduction.

    None if the question has more words of the item than of what introduces the list, or the list is long.
    """
    for _, group in groupby(passage.units, _list_of):
        items = list(group)
        if items[0].kind in _ITEMS and len(items) > 1 and any(unit.start == span.start for unit in items):
            break
    else:
        return None
    kind, heading, context = items[0].kind, items[0].heading, items[0].context
    tokens = analyzer_or_words(language).tokens
    of_list = len(asked.intersection(tokens(context or heading.rpartition(" > ")[2])))
    of_item = len(asked.intersection(tokens(span.text)))
    if of_list < of_item + (kind == "item") or not of_list:
        return None
    start = items[0].start
    if context:
        start = max(passage.text.rfind(context, 0, start), 0)
    words = passage.text[start : items[-1].end].split()
    limit = _MAX_STEPS_WORDS if kind == "step" else _MAX_LIST_WORDS
    return (start, items[-1].end) if len(words) <= limit else None


def _extended(span: Span, text: str, start: int, end: int) -> Span:
    if (start, end) == (span.start, span.end):
        return span
    return replace(span, start=start, end=end, text=text[start:end])


def _distinct(spans: Iterable[Span], language: str) -> Iterator[Span]:
    """Yield the spans that neither overlap with nor repeat a span before them."""
    analysis = analyzer_or_words(language)
    taken: list[tuple[Span, frozenset[str]]] = []
    for span in spans:
        tokens = frozenset(analysis.tokens(span.text))
        for other, others in taken:
            overlaps = span.passage_id == other.passage_id and span.start < other.end and other.start < span.end
            if overlaps or len(tokens & others) > _MAX_SHARED_WORDS * min(len(tokens), len(others)):
                break
        else:
            taken.append((span, tokens))
            yield span


def _beginning(ranking: Ranking, language: str) -> list[Span]:
    """Return the units of the best passage that has any."""
    for hit in ranking.hits:
        if hit.passage is not None:
            text = hit.passage.text
            quotable = [unit for unit in units(hit.passage, language) if unit.is_quotable]
            if quotable:
                return [Span(hit.id, unit.start, unit.end, text[unit.start : unit.end], hit.score) for unit in quotable]
    return []


def without_repeats(chosen: list[Span], turn: Turn) -> tuple[list[Span], bool]:
    """Return the best of the chosen spans and those that no earlier answer contains; and whether nothing is new.

    Only the first sentence of an earlier answer counts as told: the others may not have been asked for.
    """
    if _ASKS_AGAIN.search(turn.question):
        return chosen, False
    analysis = analyzer_or_words(turn.language)
    is_first: dict[frozenset[str], bool] = {}
    for exchange in turn.history[-MAX_EXCHANGES:]:
        if exchange.status == "answered":
            for start, end in sentences(exchange.answer, turn.language):
                said = frozenset(analysis.tokens(exchange.answer[start:end]))
                is_first[said] = is_first.get(said, False) or start == 0
    kept = []
    is_told = False
    for index, span in enumerate(chosen):
        tokens = frozenset(analysis.tokens(span.text))
        repeated = [said for said in is_first if len(tokens & said) >= _MIN_REPEATED_WORDS * len(tokens)]
        if index == 0:
            is_told = any(is_first[said] for said in repeated)
        if index == 0 or not repeated:
            kept.append(span)
    return kept, is_told and len(kept) == 1
