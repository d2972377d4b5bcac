"""The tokens are spaCy's: recorded ones, and those of a real spaCy, a development package."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.sharc.tokenizer import _rules, spacy_english

# What a blank English pipeline of spaCy 3.8.18 gives, without the tokens that are blank.
RECORDED = [
    ("Do you live in Cyprus?", ["Do", "you", "live", "in", "Cyprus", "?"]),
    (
        "Don't you live in the U.K. (or e.g. Jersey/Guernsey)?",
        ["Do", "n't", "you", "live", "in", "the", "U.K.", "(", "or", "e.g.", "Jersey", "/", "Guernsey", ")", "?"],
    ),
    ("Can’t he've paid £5,000.50 by 10am?", ["Ca", "n’t", "he've", "paid", "£", "5,000.50", "by", "10", "am", "?"]),
    (
        "Is it equipment for making ‘talking’ books?",
        ["Is", "it", "equipment", "for", "making", "‘", "talking", "’", "books", "?"],
    ),
    ("Are you over 60.", ["Are", "you", "over", "60", "."]),
    ("ABC. Ltd. a.b.c.", ["ABC", ".", "Ltd.", "a.b.c", "."]),
    (
        "see www.gov.uk/vat-refund, or mail a.b@c.org.",
        ["see", "www.gov.uk/vat-refund", ",", "or", "mail", "a.b@c.org", "."],
    ),
    ("10.1.2.3 8.8.8.8:80", ["10.1.2.3", "8.8.8.8:80"]),
    (
        "5km, 20°C. and 10% -- or 3-4",
        ["5", "km", ",", "20", "°", "C", ".", "and", "10", "%", "--", "or", "3", "-", "4"],
    ),
    (
        "low-income self-employed and/or part--time",
        ["low", "-", "income", "self", "-", "employed", "and/or", "part", "--", "time"],
    ),
    ("wait...no… :) :( (a.) b-a.", ["wait", "...", "no", "…", ":)", ":(", "(", "a.", ")", "b", "-", "a."]),
    ("I'mma gonna cannot", ["I'mma", "gon", "na", "can", "not"]),
    ("the 1970's and '80s", ["the", "1970", "'s", "and", "'", "80s"]),
    ("x=y +5 +a", ["x", "=", "y", "+5", "+", "a"]),
    ("  Yes \n\n No\xa0. ", ["Yes", "No", "."]),
    ("Yes.", ["Yes", "."]),
    ("No?!", ["No", "?", "!"]),
    ("John's/he's", ["John's", "/", "he", "'s"]),
    ("lower.Upper lower.lower", ["lower", ".", "Upper", "lower.lower"]),
    ("<b>bold</b> #tag @me R&D", ["<", "b", ">", "bold</b", ">", "#", "tag", "@me", "R&D"]),
    ("😀☺ﬁn", ["😀", "☺", "ﬁn"]),
]


@pytest.fixture(scope="module")
def spacy_tokens():
    import spacy

    pipeline = spacy.blank("en")
    return lambda text: [token.text for token in pipeline(text) if not token.text.isspace()]


@pytest.mark.parametrize(("text", "tokens"), RECORDED)
def test_recorded_tokens(text, tokens):
    assert spacy_english(text) == tokens


@given(st.text(st.sampled_from("aB1.,:'\u2019()-/+% \u00a0\n!$\u00b0")))
def test_nothing_of_a_text_is_lost(text):
    assert "".join(spacy_english(text)) == "".join(text.split())


@pytest.mark.slow
def test_every_text_of_the_data_is_cut_as_spacy_cuts_it(spacy_tokens, data):
    folder = data / "sharc" / "open-retrieval"
    lines = (folder / "open_retrieval_sharc_dev.json").read_text(encoding="utf-8").splitlines()
    files = [data / "sharc" / "sharc1_dev.json", folder / "id2snippet.json"]
    texts = set(strings([*map(json.loads, lines), *(json.loads(file.read_text(encoding="utf-8")) for file in files)]))
    assert len(texts) > 6000
    assert [text for text in texts if spacy_english(text) != spacy_tokens(text)] == []


PARTS = st.one_of(
    st.sampled_from(sorted(_rules().special)),
    st.sampled_from(
        ["the", "Live", "gov.uk/a", "a@b.com", "10.1.2.3", "5km", "3.5", "20°C.", "ABC.", "é", "\u65e5", "☺"]
    ),
    st.text(st.sampled_from("aA1.,:;'\u2019\"()-\u2013/+*%$£° s\n\u00a0!?…_#&=<>@~^|²"), max_size=8),
)


@settings(max_examples=500, deadline=None)
@given(st.lists(PARTS, max_size=6), st.sampled_from(["", " ", "-", "/", "."]))
def test_any_text_is_cut_as_spacy_cuts_it(spacy_tokens, parts, joint):
    text = joint.join(parts)
    assert spacy_english(text) == spacy_tokens(text)


def test_the_table_is_spacys(spacy_tokens):
    import spacy
    from spacy.symbols import ORTH

    table = spacy.blank("en").tokenizer.rules
    assert _rules().special == {text: [token[ORTH] for token in tokens] for text, tokens in table.items()}


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)
