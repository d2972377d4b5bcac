"""The sequence that the resolver reads."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import convqa.models
from convqa.models.kinds.resolver_input import Past, lay_out, word_spans

TOKENIZER = Tokenizer.from_file(str(Path(convqa.models.__file__).parent / "weights" / "encoder" / "tokenizer.json"))
TOKENIZER.no_truncation()
TOKENIZER.no_padding()

HISTORY = [Past("Who wrote Faust?", "Johann Wolfgang von Goethe."), Past("Is it long?", "Very.")]


def decoded(layout):
    return TOKENIZER.decode(layout.ids, skip_special_tokens=False)


def test_question_then_latest_exchange_then_the_first():
    layout = lay_out("When was he born?", HISTORY, TOKENIZER)

    assert layout.utterances == [
        "When was he born?", "Is it long?", "Very.", "Who wrote Faust?", "Johann Wolfgang von Goethe."
    ]  # fmt: skip
    assert decoded(layout) == (
        "[CLS] when was he born? [SEP] is it long? [SEP] very. [SEP] "
        "who wrote faust? [SEP] johann wolfgang von goethe. [SEP]"
    )
    assert layout.types[: layout.end + 1] == [0] * (layout.end + 1)
    assert set(layout.types[layout.end + 1 :]) == {1}
    assert layout.ids[layout.end] == TOKENIZER.token_to_id("[SEP]")


def test_words_know_their_places():
    layout = lay_out("Whose?", [Past("Zappa's band", "")], TOKENIZER)

    assert [layout.text(word) for word in layout.history_words] == ["Zappa", "'s", "band"]
    first, _, last = layout.history_words
    assert layout.span(first, last) == "Zappa's band"
    assert TOKENIZER.decode(layout.ids[last.first : last.last + 1]) == "band"


def test_the_first_question_keeps_its_place_when_the_room_ends():
    history = [Past("Tell me about Ada Lovelace.", "x " * 500), *[Past(f"And {n}?", "word " * 90) for n in range(300)]]

    layout = lay_out("Why?", history, TOKENIZER)

    assert len(layout.ids) <= 192
    assert "Tell me about Ada Lovelace." in layout.utterances
    assert layout.utterances[1] == "And 299?"


@pytest.mark.parametrize("text", ["", "   ", "؟ ما هذا", "東京はどこ", "😀👩‍👩‍👧", "a" * 5000, "e\u0301\t\r\nx"])
def test_any_text(text):
    layout = lay_out(text, [Past(text, text)], TOKENIZER)

    assert len(layout.ids) == len(layout.types) <= 192
    for word in layout.words:
        assert layout.text(word).strip()


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=200)), max_size=12), st.text(max_size=120))
def test_every_word_is_where_it_says(history, question):
    layout = lay_out(question, [Past(*pair) for pair in history], TOKENIZER)

    assert len(layout.ids) == len(layout.types) <= 192
    assert [word.first for word in layout.words] == sorted(word.first for word in layout.words)
    for word in layout.words:
        assert (word.start, word.end) in word_spans(layout.utterances[word.utterance])
        assert 0 < word.first <= word.last < len(layout.ids)
        assert (word.first < layout.end) == (word.utterance == 0)
