"""Sentences held to their passages: what is cited, what is moved, what is marked and why."""

from __future__ import annotations

import pytest

from convqa.components.builders._grounding import Grounding
from convqa.components.builders._prompt import PassagePart
from convqa.components.builders._reply import parse
from convqa.components.prompts import load_prompt
from convqa.domain import Exchange, Passage, Turn, TurnId

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
        ("He was born in Frankfurt in 1794", "the passages say 1749"),
        ("Up to 2 years of service you get 27 days per year", "the passages say 25"),
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
        "Other bicycles are not allowed",
    ],
)
def test_what_tables_headings_and_other_forms_support(claim):
    ((sentence,), _) = checked(f"{claim} [4].")
    assert sentence.supported and sentence.citations, sentence.reason


def test_what_follows_from_numbers_that_are_cited_and_numbers_of_the_question_need_no_evidence():
    (*others, added), _ = checked(
        "Up to 2 years of service you get 25 days per year [4]. With 5 years you get 27 days per year [4]. "
        "Together that is 52 days per year [4].",
        question="And after 5 years?",
    )
    assert added.supported and all(one.supported for one in others)
    ((strange,), _) = checked("With 3 to 5 years you get 27 days per year, 9 days more [4].")
    assert strange.supported is False


def test_what_was_said_before_and_other_languages_are_not_checked():
    said = Exchange("Who sold watches?", "Anna Blum sold silver watches in Geneva.")
    ((again,), _) = checked("In Geneva, Anna Blum sold silver watches.", history=[said])
    assert (again.supported, again.mark) == (None, "not checked: from earlier in the conversation")
    ((foreign,), _) = checked("Goethe schrieb hier einst ein langes Theaterst\u00fcck [1].")
    assert foreign.mark == "not checked: in another language than the passages"
    assert [(one.passage_id, one.start) for one in foreign.citations] == [("goethe", None)]


@pytest.mark.parametrize(
    "address",
    [
        "http://evil.example/x", "https://evil.example", "www.evil.example", "evil.example/pay", "EVIL.EXAMPLE",
        "mailto:me@evil.example", "me@evil.example", "javascript:alert(1)", "data:text/html;base64,AAAA",
        "https://schiller.example/lives", "evil.shop", "evil.fr", "//evil.site", "\u0435vil.com", "evil\uff0ecom",
        "chiller.example", "b\u00fccher.de", "192.168.0.1/x",
    ],
)  # fmt: skip
def test_an_address_that_no_passage_has_is_never_said(address):
    assert grounding().fault(f"Goethe wrote Faust in Weimar, see {address}.") == "it had an address that no passage has"


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


FLAT = """\
| | Mini | Model 3 | Pro |
| Flight time | 31 min | 38 min | 43 min |
| Price at the shop | £4 | £6 | £8 |

We close at 16:00 on Fridays. The shop is in Kanal Street. There you can swap a faulty router. No fee is due before May.

Samples with acetone, which is not permitted, blackened the oil. If nobody is named, the sum goes to the estate."""


@pytest.mark.parametrize(
    "claim",
    [
        "The Model 3 Pro has a flight time of 43 minutes, according to the letter of April 2025",
        "According to the letter of April 2025 Halden closes at 16:00 on Friday",
        "You can swap a faulty router at the shop in Kanal Street",
        "No fee is due before May",
        "Samples with acetone, which is not permitted, blackened the oil",
        "If nobody is named, the sum of no. 3 goes to the estate",
        "The Mini has a flight time of 31 minutes and a price of £4 at the shop",
    ],
)
def test_what_a_person_would_say_of_the_passages_is_supported(claim):
    passages = (Passage("flat", FLAT, title="letter_april_2025", meta={"file": "Halden.txt", "date": "2025"}),)
    ((sentence,), _) = checked(f"{claim} [1].", passages=passages, question="What about no. 3 of Halden?")
    assert sentence.supported, sentence.reason


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("The Mini costs £8 at the shop", "the passages say 4"),
        ("The fee is due before May", 'the passages say "No fee is due before May."'),
        ("The Model 3 Pro flies for 47 minutes", ""),
        ("The price at the shop is not £8", 'the passages say "| Price at the shop | £4 | £6 | £8 |"'),
    ],
)
def test_other_columns_and_denials_are_marked(claim, reason):
    passages = (Passage("flat", FLAT, title="letter_april_2025"),)
    ((sentence,), _) = checked(f"{claim} [1].", passages=passages)
    assert (sentence.supported, sentence.reason) == (False, reason)
