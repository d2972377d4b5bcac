"""Talks: the same question after what a run would have said, questions that need nothing, and names for pronouns."""

from __future__ import annotations

from pathlib import Path

import pytest

from convqa.errors import InputError
from convqa.models.kinds.resolver_input import Past
from recipes.rewrites import example
from recipes.talks import TalkShares, follows_up, lead_of, read_leads, read_passages, talks

LEADS = [
    lead_of(
        "Ada Lovelace", "Ada Lovelace was an English mathematician. She wrote a program. Her notes are known.", True
    ),
    lead_of("Windmill", "A windmill is a machine. It mills grain with wind.", False),
    lead_of("Tamale", "Tamales are a dish. They are steamed in corn husks.", False),
]
EXAMPLES = [
    example("1", "When was he born?", (Past("Who wrote Faust?", "Goethe."),), "When was Goethe born?"),
    example("2", "Who else?", (Past("Who sang in Abba in 1974?", "Agnetha."),), "Who else than Agnetha sang in Abba?"),
]
PASSAGES = ["The Rhine rises in the Alps. It ends in the sea.", "Faust is a play. Its author wrote it for decades."]


def made(**shares):
    quiet = {"foreign": 0, "gold": 1, "longer": 0, "wrong": 0, "alone": 0, "talks": 0}
    return talks(EXAMPLES, LEADS, PASSAGES, 1, TalkShares(**(quiet | shares)))


def test_without_shares_nothing_changes():
    assert made() == EXAMPLES


def test_the_same_seed_makes_the_same_talks():
    every = {"foreign": 0.5, "gold": 0.3, "longer": 0.3, "wrong": 0.2, "alone": 500, "talks": 5000}
    assert made(**every) == made(**every)


def test_another_conversation_comes_before_and_the_own_one_last():
    for before, after in zip(EXAMPLES, made(foreign=1), strict=True):
        assert after.history[-1:] == before.history and len(after.history) > 1
        assert (after.question, after.rewrite) == (before.question, before.rewrite)


def test_a_longer_answer_holds_the_short_one_and_a_wrong_one_is_of_a_passage_with_a_word_of_the_question():
    longer, wrong = (made(gold=0, **{kind: 1})[0].history[0].answer for kind in ("longer", "wrong"))
    assert "Goethe." in longer and len(longer) > len("Goethe.")
    assert "Faust is a play." in wrong and "Goethe" not in wrong


def test_what_stands_alone_stays():
    alone = made(alone=2000)[len(EXAMPLES) :]
    assert len(alone) == 40 and all(one.question == one.rewrite and one.history for one in alone)


def test_a_rewrite_has_the_name_where_the_question_has_a_pronoun_or_a_gap():
    found = made(talks=20_000)[len(EXAMPLES) :]
    assert len(found) == 400
    names = [lead.name.lower() for lead in LEADS]
    changed = [one for one in found if one.question != one.rewrite]
    assert 100 < len(changed) < 300
    assert all(any(name in one.rewrite.lower() for name in names) for one in changed)
    assert not any("{" in one.rewrite or "{" in one.question for one in found)


@pytest.mark.parametrize(
    ("title", "text", "person", "name", "pronoun"),
    [
        ("Ada Lovelace", "Ada Lovelace (1815) was a writer. She wrote.", True, "Ada Lovelace", "she"),
        ("Windmill", "A windmill is a machine. It mills.", False, "a windmill", "it"),
        ("Cattle", "Cattle are large animals. Most cattle graze.", False, "cattle", "they"),
        ("Mercury (planet)", "Mercury is a planet. It is small.", False, "Mercury", "it"),
    ],
)
def test_what_a_lead_is_about(title, text, person, name, pronoun):
    lead = lead_of(title, text, person)
    assert (lead.name, lead.pronoun) == (name, pronoun)


def test_a_person_of_whom_nothing_tells_a_pronoun_is_left_out():
    assert lead_of("X", "X was a poet. Little is known.", True) is None


def test_the_real_files():
    root = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    if not root.is_dir():
        pytest.skip("the real data is not beside the checkout")
    assert len(read_leads(root)) > 8000
    passages = read_passages(root)
    assert len(passages) == len(set(passages)) > 15_000


def test_a_data_folder_that_lacks_them_is_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"lacks wiki/summaries-en.json, .*mtrag_un/ground-truth.json. See docs/reference/training.md"
    ):
        read_leads(tmp_path)


@pytest.mark.parametrize(
    "question",
    [
        "When was she born?",
        "What did Ada Lovelace write in that year?",
        "Were there any other engines?",
        "And Berlin?",
        "What about the population of Berlin?",
        "Why?",
        "",
        "\U0001f44d",
        "What were the causes?",
        "How did the critics receive it?",
    ],
)
def test_a_question_that_speaks_of_what_was_said(question):
    assert follows_up(question)


@pytest.mark.parametrize(
    "question",
    [
        "Berlin?",
        "Who was Ada Lovelace?",
        "what is photosynthesis",
        "What is the capital of France?",
        "What was the population in 1815?",
        "How did the critics receive flash and thunder during long summer nights?",
    ],
)
def test_a_question_that_needs_nothing(question):
    assert not follows_up(question)
