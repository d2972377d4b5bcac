"""How well is it known that the passages do not answer? Fits the shipped no-answer decisions and measures them.

    python benchmarks/answerability.py [--readers sentences extractive talk] [--fit] [--keep FOLDER]

Prints a table for each reader; ``--fit`` writes the decisions to configs/decisions.

The pipeline ``default`` answers clapnq_dev (``Answerable``), mtrag_un (``Answerability``: UNDERSPECIFIED is left out,
PARTIAL counts as answerable) and inscit_dev (answerable if there is evidence: nearly all). Each turn has the history
that its set gives. ``mrqa`` answers squad2-dev-half, whose questions come with their passage. The decision for the
sentence reader is fitted to the conversations, that for the extractive reader to squad2-dev-half. The decision of the
pipeline ``talk`` (as a reader: ``talk``) also uses the cosine. It is fitted to questions of one set over the passages
of another as well, which do not answer them ("clapnq_dev over inscit_dev").

Even conversations are for choosing. Half of them fit the decision (``--fit``: a logistic, each set with the same
weight). The other half sets the threshold: the highest that refuses at most a tenth of the answerable turns, on the
mean of the sets. Of squad2-dev-half, the article that validated the shipped reader is used for this; its training
articles are left out. All figures are of odd conversations and articles (of squad2-dev-half, every fourth question).

"top score" is a threshold on the first hit's score, chosen for each set on the same half by the same rule. F1 is
SQuAD's over the turns that have an answer; a refused one scores 0. ``--keep`` keeps the pipelines' answers.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import Any

import yaml
from _common import ROOT, arguments, table
from comparing import SEED

import convqa
from convqa.components.deciders.logistic import Decision, cosine, load_decision, signals
from convqa.components.encoding import QueryEncoder
from convqa.domain import Conversation, Passage, Response, Turn, TurnId
from convqa.metrics.answerability import auc
from convqa.metrics.bootstrap import interval_of_statistic
from convqa.metrics.overlap import set_scores
from convqa.metrics.squad import f1
from convqa.tasks import find_task
from convqa.training import decision
from convqa.training.decision import answerable, chosen, fit, surely

DECISIONS = ROOT / "configs" / "decisions"
OVER = " over "
SETS = ("clapnq_dev", "mtrag_un", "squad2-dev-half", "inscit_dev")
CROSSED = ("clapnq_dev over inscit_dev", "inscit_dev over mtrag_un", "mtrag_un over inscit_dev")
UNSEEN = ("or_sharc_dev over clapnq_dev", "cast2020 over clapnq_dev")
"""Of the report alone."""
FITTED = {
    "sentences": ("clapnq_dev", "mtrag_un", "inscit_dev"),
    "extractive": ("squad2-dev-half",),
    "talk": ("clapnq_dev", "mtrag_un", "inscit_dev", *CROSSED),
}
"""The sets that each reader's decision is fitted to: conversations, and questions that come with their passage."""
READERS = tuple(FITTED)
TALK = {"reader.type": "sentences", "reader.encoder": "encoder"}
USED = {"sentences": ("word_share",), "extractive": ("null", "best"), "talk": ("word_share", "cosine")}
"""Signals of each decision: those that refused most at the allowed cost, on the half that sets the threshold."""
ALLOWED = 0.1
"""Maximum share of answerable turns that are refused."""
SURE = 0.85
HELD_OUT = 14
"""The article of squad2-dev-half with which the shipped reader was validated; it was trained on the other even ones."""


@dataclass(frozen=True)
class Row(decision.SignalRow):
    """A turn, with the number of its conversation or article.

    ``f1`` is that of the answer; None without a reference.
    """

    top: float
    f1: float | None

    @property
    def part(self) -> str:
        if self.number % 2:
            return "report"
        return "train" if self.number % 4 else "validate"


@dataclass(frozen=True)
class Truth:
    """Whether a turn can be answered, and its answers."""

    number: int
    answerable: bool
    answers: Sequence[str]


def collected(name: str, reader: str, data: Path) -> list[Row]:
    """Return the pipeline's responses to a set."""
    overrides = TALK if reader == "talk" else {"reader.type": reader}
    if name.startswith("squad"):
        turns, truths = squad(data / "squad-format" / f"{name}.json")
        assistant = convqa.load("mrqa", None, overrides)
    else:
        asked, _, over = name.partition(OVER)
        turns, truths = conversational(data / "conversations" / asked)
        if over:
            truths = {id: Truth(truth.number, False, ()) for id, truth in truths.items()}
        assistant = convqa.load("default", data / "conversations" / (over or asked) / "passages.jsonl", overrides)
    by_id = {turn.id: turn for turn in turns}
    alone = [Conversation(str(place), (turn,)) for place, turn in enumerate(turns)]
    history: Any = "gold" if any(turn.history for turn in turns) else "none"
    queries = QueryEncoder("encoder") if reader == "talk" else None
    return [row(name, by_id[made.id], truths[made.id], made, queries) for made in assistant.drive(alone, history)]


def row(name: str, turn: Turn, truth: Truth, made: Response, queries: QueryEncoder | None) -> Row:
    assert made.rewrite is not None and made.ranking is not None and made.answer is not None, made.error
    found = signals(turn, made.rewrite, made.ranking, made.reading)
    if queries is not None:
        found["cosine"] = cosine(queries, turn, made.rewrite, made.ranking, made.reading)
    scored = max((f1(answer, made.answer.text) for answer in truth.answers), default=None)
    top = made.ranking.hits[0].score if made.ranking.hits else 0.0
    return Row(name, truth.number, truth.answerable, found, top, scored)


def conversational(folder: Path) -> tuple[list[Turn], dict[TurnId, Truth]]:
    truths = {}
    for record in json.loads((folder / "ground-truth.json").read_bytes()):
        known = answerable(record)
        answers = record.get("Truth_answers") or [record["Truth_answer"]]
        if known is not None:
            said = [answer for answer in answers if answer] if known else []
            number = int(record["Conversation_no"])
            truths[TurnId(record["Conversation_no"], record["Turn_no"])] = Truth(number, known, said)
    read = find_task("qrecc", folder).read(folder)
    return [turn for conversation in read for turn in conversation.turns if turn.id in truths], truths


def squad(file: Path) -> tuple[list[Turn], dict[TurnId, Truth]]:
    """Return the article for fitting and choosing, its paragraphs in turns, and every fourth question for reporting."""
    turns, truths, count = [], {}, 0
    for number, article in enumerate(json.loads(file.read_bytes())["data"]):
        for place, paragraph in enumerate(article["paragraphs"]):
            for asked in paragraph["qas"]:
                count += 1
                if number == HELD_OUT or (number % 2 and count % 4 == 1):
                    id = TurnId(asked["id"], 1)
                    turns.append(Turn(id, asked["question"], passages=(Passage("p", paragraph["context"]),)))
                    part = number if number % 2 else (2, 4)[place % 2]
                    answers = [answer["text"] for answer in asked["answers"]]
                    truths[id] = Truth(part, not asked["is_impossible"], answers)
    return turns, truths


def kept(name: str, reader: str, data: Path, folder: Path) -> list[Row]:
    file = folder / f"{name}-{reader}.json"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps([asdict(one) for one in collected(name, reader, data)]), encoding="utf-8")
    return [Row(**record) for record in json.loads(file.read_bytes())]


def fitted(reader: str, rows: Sequence[Row]) -> Decision:
    """Fit the decision and set the threshold."""
    train, validate = (
        [one for one in rows if one.part == part and one.set in FITTED[reader]] for part in ("train", "validate")
    )
    decision = fit(train, USED[reader])
    threshold = round(chosen([one for one in validate if one.set in SETS], lambda one: decision.weigh(one.signals)), 2)
    about = {
        "by": f"python benchmarks/answerability.py --fit --readers {reader}",
        "reader": reader,
        "turns": {name: sum(one.set == name for one in train) for name in FITTED[reader]},
        "fit": "conversations whose number is 2 modulo 4 (squad2: half of the article that the reader never saw)",
        "threshold": f"refuses at most {ALLOWED:.0%} of what can be answered in those of 0 modulo 4 (the other half)",
        "report": "conversations and articles of odd number: docs/benchmarks/refusals.md",
    }
    update: dict[str, Any] = {"threshold": threshold, "fitted": about}
    if reader == "talk":
        update["sure_threshold"] = surely([(decision.weigh(one.signals), one.answerable) for one in validate])
        about["sure_threshold"] = f"of those that score higher in those of 0 modulo 4, {SURE:.0%} can be answered"
    return decision.model_copy(update=update)


def save(decision: Decision, reader: str) -> None:
    DECISIONS.mkdir(parents=True, exist_ok=True)
    head = f"# Whether the passages answer, with the reader {reader}. What the fields are: docs/reference/answers.md.\n"
    body = yaml.safe_dump(decision.model_dump(exclude_defaults=True), sort_keys=False, allow_unicode=True, width=120)
    (DECISIONS / f"{reader}.yaml").write_text(head + body, encoding="utf-8")


def area(rows: Sequence[Row], score: Callable[[Row], float]) -> str:
    halves = {str(can): [score(one) for one in rows if one.answerable == can] for can in (True, False)}

    def statistic(groups: Mapping[str, Sequence[float]]) -> float:
        yes, no = groups["True"], groups["False"]
        return auc([*yes, *no], [True] * len(yes) + [False] * len(no))

    low, high = interval_of_statistic(halves, statistic, SEED, resamples=500)
    return f"{statistic(halves):.3f} [{low:.3f}, {high:.3f}]"


def measured(rows: Sequence[Row], score: Callable[[Row], float], threshold: float) -> list[str]:
    """Return AUC, threshold, share refused, precision, recall and F1 of refusing, and F1 of the answers.

    AUC, precision and recall are undefined without refusals, or if no refusal can be right.
    """
    refused = [score(one) < threshold for one in rows]
    answered = [(one.f1, no) for one, no in zip(rows, refused, strict=True) if one.f1 is not None and one.answerable]
    quality = f"{mean(0.0 if no else found for found, no in answered):.3f}" if answered else "-"
    both = len({one.answerable for one in rows}) == 2 and threshold > 0
    refused_turns = {str(number) for number, is_refused in enumerate(refused) if is_refused}
    unanswerable_turns = {str(number) for number, row in enumerate(rows) if not row.answerable}
    found = set_scores(refused_turns, unanswerable_turns)
    right = [f"{value:.3f}" for value in found] if both else ["-"] * 3
    return [area(rows, score) if both else "-", f"{threshold:.2f}", f"{mean(refused):.3f}", *right, quality]


def lines(reader: str, rows: Sequence[Row], decision: Decision) -> Iterator[list[str]]:
    before = load_decision("sentences")

    def likely(one: Row) -> float:
        return decision.weigh(one.signals)

    for name in (*SETS, *CROSSED, *UNSEEN):
        # A set without answerable turns is joined by the answerable turns over the set's own passages.
        own = name.partition(OVER)[0]
        some = [
            one
            for one in rows
            if one.part == "report" and (one.set == name or (name in CROSSED and one.set == own and one.answerable))
        ]
        if not some:
            continue
        known = f"{name} ({sum(one.answerable for one in some)} + {sum(not one.answerable for one in some)})"
        yield [known, reader, "always answer", *measured(some, lambda _: 0.5, 0.0)]
        if len({one.answerable for one in some}) == 2 and name in SETS:
            top = chosen([one for one in rows if one.set == name and one.part == "validate"], lambda one: one.top)
            yield [known, reader, "top score", *measured(some, lambda one: one.top, top)]
        yield [known, reader, "decision", *measured(some, likely, decision.threshold)]
        if reader == "talk":
            measures = measured(some, lambda one: before.weigh(one.signals), before.threshold)
            yield [known, reader, "decision of default", *measures]


def reliability(rows: Sequence[Row], decision: Decision) -> dict[int, tuple[int, float, float]]:
    """Return, for each of ten bins of the score, the turns, their mean score and the share that is answerable."""
    members: dict[int, list[tuple[float, bool]]] = {}
    for row in rows:
        score = decision.weigh(row.signals)
        members.setdefault(min(int(score * 10), 9), []).append((score, row.answerable))
    return {
        index: (len(some), mean(score for score, _ in some), mean(can for _, can in some))
        for index, some in sorted(members.items())
    }


def bins(reader: str, rows: Iterable[Row], decision: Decision) -> Iterator[list[str]]:
    """Return the answerable share and number of turns, for the other half of the fitted sets and for each set."""
    parts = [[one for one in rows if one.set == name and one.part == "report"] for name in FITTED[reader]]
    whole, *each = (reliability(part, decision) for part in (list(chain(*parts)), *parts))
    for index, (turns, score, share) in whole.items():
        own = (f"{one[index][2]:.3f} of {one[index][0]}" if index in one else "" for one in each)
        yield [f"{index / 10:.1f} to {(index + 1) / 10:.1f}", str(turns), f"{score:.3f}", f"{share:.3f}", *own]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--readers", nargs="+", default=list(READERS), choices=READERS)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--fit", action="store_true", help="write configs/decisions/READER.yaml")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch
        for reader in options.readers:
            folder = options.keep or Path(scratch) / "rows"
            names = [*options.sets, *(CROSSED + UNSEEN if reader == "talk" else ())]
            rows = [one for name in names for one in kept(name, reader, options.data, folder)]
            if options.fit:
                save(fitted(reader, rows), reader)
            load = load_decision(str(DECISIONS / f"{reader}.yaml"))
            head = ["set (answerable + not)", "reader", "way", "AUC", "threshold", "refused", "precision", "recall"]
            table(
                [*head, "F1 of refusing", "F1 of answers"],
                lines(reader, rows, load),
                "refusals/talk" if reader == "talk" else "",
            )
            print()
            table(["score", "turns", "mean score", "answerable", *FITTED[reader]], bins(reader, rows, load))
            print(flush=True)


if __name__ == "__main__":
    main()
