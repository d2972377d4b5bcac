"""What do conversations look like to a user? Writes the questions, rewrites and answers of several to a page.

    python benchmarks/transcripts.py FILE.md [--collection FOLDER] [--pipeline NAME] [--data ../shared/data]

Runs the conversations of benchmarks/transcripts/conversations.yaml through ``convqa.load()``, by default with the
default pipeline. The collection is 11,029 passages of the English Wikipedia: those of inscit_dev, and the leads of
wiki/summaries-en.json. FOLDER keeps it; the first call takes some minutes to build it. The script uses only functions
that every version of convqa has, so that it can compare versions.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from _common import ROOT, arguments

import convqa
from convqa.domain import Passage, Response
from convqa.indexing import add_vectors
from convqa.models import load_encoder
from convqa.stores import create_store

CONVERSATIONS = ROOT / "benchmarks" / "transcripts" / "conversations.yaml"


def passages(data: Path) -> Iterator[Passage]:
    with (data / "conversations" / "inscit_dev" / "passages.jsonl").open(encoding="utf-8") as file:
        yield from (Passage(one["id"], one["text"], one.get("title", "")) for one in map(json.loads, file))
    for title, one in json.loads((data / "wiki" / "summaries-en.json").read_bytes()).items():
        if one["extract"].strip():
            yield Passage(f"wiki/{title.replace(' ', '_')}", one["extract"], title)


def indexed(folder: Path, data: Path) -> str:
    if not (folder / "manifest.json").is_file():
        with create_store(str(folder), "en") as store:
            store.add(passages(data))
            store.commit()
        add_vectors(str(folder), load_encoder("encoder"))
    return str(folder)


def shown(question: str, response: Response) -> Iterator[str]:
    """Format one turn as Markdown: the rewrite if it differs, the answer with its sources' titles, its score."""
    yield f"**{question}**  "
    if response.rewrite is not None and response.rewrite.text != question:
        yield f"*understood as: {response.rewrite.text}*  "
    answer, hits = response.answer, response.ranking.hits if response.ranking else ()
    if answer is None:
        yield f"failed: {response.error}\n"
        return
    titles = {hit.id: hit.passage.title or hit.id for hit in hits if hit.passage is not None}
    said = [
        f"{sentence.text} [{'; '.join(titles.get(one.passage_id, one.passage_id) for one in sentence.citations)}]"
        for sentence in answer.sentences
    ]
    if answer.kind == "none":
        nearest = "; ".join(titles.get(id, id) for id in answer.nearest)
        said = [f"(no answer: {answer.reason}{f'. Nearest: {nearest}' if nearest else ''})"]
    notes = "".join(f"({note}) " for note in answer.notes)
    score = "" if answer.score is None else f" *{answer.score:.2f}*"
    yield f"{notes}{' '.join(said)}{score}\n"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--collection", type=Path, default=Path(tempfile.gettempdir()) / "convqa-transcripts")
    parser.add_argument("--pipeline")
    options = parser.parse_args()
    named: dict[str, Any] = {"pipeline": options.pipeline} if options.pipeline else {}
    qa = convqa.load(collection=indexed(options.collection, options.data), **named)
    about = f"What convqa {convqa.__version__} answers ({options.pipeline or 'no pipeline named'})."
    lines = [f"{about} The passages are of the English Wikipedia (CC BY-SA 4.0). Behind each answer: its score.\n"]
    for number, conversation in enumerate(yaml.safe_load(CONVERSATIONS.read_bytes()), 1):
        lines.append(f"## {number}. {conversation['title']}\n")
        talk = qa.conversation(number)
        for question in conversation["turns"]:
            lines += shown(question, talk.ask(question))
    options.page.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
