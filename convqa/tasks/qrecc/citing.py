"""How good the citations of a run are. None of it is official; a measure whose truth is not there is left out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from convqa.metrics.alce import CitedSentence
from convqa.metrics.citations import quote_scores, set_scores, validity
from convqa.metrics.squad import f1
from convqa.tasks.qrecc.run import Quote, Run
from convqa.tasks.qrecc.truth import Gold, GoldTurn, collapsed
from convqa.tasks.scores import Measure, Rows, Scores, Supports, alce_measures, columns, supported
from convqa.text.sentences import sentences

EVIDENCE = (
    Measure("Cited-F1"),
    Measure("Cited-P", beside="Cited-F1", label="precision"),
    Measure("Cited-R", beside="Cited-F1", label="recall"),
)
QUOTES = (
    Measure("Quote-F1"),
    Measure("Quote-sentences-P", beside="Quote-F1", label="sentence precision"),
    Measure("Quote-sentences-R", beside="Quote-F1", label="sentence recall"),
)
VALIDITY = (Measure("Citation-validity"),)


def citing(gold: Gold, run: Run, support: Supports | None) -> list[Scores]:
    """Cited passages and quotes against the gold ones, validity, and ALCE's measures where ``support`` is given."""
    found: list[Scores] = []
    if run.citations:
        answered = [turn for turn in collapsed(gold.turns) if turn.answer]
        evidence = [(turn.id, _evidence(turn, _quotes(run, turn))) for turn in answered if turn.passages]
        quoted = [(turn.id, _quoted(turn, _quotes(run, turn))) for turn in answered if gold_sentences(turn)]
        for measures, rows in ((EVIDENCE, evidence), (QUOTES, quoted), (VALIDITY, _valid(gold, run))):
            found += columns(measures, rows) if rows else []
    if support is not None:
        cited = [quote for quotes in run.citations.values() for quote in quotes]
        has_sentences = run.citations and all(quote.sentence is not None for quote in cited)
        alce = _supported(gold, run, support) if has_sentences else "the run has no Model_citations"
        found += columns(alce_measures(support), alce or "the run answers nothing")
    return found


def gold_sentences(turn: GoldTurn) -> list[str]:
    """``Cited_sentences``: what of the passages the true answer rests on."""
    found = turn.fields.get("Cited_sentences")
    return [text for text in found if isinstance(text, str) and text.strip()] if isinstance(found, list) else []


def _quotes(run: Run, turn: GoldTurn) -> Sequence[Quote]:
    """What the turn's answer cites: nothing where there is none, whatever else the run says."""
    id = str(turn.id)
    return run.citations.get(id, ()) if run.answers.get(id, "").strip() else ()


def _evidence(turn: GoldTurn, quotes: Sequence[Quote]) -> dict[str, float]:
    scores = set_scores({quote.cited.passage_id for quote in quotes}, turn.passages)
    return {"Cited-P": scores.precision, "Cited-R": scores.recall, "Cited-F1": scores.f1}


def _quoted(turn: GoldTurn, quotes: Sequence[Quote]) -> dict[str, float]:
    """Each quote counts once, however often it is cited."""
    said, wanted = list(dict.fromkeys(quote.cited.text for quote in quotes)), gold_sentences(turn)
    sentences = quote_scores(said, wanted)
    return {
        "Quote-F1": f1(" ".join(wanted), " ".join(said)),
        "Quote-sentences-P": sentences.precision,
        "Quote-sentences-R": sentences.recall,
    }


def _valid(gold: Gold, run: Run) -> Rows:
    """Over turns that cite something and say what was found."""
    rows = []
    for turn in collapsed(gold.turns):
        quotes, passages = _quotes(run, turn), run.passages.get(str(turn.id))
        if quotes and passages is not None:
            share = validity([quote.cited for quote in quotes], dict.fromkeys(passages))
            rows.append((turn.id, {"Citation-validity": share}))
    return rows


def _supported(gold: Gold, run: Run, support: Supports) -> Rows:
    """ALCE over the turns that are answered: the quotes are the evidence, whatever else their passages say."""
    rows = []
    for turn in collapsed(gold.turns):
        sentences = cited_sentences(run.answers.get(str(turn.id), ""), _quotes(run, turn))
        if scores := supported(sentences, support):
            rows.append((turn.id, scores))
    return rows


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
