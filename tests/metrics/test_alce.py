"""ALCE's citation recall and precision: the worked cases of its script, run with the entailment "words of the claim are
words of the source", and the traps around them."""

from __future__ import annotations

import re

import pytest

from convqa.metrics.alce import CitedSentence, citation_scores, document
from convqa.text.sentences import sentences as boundaries

DOCUMENTS = [
    document("D1", "Paris is the capital of France"),
    document("D2", "Paris has two million people"),
    document("D3", "other"),
]


def words(text):
    return set(re.findall(r"\w+", text.lower()))


def entails(premise, claim):
    return words(claim) <= words(premise)


def of_text(output, documents):
    """As the script reads an output: its first line, in whose marks the digits right after a bracket count.

    [0], number -1 to the script, is the last document.
    """
    line = output.strip().split("\n")[0]
    sentences = []
    for start, end in boundaries(line):
        numbers = [int(number) - 1 for number in re.findall(r"\[(\d+)", line[start:end])]
        known = not numbers or (bool(documents) and max(numbers) < len(documents))
        claim = re.sub(r" ?\[\d+", "", line[start:end]).replace(" |", "").replace("]", "").strip()
        sentences.append(CitedSentence(claim, [documents[number] for number in numbers] if known else None))
    return citation_scores(sentences, entails)


def hundredths(*outputs):
    """Recall and precision as the script prints them: means over the answers that have sentences."""
    scores = [score for output in outputs if (score := of_text(output, DOCUMENTS)) is not None]
    return tuple(round(100 * sum(column) / len(scores), 2) for column in zip(*scores, strict=True))


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (["Paris is the capital of France [1]. Paris has two million people [2][3]. Rome is new."], (66.67, 66.67)),
        (["Paris capital two million people [1][2]."], (100, 100)),
        (["Paris has two million people [2][1]."], (100, 50)),
        (["Paris is the capital of France [1][9]."], (0, 0)),
        (["Paris is the capital of France [1]. Paris has two million people [9]."], (50, 100)),
        (["Paris has two million people [2, 1]."], (0, 0)),
        (["Paris has two million people [3, 2]."], (0, 0)),
        (["Paris is the capital of France [1].", ""], (100, 100)),
        # beyond the table
        (["\n Paris is the capital of France [1].\nRome is new."], (100, 100)),
        (["Paris is the capital of France [3][2][2][1]."], (0, 0)),
        (["Paris is the capital of France [1][3][3][9]."], (0, 0)),
        (["Paris is the capital of France [1][1]."], (100, 100)),
        (["Other [0]."], (100, 100)),
        # Punkt would give the mark to the second sentence, for 0 and 0
        (["Paris is the capital of France. [1] Rome is new."], (50, 100)),
    ],
)
def test_worked_cases(outputs, expected):
    assert hundredths(*outputs) == expected


def test_a_text_without_sentences_has_no_scores():
    assert of_text(" \n", DOCUMENTS) is None
    assert citation_scores([], entails) is None


def test_joint_evidence_is_asked_first_then_each_citation():
    asked = []

    def all_needed(premise, claim):
        asked.append(premise)
        return premise == "x\ny"

    assert citation_scores([CitedSentence("claim", ["x", "y"])], all_needed) == (1, 1)
    assert asked == ["x\ny", "x", "y", "y", "x"]
