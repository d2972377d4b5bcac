"""Polish words and tokens."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa import load
from convqa.domain import Query
from convqa.errors import InputError
from convqa.indexing import index_sources
from convqa.text.analysis import analyzer, weigh
from convqa.text.idf import CEILING, idf
from convqa.text.polish import MAX_WORD_CHARS, Morfeusz, plain
from convqa.text.sentences import sentences
from convqa.text.support import lexical_support

PL = analyzer("pl")
WILD = st.text(st.one_of(st.characters(), st.sampled_from("ąćęłńóśźżĄŁ \u0301\u0328-.,'1xİß")), max_size=200)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ludziom", "człowieka"),
        ("rękami", "ręka"),
        ("poszła", "pójść"),
        ("większych", "duży"),
        ("Źródłach", "zrodlo"),
        ("zażo\u0301łc\u0301", "zażółć"),
        ("Dvořák", "dvorak"),
        ("30 km", "30 kilometrów"),
    ],
)
def test_forms_of_a_word_are_one_for_the_search(one, other):
    assert PL.tokens(one) == PL.tokens(other) != []


def test_faiss_beside_it_does_not_end_the_process():
    pytest.importorskip("faiss")
    work = "m = Morfeusz(); import faiss; assert [m.lemma('ludziom') for _ in range(500)] == ['cz\u0142owiek'] * 500"
    made = subprocess.run(
        [sys.executable, "-c", f"from convqa.text.polish import Morfeusz; {work}"], capture_output=True, check=False
    )
    assert made.returncode == 0, made.stderr


def test_words_of_no_dictionary_are_stemmed():
    assert PL.tokens("convqami convqach") == ["convq", "convq"]
    assert PL.tokens("1,5 GPT-4 x86") == ["1,5", "gpt", "4", "x86"]


def test_of_several_lemmas_the_shortest_that_is_not_marked_counts():
    lemma = Morfeusz().lemma
    # "Wine" and "fault"; "castle" and "lock", homonyms of one lemma; "slab" and, long ago, "raft".
    assert [lemma(word) for word in ("win", "zamkiem", "płytami")] == ["wina", "zamek", "płyta"]
    # Of a word in parts, that of the first: "(I) had", not "with dust".
    assert [lemma(word) for word in ("byłem", "miałem")] == ["być", "mieć"]


def test_stop_words():
    question = "W którym państwie leży Bombaj?"
    assert set(weigh(Query(question), PL)) == {"ktor", "panstw", "lez", "bomb"}
    assert set(weigh(Query(question), PL, "long")) == {"panstw", "lez", "bomb"}
    assert set(weigh(Query("w ktorym panstwie lezy Bombaj"), PL, "long")) == {"panstw", "lez", "bomb"}
    assert PL.stopwords < PL.long_stopwords
    assert PL.words("W górach") == ["w", "górach"]


@given(WILD)
def test_any_text_is_searched_by_the_stems_of_its_words(text):
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    assert all(token and token.split() == [token] for token in PL.tokens(text))
    assert set(PL.tokens(plain)) <= {PL.stem(word) for word in PL.words(plain)}


@given(WILD)
def test_plain_words_stay_plain_and_as_long(text):
    assert plain(plain(text)) == plain(text)
    assert len(plain(text)) == len(text)


@pytest.mark.parametrize("unit", ["ą", "dwu", "1,"])
def test_a_word_of_any_length_takes_linear_time(unit):
    start = time.process_time()
    PL.stem(unit * (100_000 // len(unit)))
    assert Morfeusz().lemma("a" * (MAX_WORD_CHARS + 1)) == "a" * (MAX_WORD_CHARS + 1)
    assert time.process_time() - start < 2


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "morfeusz2", None)
    with pytest.raises(InputError, match=r"pip install 'convqa\[pl\]'"):
        analyzer.__wrapped__("pl")


def test_the_name_says_which_dictionary():
    assert PL.name.startswith("convqa-pl-2-sgjp-20")


def test_what_has_no_polish_part_does_without():
    assert idf("zamek", "pl") == CEILING
    said = "Urodził się w Zaosiu. Zmarł w Stambule."
    assert [said[start:end] for start, end in sentences(said, "pl")] == ["Urodził się w Zaosiu.", "Zmarł w Stambule."]
    passage = "Adam Mickiewicz urodził się w 1798 roku w Zaosiu."
    assert lexical_support(passage, "Mickiewicza urodzono w Zaosiu w 1798.", "pl") == 1
    assert lexical_support(passage, "Mickiewicz urodził się w 1799.", "pl") <= 0.4


def test_a_collection_is_asked_in_polish(tmp_path):
    passages = [
        {"id": "1", "title": "Mumbaj", "text": "Mumbaj, dawniej Bombaj, leży w zachodnich Indiach."},
        {"id": "2", "title": "Kair", "text": "Kair jest stolicą Egiptu. Miasto leży nad Nilem."},
    ]
    (tmp_path / "passages.jsonl").write_text("\n".join(map(json.dumps, passages)), encoding="utf-8")
    url = str(tmp_path / "collection")
    index_sources([tmp_path / "passages.jsonl"], url, language="pl")
    talk = load("expansion-bm25", url).conversation()
    assert talk.ask("W jakim panstwie leza Indie?").answer.sentences[0].citations[0].passage_id == "1"
    assert talk.ask("Czego stolicami?").ranking.hits[0].id == "2"


def test_real_passages(data):
    read = json.loads((data / "squad-format" / "poquad-sample.json").read_bytes())["data"]
    texts = [paragraph["context"] for article in read[:20] for paragraph in article["paragraphs"]]
    words = [word for text in texts for word in PL.words(text)]
    tokens = [token for text in texts for token in PL.tokens(text)]
    assert 0.6 < len(tokens) / len(words) < 0.9
    assert len(set(tokens)) / len(set(words)) < 0.8
