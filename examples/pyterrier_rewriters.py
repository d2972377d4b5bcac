"""Rewriters of convqa in PyTerrier's Experiment: a pipeline is a transformer from topics to rankings.

    pip install 'convqa' python-terrier
    python examples/pyterrier_rewriters.py

Conversations are topics with two more columns, ``conversation`` and ``turn``. No Java is started.
"""

from __future__ import annotations

import json
import sys

import pandas as pd
import pyterrier as pt

import convqa
from convqa.domain import Conversation, Turn, TurnId
from convqa.places import shipped

EXAMPLE = shipped("examples", "qrecc-trec")
PIPELINE = shipped("configs", "ablations", "rewriters.pipeline.yaml")


class Rewriting(pt.Transformer):
    """Rewrite, retrieve and rerank the turns of conversations."""

    def __init__(self, rewriter: str) -> None:
        self.qa = convqa.load(PIPELINE, EXAMPLE / "passages.jsonl.gz", {"rewriter.type": rewriter})

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        talks = []
        for name, part in topics.groupby("conversation", sort=False):
            turns = zip(part["turn"], part["query"], strict=True)
            talks.append(Conversation(name, tuple(Turn(TurnId(name, n), text) for n, text in turns)))
        hits = [(str(one.id), hit) for one in self.qa.drive(talks) for hit in one.ranking.hits]
        return pd.DataFrame([{"qid": qid, "docno": hit.id, "score": hit.score} for qid, hit in hits])


def main(conversations: int) -> None:
    asked, truth = (json.loads((EXAMPLE / name).read_bytes()) for name in ("questions.json", "ground-truth.json"))
    topics = pd.DataFrame(
        [{"qid": f"{one['Conversation_no']}_{one['Turn_no']}", "query": one["Question"],
          "conversation": one["Conversation_no"], "turn": one["Turn_no"]}
         for one in asked if one["Conversation_no"] <= conversations]
    )  # fmt: skip
    qrels = pd.DataFrame(
        [{"qid": f"{one['Conversation_no']}_{one['Turn_no']}", "docno": id, "label": 1}
         for one in truth for id in one["Truth_passages"]]
    )  # fmt: skip
    judged = qrels[qrels["qid"].isin(topics["qid"])]
    names = ["copy", "expansion", "edit"]
    table = pt.Experiment(
        [Rewriting(name) for name in names], topics, judged, ["recip_rank", "ndcg_cut_3", "recall_100"], names,
        baseline=0, validate="ignore",
    )  # fmt: skip
    print(table[["name", "recip_rank", "ndcg_cut_3", "recall_100"]].round(3).to_string(index=False))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10**9)
