"""Documents that are ZIP archives of XML parts, such as Word's, unpacked within limits."""

from __future__ import annotations

import posixpath
import re
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

from lxml import etree

from convqa.documents.blocks import Unreadable
from convqa.domain import MetaValue

MAX_UNPACKED_BYTES = 2**28
"""Limit of all parts that are read of a document."""
MAX_PART_BYTES = 2**26
"""Limit of a part."""
MAX_PART_NODES = 4_000_000
"""Limit of the elements and attributes of a part. Each takes about 120 bytes of memory."""

_OLE = bytes.fromhex("D0CF11E0A1B11AE1")
"""The first bytes of Office files of before 2007, and of encrypted files of today."""
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_PROPERTIES = {
    "date": ("modified", "date", "created", "creation-date"),
    "author": ("initial-creator", "creator"),
    "version": ("version",),
    "language": ("language",),
    "keywords": ("keywords", "keyword"),
}
_OF_LIBRARIES = ("python-docx", "2013-12-23", "Steve Canny", "2013-01-27", "openpyxl")
"""Authors and dates in the templates of libraries that write documents."""
_NO_TITLES = re.compile(r"Microsoft \w+ - .*|((PowerPoint|Word) )?(presentation|document)\d*|untitled", re.IGNORECASE)


class Archive:
    """The parts of an archive.

    :param data: the bytes of the file.
    :param kind: how the format is called, such as "Word document (.docx)".
    :raises Unreadable: if the file is no archive.
    """

    def __init__(self, data: bytes, kind: str) -> None:
        if data.startswith(_OLE):
            if _ENCRYPTED in data:
                raise Unreadable("it is encrypted; save it without its password")
            raise Unreadable(f"it is in a format of before 2007; save it as {kind}")
        try:
            self._archive = ZipFile(BytesIO(data))
        except (BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise Unreadable(f"it is damaged or of another type; save it as {kind}") from error
        self._parts = {info.filename.replace("\\", "/").lower(): info for info in self._archive.infolist()}
        self._bytes_left = MAX_UNPACKED_BYTES
        self.damaged: list[str] = []

    def read(self, name: str, first_bytes: int | None = None) -> bytes:
        """Return the bytes of a part, or the first ones; none if it is missing."""
        part = self._parts.get(name.lower())
        if part is None:
            return b""
        size = min(part.file_size, first_bytes or part.file_size)
        if size > min(MAX_PART_BYTES, self._bytes_left):
            raise Unreadable(f"its part {name} unpacks to {size:,} bytes; split the document")
        self._bytes_left -= size
        try:
            with self._archive.open(part) as stream:
                return stream.read(size)
        except (BadZipFile, zlib.error, EOFError, ValueError, OSError, NotImplementedError) as error:
            raise Unreadable(f"its part {name} is damaged; open the document and save it again") from error
        except RuntimeError as error:
            raise Unreadable("it is encrypted; save it without its password") from error

    def xml(self, name: str, first_bytes: int | None = None) -> Any:
        """Return the root element of a part, an empty element if the part is missing.

        What can be read of a part that is damaged or cut is read, and its name is added to ``damaged``.
        """
        data = self.read(name, first_bytes)
        if first_bytes is None and data.count(b"<") + data.count(b"=") > MAX_PART_NODES:
            raise Unreadable(f"its part {name} has more than {MAX_PART_NODES:,} elements; split the document")
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, recover=True, remove_comments=True, remove_pis=True
        )
        root = etree.fromstring(data, parser) if data.strip() else None
        if data and any(entry.level == etree.ErrorLevels.FATAL for entry in parser.error_log):
            self.damaged.append(name)
        return etree.Element("missing") if root is None else root

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """Return the type (its last word) and the part of each relationship of a part of Office Open XML, by id."""
        folder, file = posixpath.split(name)
        relations = {}
        for element in self.xml(f"{folder}/_rels/{file}.rels".lstrip("/")):
            target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", "")))
            kind = element.get("Type", "").rpartition("/")[2]
            relations[element.get("Id", "")] = (kind, target.lstrip("/"))
        return relations

    def losses(self) -> Iterator[str]:
        """Yield what is not read of damaged parts."""
        for name in dict.fromkeys(self.damaged):
            yield f"the end of its part {name}, which is damaged or too long"

    def main(self, default: str) -> str:
        """Return the name of the main part of a document of Office Open XML."""
        targets = [target for kind, target in self.relations("").values() if kind == "officeDocument"]
        return next((target for target in targets if target.lower() in self._parts), default)


def local_name(element: Any) -> str:
    """Return the name of an element without its namespace, "" for an entity."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str, default: str = "") -> str:
    """Return an attribute of an element (or of None) by its name without namespace."""
    if element is None:
        return default
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), default)


def number(text: str, default: int = 0) -> int:
    """Return a number of XML, ``default`` for none."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else default


def properties(root: Any) -> tuple[str, dict[str, MetaValue]]:
    """Return the title and the meta of an element with properties of the Dublin Core."""
    texts: dict[str, list[str]] = {}
    for element in root.iter("{*}*"):
        if text := " ".join((element.text or "").split()):
            texts.setdefault(local_name(element), []).append(text)
    meta: dict[str, MetaValue] = {}
    for field, names in _PROPERTIES.items():
        values = next((texts[name] for name in names if name in texts), [])
        value = ", ".join(value for value in values if not value.startswith(_OF_LIBRARIES))
        if field == "date":
            value = value[:10] if re.match(r"\d{4}-\d\d-\d\d", value) else ""
        if value:
            meta[field] = value
    title = texts.get("title", [""])[0]
    return "" if _NO_TITLES.fullmatch(title) else title, meta
