"""Do exports lose or shift citations, and how long do they take? Writes random answers and reads them back.

    python benchmarks/exports.py [--answers 10000] [--seed 7]

Prints a table. Texts, titles and ids contain whatever breaks formats: emoji of several code points, combining marks,
right-to-left text, CRLF, "[1]", backslashes, quotes, control characters, slashes, percent signs. Each format must keep
what it can hold (docs/reference/exports.md): text and evidence the passage, characters and quote of every citation;
trec-rag and ikat the passages of every sentence; jwhr the quotes. "Lost" citations are missing afterwards, "added" ones
are new, "shifted" ones have another position, quote or order. Microseconds are processor time to write one answer to a
file and read it back.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from _common import arguments, table
from export_readers import READERS

from convqa.domain import Answer, Citation, Hit, Passage, Ranking, Response, Rewrite, Sentence, TurnId
from convqa.exports import FORMATS, OF_ANSWERS, CitedAnswer, Submission, export

PIECES = [
    *"abcxyzäßéE .,;:!?-_/%#&+=()[]{}<>|\\\"'`*~^$@",
    "\r\n", "\n", "\r", "\t", "\u2028", "\x0b", "\x1b[31m", "\x00", "\x85", "\u00a0", "\u200d", "\ufeff",
    "👩‍👩‍👧", "🇩🇪", "🙂", "e\u0301", "ก็", "שלום", "مرحبا", "\u202e", "日本語。",
    "[1]", "[2][3]", r"\[1]", " [1]", "\\n", "%20",
    "Conversation 1, turn 1", "No answer: ", "Label: ", "    id: x", "characters 0-3: abc", "{}", "null",
]  # fmt: skip


def some_text(chance: random.Random, most: int) -> str:
    return "".join(chance.choice(PIECES) for _ in range(chance.randint(1, most)))


def some_response(chance: random.Random, number: int) -> Response:
    """Return an answer of up to five sentences over up to eight passages; one in ten is a no-answer."""
    passages = {f"{place}{some_text(chance, 6)}": some_text(chance, 60) for place in range(chance.randint(1, 8))}
    hits = [
        Hit(id, chance.uniform(-5, 30), Passage(id, text, some_text(chance, 5) if chance.random() < 0.8 else ""))
        for id, text in passages.items()
    ]
    named: list[int | str] = [number, f"{some_text(chance, 4)}{number}"]
    turn = TurnId(chance.choice(named), chance.randint(0, 9))
    rewrite, ranking = Rewrite(some_text(chance, 12), ()), Ranking.of(hits)
    if chance.random() < 0.1:
        nearest = tuple(hit.id for hit in ranking.hits[:3])
        return Response(turn, rewrite, ranking, answer=Answer("none", "", reason=some_text(chance, 8), nearest=nearest))
    sentences = [
        Sentence(f"{some_text(chance, 25)}{place}", tuple(dict.fromkeys(some_citations(chance, passages))))
        for place in range(chance.randint(1, 5))
    ]
    return Response(turn, rewrite, ranking, answer=Answer.of(sentences, "en", chance.random()))


def some_citations(chance: random.Random, passages: dict[str, str]) -> list[Citation]:
    citations = []
    for _ in range(chance.choice([0, 1, 1, 1, 2, 4])):
        id = chance.choice(list(passages))
        start, end = sorted(chance.randint(0, len(passages[id])) for _ in range(2))
        citations.append(Citation(id) if chance.random() < 0.1 else Citation(id, start, end))
    return citations


Held = list[tuple[str, str, object]]
"""What a format holds of an answer: for each citation its sentence, its passage, and its place with the quote."""


def held(cited: CitedAnswer, places: bool | None) -> Held:
    """Return the citations in order. Without places, a sentence has each passage once.

    :param places: None: there are no ids either, only quotes.
    """
    found: Held = []
    for sentence in cited.answer.sentences:
        if places is None:
            found += [(sentence.text, cited.quotes.get(c, ""), None) for c in dict.fromkeys(sentence.citations)]
        elif places:
            found += [
                (sentence.text, c.passage_id, (c.start, c.end, cited.quotes.get(c) if c.end is not None else None))
                for c in sentence.citations
            ]
        else:
            ids = dict.fromkeys(citation.passage_id for citation in sentence.citations)
            found += [(sentence.text, id, None) for id in ids]
    return found


def compare(before: Held, after: Held) -> tuple[int, int, int]:
    """Count lost, added and shifted citations."""
    there, back = Counter(item[:2] for item in before), Counter(item[:2] for item in after)
    lost, added = (there - back).total(), (back - there).total()
    moved = sum(one != other for one, other in zip(before, after, strict=False)) if not lost and not added else 0
    return lost, added, moved


def line(name: str, responses: list[Response], folder: Path) -> list[str]:
    format, path = FORMATS[name], folder / name
    begun = time.process_time()
    with path.open("wb") as file:
        export(responses, format, Submission("random"), file.write)
    read = list(READERS[name](path, "en"))
    spent = 1e6 * (time.process_time() - begun) / len(responses)
    places = {"text": True, "evidence": True, "jwhr": None}.get(name, False)
    befores = [held(CitedAnswer.of(response), places) for response in responses]
    differences = [compare(before, held(after, places)) for before, after in zip(befores, read, strict=True)]
    lost, added, shifted = (sum(column) for column in zip(*differences, strict=True))
    citations = sum(map(len, befores))
    return [name, *map(str, (len(read), citations, lost, added, shifted)), f"{spent:.0f}"]


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    responses = [some_response(chance, number) for number in range(options.answers)]
    head = ["format", "answers", "citations", "lost", "added", "shifted", "µs per answer"]
    with tempfile.TemporaryDirectory() as folder:
        table(head, (line(name, responses, Path(folder)) for name in OF_ANSWERS), "speed/exports")


if __name__ == "__main__":
    main()
