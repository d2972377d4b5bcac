"""A Lucene index that is open for reading, with Lucene's own classes over Anserini's fields."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeGuard

from convqa.domain import Passage
from convqa.errors import InputError, WorkError
from convqa.files import parse_line
from convqa.stores.anserini.errors import reading
from convqa.stores.anserini.java import java_class

ID, CONTENTS, RAW = "id", "contents", "raw"
"""Anserini's fields."""

SEGMENTS = "segments_"
"""The beginning of the name of Lucene's list of segments."""

_LOCK = "write.lock"


class Index:
    """``reader`` is Lucene's. ``lucene8``: from before Lucene 9, whose ids cannot be sorted by; the test is Anserini's.

    :raises InputError: if it cannot be read, or is none of Anserini's.
    :raises StoreDamaged: if files are missing or not as they were written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with reading(folder):
            directory = java_class("org.apache.lucene.store.FSDirectory").open(
                java_class("java.nio.file.Paths").get(str(folder.absolute()))
            )
            self.reader = java_class("org.apache.lucene.index.DirectoryReader").open(directory)
            said = str(self.reader.toString())
            self.lucene8 = "lucene.version=9" not in said and "lucene.version=10" not in said
            self.count = int(self.reader.numDocs())
        self._check()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keeps the files open, also when another thread closes the index meanwhile: Java would die of reading on."""
        with reading(self.folder):
            if not self.reader.tryIncRef():
                raise WorkError(f"the index {self.folder} is closed")
            try:
                yield
            finally:
                self.reader.decRef()

    def close(self) -> None:
        with reading(self.folder):
            self.reader.close()

    def numbers(self) -> Iterator[int]:
        """Lucene's numbers of all documents that are not deleted."""
        live: Any = java_class("org.apache.lucene.index.MultiBits").getLiveDocs(self.reader)
        return (number for number in range(self.reader.maxDoc()) if live is None or live.get(number))

    def number(self, id: str) -> int | None:
        """Lucene's number of the document of this id."""
        try:
            id.encode("utf-8")
        except UnicodeEncodeError:
            return None
        found = java_class("io.anserini.index.IndexReaderUtils").convertDocidToLuceneDocid(self.reader, id)
        return None if found < 0 else int(found)

    def documents(self) -> Any:
        """Lucene's reader of stored fields, for one thread."""
        return self.reader.storedFields()

    def passage(self, number: int, documents: Any = None) -> Passage:
        """:raises InputError: if its text is not stored."""
        document = (documents or self.documents()).document(number)
        found = stored_passage(str(document.get(ID)), _text(document.get(RAW)), _text(document.get(CONTENTS)))
        if found is None:
            raise InputError(
                f"the index {self.folder} does not keep the text of document {str(document.get(ID))!r}: wanted in it a "
                f"stored field {RAW!r} (JSON with {CONTENTS!r}, or plain text) or {CONTENTS!r}. Index the passages "
                "again with Anserini's option -storeRaw."
            )
        return found

    @cached_property
    def has_vectors(self) -> bool:
        """Whether term vectors are stored (Anserini's ``-storeDocvectors``), which feedback reads."""
        with self.in_use():
            return self.count == 0 or self.reader.termVectors().get(next(self.numbers())) is not None

    @cached_property
    def has_json(self) -> bool:
        """Whether ``raw`` is JSON, from which feedback can count the terms of a document where there are no vectors."""
        with self.in_use():
            raw = _text(self.documents().document(next(self.numbers())).get(RAW)) if self.count else None
        return _is_object(raw)

    def _check(self) -> None:
        """Look at the first document."""
        if not self.count:
            return
        try:
            with self.in_use():
                first = next(self.numbers())
                if self.documents().document(first).get(ID) is None:
                    raise InputError(
                        f"the index {self.folder} has no stored field {ID!r}: Anserini did not make it. Index the "
                        "passages again with Anserini or with convqa index."
                    )
                self.passage(first)
        except BaseException:
            self.close()
            raise


def stored_passage(id: str, raw: str | None, contents: str | None) -> Passage | None:
    """Return the passage of the stored fields ``raw`` and ``contents``; None where neither has a text.

    ``raw`` is the line of JSON that was indexed (``id`` and ``contents``, with ``title``, ``url`` and ``meta`` where
    they are), or else the text itself.
    """
    record = None
    if _is_object(raw):
        with suppress(InputError):
            record, _ = parse_line(raw.encode("utf-8", "replace"), "", "")
    if not isinstance(record, dict):
        text = raw if contents is None else contents
        return None if text is None else Passage(id, text)
    text = record.get("contents", record.get("text", contents))
    if not isinstance(text, str):
        return None
    title, url = (found if isinstance(found, str) else "" for found in (record.get("title"), record.get("url")))
    meta = record["meta"] if isinstance(record.get("meta"), dict) else {}
    plain = {name: value for name, value in meta.items() if isinstance(value, str | int | float | bool)}
    return Passage(id, text, title, url, plain)


def _is_object(raw: str | None) -> TypeGuard[str]:
    return raw is not None and raw.lstrip().startswith("{")


def _text(stored: Any) -> str | None:
    return None if stored is None else str(stored)


def is_index(folder: Path) -> bool:
    """Whether a folder has Lucene's list of segments; no Java is asked."""
    try:
        return any(name.startswith(SEGMENTS) for name in os.listdir(folder))
    except OSError:
        return False


def fingerprint(folder: Path) -> str | None:
    """A checksum that changes whenever the index does, without reading it: of the list of segments, in which every
    segment has a random id from its making, and of names and sizes of all files. None where there is no index.
    """
    try:
        files = [(name, (folder / name).stat().st_size) for name in sorted(os.listdir(folder)) if name != _LOCK]
        lists = [name for name, _ in files if name.startswith(SEGMENTS)]
        if not lists:
            return None
        digest = blake2b(repr(files).encode("utf-8", "surrogateescape"), digest_size=16)
        for name in lists:
            digest.update((folder / name).read_bytes())
    except OSError:
        return None
    return digest.hexdigest()
