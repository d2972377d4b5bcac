"""reStructuredText (.rst)."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Any

from docutils import ApplicationError, nodes
from docutils.core import publish_doctree

from convqa.documents.archive import amounts, lines
from convqa.documents.blocks import Block, Document, Unreadable
from convqa.documents.numerals import numeral
from convqa.documents.tables import table
from convqa.domain import MetaValue

MAX_CHARACTERS = 1_000_000
"""Limit of a document. docutils reads about 50,000 characters a second."""

_MAX_DIRECTIVES = 10
"""Depth to which unknown directives are read within each other."""
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 5,
    "syntax_highlight": "none",
    "smart_quotes": False,
}
_ROLE = re.compile(r":[\w:.+-]+:`~?([^`<]+?)(?:\s*<[^`>]*>)?`")
"""An interpreted text of Sphinx, such as :ref:`the rules <rules>`."""
_DIRECTIVE = re.compile(r"\s*\.\. [^\n]*?::([^\n]*)((?:\n\s+:[\w-]+:[^\n]*)*)")
"""The first lines of a directive: its name, arguments and options."""
_FORMS = {"loweralpha": "a", "upperalpha": "A", "lowerroman": "i", "upperroman": "I"}
_NOT_SHOWN = (nodes.comment, nodes.substitution_definition, nodes.target, nodes.raw, nodes.pending, nodes.docinfo)
_CODE = (nodes.literal_block, nodes.doctest_block, nodes.math_block)
_META = {"author", "date", "version"}


def read_rst(data: bytes) -> Document:
    """Read a reStructuredText.

    Unknown directives and roles, such as Sphinx's, are read as their text. No files are included.

    :raises Unreadable: if it has no text, is not UTF-8, or is too long.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable("its text is not UTF-8; save it as UTF-8") from error
    if len(text) > MAX_CHARACTERS:
        raise Unreadable(f"it has more than {MAX_CHARACTERS:,} characters; split it")
    reader = _Reader()
    try:
        tree = reader.parse(text)
        blocks = tuple(reader.blocks(tree))
    except (ApplicationError, RecursionError) as error:
        raise Unreadable(f"it is damaged ({type(error).__name__})") from error
    if not blocks:
        raise Unreadable("it has no text")
    meta: dict[str, MetaValue] = {
        field.tagname: field.astext()
        for info in tree.findall(nodes.docinfo)
        for field in info
        if field.tagname in _META
    }
    return Document(blocks, tree.get("title", ""), meta, dict(reader.counts), tuple(amounts(images=reader.images)))


class _Reader:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.images = 0
        self.directives = 0

    def parse(self, text: str) -> Any:
        tree = publish_doctree(_ROLE.sub(r"\1", text), settings_overrides=_SETTINGS)
        for reference in list(tree.findall(nodes.footnote_reference)):
            reference.parent.remove(reference)
        return tree

    def blocks(self, parent: Any, level: int = 1, depth: int = 1) -> Iterator[Block]:
        """Yield the blocks of a node.

        :param level: of the next heading.
        :param depth: of the next list.
        """
        for node in parent:
            text = " ".join(node.astext().split())
            if isinstance(node, nodes.section):
                yield from self.blocks(node, level + 1, depth)
            elif isinstance(node, nodes.title) and isinstance(parent, (nodes.section, nodes.document)):
                yield Block("heading", text, min(max(level - 1, 1), 6))
            elif isinstance(node, (nodes.bullet_list, nodes.enumerated_list)):
                for index, item in enumerate(node, start=node.get("start", 1)):
                    marker = ""
                    if isinstance(node, nodes.enumerated_list):
                        form = _FORMS.get(node["enumtype"], "1")
                        marker = f"{node['prefix']}{numeral(index, form)}{node['suffix']}"
                    yield from self._item(item, "", depth, marker)
            elif isinstance(node, nodes.definition_list_item):
                yield from self._item(node[-1], node[0].astext(), depth)
            elif isinstance(node, (nodes.field, nodes.option_list_item)):
                yield from self._item(node[1], node[0].astext(), depth)
            elif isinstance(node, nodes.table):
                yield from self._table(node)
            elif isinstance(node, (nodes.footnote, nodes.citation)):
                yield Block("footnote", " ".join(child.astext() for child in node[1:]).replace("\n", " "))
            elif isinstance(node, _CODE):
                yield Block("code", node.astext())
            elif isinstance(node, nodes.line_block):
                yield Block("paragraph", lines(node.astext()))
            elif isinstance(node, nodes.image):
                self.images += 1
                if " " in node.get("alt", ""):
                    yield Block("paragraph", node["alt"])
            elif isinstance(node, nodes.system_message):
                yield from self._directive(node, level, depth)
            elif isinstance(node, nodes.TextElement):
                if text and not isinstance(node, _NOT_SHOWN):
                    yield Block("paragraph", text)
            elif not isinstance(node, _NOT_SHOWN):
                yield from self.blocks(node, level, depth)

    def _item(self, node: Any, name: str, depth: int, marker: str = "") -> Iterator[Block]:
        """Yield a list item, whose first paragraph follows its name."""
        first, *others = (*self.blocks(node, depth=depth + 1), Block("paragraph"))
        text = f"{name}: {first.text}" if name and first.kind == "paragraph" else name
        yield Block("item", (text or first.text).removesuffix(": "), depth, marker)
        if first.kind != "paragraph":
            yield first
        yield from others[:-1]

    def _directive(self, message: Any, level: int, depth: int) -> Iterator[Block]:
        """Yield the blocks of the content of an unknown directive."""
        for source in message.findall(nodes.literal_block):
            opening = _DIRECTIVE.match(source.astext())
            if opening is None or "Unknown directive" not in message.astext() or self.directives >= _MAX_DIRECTIVES:
                continue
            argument = opening[1].strip()
            content = textwrap.dedent(source.astext()[opening.end() :].strip("\n"))
            # Names of modules and files say nothing.
            if " " in argument or (content and "toctree" not in opening[0]):
                self.directives += 1
                yield from self.blocks(self.parse(f"{argument}\n\n{content}"), level, depth)
                self.directives -= 1

    def _table(self, node: Any) -> Iterator[Block]:
        self.counts["tables"] += 1
        for title in node.findall(nodes.title):
            yield Block("caption", title.astext())
        grid: list[list[str]] = []
        # The texts of the cells that go on in rows below, and how many, by column.
        spans: dict[int, tuple[int, str]] = {}
        for row in node.findall(nodes.row):
            cells: list[str] = []
            for entry in (*row, None):
                while spans.get(len(cells), (0, ""))[0]:
                    rows_left, above = spans[len(cells)]
                    spans[len(cells)] = (rows_left - 1, above)
                    cells.append(above)
                if entry is not None:
                    if entry.get("morerows"):
                        spans[len(cells)] = (entry["morerows"], " ".join(entry.astext().split()))
                    cells += [" ".join(entry.astext().split()), *[""] * entry.get("morecols", 0)]
            grid.append(cells)
        headers = sum(len(head) for head in node.findall(nodes.thead))
        yield from table(grid, headers)
