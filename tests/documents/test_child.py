"""Documents read within limits of time and memory."""

from __future__ import annotations

import pytest

from convqa.documents import Unreadable
from convqa.documents.child import MAX_BYTES, DocumentReader
from convqa.errors import InputError

MODULE = """
import time
from convqa.documents import Block, Document, DocumentFormat, Unreadable

def read(data):
    if data == b"slow":
        time.sleep(60)
    if data == b"memory":
        bytearray(2**31)
    if data == b"exit":
        import os; os._exit(3)
    if data == b"long":
        return Document((Block("paragraph", "x" * 5_000_001),))
    if data == b"print":
        print("noise")
    if data == b"package":
        import no_such_package
    if data == b"damaged":
        raise KeyError("root")
    return Document((Block("paragraph", "Text."),))

form = DocumentFormat((".form",), read)
"""


@pytest.fixture
def reader(installed):
    installed("outside_child", "convqa.document_formats", "form = outside_child:form", MODULE)
    with DocumentReader(max_seconds=10) as reader:
        yield reader


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"slow", "takes more than 1 seconds"),
        (b"memory", "bytes of memory"),
        (b"exit", "bytes of memory"),
        (b"long", "more than 5,000,000 characters"),
        (b"damaged", "damaged or of another type"),
    ],
)
def test_a_document_beyond_a_limit_is_refused_and_the_next_one_read(reader, data, reason, monkeypatch):
    reader.read(".form", b"print")  # its child has started
    with monkeypatch.context() as patch, pytest.raises(Unreadable, match=reason):
        patch.setattr(reader, "_max_seconds", 1 if data == b"slow" else 10)
        reader.read(".form", data)
    document, _ = reader.read(".form", b"print")
    assert document.blocks[0].text == "Text."


def test_a_missing_package_is_named_with_the_command_that_installs_it(reader):
    with pytest.raises(InputError, match=r"no_such_package.*pip install 'convqa\[documents\]'"):
        reader.read(".form", b"package")


def test_a_file_of_too_many_bytes_is_not_read():
    class Long(bytes):
        def __len__(self):
            return MAX_BYTES + 1

    with DocumentReader() as reader, pytest.raises(Unreadable, match="268,435,456 bytes"):
        reader.read(".txt", Long())


def test_warnings_of_a_reader_are_returned(reader):
    document, warnings = reader.read(".txt", "Größe".encode("cp1252"))
    assert document.blocks and "not UTF-8" in warnings[0]
