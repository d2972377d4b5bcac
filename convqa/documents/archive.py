"""Documents that are ZIP archives of XML parts, such as Word's."""

from __future__ import annotations

import logging
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from lxml import etree

from convqa.documents.blocks import Unreadable, amounts
from convqa.documents.text import clean
from convqa.domain import MetaField

logger = logging.getLogger(__name__)

_OLE = bytes.fromhex("D0CF11E0A1B11AE1")
"""The first bytes of Office files of before 2007, and of encrypted files of today."""
_PROPERTIES = {
    "created": "date",
    "creation-date": "date",
    "date": "date",
    "modified": "date",
    "creator": "author",
    "keywords": "keywords",
    "language": "language",
    "title": "title",
    "version": "version",
}
"""Name of an element -> field of the meta. The last name of a field counts."""
_TEMPLATE_DATE = "2013-12-23T23:15:00Z"
"""The date of the template of python-docx, which its documents keep unless it is set."""
_IMAGE = re.compile(r"(?i)(?<!thumbnail)\.(bmp|emf|gif|jpe?g|png|svg|tiff?|webp|wmf)$")
_WRAPPERS = (
    "{*}customXml",
    "{*}ins",
    "{*}moveTo",
    "{*}sdt",
    "{*}sdtContent",
)
"""Content controls, and insertions that are tracked. Their content is read as if it stood alone."""


class Archive:
    """The parts of a document.

    :raises Unreadable: if the file is encrypted or of before 2007.
    """

    def __init__(self, data: bytes) -> None:
        if data.startswith(_OLE):
            raise Unreadable("it is encrypted or in a format of before 2007; save it in today's, without a password")
        self._zip = ZipFile(BytesIO(data))

    def read(self, name: str) -> bytes:
        """Return the bytes of a part; none if it is missing."""
        part = self._zip.NameToInfo.get(name)
        return b"" if part is None else self._zip.read(part)

    def xml(self, name: str) -> Any:
        """Return the root element of a part, with names without namespaces; an empty element if it is missing.

        Of a damaged part, what can be read is read, with a warning.
        """
        data = self.read(name)
        if not data:
            return etree.Element("missing")
        parser = etree.XMLParser(
            recover=True,
            remove_comments=True,
            remove_pis=True,
            resolve_entities=False,
        )
        root = etree.fromstring(data, parser)
        if parser.error_log:
            logger.warning("its part %s is damaged and perhaps not read to its end", name)
        if root is None:
            raise Unreadable("it is encrypted or damaged; save it again, without a password")
        # What a fallback shows stands in another form beside it.
        etree.strip_elements(root, "{*}Fallback", with_tail=False)
        etree.strip_tags(root, *_WRAPPERS)
        for element in root.iter("*"):
            element.tag = element.tag.rpartition("}")[2]
            for key, value in element.items():
                element.set(key.rpartition("}")[2], value)
        return root

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """Return the type (its last word) and the part of each relationship of a part, by id."""
        folder, file = posixpath.split(name)
        relations = {}
        for element in self.xml(posixpath.join(folder, "_rels", f"{file}.rels")):
            kind = posixpath.basename(element.get("Type", ""))
            part = posixpath.normpath(posixpath.join("/", folder, element.get("Target", "")))
            relations[element.get("Id")] = kind, part.lstrip("/")
        return relations

    def diagrams(self, relations: Mapping[str, tuple[str, str]]) -> Iterator[str]:
        """Yield the texts of the diagrams (SmartArt) of a part, by its relationships."""
        for kind, part in relations.values():
            if kind == "diagramData":
                for paragraph in self.xml(part).iter("p"):
                    text = lines("".join(piece.text or "" for piece in paragraph.iter("t")))
                    if text:
                        yield text

    def main(self) -> str:
        """Return the name of the main part of a Word or PowerPoint document."""
        return dict(self.relations("").values())["officeDocument"]

    def not_read(self) -> tuple[str, ...]:
        """Return what is not read, such as "images: 3"."""
        counts: Counter[str] = Counter()
        for name in self._zip.NameToInfo:
            counts["images"] += bool(_IMAGE.search(name))
            counts["charts"] += "/charts/chart" in name
        return amounts(counts)


def properties(root: Any) -> tuple[str, dict[str, MetaField]]:
    """Return the title and the meta of an element with properties of the Dublin Core."""
    meta: dict[str, MetaField] = {}
    for name, field in _PROPERTIES.items():
        texts = [lines(element.text or "") for element in root.iter(name) if element.text != _TEMPLATE_DATE]
        value = ", ".join(filter(None, texts))
        if field == "date":
            value = value[:10]
        if value:
            meta[field] = value
    return str(meta.pop("title", "")), meta


def value(
    element: Any,
    path: str,
    name: str = "val",
    default: str = "",
) -> str:
    """Return an attribute of the element at a path; "" if there is no element, ``default`` if it has none."""
    found = element.find(path)
    return "" if found is None else str(found.get(name, default))


def number(text: str | None, default: int = 0) -> int:
    """Return the number that an attribute begins with, ``default`` for none."""
    digits = re.match(r"\s*(\d{1,6})", text or "")
    return int(digits[1]) if digits else default


def lines(text: str) -> str:
    """Return a text with single blanks, and without empty lines and control characters."""
    stripped = (" ".join(line.split()) for line in clean(text).split("\n"))
    return "\n".join(filter(None, stripped))
