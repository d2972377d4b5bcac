"""How well do `talk` and `default` answer and refuse over closed sets that the reader was not trained on?

    python benchmarks/answering.py [--pipelines talk default] [--sets clapnq_dev ...] [--data ../shared/data]

Sets: odd conversations of clapnq_dev, inscit_dev and mtrag_un, and of doc2dial_a the documents that
``recipes/reader.py`` keeps for validation. Each is run with the set's history (clapnq_dev has none) over
a collection with vectors of all its passages, and scored by ``convqa evaluate``. "First sentence right": it has
90 % of its words in the turn's ``Truth_span``, or the span in it. A refused answer has an F1 of 0. Prints JSON.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

from _common import arguments
from own_documents import holds

from convqa.metrics.squad import best_f1

SETS = ("clapnq_dev", "inscit_dev", "mtrag_un", "doc2dial_a")


def convqa(*options: object) -> str:
    command = [sys.executable, "-m", "convqa", *map(str, options)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def is_reported(name: str, truth: dict[str, Any]) -> bool:
    if name == "doc2dial_a":
        return zlib.crc32(truth["Document"].encode()) % 10 == 0 and not truth["Reply_is_question"]
    return bool(truth["Conversation_no"] % 2)


def reported_part(source: Path, target: Path) -> list[dict[str, Any]]:
    """Write the reported turns of a set as an input folder. Return their truths."""
    truths = json.loads((source / "ground-truth.json").read_bytes())
    questions = json.loads((source / "questions.json").read_bytes())
    kept = [is_reported(source.name, truth) for truth in truths]
    for name, records in (("ground-truth.json", truths), ("questions.json", questions)):
        chosen = [record for record, keep in zip(records, kept, strict=True) if keep]
        (target / name).write_text(json.dumps(chosen), encoding="utf-8")
    return [truth for truth, keep in zip(truths, kept, strict=True) if keep]


def first_sentences(output: Path) -> dict[tuple[int, int], str]:
    """Return the first sentence of each answer of a run by the turn; empty for a refused one."""
    firsts = {}
    for line in (output / "responses.jsonl").read_text(encoding="utf-8").splitlines():
        response = json.loads(line)
        sentences = response["answer"]["sentences"]
        firsts[tuple(response["id"])] = sentences[0]["text"] if sentences else ""
    return firsts


def scores(source: Path, pipeline: str, folder: Path) -> dict[str, Any]:
    """Run a pipeline over the reported turns of a set. Return its figures."""
    input_folder = folder / source.name
    output = folder / f"{source.name}-{pipeline}"
    collection = folder / f"{source.name}-collection"
    if not collection.exists():
        convqa("index", source / "passages.jsonl", "--collection", collection)
    input_folder.mkdir(exist_ok=True)
    truths = reported_part(source, input_folder)
    history = "own" if source.name == "clapnq_dev" else "gold"
    convqa("run", input_folder, output, "--pipeline", pipeline, "--collection", collection, "--history", history)
    measures = json.loads(convqa("evaluate", input_folder, output, "--json"))["measures"]
    run = json.loads((output / "run.json").read_bytes())
    assert [turn["Turn_no"] for turn in run] == [truth["Turn_no"] for truth in truths]
    answers = [turn["Model_answer"] for turn in run]
    can = [truth.get("Answerable", bool(truth["Truth_passages"])) for truth in truths]
    figures = {
        "answerable": sum(can),
        "answerable, answered": sum(map(bool, itertools.compress(answers, can))),
        "others": len(can) - sum(can),
        "others, refused": sum(not answer for answer, answerable in zip(answers, can, strict=True) if not answerable),
    }
    if source.name == "doc2dial_a":
        firsts = first_sentences(output)
        right = 0
        for truth in truths:
            first, span = firsts[truth["Conversation_no"], truth["Turn_no"]], truth["Truth_span"]
            right += bool(first) and (holds(span, first) or holds(first, span))
        figures["first sentence right"] = right
    for name in ("F1", "Answerable-AUC", "MRR@10"):
        if name in measures:
            figures[name] = round(measures[name]["mean"], 3)
    references = [truth.get("Truth_answers") or [truth["Truth_answer"]] for truth in truths]
    pairs = itertools.compress(zip(answers, references, strict=True), can)
    best = [best_f1(wanted, answer) for answer, wanted in pairs]
    figures["F1, best reference"] = round(sum(best) / len(best), 3)
    return figures


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--pipelines", nargs="*", default=["talk", "default"])
    parser.add_argument("--sets", nargs="*", default=SETS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as aside:
        for name in options.sets:
            for pipeline in options.pipelines:
                print(name, pipeline, json.dumps(scores(options.data / "conversations" / name, pipeline, Path(aside))))


if __name__ == "__main__":
    main()
