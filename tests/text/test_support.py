"""How far words of a text bear out a sentence: what is found, what caps the score, and what lowers it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from convqa.errors import InputError
from convqa.text.support import CAP, lexical_support, overlap, support_words

FAUST = "Faust\nGoethe wrote Faust in 1808. He didn't finish the second part until 1,831, in Weimar."

WORDS = [
    "Goethe", "wrote", "Faust", "not", "never", "in", "1808", "1,831", "two", "twelve", "Twenty-one", "one", "12",
    "the", "part.", "Weimar,", "isn't", "he", "東京", "über", "no!", "[3]",
]  # fmt: skip
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


def test_what_the_evidence_says_is_supported():
    assert lexical_support(FAUST, "Goethe wrote Faust.") == 1
    assert lexical_support(FAUST, "In 1808 Faust was written by Johann Goethe.") > 0.5
    assert lexical_support(FAUST, "Schiller lived in a small house near Jena.") == 0


@pytest.mark.parametrize("sentence", ["", " ", "!!!", "👍", "[1]"])
def test_what_says_nothing_is_not_supported(sentence):
    assert lexical_support(FAUST, sentence) == 0


@pytest.mark.parametrize("evidence", ["", " \n", "...", "Schiller."])
def test_without_evidence_nothing_is(evidence):
    assert lexical_support(evidence, "Goethe wrote Faust.") == 0


@pytest.mark.parametrize(
    ("sentence", "supported"),
    [
        ("Goethe wrote Faust in 1808.", True),
        ("Goethe wrote Faust in 1809.", False),
        ("Goethe wrote Faust in 1808.[12]", True),
        ("Goethe finished the second part in 1831.", False),
        ("Goethe did not finish the second part until 1831.", True),
        ("Goethe never wrote Faust in Weimar.", False),
        ("No, Goethe wrote Faust.", True),
    ],
)
def test_a_number_that_lacks_and_a_negation_too_many_cap_the_score(sentence, supported):
    score = lexical_support(FAUST, sentence)
    assert score > 0.5 if supported else score <= CAP


@pytest.mark.parametrize(
    ("evidence", "sentence"),
    [
        ("He had 1,000 men.", "He had 1000 men."),
        ("He had three sons.", "He had 3 sons."),
        ("Twelve people died in Rome.", "12 people died in Rome."),
        ("It has one door.", "It has 1 door."),
        ("Nineteen of them were there, or twenty.", "Of 19 or 20 they were there."),
        ("It has twenty-five doors.", "It has 25 doors."),
        ("Forty\u2011One doors, thirty two windows.", "41 doors, 32 windows."),
        ("In the 1990s it grew.", "It grew in the 1990's."),
        ("On 27 June it rained.", "It rained on the 27th of June."),
        ("人口は１２３人です。", "人口は123人です。"),
    ],
)
def test_a_number_is_the_same_in_other_forms(evidence, sentence):
    assert overlap(evidence, sentence).numbers == 1 and overlap(sentence, evidence).numbers == 1


@pytest.mark.parametrize(
    ("evidence", "sentence", "language"),
    [
        ("He elected five new members in Berlin.", "He elected seven new members in Berlin.", "en"),
        ("It has 25 doors to the garden.", "It has twenty-six doors to the garden.", "en"),
        ("It has twenty doors to the garden.", "It has twenty-two doors to the garden.", "en"),
        ("Er wählte fünf neue Mitglieder in Berlin.", "Er wählte sieben neue Mitglieder in Berlin.", "de"),
    ],
)
def test_a_number_in_words_that_lacks_caps_the_score(evidence, sentence, language):
    assert overlap(evidence, sentence, language).numbers == 0
    assert lexical_support(evidence, sentence, language) <= CAP


@pytest.mark.parametrize(
    ("words", "digits"),
    [("zwölf", "12"), ("siebzehn", "17"), ("dreißig", "30"), ("einundzwanzig", "21"), ("fünfundachtzig", "85")],
)
def test_german_numbers_in_words(words, digits):
    said = [f"Es hat {number} Türen zum Garten." for number in (words, digits)]
    assert overlap(said[0], said[1], "de").numbers == overlap(said[1], said[0], "de").numbers == 1
    assert lexical_support(said[0], said[1], "de") == 1


def test_one_is_no_number_that_must_be_there():
    assert lexical_support("He saw the best towns of Italy.", "He saw one of the best towns of Italy.") > 0.5
    assert lexical_support("It has one door.", "It has 1 door.") == lexical_support("Eins kam.", "1 kam.", "de") == 1
    assert lexical_support("It has 1 door to the garden.", "It has one door to the garden.") == 1
    assert not any(word.is_number for word in support_words("No one saw one of them.", "en"))


def test_no_one_is_nobody():
    assert lexical_support("No one came to the old house.", "One man came to the old house.") <= CAP
    assert lexical_support("Nobody came to the old house.", "No one came to the old house.") > 0.5
    assert not overlap("No one came to the old house.", "This is one of the old houses.").opposed


def test_a_letter_like_another_makes_no_number():
    assert not any(word.is_number for word in support_words("S\u0131xty-one towns.", "en"))


def test_rare_words_and_names_weigh_more():
    with_name = lexical_support("Zeppelin flew over the city.", "There Zeppelin went to the people.")
    without = lexical_support("The people went over the city.", "There Zeppelin went to the people.")
    assert with_name > without
    assert [word.token for word in support_words("He met Goethe in Weimar. Later they ate.", "en") if word.is_name] == [
        "goeth", "weimar",
    ]  # fmt: skip


def test_words_in_their_order_make_pairs():
    assert overlap(FAUST, "Goethe wrote Faust.").pairs == 1
    assert overlap(FAUST, "Faust wrote Goethe.").pairs == 0


def test_a_sentence_of_stop_words_is_judged_by_them():
    assert lexical_support("It is not so.", "It is.") == 1
    assert lexical_support("Goethe wrote.", "It is.") == 0


def test_german_has_its_own_negations():
    assert lexical_support("Er schrieb kein Drama in Weimar.", "Er schrieb ein Drama in Weimar.", "de") <= CAP
    assert lexical_support("Er schrieb kein Drama.", "Er schrieb kein Drama.", "de") == 1


def test_a_language_without_an_analysis_is_refused():
    with pytest.raises(InputError, match="unknown language 'xx'"):
        lexical_support("a", "a", "xx")


@given(texts | st.text(max_size=40))
def test_a_sentence_supports_itself(text):
    assert lexical_support(text, text) == float(bool(support_words(text, "en")))


@given(texts, texts, texts)
@example("Goethe", "Goethe not wrote", "wrote")
def test_more_evidence_lowers_the_score_only_by_saying_the_opposite(evidence, sentence, more):
    alone = lexical_support(evidence, sentence)
    assert 0 <= alone <= 1
    for together in (f"{evidence}\n\n{more}", f"{more}\n\n{evidence}"):
        least = min(alone, CAP) if overlap(together, sentence).opposed else alone
        assert lexical_support(together, sentence) >= least


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_texts_give_a_score(evidence, sentence):
    found = overlap(evidence, sentence)
    assert all(0 <= share <= 1 for share in found[:4]) and 0 <= lexical_support(evidence, sentence) <= 1
