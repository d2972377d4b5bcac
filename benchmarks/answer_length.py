"""How long answers to QReCC's questions are to be: F1 by the builder's ``words``, gold answers being as long as its.

    python benchmarks/answer_length.py [--data ../shared/data]

The passages of QReCC's dev part are not at hand, but its gold answers are (936 with an answer), and so is how long they
are. The turns are those of the conversations of even number of inscit_dev and mtrag_un, answered by the pipeline
``default`` over the first ten passages that it ranks; each counts, once for every human answer, as often as answers of
this length are among QReCC's. F1 is SQuAD's, against this one answer.
"""

from __future__ import annotations

import json
import os
import tempfile

import numpy as np
from _common import arguments, table
from builders import RANKED, asked
from conversation_sets import TUNED

from convqa.components.builders.sentences import Sentences as Builder
from convqa.components.readers.sentences import Sentences as Reader
from convqa.metrics.squad import f1
from convqa.pipeline.load import load

EDGES = (0, 8, 12, 16, 20, 24, 30, 10_000)
"""Lengths in words, in groups from one to the next."""
LENGTHS = (8, 12, 15, 18, 20, 22, 25, 30, 40, 50)


def main() -> None:
    parser = arguments(__doc__)
    options = parser.parse_args()
    records = json.loads((options.data / "qrecc" / "dev-turns.json").read_bytes())
    wanted = np.array([len(record["Truth_answer"].split()) for record in records if record["Truth_answer"]])
    print(f"QReCC dev: {len(wanted)} answers, {wanted.mean():.1f} words, the median {np.median(wanted):.0f}\n")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch
        every = [one for name in TUNED for one in asked(options.data / "conversations" / name)[RANKED]]
    some = [one for one in every if int(one.turn.id.conversation) % 2 == 0]
    columns = [list(column) for column in zip(*((one.turn, one.rewrite, one.ranking) for one in some), strict=True)]
    parameters = {name: load("qrecc").document.components[name].init_parameters for name in ("reader", "builder")}
    reader = Reader(**parameters["reader"])
    reader.warm_up()
    readings = reader.read_batch(*columns)
    pairs = [(place, answer) for place, one in enumerate(some) for answer in one.answers]
    group = np.digitize([len(answer.split()) for _, answer in pairs], EDGES) - 1
    weights = (np.histogram(wanted, EDGES)[0] / np.bincount(group, minlength=len(EDGES) - 1))[group]
    rows = []
    for words in LENGTHS:
        builder = Builder(**{**parameters["builder"], "words": words})
        said = [answer.text for answer in builder.build_batch(*columns, readings)]
        scores = [f1(answer, said[place]) for place, answer in pairs]
        lengths = [len(said[place].split()) for place, _ in pairs]
        rows.append([str(words), *(f"{np.average(some, weights=weights):.3f}" for some in (scores, lengths))])
    table(("words", "F1", "words of the answer"), rows)


if __name__ == "__main__":
    main()
