"""How reliable is the check of a language model's replies? Applies it to replies written for this test.

    python benchmarks/replies.py [--list]

Prints a table. ``benchmarks/replies.yaml`` has questions, passages, replies, and a human verdict on each sentence. They
paraphrase more, and are wrong more subtly, than replies of a model that follows its instruction. "wrongly marked" is
the share of supported sentences, "rightly marked" that of the others. In brackets: 95 % Wilson intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

from _common import arguments, table

from convqa.components.builders._grounding import Grounding
from convqa.components.builders._prompt import PassagePart
from convqa.components.builders._reply import parse
from convqa.domain import Passage, Turn, TurnId
from convqa.safe_yaml import read_yaml

FILE = Path(__file__).with_suffix(".yaml")
Z = 1.96


class Judged(NamedTuple):
    """A sentence of a reply, with the human verdict and whether it is shown without a mark."""

    text: str
    language: str
    kind: str
    supported: bool
    kept: bool


def judged(case: dict[str, Any]) -> Iterator[Judged]:
    """Check the sentences of one reply.

    :raises ValueError: if the numbers of verdicts and sentences differ.
    """
    language = case["language"]
    passages = [Passage(f"p{number}", one["text"], one.get("title", "")) for number, one in enumerate(case["passages"])]
    parts = [PassagePart(passage, 0, len(passage.text)) for passage in passages]
    grounding = Grounding(parts, case["question"], Turn(TurnId(1, 1), case["question"], language=language))
    for claim, verdict in zip(parse(case["reply"], len(parts), language).sentences, case["claims"], strict=True):
        kind, _, supported = verdict.partition(" ")
        mark = grounding.checked(claim).mark
        yield Judged(claim.text, language, kind, supported == "yes", not mark or mark.startswith("not checked"))


def share(found: Sequence[Judged]) -> str:
    """Return the share of marked sentences with its interval."""
    if not found:
        return "-"
    number, dropped = len(found), sum(not one.kept for one in found)
    middle = (dropped + Z * Z / 2) / (number + Z * Z)
    half = Z * sqrt(dropped * (number - dropped) / number + Z * Z / 4) / (number + Z * Z)
    return f"{dropped / number:.2f} [{max(0.0, middle - half):.2f}, {min(1.0, middle + half):.2f}] of {number}"


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("--list", action="store_true", help="list every sentence that the check gets wrong")
    options = parser.parse_args()
    found = [one for case in read_yaml(FILE, "replies") for one in judged(case)]
    rows = []
    for language in ("all", *dict.fromkeys(one.language for one in found)):
        here = [one for one in found if language in ("all", one.language)]
        right, wrong = ([one for one in here if one.supported == supported] for supported in (True, False))
        rows.append([language, share(right), share(wrong)])
    table(["language", "wrongly marked", "rightly marked"], rows)
    print()
    kinds = []
    for supported, kind in sorted({(one.supported, one.kind) for one in found}, reverse=True):
        here = [one for one in found if (one.supported, one.kind) == (supported, kind)]
        marked = sum(not one.kept for one in here)
        kinds.append([kind, "yes" if supported else "no", str(len(here)), str(marked)])
    table(["kind", "supported", "sentences", "marked"], kinds)
    if options.list:
        for one in found:
            if one.kept != one.supported:
                print(f"{'shown' if one.kept else 'marked'} ({one.kind}): {one.text}")


if __name__ == "__main__":
    main()
