"""Have scores changed? Repeats the runs of benchmarks/expected and compares them with the expected scores.

    python benchmarks/regression.py [NAME ...] [--data ../shared/data] [--record]

Prints a table, writes docs/benchmarks/regression.json with commit and date, and ends with exit code 1 if a measure left
its interval. Cranfield and Vaswani are classic collections with judgments and published scores. gpt3-run is an
original submission to the shared task of 2021. ``--record`` stores the scores as the new expectation.
"""

from __future__ import annotations

import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from _common import ROOT, arguments, convqa
from engines import _cranfield
from lucene_equality import queries, union

from convqa.driver.fingerprint import git_commit
from convqa.evaluation import Evaluation, evaluate

EXPECTED, RESULTS = ROOT / "benchmarks" / "expected", ROOT / "docs" / "benchmarks" / "regression.json"
ROUNDED = 1e-6
"""Tolerance for expected values, which are rounded to six digits."""
MEASURES = ("QR", "MRR", "nDCG@10", "R@100", "EM", "F1", "ROUGE1-R")
PIPELINES = {
    "cranfield": ["copy-bm25"],
    "vaswani": ["copy-bm25"],
    "cast2020": ["default", "--set", "retriever.candidates=30"],
    "qrecc-trec-sample": ["default"],
}
"""Pipeline and settings by benchmark; gpt3-run is already a run."""


def adhoc(name: str, data: Path, folder: Path) -> Path:
    """Write a classic collection as input and truth of the task qrecc: each question is a conversation of one turn."""
    if name == "cranfield":
        passages, texts, qrels = _cranfield(data / "cranfield")
    else:
        passages = [passage for passage in union(data) if passage.id.startswith("vaswani/")]
        texts, qrels = queries(data, "vaswani")
    folder.mkdir(parents=True)
    turns = [{"Conversation_no": int(topic), "Turn_no": 1} for topic in texts]
    questions = [turn | {"Question": text} for turn, text in zip(turns, texts.values(), strict=True)]
    none = {"Truth_rewrite": "", "Truth_answer": ""}
    truth = [
        turn | none | {"Truth_passages": [id for id, grade in qrels.get(topic, {}).items() if grade > 0]}
        for turn, topic in zip(turns, texts, strict=True)
    ]
    (folder / "questions.json").write_text(json.dumps(questions))
    (folder / "ground-truth.json").write_text(json.dumps(truth))
    with (folder / "passages.jsonl").open("w") as lines:
        lines.writelines(json.dumps({"id": one.id, "text": one.text}) + "\n" for one in passages)
    return folder


def scored(name: str, data: Path, scratch: Path) -> Evaluation:
    """Return the evaluation of a benchmark's run."""
    sets = data / "conversations"
    if name == "gpt3-run":
        return evaluate(sets / "qrecc_trec_sample", data / "qrecc" / "gpt3-run.json", task="qrecc")
    source = adhoc(name, data, scratch / name) if name in ("cranfield", "vaswani") else sets / name.replace("-", "_")
    output = scratch / f"{name}-run"
    convqa("run", source, output, "--quiet", "--pipeline", *PIPELINES[name])
    return evaluate(source, output)


def moved(evaluation: Evaluation, expected: dict[str, Any]) -> list[str]:
    """Describe each measure outside its expected interval."""
    messages = []
    for name, interval in expected["measures"].items():
        mean, low, high = interval["mean"], interval["low"], interval["high"]
        summary = evaluation.summaries.get(name)
        if summary is None:
            messages.append(f"{name}: has no value; expected {mean:.4g}")
        elif not low - ROUNDED <= summary.mean <= high + ROUNDED:
            messages.append(f"{name}: {summary.mean:.4g}; expected {mean:.4g} ({low:.4g} to {high:.4g})")
        elif summary.turns != interval.get("turns", summary.turns):
            messages.append(f"{name}: rests on {summary.turns} turns; expected {interval['turns']}")
    return messages


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=[*PIPELINES, "gpt3-run"])
    parser.add_argument("--record", action="store_true", help="store the scores as the new expectation")
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    outside = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names:
            evaluation = scored(name, options.data, Path(scratch))
            plain = evaluation.to_json()
            measures = {key: value for key, value in plain["measures"].items() if key in MEASURES}
            if options.record:
                rounded = {key: {part: round(x, 6) for part, x in value.items()} for key, value in measures.items()}
                head = f"# {name}: scores of `python benchmarks/regression.py {name}`; --record updates them.\n"
                run = f"convqa run INPUT OUTPUT --pipeline {' '.join(PIPELINES[name])}" if name in PIPELINES else name
                text = yaml.safe_dump({"task": plain["task"], "run": run, "measures": rounded}, sort_keys=False)
                (EXPECTED / f"{name}.yaml").write_text(head + text)
            told = moved(evaluation, yaml.safe_load((EXPECTED / f"{name}.yaml").read_text()))
            outside += len(told)
            print(f"{name}: {'; '.join(told) or 'as expected'}", flush=True)
            when = datetime.now(UTC).date().isoformat()
            results[name] = {"commit": git_commit(), "date": when, "measures": measures}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return int(bool(outside))


if __name__ == "__main__":
    sys.exit(main())
