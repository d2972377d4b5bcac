"""sentencex's boundaries: no blank makes it panic, a panic stops nothing, and a long text is seen in blocks."""

from __future__ import annotations

import random

import pytest
import sentencex

from convqa.text.sentences import BLOCK, boundaries

WIDE = [sign for sign in map(chr, range(0x80, 0x110000)) if sign.isspace()]
SIGNS = [
    *"ABCZÄЖabéж \t\n\r.!?…。！？()[]（）【】019日本語カ👍🏽",
    *"\"'`“”„‘’«»「」『』",
    *"\u0301\u200d\ufe0f",
    *WIDE,
    *("Dr.", "z. B.", "Yahoo!", "[1]", "a@b.de", "1.", "•"),
]


class PanicException(BaseException):
    """What a panic in Rust becomes, by its name."""


def said(text, language="en"):
    return [text[start:end] for start, end in boundaries(text, language)]


@pytest.mark.parametrize("blank", WIDE)
def test_no_blank_between_a_capital_letter_and_its_stop_panics(blank, capfd):
    assert said(f"Rich in vitamin C{blank}{blank}. Eat it! Now.")[-1] == "Now."
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("language", ["en", "de", "ja", "fr", "zh"])
def test_nothing_panics(language, capfd):
    chance = random.Random(language)
    for _ in range(2000):
        text = "".join(chance.choices(SIGNS, k=chance.randint(1, 25)))
        assert "".join(said(text, language)) == text
    assert "panicked" not in capfd.readouterr().err


def test_a_panic_ends_no_run(monkeypatch):
    def panic(language, text):
        raise PanicException("byte index 18 is not a char boundary")

    monkeypatch.setattr(sentencex, "get_sentence_boundaries", panic)
    assert said("One. Two! 行く。来た") == ["One. ", "Two! ", "行く。", "来た"]
    assert boundaries("One. Two! " * BLOCK, "en")[-1] == (10 * BLOCK - 5, 10 * BLOCK)
    assert said("Three.") == ["Three."]
    assert boundaries("", "en") == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, MemoryError])
def test_only_a_panic_is_caught(stop, monkeypatch):
    def end(language, text):
        raise stop

    monkeypatch.setattr(sentencex, "get_sentence_boundaries", end)
    with pytest.raises(stop):
        boundaries("One.", "en")


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
    head, count = [first] * shift, 3 * BLOCK // len(sentence)
    short = said(first + sentence, language)
    assert short[0] == first
    assert said("".join(head) + sentence * count, language) == head + short[1:] * count


def test_a_sentence_longer_than_a_block_is_one():
    text = "Then " * BLOCK
    assert boundaries(f"He came. {text}. So it is.", "en") == [
        (0, 9),
        (9, 5 * BLOCK + 11),
        (5 * BLOCK + 11, 5 * BLOCK + 20),
    ]


def test_a_text_of_one_block_is_seen_as_a_whole():
    text = ("He came. “" + "She went. " * BLOCK)[: BLOCK - 4] + "end”"
    assert [found["end_index"] for found in sentencex.get_sentence_boundaries("en", text)] == [
        end for _, end in boundaries(text, "en")
    ]
