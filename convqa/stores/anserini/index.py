"""A Lucene index with Anserini's fields, open for reading."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from convqa.domain import Passage
from convqa.errors import InputError, WorkError
from convqa.files import parse_line
from convqa.stores.anserini.java import java_class, java_text, reading

ID, CONTENTS, RAW = "id", "contents", "raw"
"""Anserini's field names."""

SEGMENTS = "segments_"
"""Prefix of the name of Lucene's list of segments."""

_LOCK = "write.lock"


class LuceneIndex:
    """An open index. ``reader`` is Lucene's. ``lucene8`` marks an index before Lucene 9, which cannot sort by id.

    :raises InputError: if it cannot be read.
    :raises StoreDamaged: if files are missing or corrupt.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with reading(folder):
            directory = java_class("org.apache.lucene.store.FSDirectory").open(
                java_class("java.nio.file.Paths").get(str(folder.absolute()))
            )
            self.reader = java_class("org.apache.lucene.index.DirectoryReader").open(directory)
            # As Anserini tells the versions apart.
            description = str(self.reader.toString())
            self.lucene8 = "lucene.version=9" not in description and "lucene.version=10" not in description
            self.count = int(self.reader.numDocs())

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the files open if another thread closes the index: reading a closed index crashes the JVM."""
        with reading(self.folder):
            if not self.reader.tryIncRef():
                raise WorkError(f"index {self.folder} is closed")
            try:
                yield
            finally:
                self.reader.decRef()

    def close(self) -> None:
        with reading(self.folder):
            self.reader.close()

    def numbers(self) -> Iterator[int]:
        """Iterate over Lucene's numbers of live documents."""
        live: Any = java_class("org.apache.lucene.index.MultiBits").getLiveDocs(self.reader)
        return (number for number in range(self.reader.maxDoc()) if live is None or live.get(number))

    def number(self, id: str) -> int | None:
        """Return Lucene's number of a document, None for an unknown id."""
        reader_utils = java_class("io.anserini.index.IndexReaderUtils")
        number = int(reader_utils.convertDocidToLuceneDocid(self.reader, java_text(id)))
        return None if number < 0 else number

    def documents(self) -> Any:
        """Return Lucene's reader of stored fields, which is not thread-safe."""
        return self.reader.storedFields()

    def passage(self, number: int, documents: Any = None) -> Passage:
        """:raises InputError: if its text is not stored."""
        document = (documents or self.documents()).document(number)
        id = str(document.get(ID))
        passage = stored_passage(id, _text(document.get(RAW)), _text(document.get(CONTENTS)))
        if passage is None:
            raise InputError(
                f"index {self.folder} does not store the text of document {id!r}: expected an index "
                f"by Anserini with a field {RAW!r} (JSON with {CONTENTS!r}, or plain text) or {CONTENTS!r}. Index the "
                "passages again with its option -storeRaw, or with convqa index."
            )
        return passage


def stored_passage(
    id: str,
    raw: str | None,
    contents: str | None,
) -> Passage | None:
    """Return the passage of the stored fields ``raw`` and ``contents``; None if neither has a text.

    ``raw`` is the indexed line of JSON (``id``, ``contents``, and optionally ``title``, ``url`` and ``meta``), or the
    text.
    """
    record = None
    if raw is not None and raw.lstrip().startswith("{"):
        with suppress(InputError):
            record, _ = parse_line(raw.encode("utf-8", "replace"), "", "")
    if not isinstance(record, dict):
        text = raw if contents is None else contents
        return None if text is None else Passage(id, text)
    text = record.get("contents", record.get("text", contents))
    if not isinstance(text, str):
        return None
    fields = {name: record[name] for name in ("title", "url") if isinstance(record.get(name), str)}
    meta = record.get("meta")
    items = meta.items() if isinstance(meta, dict) else ()
    scalars = {name: value for name, value in items if isinstance(value, str | int | float | bool)}
    return Passage(id, text, meta=scalars, **fields)


def _text(stored: Any) -> str | None:
    return None if stored is None else str(stored)


def is_index(folder: Path) -> bool:
    """Return whether a folder has Lucene's list of segments, without Java."""
    try:
        return any(name.startswith(SEGMENTS) for name in os.listdir(folder))
    except OSError:
        return False


def fingerprint(folder: Path) -> str | None:
    """Return a checksum that changes with the index; None if there is no index.

    It covers the list of segments, each of which has a random id, and the names and sizes of all files.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if name != _LOCK)
        files = [(name, (folder / name).stat().st_size) for name in names]
        lists = [name for name in names if name.startswith(SEGMENTS)]
        if not lists:
            return None
        digest = blake2b(repr(files).encode("utf-8", "surrogateescape"), digest_size=16)
        for name in lists:
            digest.update((folder / name).read_bytes())
    except OSError:
        return None
    return digest.hexdigest()
