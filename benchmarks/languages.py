"""What does the encoder ``multilingual`` gain, in other languages and across languages?

    python benchmarks/languages.py --work FOLDER [--data ../shared/data] [--encoder multilingual] [--only PART]

Prints MRR@10 of questions whose paragraph is to be found among all paragraphs of a set: XQuAD (German, Chinese), JSQuAD
and poquad-sample, then XQuAD's questions in one language over its paragraphs in another, whose ids are the same, then
English, beside the shipped encoder: XQuAD, and inscit_dev with the rewriter ``edit``. All questions and all paragraphs
count. Rankings are those of ``bm25``, ``dense`` and ``hybrid`` with their defaults, which were chosen on English
conversations for the shipped encoder. Differences are paired by question, with 95 % bootstrap intervals; bold: the
interval excludes 0.

``answers``: in how many answers of the pipeline ``default`` a gold answer occurs, in the first sentence and in all (at
most four), ranked by words and by ``hybrid``, of about 1,200 questions spread over each set. English has the shipped
encoder and reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from _common import arguments, lines, table
from comparing import difference, estimate
from conversation_sets import cases
from retriever_rows import retrievers, search

import convqa
from convqa.components.rewriters.edit import Edit
from convqa.domain import Conversation, Passage, Rewrite, Turn, TurnId
from convqa.indexing import add_vectors, index_sources, read_passages
from convqa.metrics.ranking import reciprocal_rank
from convqa.models import load_encoder
from convqa.stores import exists

FILES = {
    "de": "xquad.de.json",
    "zh": "xquad.zh.json",
    "ja": "jsquad-valid-v1.3.json",
    "pl": "poquad-sample.json",
    "en": "xquad.en.json",
}
"""Language -> its set. JSQuAD puts the title before each paragraph. XQuAD's titles are English and left out."""

ACROSS = (("en", "de"), ("en", "zh"), ("de", "zh"), ("zh", "de"), ("de", "en"), ("zh", "en"))
"""Languages of questions and of paragraphs."""

PARTS = ("languages", "across", "english", "answers")
ANSWERED = 1200
"""Questions of a set that are answered."""


class Asked(NamedTuple):
    question: str
    paragraph: str
    answers: Sequence[str]


class Found(NamedTuple):
    """The passages of a set, and its questions with the id of their paragraph."""

    passages: list[Passage]
    asked: list[Asked]


def read(data: Path, language: str) -> Found:
    """Read a set. Questions without an answer are left out."""
    found = Found([], [])
    for number, article in enumerate(json.loads((data / "squad-format" / FILES[language]).read_bytes())["data"]):
        for place, paragraph in enumerate(article["paragraphs"]):
            id = f"{number}-{place}"
            text = paragraph["context"].rpartition(" [SEP] ")[2]
            found.passages.append(Passage(id, text, "" if "xquad" in FILES[language] else article["title"]))
            for question in paragraph["qas"]:
                if not question.get("is_impossible"):
                    answers = [answer["text"] for answer in question["answers"]]
                    found.asked.append(Asked(question["question"], id, answers))
    return found


def collection(passages: Sequence[Passage], language: str, encoder: str, work: Path) -> str:
    """Return the URL of passages with vectors, indexed once into the work folder."""
    model = load_encoder(encoder)
    url = str(work / f"{language}-{model.checksum[:16]}")
    if not exists(url):
        work.mkdir(parents=True, exist_ok=True)
        lines(work / f"{language}.jsonl", (passage.to_json() for passage in passages))
        index_sources([work / f"{language}.jsonl"], url, language=language)
    add_vectors(url, model)
    return url


def scores(
    url: str, encoder: str, turns: Sequence[Turn], rewrites: Sequence[Rewrite], gold: Sequence[Sequence[str]]
) -> dict[str, list[float]]:
    """Return the reciprocal rank of each turn by retriever."""
    ranks = {}
    for name, make in retrievers(encoder).items():
        rankings = search(make(url), turns, rewrites)
        ids = ([hit.id for hit in ranking.hits] for ranking in rankings)
        ranks[name] = [reciprocal_rank(relevant, own, 10) for relevant, own in zip(gold, ids, strict=True)]
    return ranks


def of_paragraphs(asked: Sequence[Asked], language: str, url: str, encoder: str) -> dict[str, list[float]]:
    turns = [Turn(TurnId(number, 1), one.question, language=language) for number, one in enumerate(asked, 1)]
    rewrites = [Rewrite.unchanged(turn.question) for turn in turns]
    return scores(url, encoder, turns, rewrites, [[one.paragraph] for one in asked])


def row(label: Sequence[str], ranks: dict[str, list[float]]) -> list[str]:
    means = [f"{mean(each):.3f}" for each in ranks.values()]
    return [*label, *means, str(difference(ranks["hybrid"], ranks["bm25"]))]


HEAD = ("bm25", "dense", "hybrid", "hybrid minus bm25")


def languages(data: Path, encoder: str, work: Path) -> Iterator[list[str]]:
    for language in ("de", "zh", "ja", "pl"):
        found = read(data, language)
        url = collection(found.passages, language, encoder, work)
        label = [language, FILES[language].partition(".")[0], str(len(found.passages)), str(len(found.asked))]
        yield row(label, of_paragraphs(found.asked, language, url, encoder))


def across(data: Path, encoder: str, work: Path) -> Iterator[list[str]]:
    for asking, language in ACROSS:
        url = collection(read(data, language).passages, language, encoder, work)
        yield row([asking, language], of_paragraphs(read(data, asking).asked, language, url, encoder))


def english(data: Path, encoder: str, work: Path) -> Iterator[list[str]]:
    found = read(data, "en")
    folder = data / "conversations" / "inscit_dev"
    turns = cases(folder)
    rewrites = Edit().rewrite_batch([case.turn for case in turns])
    passages = list(read_passages([folder / "passages.jsonl"]))
    for name in ("encoder", encoder):
        url = collection(found.passages, "en", name, work)
        yield row(["XQuAD", name], of_paragraphs(found.asked, "en", url, name))
        url = collection(passages, "en", name, work / "inscit")
        gold = [case.relevant for case in turns]
        yield row(["inscit_dev", name], scores(url, name, [case.turn for case in turns], rewrites, gold))


def answers(data: Path, encoder: str, work: Path) -> Iterator[list[str]]:
    for language in FILES:
        found = read(data, language)
        asked = found.asked[:: max(1, len(found.asked) // ANSWERED)]
        url = collection(found.passages, language, "encoder" if language == "en" else encoder, work)
        turns = [Turn(TurnId(number, 1), one.question, language=language) for number, one in enumerate(asked, 1)]
        cells = [language, str(len(asked))]
        for retriever in ("bm25", "hybrid"):
            overrides = {"retriever": retriever} if retriever == "bm25" else {}
            assistant = convqa.load("default", url, overrides)
            said = {}
            for response in assistant.drive(Conversation(turn.id.conversation, (turn,)) for turn in turns):
                assert response.answer is not None, response.error
                said[response.id] = [sentence.text for sentence in response.answer.sentences]
            shown = [said[turn.id] for turn in turns]
            first = [holds(texts[:1], one.answers) for texts, one in zip(shown, asked, strict=True)]
            whole = [holds(texts, one.answers) for texts, one in zip(shown, asked, strict=True)]
            for share in (estimate(first), estimate(whole)):
                cells.append(f"{share.mean:.3f} [{share.low:.3f}, {share.high:.3f}]")
        yield cells


def holds(texts: Sequence[str], gold: Sequence[str]) -> float:
    """Return 1 if one of the texts has one of the gold answers, else 0."""
    return float(any(answer.lower() in text.lower() for text in texts for answer in gold))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="keeps collections with vectors")
    parser.add_argument("--encoder", default="multilingual", help="name or folder of the encoder")
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    given = (options.data, options.encoder, options.work)
    if options.only in (None, "languages"):
        table(["language", "set", "paragraphs", "questions", *HEAD], languages(*given), "vectors/languages")
    if options.only in (None, "across"):
        table(["questions", "paragraphs", *HEAD], across(*given), "vectors/across-languages")
    if options.only in (None, "english"):
        table(["English", "encoder", *HEAD], english(*given), "vectors/multilingual-in-english")
    if options.only in (None, "answers"):
        head = [f"{retriever}: {where}" for retriever in ("bm25", "hybrid") for where in ("first sentence", "answer")]
        table(["language", "questions", *head], answers(*given), "vectors/answers-by-language")


if __name__ == "__main__":
    main()
