"""Japanese words and tokens."""

from __future__ import annotations

import json
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.domain import Query
from convqa.errors import InputError
from convqa.text.analysis import MAX_TOKEN_CHARS, analyzer, placed, weigh
from convqa.text.japanese import MAX_PIECE_CHARS, Sudachi, pieces

JA = analyzer("ja")
WILD = st.text(st.one_of(st.characters(), st.sampled_from("東京へ行った。、ァ 1万Ａ㍿㌔ﷺΣİ\ud800\u0301")), max_size=300)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("東京タワーは、1958年に完成した！", ["東京", "タワー", "は", "1958", "年", "に", "完成", "し", "た"]),
        ("徳川（とくがわ）家", ["徳川", "とく", "が", "わ", "家"]),
        ("Wi-FiとNew\nYork don't", ["wi-fi", "と", "new", "york", "don't"]),
        ("犬\ud800猫👍だ㍿①", ["犬", "猫", "だ", "㍿", "①"]),
        ("\x00。\u3000…", []),
        ("", []),
    ],
)
def test_words_are_written_as_in_the_text(text, words):
    assert JA.words(text) == words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("会を行なった", "会を行う"),
        ("シュミレーション", "シミュレーション"),
        ("ＮＨＫ　ﾃﾚﾋﾞ", "nhkテレビ"),
        ("一九四五年", "1945年"),
        ("㍿東京", "株式会社東京"),
        ("猫だ", "猫です"),
    ],
)
def test_ways_of_writing_are_one_for_the_search(one, other):
    assert JA.tokens(one) == JA.tokens(other) != []


def test_stop_words():
    assert JA.tokens("富士山の高さは何メートルですか") == ["富士", "山", "高", "さ", "何", "メートル"]
    assert set(weigh(Query("富士山の高さは何メートルですか"), JA, "long")) == {"富士", "山", "高", "メートル"}
    assert JA.stopwords < JA.long_stopwords


def test_a_text_is_searched_by_the_stems_of_its_words():
    text = "日本国憲法第28条による労働基本権の保障は、私企業の労働者だけについて保障されるのではない。"
    assert JA.tokens(text) == [JA.stem(word) for word in JA.words(text) if word not in JA.stopwords]


@given(WILD)
def test_any_text_gives_words_that_stand_in_it(text):
    for word, _ in placed(text, "ja"):
        assert word.split() == [word]
    assert all(token and token.split() == [token] and len(token) <= MAX_TOKEN_CHARS * 18 for token in JA.tokens(text))


@given(st.text(st.sampled_from("東京。、 x\n"), max_size=5 * MAX_PIECE_CHARS))
def test_pieces_are_the_text(text):
    found = list(pieces(text))
    assert "".join(found) == text
    assert all(len(piece) <= MAX_PIECE_CHARS for piece in found)


def test_long_texts_are_cut_where_words_end():
    sentence = "国境の長いトンネルを抜けると雪国であった。"
    assert JA.words(sentence * 500) == JA.words(sentence) * 500
    assert JA.words("国境の長いトンネルを抜けると、" * 500) == JA.words("国境の長いトンネルを抜けると、") * 500


@pytest.mark.parametrize("unit", ["東", "タ", "あ", "1", "x", "😀", "\ud800", "ﷺ", "゛", "か\u3099", "東京へ行った"])
def test_20_000_characters_take_linear_time(unit):
    start = time.process_time()
    JA.tokens(unit * (20_000 // len(unit)))
    assert time.process_time() - start < 5


@pytest.mark.parametrize("package", ["sudachipy", "sudachidict_small"])
def test_without_the_extra_it_is_named(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=r"pip install 'convqa\[ja\]'"):
        analyzer.__wrapped__("ja")


def test_the_name_says_which_dictionary():
    assert JA.name == f"convqa-ja-2-sudachi-{Sudachi().version}"


def test_real_passages(data):
    read = json.loads((data / "squad-format" / "jsquad-valid-v1.3.json").read_bytes())["data"]
    texts = [paragraph["context"] for article in read[:5] for paragraph in article["paragraphs"]]
    counts = [(len(JA.words(text)), len(JA.tokens(text))) for text in texts]
    words, tokens = (sum(column) for column in zip(*counts, strict=True))
    assert 1.5 < sum(map(len, texts)) / words < 2.5
    assert 0.5 < tokens / words < 0.8
