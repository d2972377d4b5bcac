"""Words and tokens. What Lucene does was seen with Lucene 9.12's EnglishAnalyzer on the same strings."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.domain import Query
from convqa.errors import InputError
from convqa.text.analysis import MAX_TOKEN_CHARS, MOST_TOKENS, analyzer, weigh

EN, DE = analyzer("en"), analyzer("de")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't e-mail U.S. firms!", ["don't", "e", "mail", "u.s", "firms"]),
        ("1,000.5 or 3;4 but 1:2 and a,b", ["1,000.5", "or", "3;4", "but", "1", "2", "and", "a", "b"]),
        ("foo_bar _x_ __ a:b c.d. 4th x2", ["foo_bar", "_x_", "a:b", "c.d", "4th", "x2"]),
        ("Faust's FAUST\u2019S bosses' 's", ["faust", "faust", "bosses", "s"]),
        ("naïve cafe\u0301 Straße İzmir", ["naïve", "cafe\u0301", "straße", "izmir"]),
        ("東京タワーです한국어", ["東", "京", "タワー", "で", "す", "한국어"]),
        ("हिन्दी ไทย", ["हिन्दी", "ไทย"]),
        ("a\x00b \ud800 c😀d x² ®", ["a", "b", "c", "d", "x"]),
        ("", []),
    ],
)
def test_words_are_cut_as_unicode_and_lucene_say(text, words):
    assert EN.words(text) == words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The engineers' bridges of London's river", ["engin", "bridg", "london", "river"]),
        ("It's what's us as is", ["what", "us"]),
        ("possibly assembly nobly technology biology", ["possibl", "assembl", "nobli", "technolog", "biologi"]),
        ("generalizations oscillators", ["gener", "oscil"]),
        ("No. Such will be THE end", ["end"]),
    ],
)
def test_english_tokens_are_lucenes(text, tokens):
    assert EN.tokens(text) == tokens


def test_german_has_its_own_stemmer_and_stop_words():
    assert DE.tokens("Die Häuser der großen Städte und Peter's Haus") == ["haus", "gross", "stadt", "peter", "haus"]
    assert DE.name == "convqa-de-2"
    assert "nicht" in DE.stopwords


def test_stop_words():
    assert len(EN.stopwords) == 33
    assert len(EN.long_stopwords) == 125
    assert EN.stopwords < EN.long_stopwords
    assert EN.words("the of") == ["the", "of"]


def test_tokens_over_255_characters_are_dropped():
    assert EN.tokens("x" * MAX_TOKEN_CHARS) == ["x" * MAX_TOKEN_CHARS]
    assert EN.tokens("a " + "x" * (MAX_TOKEN_CHARS + 1) + " rome") == ["rome"]


def test_the_same_analyzer_is_given_again_and_unknown_languages_are_refused():
    assert analyzer("en") is EN
    with pytest.raises(
        InputError,
        match=r"unknown language 'eng'; expected one of de, en, ja, pl, or another .* Did you mean 'en'\?",
    ):
        analyzer("eng")


@given(st.text())
def test_any_text_gives_words_without_white_space(text):
    for word in EN.words(text):
        assert word
        assert word.split() == [word]
        assert word == word.lower()
    assert all(token.split() == [token] for token in EN.tokens(text))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("O\u2019Neil", ["o'neil"]),
        ("O\uff07Neil", ["o'neil"]),
        ("\uff21\uff22\uff23 \ufb01sh", ["abc", "fish"]),
        ("fees\u00b9 of 20 m\u00b2", ["fee", "20", "m2"]),
    ],
)
def test_other_forms_of_a_letter_are_the_same_token(text, tokens):
    assert EN.tokens(text) == tokens


@given(st.lists(st.sampled_from(["rome", "The", "a.b", "ü", "1,5", "don't", "東", "_"]), max_size=8))
def test_words_do_not_depend_on_what_stands_beside_them(parts):
    assert EN.words(" ".join(parts)) == [word for part in parts for word in EN.words(part)]


@pytest.mark.parametrize("unit", ["_", "_\u0301", "a.", "é.", "1,", "東", "タ", "😀", "\ud800", "é'", "a' ", "x"])
def test_100_000_characters_take_linear_time(unit):
    start = time.process_time()
    EN.tokens(unit * (100_000 // len(unit)))
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("language", "word"), [("en", "running{}ations"), ("pl", "rzek{}ami"), ("ja", "東京特許許可局へ{}回行った")]
)
def test_threads_share_an_analyzer(language, word):
    texts = [" ".join(word.format(n + 50 * m) for n in range(50)) for m in range(20)]
    expected = [analyzer.__wrapped__(language).tokens(text) for text in texts]
    found, fresh = [], analyzer.__wrapped__(language)
    threads = [threading.Thread(target=lambda: found.append([fresh.tokens(text) for text in texts])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_a_query_is_weighed_by_occurrence_and_term_weight():
    query = Query("Is old Rome older than Rome?", (("Roman Rome", 0.3), ("of", 5.0), ("walls", 0.3)))
    weights = weigh(query, EN)
    assert weights == pytest.approx({"old": 1, "rome": 2.3, "older": 1, "than": 1, "roman": 0.3, "wall": 0.3})
    assert "than" not in weigh(query, EN, "long")
    assert weigh(Query("who's it"), EN) == {"who": 1.0}
    assert weigh(Query("who's it"), EN, "long") == {}
    assert weigh(Query("rome", (("rome", -1.0),)), EN) == {}


def test_long_stop_words_leave_the_neighbors_as_they_were():
    assert set(weigh(Query("what a.b cities"), EN, "long")) == set(weigh(Query("a.b cities"), EN))


def test_the_heaviest_of_too_many_tokens_stay(caplog):
    text = " ".join(f"w{n:05}" for n in range(MOST_TOKENS + 5))
    weights = weigh(Query(text, (("zzz", 2.0), ("w01028", 1.0))), EN)
    assert len(weights) == MOST_TOKENS
    assert {"zzz", "w01028", "w00000"} <= set(weights)
    assert "w01027" not in weights
    assert [record.getMessage() for record in caplog.records] == [
        "a query has 1030 distinct tokens: the heaviest 1024 are searched"
    ]


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("fr", "Les maisons d'Émile", ["le", "maison", "émil"]),
        ("zh", "《浮士德》第2部", ["浮", "士", "德", "第", "2", "部"]),
        ("uk", "Книги про Київ", ["книги", "про", "київ"]),
    ],
)
def test_other_languages_have_words_and_a_stemmer_if_there_is_one(language, text, tokens):
    assert analyzer(language).tokens(text) == tokens
    assert analyzer(language).name == f"convqa-{language}-1"
