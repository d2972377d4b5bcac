"""The contracts of exports, measures, languages, and formats and sources of documents, for every one of ours."""

from __future__ import annotations

import pytest

from convqa.documents.formats import document_formats
from convqa.evaluation.measures import OWN
from convqa.exports import formats
from convqa.testing import (
    DocumentFormatContract,
    DocumentSourceContract,
    ExportContract,
    LanguageContract,
    MeasureContract,
)
from convqa.text.languages import languages

TEXTS = {
    "de": "Die Häuser der Stadt",
    "en": "The houses of the city",
    "ja": "東京タワーは完成した。",
    "pl": "Najdłuższa rzeka Polski",
}
PACKED = {".docx", ".epub", ".odt", ".pdf", ".pptx", ".xlsx"}
"""Formats that a test cannot write by hand (tests/documents has them)."""


def each(attribute, values):
    """Make a contract's class test every value of an attribute."""

    def decorate(contract):
        def set_attribute(self, request):
            setattr(self, attribute, request.param)

        contract._each = pytest.fixture(autouse=True, params=values)(set_attribute)
        return contract

    return decorate


@each("name", list(formats()))
class TestExports(ExportContract):
    pass


@each("name", list(OWN))
class TestMeasures(MeasureContract):
    pass


@each("code", list(languages()))
class TestLanguages(LanguageContract):
    @property
    def text(self):
        return TEXTS[self.code]


@each("suffix", sorted(document_formats().keys() - PACKED))
class TestDocumentFormats(DocumentFormatContract):
    document = b"<html><body><p>Faust is a tragedy that Goethe wrote in Weimar.</p></body></html>"
    text = "Faust is a tragedy"


SOURCE = """
from convqa.documents import DocumentFile


def shelf(location):
    yield DocumentFile("a.txt", b"Faust is a tragedy.".strip, {"from": location})
"""


class TestDocumentSources(DocumentSourceContract):
    location = "shelf:left"

    @pytest.fixture(autouse=True)
    def source(self, installed):
        installed("shelf_source", "convqa.document_sources", "shelf = shelf_source:shelf", SOURCE)
