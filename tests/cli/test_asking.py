"""The conversation of docs/tasks/sharc.md, over five rule texts of ShARC, with the pipeline that asks back."""

from __future__ import annotations

from pathlib import Path

RULES = Path(__file__).parents[1] / "fixtures" / "rules" / "rules.jsonl"

TALK = [
    ("Do I qualify for SMP?", "Asked back: Do you earn on average at least £113 a week? [1]"),
    ("Yes, about £200", "Asked back: Do you give the correct notice? [1]"),
    ("yes", "Asked back: Do you give proof you are pregnant? [1]"),
    # A question of its own in between is answered, and what was replied is remembered.
    ("When does the qualifying week begin?", ""),
    ("Do I qualify for SMP?", "Asked back: Do you give proof you are pregnant? [1]"),
    ("yes", "Asked back: Have you worked for your employer continuously for at least 26 weeks"),
    ("no", "No. [1] To qualify for SMP you must: * earn on average at least £113 a week"),
    # What is told without being asked settles a condition as well.
    ("I am a volunteer. Am I entitled to the National Minimum Wage?", "No. [1] The following types of workers aren’t"),
]


def test_it_asks_back_remembers_and_answers(call, tmp_path):
    assert call("index", RULES, "--collection", tmp_path / "rules", "--vectors", "encoder")[0] == 0
    said = "".join(f"{question}\n/sources\n" if question == "no" else f"{question}\n" for question, _ in TALK)
    code, out, err = call("chat", "--pipeline", "asking", "--collection", tmp_path / "rules", stdin=said)
    assert (code, err) == (0, "")
    answers = [line for line in out.splitlines() if line and line[0] not in " [>" and "Understood as" not in line]
    for answer, (question, begins) in zip(answers, TALK, strict=True):
        assert answer.startswith(begins), question
    assert "»have worked for your employer continuously" in out


def test_the_documentation_shows_this_conversation():
    shown = (Path(__file__).parents[2] / "docs" / "tasks" / "sharc.md").read_text(encoding="utf-8")
    for question, begins in TALK:
        assert f"> {question}\n{begins}" in shown
