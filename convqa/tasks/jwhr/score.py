"""Score a run: text, pages, quotes and refusals, entry by entry. There is no official scorer; these are ours.

Where the worker answered, a run that does not answer scores 0 in everything that compares answers. Where the worker did
not, nothing is compared but whether the run refuses too. An entry that the run lacks, or that failed, is wrong wherever
it counts: work that was not done is no refusal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from convqa.domain import TurnId
from convqa.files import log
from convqa.metrics import alce
from convqa.metrics.alce import CitedSentence
from convqa.metrics.characters import f1, rouge_l
from convqa.metrics.citations import set_scores
from convqa.metrics.quotes import quote_recall
from convqa.metrics.sentence_sources import sentence_sources
from convqa.tasks import scores
from convqa.tasks.jwhr.run import Run
from convqa.tasks.jwhr.schema import LANGUAGE, Entry, Page
from convqa.tasks.jwhr.truth import CitedAnswer, Gold, cited_answer
from convqa.tasks.scores import Measure, Scores, Supports, alce_measures, columns, supported, warn_of_unmatched


def _with_parts(line: str, name: str) -> tuple[Measure, ...]:
    """An F1 with its precision and recall beside it."""
    parts = (Measure(f"{name} {part}", beside=line, label=part) for part in ("precision", "recall"))
    return (Measure(line, official=True), *parts)


MEASURES = (
    *_with_parts("ROUGE-L", "ROUGE-L"),
    Measure("F1", official=True),
    *_with_parts("Page F1", "Page"),
    *_with_parts("Sentence page F1", "Sentence page"),
    Measure("Quote recall", official=True),
    Measure("Valid citations", official=True),
    Measure("Cited sentences", beside="Valid citations", label="of sentences cited"),
    Measure("Answerability", official=True),
    Measure("Refusal precision", beside="Answerability", label="precision of refusing"),
    Measure("Refusal recall", beside="Answerability", label="recall"),
    Measure("F1 with refusals", official=True),
)

_REASONS = {
    **dict.fromkeys(("ROUGE-L", "F1"), "the truth has no answers"),
    **dict.fromkeys(("Page F1", "Sentence page F1"), "no true answer cites a page"),
    "Quote recall": "no true answer cites a quote",
    "Valid citations": "no answer of the run has a citation",
}
"""The reason why a measure counts for no entry."""

Row = dict[str, float]
"""Measure -> an entry's score, 0 to 1, for the measures that it counts for."""


@dataclass(frozen=True, slots=True)
class Options(scores.Options):
    """:param support: scores how far quotes and summaries support the sentences that cite them, for ALCE's measures."""

    support: Supports | None = None

    def to_json(self) -> dict[str, Any]:
        return {} if self.support is None else {"support": self.support.identity}


def score(gold: Gold, run: Run, options: Options) -> list[Scores]:
    """The measures in order; one that no entry counts for has a reason, or is left out where it stands beside another.

    The refusals' precision rests on the entries that the run refuses, their recall on those without a true answer, so
    that their means are those of ``metrics.answerability.refusals``. ALCE's come last, where ``support`` is given.
    """
    asked = {int(turn.id.conversation) for turn in gold.turns}
    foreign = "entries that are not in the truth"
    warn_of_unmatched(run.path, asked, run.entries.keys(), "entries of the truth", foreign)
    if failed := sum(bool(entry.failed) for id, entry in run.entries.items() if id in asked):
        log.warning("%s: %d entries failed: wrong wherever they count", run.path, failed)
    rows: list[tuple[TurnId, Row]] = []
    for turn in gold.turns:
        entry = run.entries.get(int(turn.id.conversation))
        lacking = entry is None or bool(entry.failed)
        said = None if entry is None or lacking else cited_answer(entry)
        row = _row(turn.answer, said, lacking)
        if entry is not None and said is not None and options.support is not None:
            row |= supported(cited_sentences(entry), options.support, LANGUAGE)
        rows.append((turn.id, row))
    further = () if options.support is None else alce_measures(options.support)
    reasons = _REASONS | {measure.name: "the run answers nothing" for measure in further}
    return columns((*MEASURES, *further), rows, reasons)


def _row(truth: CitedAnswer | None, said: CitedAnswer | None, lacking: bool) -> Row:
    refused = said is None and not lacking
    right = not lacking and refused == (truth is None)
    row = {"Answerability": float(right), "F1 with refusals": float(right)}
    if refused:
        row["Refusal precision"] = float(truth is None)
    if truth is None:
        row["Refusal recall"] = float(refused)
    else:
        row |= _against(truth, said or CitedAnswer("", (), (), ()))
    if said is not None and said.valid:  # citations that lead nowhere have no page
        row["Valid citations"] = sum(said.valid) / len(said.valid)
    if said is not None and said.sentences:
        row["Cited sentences"] = sum(bool(sentence.sources) for sentence in said.sentences) / len(said.sentences)
    return row


def _against(truth: CitedAnswer, said: CitedAnswer) -> Row:
    rouge, same = rouge_l(said.text, truth.text), f1(said.text, truth.text)
    row = {"ROUGE-L": rouge.f1, "ROUGE-L precision": rouge.precision, "ROUGE-L recall": rouge.recall}
    row |= {"F1": same, "F1 with refusals": same}
    if truth.pages:
        pages, by_sentence = set_scores(said.pages, truth.pages), sentence_sources(said.sentences, truth.sentences)
        row |= {"Page F1": pages.f1, "Page precision": pages.precision, "Page recall": pages.recall}
        row |= {"Sentence page F1": by_sentence.f1}
        row |= {"Sentence page precision": by_sentence.precision, "Sentence page recall": by_sentence.recall}
    if truth.quotes:
        row["Quote recall"] = quote_recall(said.quotes, truth.quotes)
    return row


def cited_sentences(entry: Entry) -> list[CitedSentence]:
    """An answer's sentences, each with the quotes or summaries that it cites, under the titles of their pages.

    A reference without a page, or without a quote or summary of it, is an empty text, which supports nothing. A text
    without sentences is one that cites nothing, so that to leave them out gains nothing.
    """
    if entry.answer is None:
        return []
    texts = [_premise(reference.page) for reference in entry.references]
    said = [CitedSentence(sentence.text, _cited(sentence.citations, texts)) for sentence in entry.answer.sentences]
    return said or [CitedSentence(entry.answer.text, ())]


def _cited(places: list[int], texts: list[str]) -> list[str] | None:
    return [texts[place] for place in places] if all(0 <= place < len(texts) for place in places) else None


def _premise(page: Page | None) -> str:
    if page is None or not page.text.strip():
        return ""
    return alce.document(page.title, page.text) if page.title.strip() else page.text
