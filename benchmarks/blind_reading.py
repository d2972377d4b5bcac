"""Which of two runs gives the better answers, judged blind?

    python benchmarks/blind_reading.py sheet OLD NEW SHEET.md [--data ../shared/data]
    python benchmarks/blind_reading.py score VERDICTS.json

``sheet`` writes a page with the conversation so far and two answers, A and B, for each turn of
``blind_reading/turns.json``, a list that was fixed before any change. The seed and the turn decide which run is A. OLD
and NEW hold a folder for each set (``inscit_dev`` ...) that ``convqa run`` wrote. ``score`` prints the counts of
VERDICTS.json, which maps each turn of the sheet to "A", "B" or "same".
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from _common import arguments

HERE = Path(__file__).resolve().parent
DRAWN = json.loads((HERE / "blind_reading" / "turns.json").read_text(encoding="utf-8"))


def new_is_a(turn: str) -> bool:
    """Return whether the new run's answer of a turn is shown first."""
    return random.Random(f"{DRAWN['seed']} {turn}").random() < 0.5


def answers(run: Path) -> dict[str, str]:
    rows = json.loads((run / "run.json").read_bytes())
    return {f"{row['Conversation_no']}_{row['Turn_no']}": row["Model_answer"] for row in rows}


def asked(questions: Path, turn: str) -> list[str]:
    """Return the questions of a conversation up to and including a turn, as the set gives them."""
    conversation, number = map(int, turn.split("_"))
    rows = [row for row in json.loads(questions.read_bytes()) if row["Conversation_no"] == conversation]
    rows = sorted((row for row in rows if row["Turn_no"] <= number), key=lambda row: row["Turn_no"])
    given = rows[-1].get("Context") or []
    return [*given[::2], rows[-1]["Question"]] if given else [row["Question"] for row in rows]


def sheet(old: Path, new: Path, data: Path) -> Iterator[str]:
    yield "Which answer would you rather get, A or B, after what was asked before? One verdict a turn: A, B or same.\n"
    for name, turns in DRAWN["turns"].items():
        runs = [answers(folder / name) for folder in (old, new)]
        for turn in turns:
            first, second = (run[turn] or "(no answer)" for run in (runs[::-1] if new_is_a(f"{name} {turn}") else runs))
            *before, question = asked(data / "conversations" / name / "questions.json", turn)
            yield f"## {name} {turn}\n"
            yield from (f"- before: {text}" for text in before)
            yield f"\n**{question}**\n\nA: {first}\n\nB: {second}\n"


def score(verdicts: dict[str, str]) -> Counter[str]:
    named = {f"{name} {turn}" for name, turns in DRAWN["turns"].items() for turn in turns}
    if set(verdicts) != named:
        raise SystemExit(f"verdicts are missing or unknown: {sorted(named ^ set(verdicts))}")
    return Counter(
        "same" if verdict == "same" else "new" if (verdict == "A") == new_is_a(turn) else "old"
        for turn, verdict in verdicts.items()
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("command", choices=("sheet", "score"))
    parser.add_argument("paths", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "score":
        print(dict(score(json.loads(options.paths[0].read_bytes()))))
    else:
        old, new, target = options.paths
        target.write_text("\n".join(sheet(old, new, options.data)), encoding="utf-8")


if __name__ == "__main__":
    main()
