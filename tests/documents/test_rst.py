"""reStructuredText, its directives and what it may not read."""

from __future__ import annotations

import pytest

from convqa.documents import rst
from convqa.documents.blocks import Unreadable
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

   x = 1

.. [1] Twice in August.
"""


def test_a_text_is_read_with_its_structure():
    document = read_rst(TEXT.encode())
    assert (document.title, document.meta) == ("Kiln rules", {"author": "Ann", "date": "2026-05-01"})
    assert [(block.kind, block.marker, block.cells or block.text) for block in document.blocks] == [
        ("heading", "", "Kiln rules"),
        ("paragraph", "", "See the fees, weekly."),
        ("heading", "", "Fees"),
        ("caption", "", "Entry fees"),
        ("header", "", ("Who", "Fee")),
        ("row", "", ("Adults", "4")),
        ("item", "3.", "Glaze"),
        ("item", "4.", "Fire"),
        ("paragraph", "", "3.2"),
        ("paragraph", "", "The kiln has a timer."),
        ("paragraph", "", "4.0"),
        ("paragraph", "", "It has none."),
        ("code", "", "x = 1"),
        ("paragraph", "", "Twice in August."),
    ]


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


def test_what_docutils_refuses_is_read_as_it_stands():
    table = "==== ===\nTool Room\n==== ===\nKiln 12 and more\n==== ===\n"
    document = read_rst(f"Text.\n\n{table}\nEnd.\n\n.. figure::\n\n   A caption.\n".encode())
    texts = " ".join(" ".join((block.text, *block.cells)) for block in document.blocks)
    assert all(words in texts for words in ("Kiln", "12 and more", "End.", "A caption."))


def test_a_text_of_comments_is_unreadable():
    with pytest.raises(Unreadable, match="no text"):
        read_rst(b".. A comment.")


def test_a_long_text_is_refused(monkeypatch):
    monkeypatch.setattr(rst, "MAX_CHARACTERS", 10)
    with pytest.raises(Unreadable, match="characters"):
        read_rst(b"x" * 11)
