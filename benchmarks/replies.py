"""How reliable are the support checks on a language model's replies? Applies them to replies written for this test.

    python benchmarks/replies.py [--models lexical support ...]

Prints a table. ``benchmarks/replies.yaml`` has questions, passages, replies, and a human verdict on each sentence. Each
checker compares the sentences with the passages, as the builder ``generative`` does. "wrongly dropped" is the share of
supported sentences, "rightly dropped" that of the others. A model is any name that ``convqa.models.load_support``
knows, such as the folder of an entailment model. In brackets: 95 % Wilson intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

from _common import arguments, table

from convqa.components.builders._grounding import Scorer, check, word_support
from convqa.components.builders._prompt import AnswerLimits, passage_parts
from convqa.components.builders._reply import parse
from convqa.domain import Hit, Passage, Ranking
from convqa.models import load_support
from convqa.models.kinds.heads import LEXICAL
from convqa.safe_yaml import read_yaml

FILE = Path(__file__).with_suffix(".yaml")
Z = 1.96


class Judged(NamedTuple):
    """A sentence of a reply, with the human verdict and whether a checker accepts it."""

    text: str
    language: str
    kind: str
    supported: bool
    kept: bool


def judged(case: dict[str, Any], scorer: Scorer) -> Iterator[Judged]:
    """Check the sentences of one reply, each by itself.

    :raises ValueError: if the numbers of verdicts and sentences differ.
    """
    passages = [Passage(f"p{number}", one["text"], one.get("title", "")) for number, one in enumerate(case["passages"])]
    ranking = Ranking(tuple(Hit(passage.id, -float(place), passage) for place, passage in enumerate(passages)))
    parts = passage_parts(ranking, None, len(passages), 1200, case["language"])
    said = parse(case["reply"], len(parts), case["language"]).sentences
    for claim, verdict in zip(said, case["claims"], strict=True):
        kind, _, supported = verdict.partition(" ")
        found = check([claim], parts, scorer, case["language"], "drop", AnswerLimits(1, 1))
        yield Judged(claim.text, case["language"], kind, supported == "yes", bool(found.sentences))


def share(found: Sequence[Judged]) -> str:
    """Return the share of dropped sentences with its interval."""
    if not found:
        return "-"
    number, dropped = len(found), sum(not one.kept for one in found)
    middle = (dropped + Z * Z / 2) / (number + Z * Z)
    half = Z * sqrt(dropped * (number - dropped) / number + Z * Z / 4) / (number + Z * Z)
    return f"{dropped / number:.2f} [{max(0.0, middle - half):.2f}, {min(1.0, middle + half):.2f}] of {number}"


def rows(model: str, found: Sequence[Judged]) -> Iterator[list[str]]:
    """Return a row for all sentences, and one for each language."""
    for language in ("all", *dict.fromkeys(one.language for one in found)):
        here = [one for one in found if language in ("all", one.language)]
        yield [model, language, share([one for one in here if one.supported]),
               share([one for one in here if not one.supported])]  # fmt: skip


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("--models", nargs="+", default=[LEXICAL, "support"])
    parser.add_argument("--list", action="store_true", help="list every sentence that a checker gets wrong")
    options = parser.parse_args()
    cases = read_yaml(FILE, "replies")
    found = {}
    for model in options.models:
        scorer = word_support if model == LEXICAL else load_support(model).score
        found[model] = [one for case in cases for one in judged(case, scorer)]
    first = next(iter(found.values()))
    print(
        f"{len(cases)} replies, {len(first)} sentences, of which {sum(one.supported for one in first)} are supported.\n"
    )
    head = ["checker", "language", "wrongly dropped", "rightly dropped"]
    table(head, [row for model, some in found.items() for row in rows(model, some)])
    print()
    kinds = sorted({(not one.supported, one.kind) for one in first})
    table(["kind", "supported", "sentences", *(f"{model}: dropped" for model in found)], [
        [kind, "no" if wrong else "yes", str(sum((one.kind, one.supported) == (kind, not wrong) for one in first)),
         *(str(sum((one.kind, one.supported, one.kept) == (kind, not wrong, False) for one in some))
           for some in found.values())]
        for wrong, kind in kinds
    ])  # fmt: skip
    if options.list:
        for model, some in found.items():
            for one in some:
                if one.kept != one.supported:
                    print(f"{model}: {'kept' if one.kept else 'dropped'} ({one.kind}): {one.text}")


if __name__ == "__main__":
    main()
