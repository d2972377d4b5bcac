"""How often does a conversation repeat a sentence, and what does avoiding repetition cost?

    python benchmarks/repetition.py [--half even|odd] [--data ../shared/data]

Prints a table. INSCIT's conversations run through the pipeline ``talk`` without the given contexts, so the history is
their own answers, and without refusing. The first row repeats everything, the second only the best sentence. F1 is
SQuAD's, with the gold answers.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import mean

from _common import arguments, table

import convqa
from convqa.domain import Conversation
from convqa.metrics.squad import f1
from convqa.tasks import find_task


def row(label: str, conversations: list[Conversation], folder: Path, again: bool) -> list[str]:
    gold = {
        (record["Conversation_no"], record["Turn_no"]): [answer for answer in record["Truth_answers"] if answer]
        for record in json.loads((folder / "ground-truth.json").read_bytes())
    }
    qa = convqa.load("talk", folder / "passages.jsonl", {"builder.allow_repeats": again, "decider.min_score": 0.0})
    scores, said, repeated, noted = [], 0, 0, 0
    told: dict[int | str, set[str]] = {}
    for response in qa.drive(conversations):
        assert response.answer is not None, response.error
        texts = [sentence.text for sentence in response.answer.sentences]
        known = told.setdefault(response.id.conversation, set())
        said, repeated = said + len(texts), repeated + sum(text in known for text in texts)
        noted += convqa.domain.TOLD in response.answer.notes
        known.update(texts)
        if golds := gold.get((response.id.conversation, response.id.number)):
            scores.append(max(f1(one, response.answer.text) for one in golds))
    return [label, str(said), f"{repeated / said:.3f}", str(noted), f"{mean(scores):.3f} of {len(scores)}"]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--half", choices=("even", "odd"), default="even")
    options = parser.parse_args()
    folder = options.data / "conversations" / "inscit_dev"
    chosen = [one for one in find_task("qrecc", folder).read(folder) if int(one.id) % 2 == (options.half == "odd")]
    alone = [replace(one, turns=tuple(replace(turn, history=()) for turn in one.turns)) for one in chosen]
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.setdefault("XDG_CACHE_HOME", scratch)
        rows = [row("everything again", alone, folder, again=True)]
        rows.append(row("only the best again", alone, folder, again=False))
    table(["way", "sentences", "repeated sentences", "turns with a repetition", "F1"], rows, "refusals/repetition")


if __name__ == "__main__":
    main()
