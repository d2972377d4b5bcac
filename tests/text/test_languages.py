"""Languages of other packages, by entry points."""

from __future__ import annotations

import pytest

from convqa import load
from convqa.domain import Passage
from convqa.errors import InputError
from convqa.text.analysis import analyzer
from convqa.text.languages import GROUP, languages

LATIN = """
from convqa.text.analysis import Analyzer

def analyzer():
    stopwords = frozenset(["et", "in"])
    return Analyzer("la", "latin-1", stopwords, stopwords, lambda word: word.removesuffix("am"))

def number():
    return 1
"""


@pytest.fixture
def latin(installed):
    def install(point):
        languages.cache_clear()
        installed("latin", GROUP, point, LATIN)

    yield install
    languages.cache_clear()


def test_a_package_adds_a_language(latin):
    latin("la = latin:analyzer")
    assert list(languages()) == ["la", "de", "en", "ja", "pl"]
    assert analyzer("la").tokens("Vitam et mortem in Roma") == ["vit", "mortem", "roma"]


def test_its_passages_are_indexed_and_asked(latin):
    latin("la = latin:analyzer")
    qa = load("copy-bm25", [Passage("v", "Seneca vitam brevem dixit.")], language="la")
    answer = qa.conversation().ask("Quid de vit dixit?").answer
    assert answer.sentences[0].citations[0].passage_id == "v"


def test_it_cannot_replace_a_language_of_convqa(latin):
    latin("en = latin:analyzer")
    assert analyzer("en").name == "convqa-en-2"


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        ("la = latin:number", "expected an Analyzer of latin:number, got 1"),
        ("la = latin:nothing", "la: the entry point latin:nothing of latin .* cannot be loaded"),
    ],
)
def test_a_language_that_cannot_be_loaded_names_its_package(latin, point, reason):
    latin(point)
    with pytest.raises(InputError, match=reason):
        analyzer.__wrapped__("la")


def test_an_unknown_language_is_refused_with_those_that_are_installed(latin):
    latin("la = latin:analyzer")
    with pytest.raises(InputError, match="unknown language 'xx'; expected one of de, en, ja, la, pl"):
        analyzer("xx")
