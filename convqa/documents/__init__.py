"""Read documents: files in, passages with units out."""

from __future__ import annotations

from convqa.documents.blocks import Block, Document, Unreadable
from convqa.documents.find import DocumentFile
from convqa.documents.formats import DocumentFormat

__all__ = ["Block", "Document", "DocumentFile", "DocumentFormat", "Unreadable"]
