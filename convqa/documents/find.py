"""Find documents among files, in folders, and in sources of other packages."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from convqa.documents.child import MAX_BYTES
from convqa.documents.formats import DocumentFormat
from convqa.documents.text import meta_of
from convqa.domain import MetaField
from convqa.errors import InputError
from convqa.files import files_in
from convqa.plugins import load, plugins
from convqa.safe_yaml import read_yaml
from convqa.validation import expect_type

SOURCES_GROUP = "convqa.document_sources"
"""Entry points of sources of documents in other packages: scheme = module:function."""
PASSAGE_SUFFIXES = (".jsonl", ".jsonl.gz")
_SIDECAR = "meta.yaml"
"""A file with the meta of the documents in a folder and below."""

Formats = Mapping[str, DocumentFormat]
"""Formats by suffix."""


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A document to index: its name, which begins the ids of its passages, and the function that returns its bytes.

    ``meta`` is added to that of each passage. A document whose ``data`` raises ``OSError`` keeps its passages.
    """

    name: str
    data: Callable[[], bytes]
    meta: Mapping[str, MetaField] = field(default_factory=dict)


Files = Mapping[str, DocumentFile]
"""Documents by name."""


class Found(NamedTuple):
    """Documents, the numbers of other files by kind, and why a ``meta.yaml`` cannot be read, by its name."""

    files: Files
    skipped: Mapping[str, int]
    unread: Mapping[str, str]


def find_documents(sources: Sequence[str | Path], formats: Formats) -> Found:
    """Return the documents among files, in folders at any depth and in sources, and the other files.

    The name is the path in the given folder. A folder with JSONL files is one of passages. Hidden files are ignored.
    Links that lead out of a folder and files that are not regular are skipped. A file ``meta.yaml`` gives the meta of
    the documents in its folder and below; that of a nearer one counts.

    :raises InputError: for missing sources, documents of unknown formats, documents mixed with passages, duplicate
        names, or a folder without documents and passages.
    """
    schemes = plugins(SOURCES_GROUP)
    known = ", ".join([*sorted(f"*{suffix}" for suffix in formats), *(f"{scheme}:" for scheme in schemes)])
    expected = f"Expected documents ({known}), passages (*.jsonl, *.jsonl.gz), or folders of them."
    documents: list[DocumentFile] = []
    passages: list[str] = []
    skipped: Counter[str] = Counter()
    unread: dict[str, str] = {}
    for given in sources:
        source = Path(given)
        scheme = str(given).partition(":")[0]
        if scheme in schemes:
            documents += _from_source(
                str(given),
                load(schemes[scheme]),
                formats,
                skipped,
            )
        elif not _holds_documents(source, formats, expected):
            passages.append(str(source))
        elif source.is_dir():
            documents += _below(source, formats, skipped, unread)
        else:
            documents.append(DocumentFile(source.name, partial(_bytes_of, source)))
    if passages and len(passages) < len(sources):
        raise InputError(
            f"{', '.join(passages)}: passages mixed with documents; index them one after another with --add."
        )
    if not passages and not documents:
        others = f" ({described(skipped)})" if skipped else ""
        raise InputError(f"{', '.join(map(str, sources))}: no passages and no documents{others}. {expected}")
    return Found(_by_name(documents), skipped, unread)


def suffix_of(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def described(skipped: Mapping[str, int]) -> str:
    """Return numbers of files such as "2 .doc, 1 .zip"."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(skipped.items()))


def _holds_documents(source: Path, formats: Formats, expected: str) -> bool:
    if source.is_dir():
        return not files_in(source, PASSAGE_SUFFIXES)
    if not source.exists():
        raise InputError(f"{source}: no such file or folder. {expected}")
    suffix = suffix_of(source.name)
    if suffix not in formats and suffix not in (".jsonl", ".gz", ".json", ".jl", ""):
        advice = " Save it as .docx." if suffix == ".doc" else ""
        raise InputError(f"{source}: documents of the type {suffix} are not supported.{advice} {expected}")
    if suffix in formats and not source.is_file():
        raise InputError(f"{source} is not a regular file; expected a document.")
    return suffix in formats


def _from_source(
    location: str, source: Callable[[str], Iterable[DocumentFile]], formats: Formats, skipped: Counter[str]
) -> Iterator[DocumentFile]:
    """Yield the documents of another package's source. Count those of unknown formats."""
    for file in source(location):
        expect_type(
            location,
            file,
            DocumentFile,
            "values of convqa.documents.DocumentFile",
        )
        suffix = suffix_of(file.name)
        if suffix in formats:
            yield file
        else:
            skipped[suffix or "without extension"] += 1


def _below(
    source: Path,
    formats: Formats,
    skipped: Counter[str],
    unread: dict[str, str],
) -> Iterator[DocumentFile]:
    """Yield the documents in a folder. Count the other files, and add what is wrong with files of meta."""

    def stop(error: OSError) -> None:
        # An unreadable folder must not look empty.
        raise error

    meta_by_folder: dict[Path, Mapping[str, MetaField]] = {}
    for name, folders, names in os.walk(source, onerror=stop):
        folder = Path(name)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        meta = dict(meta_by_folder.get(folder.parent, {}))
        try:
            meta |= _sidecar(folder)
        except InputError as error:
            unread[(folder / _SIDECAR).relative_to(source).as_posix()] = str(error)
        meta_by_folder[folder] = meta
        for name in names:
            # Word creates "~$name.docx" for an open file.
            if name.startswith((".", "~$")) or name == _SIDECAR:
                continue
            path = folder / name
            if kind := _skipped_kind(path, source, formats):
                skipped[kind] += 1
            else:
                yield DocumentFile(path.relative_to(source).as_posix(), partial(_bytes_of, path), meta)


def _bytes_of(path: Path) -> bytes:
    """Return the bytes of a file, up to one more than a document may have."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _skipped_kind(path: Path, root: Path, formats: Formats) -> str:
    """Return why a file in a folder is no document: its suffix, or its kind; "" if it is one."""
    suffix = suffix_of(path.name)
    if suffix not in formats:
        return suffix or "without extension"
    # Unlike Path.resolve, this raises no error for a link that leads to itself.
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        return "links out of the folder"
    if path.is_symlink() and not path.is_file():
        return "broken links"
    return "" if path.is_file() else "special files"


def _sidecar(folder: Path) -> Mapping[str, MetaField]:
    """Return the meta that a file in the folder gives to the documents in it and below."""
    path = folder / _SIDECAR
    if not path.is_file():
        return {}
    values = read_yaml(path, "meta file")
    if not isinstance(values, dict):
        raise InputError(f"meta file {path}: expected a mapping such as team: law.")
    return meta_of(values)


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
