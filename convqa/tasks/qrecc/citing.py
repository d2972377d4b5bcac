"""Score a run's citations. None of it is official; measures whose truth is missing are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from convqa.metrics.alce import CitedSentence
from convqa.metrics.citations import quote_scores, set_scores, validity
from convqa.metrics.squad import f1
from convqa.tasks.qrecc.run import Quote, Run
from convqa.tasks.qrecc.truth import Gold, GoldTurn, collapsed
from convqa.tasks.scores import Measure, Scores, Supports, alce_measures, columns, supported
from convqa.text.sentences import sentences

MEASURES = (
    Measure("Cited-F1"),
    Measure("Cited-P", beside="Cited-F1", label="precision"),
    Measure("Cited-R", beside="Cited-F1", label="recall"),
    Measure("Quote-F1"),
    Measure("Quote-sentences-P", beside="Quote-F1", label="sentence precision"),
    Measure("Quote-sentences-R", beside="Quote-F1", label="sentence recall"),
    Measure("Citation-validity"),
)


def citing(gold: Gold, run: Run, support: Supports | None) -> list[Scores]:
    """Cited passages and quotes against the gold ones, validity, and ALCE's measures where ``support`` is given."""
    turns = [(turn, *_said(run, turn)) for turn in collapsed(gold.turns)]
    rows = [(turn.id, _row(turn, quotes, run.passages.get(str(turn.id)))) for turn, _, quotes in turns]
    found = [column for column in columns(MEASURES, rows) if column.values] if run.citations else []
    if support is None:
        return found
    if not run.citations or any(quote.sentence is None for quotes in run.citations.values() for quote in quotes):
        return [*found, *columns(alce_measures(support), "the run has no Model_citations")]
    # The quotes are the evidence, whatever else their passages say.
    alce = [(turn.id, supported(cited_sentences(answer, quotes), support)) for turn, answer, quotes in turns]
    answered = [(id, row) for id, row in alce if row]
    return [*found, *columns(alce_measures(support), answered or "the run answers nothing")]


def _said(run: Run, turn: GoldTurn) -> tuple[str, Sequence[Quote]]:
    """A turn's answer, and what it cites: nothing where there is none, whatever else the run says."""
    answer = run.answers.get(str(turn.id), "")
    return answer, run.citations.get(str(turn.id), ()) if answer.strip() else ()


def _row(turn: GoldTurn, quotes: Sequence[Quote], passages: Mapping[str, float] | None) -> dict[str, float]:
    """Validity is that of turns that cite something and say what was found; the rest is that of answered ones."""
    row: dict[str, float] = {}
    if turn.answer and turn.passages:
        cited = set_scores({quote.cited.passage_id for quote in quotes}, turn.passages)
        row |= {"Cited-P": cited.precision, "Cited-R": cited.recall, "Cited-F1": cited.f1}
    if turn.answer and (wanted := gold_sentences(turn)):
        said = list(dict.fromkeys(quote.cited.text for quote in quotes))  # however often it is cited
        sentences = quote_scores(said, wanted)
        row |= {"Quote-sentences-P": sentences.precision, "Quote-sentences-R": sentences.recall}
        row["Quote-F1"] = f1(" ".join(wanted), " ".join(said))
    if quotes and passages is not None:
        row["Citation-validity"] = validity([quote.cited for quote in quotes], passages)
    return row


def gold_sentences(turn: GoldTurn) -> list[str]:
    """``Cited_sentences``: what of the passages the true answer rests on."""
    found = turn.fields.get("Cited_sentences")
    return [text for text in found if isinstance(text, str) and text.strip()] if isinstance(found, list) else []


def cited_sentences(answer: str, quotes: Sequence[Quote]) -> list[CitedSentence]:
    """An answer cut at its cited sentences, which follow one another in it, each with the texts that it cites.

    What stands between them is split by ``convqa.text.sentences`` and cites nothing. A cited sentence that the answer
    does not have is taken as it is.

    >>> from convqa.metrics.citations import Cited
    >>> cited_sentences("I know. Goethe wrote it.", [Quote(Cited("p", 0, 6, "Goethe"), "Goethe wrote it.")])
    [CitedSentence(claim='I know.', cited=()), CitedSentence(claim='Goethe wrote it.', cited=('Goethe',))]
    """
    if not answer.strip():
        return []
    found: list[CitedSentence] = []
    end = 0
    for sentence, group in groupby(quotes, key=lambda quote: quote.sentence or ""):
        start = answer.find(sentence, end)
        if start >= 0:
            found += _uncited(answer[end:start])
            end = start + len(sentence)
        found.append(CitedSentence(sentence, tuple(quote.cited.text for quote in group)))
    return found + _uncited(answer[end:])


def _uncited(text: str) -> list[CitedSentence]:
    return [CitedSentence(text[start:end], ()) for start, end in sentences(text)]
