"""Passages from documents: text, Markdown, HTML, Word and PDF, each read by Haystack's own converter."""

from __future__ import annotations

import logging
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile, is_zipfile

from convqa.domain import MetaValue, Passage
from convqa.errors import InputError, reason_of
from convqa.files import mend
from convqa.indexing.cutting import cut, is_heading, paragraphs
from convqa.indexing.pages import joined
from convqa.indexing.passages import SUFFIXES as PASSAGES

_FORMAT = 1
"""Part of every digest: raised when the same files must be read again."""

_KINDS = {
    ".txt": "txt", ".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html",
    ".docx": "docx", ".pdf": "pypdf",
}  # fmt: skip
_CONVERTERS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "txt": ("TextFileToDocument", {}),
    "markdown": ("MarkdownToDocument", {"progress_bar": False, "extract_frontmatter": True}),
    "html": ("HTMLToDocument", {"extraction_kwargs": {"output_format": "markdown", "include_comments": False}}),
    "docx": ("DOCXToDocument", {"table_format": "markdown"}),
    "pypdf": ("PyPDFToDocument", {}),
}
_MOST_UNPACKED = 2**28
"""Bytes. Some kB of a Word file's zip could be many GB."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_DROPPED = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\u00ad\ufeff]")
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
_NO_TITLE = re.compile(r"(?i)\W*|untitled.*|microsoft word\b.*|(word )?document ?\d*|.*\.(docx?|pdf|tex|dvi|indd|rtf)")
_MARKUP = re.compile(r"^(#{1,6}\s+|```.*$|\|[ \t:|-]+\|[ \t]*\n)", re.MULTILINE)

_EMPHASIS = re.compile(r"(\*{1,3}|`)(?=\S)([^\n]{1,200}?)(?<=\S)\1(?!\w)")


class Unreadable(Exception):
    """A document without a text that could be read; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class File:
    """A document: where it is, and its path in the folder that was given, by which passages and messages name it."""

    path: Path
    name: str


def find_documents(sources: Sequence[Path]) -> list[File]:
    """The documents among files and, at any depth, in folders; none where the sources are files of passages.

    A folder that directly holds JSONL files is one of passages. Hidden files and folders are left out.

    :raises InputError: for what does not exist, documents beside passages, two of one name, a folder without either.
    """
    if missing := [str(source) for source in sources if not source.exists()]:
        raise InputError(f"{', '.join(missing)}: no such file or folder. Wanted: documents, or passages (JSONL).")
    of_documents = [source for source in sources if _is_of_documents(source)]
    if not of_documents:
        return []
    if rest := [str(source) for source in sources if source not in of_documents]:
        wanted = f"documents ({', '.join(_KINDS)}) or passages (JSONL), each with a command of its own; --add adds"
        raise InputError(f"{', '.join(rest)}: no document, but {of_documents[0]} is one. Wanted: {wanted}.")
    found: dict[str, File] = {}
    for source in of_documents:
        for file in _below(source) if source.is_dir() else [File(source, source.name)]:
            other = found.setdefault(file.name, file)
            if other.path.resolve() != file.path.resolve():
                raise InputError(f"{other.path} and {file.path} would both be {file.name}: give the folder of both.")
    if not found:
        folders, kinds = ", ".join(map(str, sources)), ", ".join(f"*{suffix}" for suffix in _KINDS)
        raise InputError(f"{folders}: no passages and no documents. Wanted: {kinds}, or *.jsonl and *.jsonl.gz.")
    return [found[name] for name in sorted(found)]


def digest(data: bytes, base_url: str) -> str:
    """What tells a document's version: its bytes, and what its passages are made with."""
    return blake2b(f"{_FORMAT} {base_url} ".encode() + data, digest_size=16).hexdigest()


def read_document(file: File, data: bytes, language: str, base_url: str = "") -> list[Passage]:
    """The passages of a document, which are its text from ``meta.start`` to ``meta.end``.

    ``meta`` also has its ``file`` and, of a PDF, the ``page`` where the passage begins. The first passage keeps the
    document's ``digest`` and how many ``passages`` it has. ``url`` is empty without ``base_url``.

    :raises Unreadable: for what has no text that can be read.
    """
    if bad := _IN_NAMES.search(file.name):
        raise Unreadable(f"its name has the character U+{ord(bad[0]):04X}; rename it")
    text, title, pages = _text(file, data)
    url = base_url and base_url.rstrip("/") + "/" + quote(file.name)
    passages = []
    for number, (start, end) in enumerate(cut(text, language), 1):
        meta: dict[str, MetaValue] = {"file": file.name, "start": start, "end": end}
        if pages:
            meta["page"] = bisect_right(pages, start)
        place = f"{url}#page={meta['page']}" if url and pages else url
        passages.append(Passage(f"{file.name}_p{number}", text[start:end], title, place, meta))
    if not passages:
        raise Unreadable("it has no text" + (": a scan has to go through OCR first" if pages else ""))
    passages[0].meta.update(digest=digest(data, base_url), passages=len(passages))  # type: ignore[attr-defined]
    return passages


def _is_of_documents(source: Path) -> bool:
    if source.is_dir():
        return not any(path.name.endswith(PASSAGES) and path.is_file() for path in source.iterdir())
    return source.suffix.lower() in _KINDS


def _below(folder: Path) -> Iterator[File]:
    # A folder that cannot be read must not look like one whose documents are gone.
    for place, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            path = Path(place, name)
            # Word keeps "~$name.docx" beside a file that is open.
            if path.suffix.lower() in _KINDS and not name.startswith((".", "~$")):
                yield File(path, path.relative_to(folder).as_posix())


def _raise(error: OSError) -> None:
    raise error


def _text(file: File, data: bytes) -> tuple[str, str, Sequence[int]]:
    """The text of a document, its title, and where its pages begin, if it has any."""
    kind = _KINDS[file.path.suffix.lower()]
    if not data.strip():
        raise Unreadable("it is empty")
    content, meta = _converted(kind, data)
    if "\x00" in content:
        raise Unreadable("it holds binary data, no text")
    content = _DROPPED.sub("", mend(content)[0]).translate(_LIGATURES).replace("\r\n", "\n").replace("\r", "\n")
    if kind == "pypdf":
        text, pages = joined(content.split("\f"))
    else:
        pages = []
        if kind == "docx":  # a paragraph a line, but for tables
            content = re.sub(r"\n(?!\|)|(?<!\|)\n", "\n\n", content)
        if kind == "html":
            content = _EMPHASIS.sub(r"\2", content)
        text = "\n".join(line.rstrip() for line in _MARKUP.sub("", content).replace("\f", "\n").split("\n"))
    first = next((text[start:end].strip() for start, end in paragraphs(text) if text[start:end].strip()), "")
    titles = (_own_title(kind, data, meta), first if is_heading(first) else "")
    own = (" ".join(mend(title)[0].split())[:200] for title in titles)
    return text, next((title for title in own if not _NO_TITLE.fullmatch(title)), PurePosixPath(file.name).stem), pages


def _converted(kind: str, data: bytes) -> tuple[str, Mapping[str, Any]]:
    from haystack.dataclasses import ByteStream

    encoding = {"encoding": "utf-16"} if kind in {"txt", "markdown"} and data.startswith(_UTF16) else {}
    with _failures() as failures:
        if kind == "docx" and is_zipfile(BytesIO(data)):
            with ZipFile(BytesIO(data)) as archive:
                if sum(part.file_size for part in archive.infolist()) > _MOST_UNPACKED:
                    raise Unreadable(f"it unpacks to more than {_MOST_UNPACKED:,} bytes")
        documents = _converter(kind).run([ByteStream(data, meta=encoding)])["documents"]
    if not documents:
        raise Unreadable(_advice(failures[-1] if failures else ""))
    return documents[0].content or "", documents[0].meta


def check_packages(files: Sequence[File]) -> None:
    """Raise an ``InputError`` if a package is missing that these documents need."""
    for kind in {_KINDS[file.path.suffix.lower()] for file in files}:
        _converter(kind)


def _converter(kind: str) -> Any:
    """Haystack's converter of a kind. :raises InputError: if what it needs is not installed."""
    from haystack.components import converters

    name, settings = _CONVERTERS[kind]
    try:
        return getattr(converters, name)(**settings)
    except ImportError as error:
        raise InputError(f"{name} needs packages that are not installed: pip install 'convqa[documents]'.") from error


@contextmanager
def _failures() -> Iterator[list[str]]:
    """What Haystack's converters log instead of raising it."""
    failures: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = getattr(record, "error", None)
            failures.append("" if error is None else reason_of(error))

    # pypdf and trafilatura speak of details that no user can mend.
    loggers = [logging.getLogger(name) for name in ("haystack.components.converters", "pypdf", "trafilatura")]
    kept, before = Kept(), [(one.handlers, one.propagate) for one in loggers]
    for one in loggers:
        one.handlers, one.propagate = ([kept] if one is loggers[0] else [logging.NullHandler()]), False
    try:
        yield failures
    finally:
        for one, (handlers, propagate) in zip(loggers, before, strict=True):
            one.handlers, one.propagate = handlers, propagate


def _advice(failure: str) -> str:
    if not failure:
        return "it has no text"
    if "decrypt" in failure:
        return "it is encrypted; save it without its password"
    if "codec can't decode" in failure:
        return "its text is not in UTF-8; save it so"
    return f"it is damaged, or not what its name says ({failure.rstrip('.')})"


def _own_title(kind: str, data: bytes, meta: Mapping[str, Any]) -> str:
    """The title that a document gives itself."""
    try:
        found = _TITLES[kind](data, meta) if kind in _TITLES else ""
    except Exception:  # of a file that was read: its title is no reason to leave it out
        found = ""
    return found if isinstance(found, str) else ""


def _pdf_title(data: bytes, _: Mapping[str, Any]) -> Any:
    from pypdf import PdfReader

    metadata = PdfReader(BytesIO(data)).metadata
    return metadata.title if metadata else ""


def _html_title(data: bytes, _: Mapping[str, Any]) -> Any:
    from lxml import html

    return html.fromstring(data).findtext(".//title")


_TITLES: dict[str, Callable[[bytes, Mapping[str, Any]], Any]] = {
    "markdown": lambda _, meta: meta.get("title"),
    "docx": lambda _, meta: meta["docx"]["title"],
    "html": _html_title,
    "pypdf": _pdf_title,
}
