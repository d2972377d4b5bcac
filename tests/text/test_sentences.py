"""Offsets of sentences: what they cover, where lines and long texts are cut, and that wild text costs nothing."""

from __future__ import annotations

import json
import random
import time
from itertools import pairwise

import pytest
import sentencex
from hypothesis import given
from hypothesis import strategies as st

from convqa.text.sentences import BLOCK_CHARS, MAX_SENTENCE_CHARS, boundaries, sentences


def said(text, language="en"):
    return [text[start:end] for start, end in sentences(text, language)]


def test_abbreviations_and_blanks():
    assert said("  Dr. Smith came.   He left!\t") == ["Dr. Smith came.", "He left!"]


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("zh", "你好吗？我很好。", ["你好吗？", "我很好。"]),
        ("ar", "كيف حالك؟ أنا بخير.", ["كيف حالك؟", "أنا بخير."]),
        ("de", "Das kostet z. B. 3 Euro. Gut.", ["Das kostet z. B. 3 Euro.", "Gut."]),
        ("de", "Im 17. und 18. Jahrhundert. Sein 3. Sohn.", ["Im 17. und 18. Jahrhundert.", "Sein 3. Sohn."]),
        ("de", "Am 3. Oktober kamen 18. Danach 12. Schluss.", ["Am 3. Oktober kamen 18.", "Danach 12.", "Schluss."]),
        ("xx", "One. Two.", ["One.", "Two."]),
    ],
)
def test_languages(language, text, wanted):
    assert said(text, language) == wanted


@pytest.mark.parametrize(
    "wanted",
    [
        ["彼は「そうです。行きます。」と言った。", "次の日。"],
        ["「はい。」", "「いいえ。」", "「行く。」", "ところが来た。"],
        ["『本。』です。", "【注。】次。", "終わった（笑う。）。", "A。", "『「い。」う。』え。"],
        ["本当？！", "はい！", "そうです"],
        ["終わった。", "2016年に始まる。", "「A。1つ。」だ。", "３年後。"],
        ["はい。）と。", "次。"],
        ["文です。[1]", "次の文です。[2]"],
        ["Yahoo! JAPANは会社。", "3.5倍。", "ええ……そうですか…。"],
    ],
)
def test_japanese_without_blanks(wanted):
    assert said("".join(wanted), "ja") == wanted


def test_japanese_lines():
    wrapped = "雨が降り続いている地方と少し離れた所に流れている長い川の水が\n増えて、溢れた。"
    assert said(wrapped, "ja") == [wrapped]
    assert said("見出し\n本文です。\n・一つ\n・二つ", "ja") == ["見出し", "本文です。", "・一つ", "・二つ"]
    assert said("代入すると、\nこうなる\n。", "ja") == ["代入すると、\nこうなる\n。"]


def test_long_japanese_is_cut_behind_its_signs():
    parts = said("とても長い話が続き、" * 100, "ja")
    assert max(map(len, parts)) <= MAX_SENTENCE_CHARS
    assert {part[-1] for part in parts} == {"、"}
    quote = f"「{'短い文です。' * 100}」"
    assert {part.strip("「」") for part in said(quote, "ja")} == {"短い文です。"}


def test_offsets_are_code_points_behind_emoji():
    text = "👩‍👩‍👧 yes. 𝔘nicode."
    assert said(text) == ["👩‍👩‍👧 yes.", "𝔘nicode."]


def test_no_sentences_in_nothing():
    assert sentences("") == sentences(" \n\t\r\n ") == []


def test_lines_of_a_list_are_sentences():
    assert said("You need:\n* a form\n* a photo\nThen wait") == ["You need:", "* a form", "* a photo", "Then wait"]


def test_wrapped_lines_stay_together():
    text = "No other mission has been as productive as this one of those of the\nUnited States, which changed it."
    assert said(text) == [text]
    assert said("as\nproductive") == ["as\nproductive"]


def test_a_menu_without_a_stop_is_cut_at_blanks():
    parts = said("Home Services " * 200)
    assert max(map(len, parts)) <= MAX_SENTENCE_CHARS
    assert " ".join(parts).split() == ["Home", "Services"] * 200
    assert {part.split()[-1] for part in parts} <= {"Home", "Services"}


def test_a_quoted_paragraph_is_cut_at_its_sentences():
    quote = '"' + " ".join(f"Sentence number {number} says a little something." for number in range(12)) + '"'
    assert len(quote) > MAX_SENTENCE_CHARS
    assert len(said(quote)) == 12


def test_a_caller_cannot_spoil_the_cache():
    sentences("One. Two.").clear()
    assert said("One. Two.") == ["One.", "Two."]


@pytest.mark.parametrize("language", ["en", "ja"])
@given(
    text=st.text(
        st.one_of(st.characters(), st.sampled_from("\r\n. ?!*|\"'؟。é\ud800「」『（）、と1C\x85\xa0\u2028\u3000")),
        max_size=1500,
    )
)
def test_sentences_are_in_order_apart_trimmed_and_cover_all_but_blanks(language, text):
    found = sentences(text, language)
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(before[1] <= after[0] for before, after in pairwise(found))
    assert all(text[start:end] == text[start:end].strip() for start, end in found)
    assert max((end - start for start, end in found), default=0) <= MAX_SENTENCE_CHARS
    assert "".join("".join(text[start:end].split()) for start, end in found) == "".join(text.split())


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize(
    "text",
    [" " * 200_000, "\n" * 50_000, '"' * 200_000, "a. " * 50_000, "\n* a" * 20_000, "「" * 100_000, "「」）" * 30_000],
)
def test_wild_runs_take_no_time(text, language):
    start = time.perf_counter()
    sentences(text, language)
    assert time.perf_counter() - start < 5  # a quadratic rule takes minutes


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ja", "彼は「もう行く。」と言った。" * 12_000),
        ("ja", "日本。" * 33_000),
        ("zh", "你好吗？我很好。" * 13_000),
        ("en", "“" * 100_000),
        ("de", "„Geh“ " * 16_000),
        ("fr", "«" * 100_000),
    ],
)
def test_a_long_text_without_blanks_takes_no_time(text, language):
    start = time.perf_counter()
    assert sentences(text, language)[-1][1] == len(text.rstrip())
    assert time.perf_counter() - start < 5


def test_a_blank_of_any_kind_before_a_full_stop():
    text = "Rich in vitamin C\u00a0. They grow\u3000.\u2028Eat A\u3000。"
    assert said(text) == ["Rich in vitamin C\u00a0.", "They grow\u3000.", "Eat A\u3000。"]


def test_real_passages(data):
    with (data / "conversations" / "mtrag_un" / "passages.jsonl").open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    lengths = [end - start for text in texts for start, end in sentences(text)]
    assert all(sentences(text) for text in texts if text.strip())
    assert max(lengths) <= MAX_SENTENCE_CHARS
    assert 40 < sum(lengths) / len(lengths) < 150


WIDE = [sign for sign in map(chr, range(0x80, 0x110000)) if sign.isspace()]
SIGNS = [
    *"ABCZÄЖabéж \t\n\r.!?…。！？()[]（）【】019日本語カ👍🏽",
    *"\"'`“”„‘’«»「」『』",
    *"\u0301\u200d\ufe0f",
    *WIDE,
    *("Dr.", "z. B.", "Yahoo!", "[1]", "a@b.de", "1.", "•"),
]


def boundary_parts(text, language="en"):
    return [text[start:end] for start, end in boundaries(text, language)]


@pytest.mark.parametrize("blank", WIDE)
def test_no_blank_between_a_capital_letter_and_its_stop_panics(blank, capfd):
    assert boundary_parts(f"Rich in vitamin C{blank}{blank}. Eat it! Now.")[-1] == "Now."
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("language", ["en", "de", "ja", "fr", "zh"])
def test_nothing_panics(language, capfd):
    chance = random.Random(language)
    for _ in range(2000):
        text = "".join(chance.choices(SIGNS, k=chance.randint(1, 25)))
        assert "".join(boundary_parts(text, language)) == text
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Dr. Smith said: “Go now. And come back!” to No. 7 (as in Ch. 3. or so). "),
        ("de", "Er sagte: „Geh. Und komm z. B. am 3. Mai wieder!“ und ging. "),
        ("fr", "Il dit « Va. Et reviens ! » à M. Dupont. "),
        ("ja", "「もう行く！」と言った彼は、（本。）を置いて出た。"),
        ("zh", "他说走了。"),
    ],
)
@pytest.mark.parametrize("shift", range(3))
def test_a_block_ends_where_a_sentence_does(language, sentence, shift):
    """Wherever a block would end, its sentences are those of a short text."""
    first = "前。" if language in {"ja", "zh"} else "Go on! "
    head, count = [first] * shift, 3 * BLOCK_CHARS // len(sentence)
    short = boundary_parts(first + sentence, language)
    assert short[0] == first
    assert boundary_parts("".join(head) + sentence * count, language) == head + short[1:] * count


def test_a_sentence_longer_than_a_block_is_one():
    text = "Then " * BLOCK_CHARS
    assert boundaries(f"He came. {text}. So it is.", "en") == [
        (0, 9),
        (9, 5 * BLOCK_CHARS + 11),
        (5 * BLOCK_CHARS + 11, 5 * BLOCK_CHARS + 20),
    ]


def test_a_text_of_one_block_is_seen_as_a_whole():
    text = ("He came. “" + "She went. " * BLOCK_CHARS)[: BLOCK_CHARS - 4] + "end”"
    assert [found["end_index"] for found in sentencex.get_sentence_boundaries("en", text)] == [
        end for _, end in boundaries(text, "en")
    ]
