"""What exports, measures, languages, and formats and sources of documents promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from convqa.documents import Document, DocumentFile, DocumentFormat, Unreadable
from convqa.documents.find import find_documents
from convqa.documents.formats import document_formats
from convqa.documents.layout import laid_out
from convqa.domain import Answer, Citation, Failure, Hit, Passage, Ranking, Response, Rewrite, Sentence, TurnId
from convqa.evaluation.measures import find_measure
from convqa.exports import Format, Submission, export, find_format
from convqa.indexing import index_sources
from convqa.stores import open_store
from convqa.text.analysis import Analyzer, analyzer


class ExportContract:
    """Set ``name``, as ``convqa export --as`` takes it.

    ::

        class TestMine(ExportContract):
            name = "mine"
    """

    name: ClassVar[str]

    @pytest.fixture
    def format(self) -> Format:
        return find_format(self.name)

    def test_its_name_is_that_of_its_entry_point(self, format: Format) -> None:
        assert format.name == self.name

    def test_every_kind_of_answer_is_written_alike_twice(self, format: Format) -> None:
        first = exported(format, RESPONSES)
        assert first
        assert first == exported(format, RESPONSES)

    def test_each_kind_of_answer_is_written_by_itself(self, format: Format) -> None:
        for response in RESPONSES:
            exported(format, [response]).decode("utf-8")

    def test_an_empty_run_is_opened_and_closed(self, format: Format) -> None:
        assert exported(format, []) == format.opening + format.closing


class MeasureContract:
    """Set ``name``, as ``convqa evaluate --measure`` takes it, without a cut-off.

    ::

        class TestHit(MeasureContract):
            name = "Hit"
    """

    name: ClassVar[str]

    @pytest.fixture
    def score(self) -> Callable[[set[str], list[str]], float]:
        measure = find_measure(self.name)
        assert measure is not None, f"no installed package has a measure {self.name}"
        return measure

    def test_a_score_is_a_finite_number(self, score: Callable[[set[str], list[str]], float]) -> None:
        for relevant in ({"a"}, {"a", "z"}):
            for ranking in (["a"], ["b", "a"], ["b", "c"], ["a", "z"]):
                assert math.isfinite(score(relevant, ranking)), (relevant, ranking)

    def test_an_empty_ranking_scores_nothing(self, score: Callable[[set[str], list[str]], float]) -> None:
        assert score({"a"}, []) == 0.0

    def test_a_cutoff_hides_what_comes_after_it(self) -> None:
        at_one = find_measure(f"{self.name}@1")
        assert at_one is not None
        assert at_one({"a"}, ["b", "a"]) == at_one({"a"}, ["b", "c"])
        assert at_one({"a"}, ["a", "b"]) != at_one({"a"}, ["b", "a"])


class LanguageContract:
    """Set ``code``, as ``--language`` takes it, and ``text`` with some words of the language.

    ::

        class TestFrench(LanguageContract):
            code = "fr"
            text = "Les rivières et la mer"
    """

    code: ClassVar[str]
    text: ClassVar[str]

    @pytest.fixture
    def words(self) -> Analyzer:
        return analyzer(self.code)

    def test_it_says_what_it_is(self, words: Analyzer) -> None:
        assert words.language == self.code
        assert words.name, "a collection holds the name of its analyzer"
        assert words.stopwords <= words.long_stopwords

    def test_a_text_has_tokens_without_blanks(self, words: Analyzer) -> None:
        tokens = words.tokens(self.text)
        assert tokens, "stores index these tokens"
        assert [token for token in tokens if token.split() != [token]] == []
        assert words.tokens(self.text) == tokens

    def test_any_text_is_analyzed(self, words: Analyzer) -> None:
        for text in ("", " ", "\x00", "\ud800", "?!", "👍🏽", "x" * 100_000):
            words.tokens(text)


class DocumentFormatContract:
    """Set ``suffix``, ``document`` (the bytes of a small one) and ``text``, a part of what it says.

    ::

        class TestRtf(DocumentFormatContract):
            suffix = ".rtf"
            document = rb"{\\\\rtf1 Faust is a tragedy.}"
            text = "Faust is a tragedy."
    """

    suffix: ClassVar[str]
    document: ClassVar[bytes]
    text: ClassVar[str]

    @pytest.fixture
    def format(self) -> DocumentFormat:
        formats = document_formats()
        assert self.suffix in formats, f"no installed package reads {self.suffix}"
        return formats[self.suffix]

    def test_its_text_is_read_with_its_pages(self, format: DocumentFormat) -> None:
        read = format.read(self.document)
        assert isinstance(read, Document)
        document = laid_out(read.blocks)
        assert self.text in document.text
        pages = [part.page for part in document.parts]
        assert pages == sorted(pages), "pages are in order"

    def test_a_damaged_document_is_read_or_unreadable(self, format: DocumentFormat) -> None:
        """Another error would be reported without advice."""
        for data in (b"\x00", b"\xff\xfe\xfd", self.document[: len(self.document) // 2], self.document[::-1]):
            try:
                format.read(data)
            except Unreadable as error:
                assert str(error), "the message says why"

    def test_it_is_indexed(self, format: DocumentFormat, tmp_path: Path) -> None:
        folder = tmp_path / "documents"
        folder.mkdir()
        (folder / f"small{self.suffix}").write_bytes(self.document)
        url = str(tmp_path / "collection")
        index_sources([folder], url)
        assert any(self.text in passage.text for passage in open_store(url).scan())


class DocumentSourceContract:
    """Set ``location``, as ``convqa index`` takes it. Its documents must be found without a network.

    ::

        class TestWiki(DocumentSourceContract):
            location = "wiki:en"
    """

    location: ClassVar[str]

    def test_its_documents_have_names_and_bytes(self) -> None:
        documents = find_documents([self.location], document_formats()).files
        assert documents
        for name, document in documents.items():
            assert isinstance(document, DocumentFile)
            assert isinstance(document.data(), bytes), name

    def test_it_is_indexed_and_a_second_time_nothing_changes(self, tmp_path: Path) -> None:
        url = str(tmp_path / "collection")
        index_sources([self.location], url)
        before = open_store(url).info()
        assert before.count > 0
        index_sources([self.location], url)
        assert open_store(url).info() == before


_FAUST = Passage(
    "doc 1/a%20b:[2]", "Faust is a play by Goethe.\r\nIt has two parts. 👍🏽", "Faust\nA play", "http://x/?q=1"
)
_HEBREW = Passage("עברית", "שלום [1] עולם", "שלום")
_REWRITE = Rewrite.unchanged("Who wrote Faust?")
_RANKING = Ranking((Hit(_FAUST.id, 9.5, _FAUST), Hit(_HEBREW.id, 8.5, _HEBREW)))
_CITED = [
    Sentence("Faust is by Goethe [1].", (Citation(_FAUST.id, 0, 26), Citation(_HEBREW.id, 0, 4))),
    Sentence("It has two parts."),
    Sentence("A whole passage.", (Citation(_HEBREW.id),)),
]
_UNANSWERED = Answer("none", "", reason="no passage is about it", score=0.25, nearest=(_FAUST.id,))
_ASKED = Answer("question", "Which Faust?", label="More")

RESPONSES = (
    Response(TurnId(12, 1), _REWRITE, _RANKING, answer=Answer.of(_CITED, "en", 0.75)),
    Response(TurnId("a_b", 1), _REWRITE, _RANKING, answer=_UNANSWERED),
    Response(TurnId("a_b", 2), _REWRITE, _RANKING, answer=_ASKED),
    Response(TurnId("a_b", 3), error=Failure("reader", "ValueError", "a bad\nturn")),
)
"""An answer with citations, none, a question back, and a failure."""


def exported(format: Format, responses: list[Response] | tuple[Response, ...]) -> bytes:
    """Return what a format makes of responses."""
    pieces: list[bytes] = []
    export(responses, format, Submission("a run", "a team"), pieces.append)
    return b"".join(pieces)
