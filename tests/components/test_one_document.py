"""A question about a document as a whole gets its passages in order, and the answer says how many were read."""

from __future__ import annotations

import json
import re

import pytest

import convqa
from convqa.components.one_document import document_asked
from convqa.domain import Exchange, Passage, Rewrite, Turn, TurnId
from convqa.pipeline.llm import read_llm

LEASE = [
    Passage(f"l{place}", f"Clause {place}.", "The lease", meta={"file": "a/lease.pdf", "start": place})
    for place in (2, 1)
]
RULES = Passage("r", "Bicycles go into the cellar.", "House rules", meta={"file": "rules.md", "start": 0})
PLAIN = Passage("p", "Bicycles go into the cellar.", "The lease")


@pytest.mark.parametrize(
    ("question", "cited", "found"),
    [
        ("Summarize lease.pdf", (), ["l1", "l2"]),
        ("Can you give me an overview of the lease, please?", ("r",), ["l1", "l2"]),
        ("What is the lease about?", (), ["l1", "l2"]),
        ("Summarize that document", ("r",), ["r"]),
        ("What is different to 2023?", ("l2",), ["l1", "l2"]),
        ("Fass das zusammen", ("r",), ["r"]),
        ("Summarize that document", ("l1", "r"), []),
        ("Summarize that document", (), []),
        ("Summarize the lease and the house rules", (), []),
        ("Summarize the causes of the war", ("r",), []),
        ("What does the lease say on bicycles?", ("l1",), []),
        ("What about the lease?", (), []),
        ("Summarize the released novels", (), []),
    ],
)
def test_which_document_is_asked_about(question, cited, found):
    before = (Exchange("Where do bicycles go?", "Into the cellar.", cited=cited), Exchange("Thanks!", status="idle"))
    turn = Turn(TurnId(1, 3), question, before)
    assert [one.id for one in document_asked(turn, Rewrite.unchanged(question), [*LEASE, RULES, PLAIN])] == found


@pytest.fixture
def collection(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    for name in ("Handbook 2023", "Handbook 2024"):
        topics = [
            f"## Topic {number}\n\n{name} has rule {number}. {'Nothing else is said of it. ' * 60}"
            for number in range(30)
        ]
        (folder / f"{name}.md").write_text(f"# {name}\n\n" + "\n\n".join(topics))
    convqa.index(folder, tmp_path / "collection")
    return tmp_path / "collection"


def test_a_whole_document_in_the_prompt(collection, openai_server):
    prompts = []

    def reply(prompt, number):
        if "JSON object" in prompt:
            return json.dumps({"query": "Summarize it."})
        prompts.append(prompt)
        number = re.search(r"^\[(\d+)\] [^\n]*2024.*\n  Handbook 2024 has rule 7", prompt, re.M)
        return f"Handbook 2024 has rule 7 [{number[1]}]." if number else "Handbook 2024 has rule 7."

    server = openai_server(reply)
    qa = convqa.load("copy-bm25", collection, {"retriever.top_k": 5}, read_llm(server.url, "m"))
    talk = qa.conversation()
    response = talk.ask("Which handbook of 2024 has rule 7?")
    assert response.caveat == "" and talk.history[0].cited == sorted(response.answer.cited_ids())
    response = talk.ask("Summarize that document.")
    count, total = map(
        int, re.fullmatch(r"Read: (\d+) of (\d+) passages of Handbook 2024.md.", response.caveat).groups()
    )
    assert 8 < count < total == sum(hit.id.startswith("Handbook 2024") for hit in response.ranking.hits)
    shown = re.findall(r"^\[\d+\] .*?file: Handbook (\d+).md", prompts[-1], re.M)
    rules = [int(number) for number in re.findall(r"^  Handbook 2024 has rule (\d+)", prompts[-1], re.M)]
    assert shown == ["2024"] * count and rules == sorted(rules) and rules[0] == 0
    assert response.answer.sentences[0].supported

    qa = convqa.load("copy-bm25", collection, None, read_llm(server.url, "m", context=60_000))
    response = qa.conversation().ask("Give me a summary of Handbook 2024.md")
    assert response.caveat == f"Read: {total} of {total} passages of Handbook 2024.md."
