"""Score a QReCC run exactly as the official script does (version 2021-10-04), turn by turn.

There are two deliberate differences: QR and ROUGE1-R are plain means (the script's is the median of 1,000 unseeded
bootstrap means, so the third decimal may differ by one), and an ``InputError`` replaces the script's tracebacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from convqa.files import log
from convqa.metrics.ranking import ndcg, ranked, recall, reciprocal_rank
from convqa.metrics.rouge1 import rouge1
from convqa.metrics.squad import exact_match, f1
from convqa.tasks.qrecc.run import QReCCRun
from convqa.tasks.qrecc.truth import QReCCGold, collapsed
from convqa.tasks.qrecc.unofficial import citation_scores, refusal_scores
from convqa.tasks.scores import (
    AnswerScorer,
    JudgedRankings,
    Measure,
    Rows,
    Scores,
    SupportOptions,
    columns,
    on_line,
    option,
    warn_of_unmatched,
)

REWRITING = on_line("QR", official=True, precision="QR-P", F1="QR-F1")
RETRIEVAL = (
    Measure("MRR", official=True),
    *(Measure(name, line="MRR", label=name) for name in ("MRR@10", "nDCG@3", "nDCG@10", "R@10", "R@100")),
)
ROUGE1 = on_line("ROUGE1-R", official=True, precision="ROUGE1-P", F1="ROUGE1-F1")
ANSWERING = (Measure("EM", official=True), Measure("F1", official=True), *ROUGE1)
_OFF = "not asked for"


@dataclass(frozen=True, slots=True)
class QReCCOptions(SupportOptions):
    """The official script's options, and additional measures of the answers."""

    eval_missing_truth: bool = option(False, "Also score turns without a truth.")
    eval_turn_one_rewrites: bool = option(False, "Also score rewrites of first turns.")
    no_rewriting: bool = option(False, "Skip QR.")
    no_retrieval: bool = option(False, "Skip MRR.")
    no_answering: bool = option(False, "Skip EM, F1, ROUGE1-R, citations and refusals.")
    sas: str | None = option(None, "Also score SAS with this cross-encoder.", "MODEL")
    posscore: str | None = option(None, "Also score POSSCORE with these vectors.", "VECTORS")

    def to_json(self) -> dict[str, Any]:
        options = {
            "eval_missing_truth": self.eval_missing_truth,
            "eval_turn_one_rewrites": self.eval_turn_one_rewrites,
        }
        return options | SupportOptions.to_json(self)


def score(
    gold: QReCCGold,
    run: QReCCRun,
    options: QReCCOptions,
) -> list[Scores]:
    """Score QR, MRR, EM, F1 and ROUGE1-R, each followed by its additional figures, and the options' scorers.

    Our own scores of citations and refusals follow, if truth and run have the fields they need.
    """
    asked = {str(turn.id) for turn in gold.turns}
    answered = {str(turn) for turn in run.turns}
    warn_of_unmatched(run.path, asked, answered, "turns of the truth", "turns that are not in the truth")
    scorers = _scorers(options)
    measures = (*ANSWERING, *(Measure(scorer.name, scorer.official) for scorer in scorers))
    scores = columns(REWRITING, _OFF if options.no_rewriting else _rewriting(gold, run, options))
    scores += columns(RETRIEVAL, _OFF if options.no_retrieval else _retrieval(gold, run, options))
    if options.no_answering:
        return scores + columns(measures, _OFF)
    scores += columns(measures, _answering(gold, run, options, scorers))
    return [
        *scores,
        *citation_scores(gold, run, options.support),
        *refusal_scores(gold, run),
    ]


def _scorers(options: QReCCOptions) -> list[AnswerScorer]:
    from convqa.tasks.qrecc import scorers

    chosen = []
    if options.posscore is not None:
        chosen.append(scorers.posscore(Path(options.posscore)))
    if options.sas is not None:
        chosen.append(scorers.sas(options.sas))
    return chosen


def part(gold: QReCCGold, run: QReCCRun) -> QReCCGold:
    """Restrict the truth to the turns of the run."""
    answered = {str(turn) for turn in run.turns}
    return replace(
        gold,
        turns=tuple(turn for turn in gold.turns if str(turn.id) in answered),
    )


def judged(gold: QReCCGold, run: QReCCRun) -> JudgedRankings:
    """Return all rankings, and the truth of MRR: turns with true passages for which the run has Model_passages."""
    relevant = {}
    for turn in gold.turns:
        if turn.passages and str(turn.id) in run.passages:
            relevant[str(turn.id)] = tuple(dict.fromkeys(turn.passages))
    return JudgedRankings(run.passages, relevant)


def _rewriting(
    gold: QReCCGold,
    run: QReCCRun,
    options: QReCCOptions,
) -> Rows | str:
    """Score QR, or return why it is skipped. A missing rewrite counts as an empty one."""
    if not run.rewrites:
        return "the run has no rewrites"
    rows = []
    for turn in gold.turns:
        is_used = options.eval_turn_one_rewrites or turn.fields["Turn_no"] > 1
        if is_used and (options.eval_missing_truth or turn.rewrite):
            rewrite = run.rewrites.get(str(turn.id), "")
            rows.append((turn.id, _rouge(REWRITING, turn.rewrite, rewrite)))
    return rows or "the truth has no rewrites of turns after the first"


def _rouge(
    measures: Sequence[Measure],
    truth: str,
    model: str,
) -> dict[str, float]:
    """Return recall, precision and F1, under the names of the measures."""
    rouge = rouge1(truth, model)
    recall, precision, f1 = measures
    return {
        recall.name: rouge.recall,
        precision.name: rouge.precision,
        f1.name: rouge.f1,
    }


def _retrieval(
    gold: QReCCGold,
    run: QReCCRun,
    options: QReCCOptions,
) -> Rows | str:
    """Score the rankings of turns that are in both files, or return why this is skipped."""
    if not run.passages:
        return "the run has no passages"
    used = collapsed(turn for turn in gold.turns if options.eval_missing_truth or turn.passages)
    if not used:
        return "the truth has no passages"
    rows = []
    for turn in used:
        if str(turn.id) in run.passages:
            relevant, ranking = _as_in_c(turn.passages or ("",), run.passages[str(turn.id)])
            row = {
                "MRR": reciprocal_rank(relevant, ranking),
                "MRR@10": reciprocal_rank(relevant, ranking, 10),
            }
            row |= {f"nDCG@{k}": ndcg(relevant, ranking, k) for k in (3, 10)}
            row |= {f"R@{k}": recall(relevant, ranking, k) for k in (10, 100)}
            rows.append((turn.id, row))
    if not rows:
        return "no turn with true passages has Model_passages"
    if len(rows) < len(used):
        log.warning(
            "%s: MRR leaves out turns that lack Model_passages: %d",
            run.path,
            len(used) - len(rows),
        )
    return rows


def _as_in_c(relevant: Sequence[str], scores: Mapping[str, float]) -> tuple[frozenset[str], list[str]]:
    """Return relevant ids and ranking as trec_eval's C reads them: ids end at NUL; nothing is found if two collide.

    >>> _as_in_c(["b\\0x"], {"a": 2, "b\\0y": 1}), _as_in_c(["a"], {"a": 2, "a\\0": 1})
    ((frozenset({'b'}), ['a', 'b']), (frozenset({'a'}), []))
    """
    cut_relevant = frozenset(id.partition("\0")[0] for id in relevant)
    cut_scores = {id.partition("\0")[0]: score for id, score in scores.items()}
    if len(cut_scores) < len(scores):
        return cut_relevant, []
    return cut_relevant, ranked(cut_scores)


def _answering(
    gold: QReCCGold,
    run: QReCCRun,
    options: QReCCOptions,
    scorers: Sequence[AnswerScorer],
) -> Rows | str:
    """Score EM, F1 and ROUGE-1, or return why this is skipped. A missing answer counts as an empty one."""
    if not run.answers:
        return "the run has no answers"
    used = [turn for turn in gold.turns if options.eval_missing_truth or turn.answer]
    if not used:
        return "the truth has no answers"
    if not any(str(turn.id) in run.answers for turn in used):
        return "no turn with a true answer has Model_answer"
    pairs = [(turn.answer, run.answers.get(str(turn.id), "")) for turn in used]
    additional = {scorer.name: list(scorer.score(pairs)) for scorer in scorers}
    last = {id(turn) for turn in collapsed(used)}
    rows = []
    for index, (turn, (truth, answer)) in enumerate(zip(used, pairs, strict=True)):
        row = {}
        if id(turn) in last:
            row["EM"] = exact_match(truth, answer)
            row["F1"] = f1(truth, answer)
        row |= _rouge(ROUGE1, truth, answer)
        for name, values in additional.items():
            row[name] = values[index]
        rows.append((turn.id, row))
    return rows


def official_text(means: Mapping[str, float]) -> str:
    """Format evaluation.prototext: one block per measure, with three decimals and no final newline.

    >>> print(official_text({"QR": 0.5333}))
    measure{
      key: "QR"
      value: "0.533"
    }
    """
    return "\n".join(f'measure{{\n  key: "{name}"\n  value: "{mean:.3f}"\n}}' for name, mean in means.items())
