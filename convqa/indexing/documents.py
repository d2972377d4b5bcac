"""Read passages from documents (text, Markdown, HTML, Word, PDF) with Haystack's converters."""

from __future__ import annotations

import logging
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile, is_zipfile

from convqa.domain import MetaValue, Passage
from convqa.errors import InputError, reason_of
from convqa.files import replace_surrogates
from convqa.indexing.cutting import cut, is_heading
from convqa.indexing.pages import joined
from convqa.indexing.passages import SUFFIXES as PASSAGES

_FORMAT = 2
"""Part of every digest. Increased when unchanged files must be read again."""
CONVERTERS: dict[str, tuple[str, dict[str, Any]]] = {
    ".txt": ("TextFileToDocument", {}),
    ".md": ("MarkdownToDocument", {"progress_bar": False, "extract_frontmatter": True}),
    ".html": ("HTMLToDocument", {"extraction_kwargs": {"output_format": "markdown", "include_comments": False}}),
    ".docx": ("DOCXToDocument", {"table_format": "markdown"}),
    ".pdf": ("PyPDFToDocument", {}),
}
_SUFFIXES = {".markdown": ".md", ".htm": ".html", **{suffix: suffix for suffix in CONVERTERS}}
_MOST_UNPACKED = 2**28
"""Maximum unpacked bytes of a Word file, against zip bombs."""
_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_DROPPED = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\u00ad\ufeff]")
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
_NO_TITLE = re.compile(r"(?i)\W*|untitled.*|microsoft word\b.*|(word )?document ?\d*|.*\.(docx?|pdf|tex|dvi|indd|rtf)")
_MARKUP = re.compile(r"^(#{1,6}\s+|```.*$|\|[ \t:|-]+\|[ \t]*\n)", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<!\\)(\*{1,3}|`)(?=\S)([^\n]{1,200}?)(?<=\S)\1(?!\w)")
_ESCAPED = re.compile(r"\\([\[\]*_<>#`|])")


class Unreadable(Exception):
    """A document has no readable text. The message says why and what to do."""


def find_documents(sources: Sequence[Path]) -> dict[str, Path]:
    """Return name -> path of the documents among files and, at any depth, in folders. Passages have none.

    The name is the path in the given folder. A folder with JSONL files is one of passages. Hidden files are ignored.

    :raises InputError: for missing sources, documents mixed with passages, duplicate names, or a folder without either.
    """
    kinds = ", ".join(f"*{suffix}" for suffix in sorted(_SUFFIXES))
    expected = f"Expected documents ({kinds}), passages (*.jsonl, *.jsonl.gz), or folders of them."
    documents = [source for source in sources if _is_of_documents(source, expected)]
    if documents and (rest := [str(source) for source in sources if source not in documents]):
        raise InputError(f"{', '.join(rest)}: passages mixed with documents; index them one after another with --add.")
    paths: dict[str, Path] = {}
    for source in documents:
        for name, path in _below(source) if source.is_dir() else [(source.name, source)]:
            if not (other := paths.setdefault(name, path)).samefile(path):
                raise InputError(f"{other} and {path} have the same name {name}: give the folder that contains both.")
    if documents and not paths:
        raise InputError(f"{', '.join(map(str, sources))}: no passages and no documents. {expected}")
    return dict(sorted(paths.items()))


def digest(data: bytes, base_url: str) -> str:
    """Return the digest of a document's version: its bytes and the settings of its passages."""
    return blake2b(f"{_FORMAT} {base_url} ".encode() + data, digest_size=16).hexdigest()


def read_document(name: str, data: bytes, language: str, base_url: str = "") -> list[Passage]:
    """Return the passages of a document: its text from ``meta.start`` to ``meta.end``.

    ``meta`` also has the ``file`` and, for a PDF, the ``page`` where the passage begins. The first passage also has the
    document's ``digest`` and its number of ``passages``. ``url`` is empty without ``base_url``.

    :raises Unreadable: if the document has no readable text.
    """
    text, title, pages = _text(name, data)
    url = base_url and base_url.rstrip("/") + "/" + quote(name)
    passages = []
    for number, (start, end) in enumerate(cut(text, language, pages), 1):
        meta: dict[str, MetaValue] = {"file": name, "start": start, "end": end}
        if pages:
            meta["page"] = bisect_right(pages, start)
        address = f"{url}#page={meta['page']}" if url and pages else url
        passages.append(Passage(f"{name}_p{number}", text[start:end], title, address, meta))
    if not passages:
        raise Unreadable("it has no text" + (": run OCR on a scan first" if pages else ""))
    passages[0].meta.update(digest=digest(data, base_url), passages=len(passages))  # type: ignore[attr-defined]
    return passages


def _is_of_documents(source: Path, expected: str) -> bool:
    if source.is_dir():
        return not any(path.name.endswith(PASSAGES) and path.is_file() for path in source.iterdir())
    if not source.exists():
        raise InputError(f"{source}: no such file or folder. {expected}")
    return source.suffix.lower() in _SUFFIXES


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    def stop(error: OSError) -> None:  # an unreadable folder must not look empty
        raise error

    for place, folders, names in os.walk(folder, onerror=stop):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(place, name) for name in names):
            # Word creates "~$name.docx" for an open file.
            if path.suffix.lower() in _SUFFIXES and not path.name.startswith((".", "~$")):
                yield path.relative_to(folder).as_posix(), path


def _text(name: str, data: bytes) -> tuple[str, str, Sequence[int]]:
    """Return the text of a document, its title, and the offsets of its pages, if any."""
    kind = _SUFFIXES[PurePosixPath(name).suffix.lower()]
    if bad := _IN_NAMES.search(name):
        raise Unreadable(f"its name has the character U+{ord(bad[0]):04X}; rename it")
    if not data.strip():
        raise Unreadable("it is empty")
    content, meta = _converted(kind, data)
    if "\x00" in content:
        raise Unreadable("it contains binary data")
    text = _DROPPED.sub("", replace_surrogates(content)).translate(_LIGATURES).replace("\r\n", "\n").replace("\r", "\n")
    pages: Sequence[int] = ()
    if kind == ".pdf":
        text, pages = joined(text.split("\f"))
    else:
        if kind == ".docx":  # except in tables, each line is a paragraph
            text = re.sub(r"\n(?!\|)|(?<!\|)\n", "\n\n", text)
        text = "\n".join(line.rstrip() for line in _MARKUP.sub("", text).replace("\f", "\n").split("\n"))
        text = _ESCAPED.sub(r"\1", _EMPHASIS.sub(r"\2", text)) if kind == ".html" else text
    first = text.strip().split("\n\n", 1)[0]
    for title in (_own_title(kind, data, meta), first if is_heading(first) else ""):
        title = " ".join(replace_surrogates(str(title or "")).split())[:200]
        if not _NO_TITLE.fullmatch(title):
            return text, title, pages
    return text, PurePosixPath(name).stem, pages


def _converted(kind: str, data: bytes) -> tuple[str, Mapping[str, Any]]:
    """:raises InputError: if a package is missing. :raises Unreadable: if the converter fails."""
    from haystack.components import converters
    from haystack.dataclasses import ByteStream

    parts = ZipFile(BytesIO(data)).infolist() if kind == ".docx" and is_zipfile(BytesIO(data)) else []
    if sum(part.file_size for part in parts) > _MOST_UNPACKED:
        raise Unreadable(f"it unpacks to more than {_MOST_UNPACKED:,} bytes")
    name, settings = CONVERTERS[kind]
    try:
        converter = getattr(converters, name)(**settings)
    except ImportError as error:
        raise InputError(f"{name} needs packages that are not installed: pip install 'convqa[documents]'.") from error
    failures: list[Any] = []  # converters log their failures
    logger = logging.getLogger(type(converter).__module__)

    def keep(record: logging.LogRecord) -> bool:
        failures.append(getattr(record, "error", ""))
        return False

    logger.addFilter(keep)
    for library in ("pypdf", "trafilatura"):  # their warnings do not help the user
        logging.getLogger(library).setLevel(logging.CRITICAL)
    try:
        meta = {"encoding": "utf-16"} if data.startswith((b"\xff\xfe", b"\xfe\xff")) else {}
        for document in converter.run([ByteStream(data, meta=meta)])["documents"]:
            return document.content or "", document.meta
    finally:
        logger.removeFilter(keep)
    raise Unreadable(_advice(reason_of(failures[-1]) if failures and failures[-1] else ""))


def _advice(failure: str) -> str:
    if "decrypt" in failure:
        return "it is encrypted; save it without its password"
    if "codec can't decode" in failure:
        return "its text is not UTF-8; save it as UTF-8"
    return f"it is damaged or of another type ({failure.rstrip('.')})" if failure else "it has no text"


def _own_title(kind: str, data: bytes, meta: Mapping[str, Any]) -> Any:
    """Return the title in a document's metadata."""
    with suppress(Exception):  # a readable text does not fail because of its title
        if kind == ".pdf":
            from pypdf import PdfReader

            return PdfReader(BytesIO(data)).metadata.title  # type: ignore[union-attr]
        if kind == ".html":
            from lxml import html

            return html.fromstring(data).findtext(".//title")
    return meta.get("docx", meta).get("title")
