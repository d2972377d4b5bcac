"""Questions and passages as windows of tokens, with tokenizers of the three kinds that readers have."""

from __future__ import annotations

import itertools
import time
import unicodedata
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.processors import TemplateProcessing

from convqa.models.kinds.reader_input import MAX_QUESTION_TOKENS, MIN_TOKENS, OVERLAP, ReaderInput

KINDS = ["words", "bytes", "pieces"]


@pytest.fixture(scope="module")
def reading(tiny_readers):
    """``reading("words", 32)``: the input of a tokenizer of that kind, made once; "shipped" is the encoder's."""

    @cache
    def made(kind, most=32):
        return ReaderInput(tiny_readers.tokenizer(kind), most)

    return made


def texts(found, text):
    return [text[start:end] for start, end in found.offsets]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_is_what_the_tokenizer_makes_of_a_pair(tiny_readers, kind):
    question, passage = "Who wrote Faust?", "Goethe wrote it."
    inner = tiny_readers.tokenizer(kind)
    wanted = inner.encode(question, passage)
    input = ReaderInput(inner, 64)
    (window,) = input.windows(input.question(question), input.passage(passage))
    assert (window.tokens.ids, window.tokens.types) == (wanted.ids, wanted.type_ids)
    assert wanted.sequence_ids.index(1) == window.at
    # Only BERT's tell the two texts apart: what belongs to the passage is of type 1.
    assert set(window.tokens.types[window.at :]) == ({1} if kind == "words" else {0})


def test_types_of_special_tokens_are_the_tokenizers_own(tiny_readers):
    inner = tiny_readers.tokenizer("words")
    # As Funnel's.
    inner.post_processor = TemplateProcessing(
        single="[CLS]:2 $A [SEP]", pair="[CLS]:2 $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    input = ReaderInput(inner, 64)
    (window,) = input.windows(input.question("Who?"), input.passage("Goethe."))
    assert window.tokens.types == inner.encode("Who?", "Goethe.").type_ids and window.tokens.types[0] == 2


@pytest.mark.parametrize("number", [0, 1, 200, 239, 240, 241, 400, 5000])
def test_windows_cover_the_passage_overlap_and_keep_their_length(reading, number):
    input = reading("shipped", 256)
    question, passage = input.question("who wrote faust ?"), input.passage("faust " * number)
    windows = list(input.windows(question, passage))
    assert {place for window in windows for place in range(window.first, window.last)} == set(range(number))
    assert all(len(window.tokens) == len(window.tokens.types) <= 256 for window in windows)
    for window in windows:
        some = passage.ids[window.first : window.last]
        assert window.tokens.ids[window.at : window.at + len(some)] == some
    for one, two in itertools.pairwise(windows):
        assert one.last - two.first == min(OVERLAP, (256 - 3 - len(question)) // 2)
        assert one.last < two.last
    # A passage that fits is read once.
    assert (len(windows) <= 1) == (number <= 256 - 3 - len(question))


def test_of_a_long_question_the_end_is_kept_and_the_passage_has_room(reading):
    input = reading("shipped", 384)
    question = input.question("what else ? " * 500 + "who wrote faust ?")
    assert len(question) == MAX_QUESTION_TOKENS
    assert question[-4:] == input.question("who wrote faust ?")
    windows = list(input.windows(question, input.passage("goethe wrote faust . " * 250)))
    # The stock reader lets a question of 180 tokens stand in 42 windows of 1,000 words.
    assert len(windows) == 5
    assert all(window.tokens.ids[1 : 1 + MAX_QUESTION_TOKENS] == question for window in windows)


@pytest.mark.parametrize("kind", KINDS)
def test_white_space_behind_a_question_hides_nothing_of_it(reading, kind):
    assert reading(kind).question("Who?" + " \n" * 5000) == reading(kind).question("Who?") != []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("question", ["", " ", "Faust? " * 3000])
def test_the_smallest_window_reads_everything(reading, kind, question):
    # The library panics where the overlap is not smaller than the room beside the question.
    input = reading(kind, MIN_TOKENS)
    passage = input.passage("Goethe wrote Faust in Weimar. " * 20)
    windows = list(input.windows(input.question(question), passage))
    assert {place for window in windows for place in range(window.first, window.last)} == set(range(len(passage.ids)))
    assert all(len(window.tokens) <= MIN_TOKENS for window in windows)


EXACT = {
    "emoji": ("Ja 👍🏽 und 👩‍🔬 gut", "👩‍🔬"),
    "combining marks": ("the cafe\u0301 is open", "cafe\u0301"),
    "tabs and CRLF": ("one\ttwo\r\nthree", "two"),
    "Chinese": ("東京は日本の首都です。", "日本の首都"),
    "Arabic": ("مرحبا بكم في فايمار", "فايمار"),
    "half a character": ("ab \ud83d cd", "cd"),
    "no-break space": ("ab\u00a0cd\u3000ef", "cd"),
    "zero": ("ab \x00 cd", "cd"),
}


@pytest.mark.parametrize("kind", [*KINDS, "shipped"])
@pytest.mark.parametrize("name", EXACT)
def test_offsets_are_those_of_the_text(reading, kind, name):
    text, wanted = EXACT[name]
    found = reading(kind).passage(text)
    start = text.index(wanted)
    starts, ends = zip(*found.offsets, strict=True)
    assert start in starts and start + len(wanted) in ends


def test_a_token_has_no_white_space_at_its_ends(reading):
    text = "  one \t two\u00a0 three\n\n"
    for kind in KINDS:
        made = texts(reading(kind).passage(text), text)
        assert all(one == one.strip() for one in made)
        assert "".join(made).startswith("o") and "".join(made).endswith("e")


def test_tokens_that_split_a_character_have_all_of_it(reading):
    text = "a 👍 b"
    found = reading("bytes").passage(text)
    assert len(found.ids) > 5 and {one for one in texts(found, text) if one} == {"a", "👍", "b"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["the cafe\u0301 x", "نُصَّ", "हिन्दी में"])
def test_no_token_is_part_of_a_letter_with_its_marks(reading, kind, text):
    for start, end in reading(kind).passage(text).offsets:
        ends = text[start : start + 1] + text[end : end + 1]
        assert start == end or not any(unicodedata.category(one).startswith("M") for one in ends)


@pytest.mark.parametrize("kind", KINDS)
def test_a_letter_with_very_many_marks_costs_little(reading, kind):
    start = time.process_time()
    found = reading(kind).passage("e" + "\u0301" * 20_000 + " x")
    assert found.offsets[-1] == (20_002, 20_003) and time.process_time() - start < 10


@pytest.mark.parametrize("kind", KINDS)
def test_marks_of_mrqa_are_neither_seen_nor_crossed(reading, kind):
    text = "[TLE] Faust [PAR]Goethe wrote it.[DOC] [PAR] Who [SEP] knows?"
    found, plain = reading(kind).passage(text), reading(kind).passage(" " * 5 + text[5:12] + " " * 5 + text[17:33]
                                                                      + " " * 11 + text[44:])  # fmt: skip
    assert found.ids == plain.ids
    sections = {}
    for one, section in zip(texts(found, text), found.sections, strict=True):
        sections[section] = sections.get(section, "") + one
    assert {section: said for section, said in sections.items() if said} == {
        1: "Faust", 2: "Goethewroteit.", 4: "Who[SEP]knows?"
    }  # fmt: skip


# The library's Unigram itself knows special tokens as pieces.
@pytest.mark.parametrize("kind", ["words", "bytes"])
def test_what_looks_like_a_special_token_is_text(tiny_readers, kind):
    inner = tiny_readers.tokenizer(kind)
    opening, closing = inner.encode("").ids
    input = ReaderInput(inner, 64)
    text = f"a {inner.id_to_token(opening)} b {inner.id_to_token(closing)} c"
    assert not {opening, closing} & {*input.passage(text).ids, *input.question(text)}


wild = st.text(
    alphabet=st.one_of(
        st.characters(), st.sampled_from("a \t\r\n\u00a0\u3000e\u0301\u0627\u200f\u200d👩👍🏽\ud800京[PAR]")
    ),
    max_size=80,
)


@settings(deadline=None)
@given(st.sampled_from(KINDS), wild, st.integers(MIN_TOKENS, 40))
def test_any_text_has_offsets_in_order_inside_it(reading, kind, text, most):
    input = reading(kind, most)
    found = input.passage(text)
    assert len(found.ids) == len(found.offsets) == len(found.sections)
    assert all(0 <= start <= end <= len(text) for start, end in found.offsets)
    assert sorted(found.sections) == found.sections
    for column in zip(*found.offsets, strict=True):
        assert list(column) == sorted(column)
    assert all(one == one.strip() for one in texts(found, text))
    windows = list(input.windows(input.question(text), found))
    assert {place for window in windows for place in range(window.first, window.last)} == set(range(len(found.ids)))
    assert all(len(window.tokens) <= most for window in windows)
