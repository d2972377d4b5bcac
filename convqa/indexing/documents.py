"""Find documents among files, folders and sources of other packages, and read their passages."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from convqa.domain import MetaValue, Passage
from convqa.errors import InputError
from convqa.files import replace_surrogates
from convqa.indexing.cutting import cut, is_heading
from convqa.indexing.formats import DocumentFormat, Unreadable
from convqa.indexing.passages import SUFFIXES as PASSAGE_SUFFIXES
from convqa.plugins import load, plugins
from convqa.stores.address import SCHEME
from convqa.tasks.files import files_in
from convqa.validation import expect_type

SOURCES_GROUP = "convqa.document_sources"
"""Entry points of document sources in other packages: scheme = module:function."""

_FORMAT = 2
"""Part of every digest. Increased when unchanged files must be read again."""
_MAX_TITLE_CHARS = 200
_NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NO_TITLE = re.compile(r"(?i)\W*|untitled.*|microsoft word\b.*|(word )?document ?\d*|.*\.(docx?|pdf|tex|dvi|indd|rtf)")

Formats = Mapping[str, DocumentFormat]
"""Formats by suffix."""


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A document to index: its name, which begins the ids of its passages, and the function that returns its bytes.

    ``meta`` is added to that of each passage. A document whose ``data`` raises ``OSError`` keeps its passages.
    """

    name: str
    data: Callable[[], bytes]
    meta: Mapping[str, MetaValue] = field(default_factory=dict)


def find_documents(sources: Sequence[str | Path], formats: Formats) -> dict[str, DocumentFile]:
    """Return the documents among files, in folders at any depth, and of other packages' sources. Passages have none.

    The name is the path in the given folder. A folder with JSONL files is one of passages. Hidden files are ignored.

    :raises InputError: for missing sources, documents mixed with passages, duplicate names, or a folder without either.
    """
    schemes = plugins(SOURCES_GROUP)
    known = [*sorted(f"*{suffix}" for suffix in formats), *sorted(f"{scheme}:" for scheme in schemes)]
    expected = f"Expected documents ({', '.join(known)}), passages (*.jsonl, *.jsonl.gz), or folders of them."
    documents: list[DocumentFile] = []
    passages: list[str] = []
    for source in sources:
        scheme = SCHEME.match(str(source))
        if scheme is not None and scheme[1] in schemes:
            documents += _documents_of(str(source), load(schemes[scheme[1]]), formats)
        elif _holds_documents(Path(source), formats, expected):
            documents += _below(Path(source), formats)
        else:
            passages.append(str(source))
    if passages and len(passages) < len(sources):
        raise InputError(
            f"{', '.join(passages)}: passages mixed with documents; index them one after another with --add."
        )
    if not passages and not documents:
        raise InputError(f"{', '.join(map(str, sources))}: no passages and no documents. {expected}")
    return _by_name(documents)


def digest(data: bytes, meta: Mapping[str, MetaValue], base_url: str) -> str:
    """Return the digest of a document's version: its bytes and the settings of its passages."""
    settings = f"{_FORMAT} {base_url} {sorted(meta.items()) if meta else ''}"
    return blake2b(settings.encode() + data, digest_size=16).hexdigest()


def read_document(
    file: DocumentFile,
    data: bytes,
    formats: Formats,
    language: str,
    base_url: str = "",
) -> list[Passage]:
    """Return the passages of a document: its text from ``meta.start`` to ``meta.end``.

    ``meta`` also has the ``file`` and, for a document with pages, the ``page`` where the passage begins. The first
    passage also has the document's ``digest`` and its number of ``passages``. ``url`` is empty without ``base_url``.

    :raises Unreadable: if the document has no readable text.
    """
    name = file.name
    if bad := _NOT_IN_NAMES.search(name):
        raise Unreadable(f"its name has the character U+{ord(bad[0]):04X}; rename it")
    if not data.strip():
        raise Unreadable("it is empty")
    document = formats[_suffix(name)].read(data)
    text = replace_surrogates(document.text)
    title = _title(document.title, text) or PurePosixPath(name).stem
    url = base_url and base_url.rstrip("/") + "/" + quote(name)
    passages = []
    for number, (start, end) in enumerate(cut(text, language, document.pages), 1):
        meta: dict[str, MetaValue] = {**file.meta, "file": name, "start": start, "end": end}
        link = url
        if document.pages:
            meta["page"] = bisect_right(document.pages, start)
            link = url and f"{url}#page={meta['page']}"
        if number == 1:
            meta["digest"] = digest(data, file.meta, base_url)
        passages.append(Passage(f"{name}_p{number}", text[start:end], title, link, meta))
    if not passages:
        raise Unreadable("it has no text" + (": run OCR on a scan first" if document.pages else ""))
    passages[0].meta["passages"] = len(passages)  # type: ignore[index]
    return passages


def _documents_of(
    location: str, source: Callable[[str], Iterable[DocumentFile]], formats: Formats
) -> Iterator[DocumentFile]:
    """Yield the documents of another package's source that have a known format."""
    for file in source(location):
        expect_type(location, file, DocumentFile, "values of convqa.indexing.DocumentFile")
        if _suffix(file.name) in formats:
            yield file


def _holds_documents(source: Path, formats: Formats, expected: str) -> bool:
    if source.is_dir():
        return not files_in(source, PASSAGE_SUFFIXES)
    if not source.exists():
        raise InputError(f"{source}: no such file or folder. {expected}")
    return _suffix(source.name) in formats


def _below(source: Path, formats: Formats) -> Iterator[DocumentFile]:
    """Yield a file, or the documents in a folder."""

    def stop(error: OSError) -> None:
        # An unreadable folder must not look empty.
        raise error

    if source.is_file():
        yield DocumentFile(source.name, source.read_bytes)
        return
    for folder, folders, names in os.walk(source, onerror=stop):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            # Word creates "~$name.docx" for an open file.
            if _suffix(name) in formats and not name.startswith((".", "~$")):
                path = Path(folder, name)
                yield DocumentFile(path.relative_to(source).as_posix(), path.read_bytes)


def _by_name(documents: Sequence[DocumentFile]) -> dict[str, DocumentFile]:
    """Return documents by name, in the order of names; refuse two with the same name."""
    document_of: dict[str, DocumentFile] = {}
    for document in sorted(documents, key=lambda document: document.name):
        if document.name in document_of:
            raise InputError(
                f"{document.name}: two documents have the same name; give the folder that contains both, so that "
                "their names begin with those of their folders."
            )
        document_of[document.name] = document
    return document_of


def _title(own: str, text: str) -> str:
    """Return the document's own title, else its first heading; "" if it has neither."""
    first = text.strip().split("\n\n", 1)[0]
    for candidate in (own, first if is_heading(first) else ""):
        title = " ".join(replace_surrogates(candidate).split())[:_MAX_TITLE_CHARS]
        if not _NO_TITLE.fullmatch(title):
            return title
    return ""


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()
