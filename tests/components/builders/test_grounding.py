"""Sentences held to their passages: what is cited, what is moved, what is marked and why."""

from __future__ import annotations

import pytest

from convqa.components.builders._grounding import Grounding
from convqa.components.builders._prompt import PassagePart
from convqa.components.builders._reply import parse
from convqa.components.prompts import load_prompt
from convqa.domain import Passage, Turn, TurnId

GOETHE = "\U0001f44b Goethe was a poet. Goethe wrote Faust in Weimar. It rained. He was born in Frankfurt in 1749."
SCHILLER = "Schiller met Goethe in Jena. His play The Robbers was performed in Mannheim."
LEAVE = """\
Annual leave

Bank holidays come on top.

| Length of service | Days per year |
| --- | --- |
| up to 2 years | 25 |
| 3 to 5 years | 27 |

Folding bicycles are allowed, but other bicycles are not. The prize goes to Emil. Ada came second.

Alcohol is never reimbursed. Scanning costs 1,280 euros since Sep 17.

Is Tidepool a backup?

No. Make backups as well."""
PASSAGES = (
    Passage("goethe", GOETHE, title="Johann Wolfgang von Goethe"),
    Passage("schiller", SCHILLER, url="https://schiller.example/life"),
    Passage("copy", "In Weimar Goethe wrote Faust. Cows eat grass."),
    Passage("leave", LEAVE, title="Handbook"),
)


def grounding(passages=PASSAGES, question="", history=(), language="en", instruction=""):
    parts = [PassagePart(one, 0, len(one.text)) for one in passages]
    return Grounding(parts, question, Turn(TurnId(1, 1), question, tuple(history), language=language), instruction)


def checked(reply, **options):
    found = grounding(**options)
    language = options.get("language", "en")
    passages = options.get("passages", PASSAGES)
    return [found.checked(one) for one in parse(reply, len(passages), language).sentences], found.notes


def quotes(sentence, passages=PASSAGES):
    texts = {one.id: one.text for one in passages}
    return [texts[one.passage_id][one.start : one.end] for one in sentence.citations]


def test_a_citation_quotes_the_sentence_that_says_it():
    (one, two), notes = checked("Goethe wrote Faust. [1] The Robbers was performed in Mannheim. [2]")
    assert quotes(one) == ["Goethe wrote Faust in Weimar."] and one.supported
    assert quotes(two) == ["His play The Robbers was performed in Mannheim."] and notes == []


def test_sentences_anywhere_in_a_passage_support_together():
    ((apart,), _) = checked("Goethe was a poet, born in Frankfurt in 1749. [1]")
    assert quotes(apart) == ["He was born in Frankfurt in 1749.", "\U0001f44b Goethe was a poet."]
    ((near,), _) = checked("It rained, and he was born in Frankfurt in 1749. [1]")
    assert quotes(near) == ["He was born in Frankfurt in 1749.", "It rained."]


@pytest.mark.parametrize(("marker", "note"), [("", "citation added"), (" [1]", "citation moved")])
def test_the_passage_that_says_it_is_found(marker, note):
    ((sentence,), notes) = checked(f"Schiller met Goethe in Jena{marker}.")
    assert (quotes(sentence), notes) == (["Schiller met Goethe in Jena."], [note])


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("He sold watches to Napoleon", ""),
        ("Handbook of Annual leave", ""),
        ("He was born in Frankfurt in 1794", 'the passages say "He was born in Frankfurt in 1749."'),
        ("Up to 2 years of service you get 27 days per year", 'the passages say "| up to 2 years | 25 |"'),
        ("The prize goes to Ada", ""),
        ("Alcohol is reimbursed", 'the passages say "Alcohol is never reimbursed."'),
        ("Tidepool is a backup", 'the passages say "Is Tidepool a backup? No. Make backups as well."'),
        ("Yes, bicycles are allowed", 'the passages say "Folding bicycles are allowed, but other bicycles are not."'),
    ],
)
def test_what_is_marked_and_why(claim, reason):
    ((sentence,), _) = checked(f"{claim} [1][4].")
    assert (sentence.supported, sentence.citations) == (False, ())
    assert sentence.reason == reason or (claim.startswith("The prize") and "Emil" in sentence.reason)


@pytest.mark.parametrize(
    "claim",
    [
        "Up to 2 years of service you get 25 days per year",
        "3 to 5 years of service mean 27 days of annual leave",
        "Scanning costs 1280 euros since September 17",
        "Tidepool is not a backup",
        "No, alcohol is never reimbursed",
        "Folding bicycles are allowed",
        "According to the provided passages, folding bicycles are allowed",
        "Other bicycles are not allowed",
    ],
)
def test_what_tables_headings_and_other_forms_support(claim):
    ((sentence,), _) = checked(f"{claim} [4].")
    assert sentence.supported and sentence.citations, sentence.reason


def test_a_number_that_the_model_computed_is_marked():
    ((strange,), _) = checked("With 3 to 5 years you get 27 days per year, 9 days more [4].")
    assert strange.supported is False


def test_replies_in_another_language_are_not_checked():
    ((foreign,), _) = checked("Goethe schrieb hier einst ein langes Theaterst\u00fcck [1].")
    assert foreign.mark == "not checked: in another language than the passages"
    assert [(one.passage_id, one.start) for one in foreign.citations] == [("goethe", None)]


def test_an_address_of_a_passage_may_be_said():
    assert grounding().fault("Schiller met Goethe in Jena: https://schiller.example/life.") == ""
    passages = (Passage("p", "Goethe wrote Faust, see notevil.com."),)
    found = [grounding(passages).fault(f"See {host}.") for host in ("evil.com", "notevil.com")]
    assert found == ["it had an address that no passage has", ""]


def test_the_instruction_is_never_said():
    instruction = load_prompt("answer").system
    for line in instruction.splitlines():
        if len(line.split()) > 12:
            assert grounding(instruction=instruction).fault(f"My rules: {line}") == "it repeated an instruction"


def test_offsets_are_of_the_whole_text_where_a_part_was_shown():
    text = " ".join(["Nothing is said here."] * 60) + " Goethe wrote Faust. \U0001f44b"
    part = PassagePart(Passage("p", text), text.index("Goethe"), len(text))
    (said,) = parse("Goethe wrote Faust [1].", 1, "en").sentences
    (citation,) = Grounding([part], "", Turn(TurnId(1, 1), "")).checked(said).citations
    assert text[citation.start : citation.end] == "Goethe wrote Faust."


@pytest.mark.parametrize(
    ("language", "text", "said", "supported"),
    [
        (
            "fr",
            "Goethe a \u00e9crit Faust \u00e0 Weimar. Il y est mort en 1832.",
            "Il est mort \u00e0 Weimar en 1832.",
            True,
        ),
        (
            "fr",
            "Goethe a \u00e9crit Faust \u00e0 Weimar. Il y est mort en 1832.",
            "Il est mort \u00e0 Weimar en 1823.",
            False,
        ),
        ("fr", "Goethe a \u00e9crit Faust \u00e0 Weimar.", "Il y a vendu des montres \u00e0 Napol\u00e9on.", False),
        (
            "zh",
            "\u6b4c\u5fb7\u5728\u9b4f\u739b\u5199\u4e86\u6d6e\u58eb\u5fb7\u3002",
            "\u6b4c\u5fb7\u5199\u4e86\u6d6e\u58eb\u5fb7\u3002",
            True,
        ),
        ("de", "Die Feier ist nicht \u00f6ffentlich.", "Die Feier ist \u00f6ffentlich.", False),
    ],
)
def test_other_languages(language, text, said, supported):
    ((sentence,), _) = checked(f"{said} [1]", passages=(Passage("p", text),), language=language)
    assert bool(sentence.supported) == supported
