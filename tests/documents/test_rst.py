"""reStructuredText, its directives and what it may not read."""

from __future__ import annotations

import pytest

from convqa.documents.rst import read_rst

TEXT = """
==========
Kiln rules
==========

:Author: Ann
:Date: 2026-05-01

See :ref:`the fees <fees>`, weekly [1]_.

Fees
====

.. list-table:: Entry fees
   :header-rows: 1

   * - Who
     - Fee
   * - Adults
     - 4

3. Glaze
4. Fire

.. versionadded:: 3.2

   The kiln has a timer.

   .. deprecated:: 4.0
      It has *none*.

.. toctree::

   other

.. code-block:: python
   :caption: kiln.py

   x = 1

.. [1] Twice in August.
"""


def test_a_text_is_read_with_its_structure():
    document = read_rst(TEXT.encode())
    assert document.title == "Kiln rules"
    assert document.meta["author"] == "Ann"
    assert [(block.kind, block.marker, block.cells or block.text) for block in document.blocks] == [
        ("heading", "", "Kiln rules"),
        ("item", "", "Author: Ann"),
        ("item", "", "Date: 2026-05-01"),
        ("paragraph", "", "See the fees, weekly."),
        ("heading", "", "Fees"),
        ("caption", "", "Entry fees"),
        ("header", "", ("Who", "Fee")),
        ("row", "", ("Adults", "4")),
        ("paragraph", "", ""),
        ("item", "3.", "Glaze"),
        ("item", "4.", "Fire"),
        ("paragraph", "", "3.2"),
        ("paragraph", "", "The kiln has a timer."),
        ("paragraph", "", "4.0 It has none."),
        ("code", "", "x = 1"),
        ("paragraph", "", "[1]"),
        ("paragraph", "", "Twice in August."),
    ]


@pytest.mark.parametrize("directive", ["c:function", "rst:directive", "my-card", "grid-item-card"])
def test_the_text_of_unknown_directives_is_read(directive):
    text = f".. {directive}:: kiln(*heat*)\n   :any-option: x\n\n   It *fires*.\n\n.. autoclass:: Kiln\n   :members:\n"
    assert [block.text for block in read_rst(text.encode()).blocks] == ["kiln(heat)", "It fires."]


@pytest.mark.parametrize(
    "directive",
    [".. include:: {0}", ".. csv-table::\n   :file: {0}", ".. raw:: html\n   :file: {0}", ".. raw:: html\n\n   secret"],
)
def test_files_and_raw_markup_are_not_included(directive, tmp_path, capfd):
    path = tmp_path / "secret.txt"
    path.write_text("secret")
    document = read_rst(f"Text.\n\n{directive.format(path)}\n".encode())
    assert [block.text for block in document.blocks] == ["Text."]
    assert capfd.readouterr() == ("", "")


def test_errors_of_markup_are_silent(capfd):
    document = read_rst(b"Title\n==\n\n*open `role\n\n  odd indent\n :bad:`x`\n")
    assert "open" in " ".join(block.text for block in document.blocks)
    assert capfd.readouterr() == ("", "")


def test_a_subtitle_is_a_heading():
    text = "Office\n======\n\nLeaflet 7\n---------\n\nFees\n~~~~\n\nFour euros.\n\nHours\n~~~~~\n\nAt nine.\n"
    headings = [(block.text, block.level) for block in read_rst(text.encode()).blocks if block.kind == "heading"]
    assert headings == [("Office", 1), ("Leaflet 7", 1), ("Fees", 2), ("Hours", 2)]


def test_a_text_without_a_title_has_none():
    assert read_rst(b"One.\n\nA\n=\n\nTwo.\n\nB\n=\n\nThree.\n").title == "untitled"
