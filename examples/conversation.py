"""Hold three turns of a bundled conversation, and show where every sentence of an answer comes from."""

from __future__ import annotations

import convqa
from convqa.places import shipped

QUESTIONS = [
    "What are the most important US supreme court cases?",
    "How about Marbury vs Madison?",
    "Was it unanimous?",
]


def main() -> None:
    qa = convqa.load("default", collection=shipped("examples", "qrecc-trec", "passages.jsonl.gz"))
    talk = qa.conversation()
    for question in QUESTIONS:
        response = talk.ask(question)
        print(f"Q: {question}")
        if response.rewrite and response.rewrite.text != question:
            print(f"   (understood as: {response.rewrite.text})")
        if response.answer is None or not response.answer.sentences:
            print("A: no answer\n")
            continue
        sources: dict[str, int] = {}
        for sentence in response.answer.sentences:
            marks = [sources.setdefault(citation.passage_id, len(sources) + 1) for citation in sentence.citations]
            print(f"A: {sentence.text} {''.join(f'[{mark}]' for mark in marks)}")
        print("\n".join(f"   [{number}] {passage_id}" for passage_id, number in sources.items()) + "\n")


if __name__ == "__main__":
    main()
