"""A rewriter that is asked only where the question needs the conversation."""

from __future__ import annotations

import pytest
from haystack import Pipeline

from convqa.components.rewriters.expansion import Expansion
from convqa.components.rewriters.gated import KEPT, Gated
from convqa.domain import Exchange, Query, Rewrite, Turn, TurnId
from convqa.errors import InputError
from convqa.text.dialogue import follows_up

ADA = (Exchange("Who was Ada Lovelace?", "She worked with Charles Babbage."),)


def turn(question, *history, language="en"):
    return Turn(TurnId(1, len(history) + 1), question, history, language=language)


@pytest.mark.parametrize(
    ("question", "sign"),
    [
        ("When was she born?", "refers"),
        ("What did Ada Lovelace write in that year?", "refers"),
        ("Were there any other engines?", "refers"),
        ("And Berlin?", "continues"),
        ("What about the population of Berlin?", "continues"),
        ("Why?", "bare"),
        ("", "bare"),
        ("\U0001f44d", "bare"),
        ("What were the causes?", "definite"),
        ("Who was Ada Lovelace?", ""),
        ("what is photosynthesis", ""),
        ("What is the capital of France?", ""),
        ("What was the population in 1815?", ""),
        ("How did the critics receive it?", "refers"),
        ("How did the critics receive flash and thunder during long summer nights?", ""),
    ],
)
def test_signs(question, sign):
    assert follows_up(question) == sign


def test_no_length_decides():
    assert follows_up("Berlin?") == "" and follows_up("It?") == "refers"
    long = "What did the mathematician from London write about the engine that Charles Babbage designed"
    assert follows_up(f"{long}?") == "refers"  # "that" may refer: better one rewrite too many than too few
    assert follows_up(f"{long} after he died?") == "refers"


def test_german_has_its_own_signs_and_other_languages_are_always_rewritten():
    assert follows_up("Wann wurde er geboren?", "de") == "refers"
    assert follows_up("Und Berlin?", "de") == "continues"
    assert follows_up("Wer war Ada Lovelace?", "de") == ""
    assert follows_up("Qui est Ada Lovelace?", "fr") == "unknown"


@pytest.mark.parametrize(
    "question",
    [
        "\u4ed6\u5728\u54ea\u91cc\u51fa\u751f?",
        "\u0623\u064a\u0646 \u0648\u0644\u062f\u061f",
        "\u0413\u0434\u0435 \u043e\u043d \u0436\u0438\u043b?",
    ],
)
@pytest.mark.parametrize("language", ["en", "de"])
def test_other_scripts_are_always_rewritten_whatever_the_language_says(question, language):
    asked = turn(question, *ADA, language=language)
    assert Gated("expansion").rewrite_batch([asked]) == [Expansion().rewrite(asked)]
    assert follows_up(question, language) == "unknown"


def test_a_word_in_another_script_makes_no_other_script():
    assert follows_up("What does \u0632\u064a\u062a mean in Arabic?") == ""


def test_only_follow_ups_reach_the_rewriter_and_the_others_are_noted():
    turns = [turn("When was she born?", *ADA), turn("Who is Goethe?", *ADA), turn("Why?", *ADA), turn("Who?")]
    rewrites = Gated("expansion").rewrite_batch(turns)
    assert rewrites[0] == Expansion().rewrite(turns[0]) and rewrites[2] == Expansion().rewrite(turns[2])
    assert rewrites[1] == Rewrite("Who is Goethe?", (Query("Who is Goethe?"),), (KEPT,))
    assert rewrites[3] == Rewrite("Who?", (Query("Who?"),))


def test_the_open_question_is_what_counts():
    asked = Exchange("Who is Goethe?", "Which one?", status="asked")
    (rewrite,) = Gated("expansion").rewrite_batch([turn("That one", asked)])
    assert rewrite.text == "Who is Goethe?" and rewrite.notes == (KEPT,)


def test_a_rewriter_may_be_named_described_or_made():
    described = {"type": "expansion", "init_parameters": {"terms": 2}}
    full = {"type": "convqa.components.rewriters.expansion.Expansion", "init_parameters": {"terms": 2}}
    inner = [Gated(value)._rewriter for value in (described, full, Expansion(terms=2))]
    assert [rewriter.terms for rewriter in inner] == [2, 2, 2]
    assert Gated("copy").rewriter["type"] == "convqa.components.rewriters.copy.Copy"


def test_it_survives_haystacks_yaml_also_in_itself():
    graph = Pipeline()
    graph.add_component("rewriter", Gated(Gated({"type": "expansion", "init_parameters": {"terms": 2}})))
    again = Pipeline.loads(graph.dumps(), allowed_modules=["convqa.components"]).get_component("rewriter")
    assert again._rewriter._rewriter.terms == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("expansoin", r"rewriter.type: 'expansoin' is not known. Did you mean 'expansion'"),
        ({"type": "os.path"}, "rewriter.type: the module 'os' is not allowed"),
        ({"type": "convqa.components.readers.sentences.Sentences"}, "is no rewriter"),
        ({"type": "convqa.components.rewriters.expansion.Copy"}, "has no component 'Copy'"),
        ({"type": "convqa.components.rewriters.nothing.Nothing"}, "there is no module"),
        ({"type": "expansion", "init_parameters": {"term": 2}}, "rewriter.term is not known. Did you mean 'terms'"),
        ({"type": "expansion", "init_parameters": {"terms": -1}}, "rewriter.terms found -1"),
        ({"type": "gated", "init_parameters": {"rewriter": 3}}, r"rewriter.rewriter: found 3; wanted"),
        ({"type": "expansion", "terms": 2}, "wanted: a rewriter's name, or"),
        (7, "found 7; wanted"),
    ],
)
def test_what_is_no_rewriter_is_refused(value, message):
    with pytest.raises(InputError, match=message):
        Gated(value)
