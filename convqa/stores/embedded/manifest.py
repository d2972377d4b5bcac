"""manifest.json: what a collection's folder holds. Replacing it is what commits."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from convqa.errors import InputError, StoreDamaged
from convqa.files import whole_file
from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.checks import check_folder
from convqa.stores.integrity import Extent

NAME = "manifest.json"
FORMAT = "convqa-index"
VERSION = 4


@dataclass(frozen=True, slots=True)
class FieldTotals:
    """Of the passages in which the field has a token: how many, and how many tokens they have."""

    passages: int = 0
    tokens: int = 0

    @property
    def average(self) -> float:
        """Mean length in tokens."""
        return self.tokens / self.passages if self.passages else 1.0


@dataclass(frozen=True, slots=True)
class VectorState:
    """The vectors of ``count`` passages; ``generation`` is the number of the commit that made them."""

    encoder: Encoder
    options: VectorOptions
    generation: int = 0
    count: int = 0
    files: dict[str, Extent] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """``numbers`` passages were ever added and ``count`` of them live.

    ``data`` is the folder of the files, inside that of the manifest; ``files`` are names with what is in use of them.
    ``source`` is what the passages came from, where a cached collection was made of them.
    """

    language: str
    analyzer: str
    source: str = ""
    data: str = ""
    generation: int = 0
    numbers: int = 0
    count: int = 0
    checksum: str = "0" * 32
    totals: dict[str, FieldTotals] = field(
        default_factory=lambda: {"all": FieldTotals(), "text": FieldTotals(), "title": FieldTotals()}
    )
    files: dict[str, Extent] = field(default_factory=dict)
    vectors: VectorState | None = None
    vector_commits: int = 0  # goes on when vectors are gone: no name of a file comes twice

    def write(self, folder: Path) -> None:
        """Replace the folder's manifest, whole or not at all, and make it last."""
        with whole_file(folder / NAME) as file:
            file.write(orjson.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, option=orjson.OPT_INDENT_2))

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The folder's manifest.

        :raises InputError: if the folder is missing, not a collection of convqa, or of another version.
        :raises StoreDamaged: if the manifest is not as it was written.
        """
        path = folder / NAME
        try:
            data = orjson.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            check_folder(folder, "collection", "Make one with: convqa index FILES")
            raise InputError(
                f"{folder} is not a convqa collection: it has no {NAME}. {_ADVICE_FOREIGN} If one was being made here, "
                "give the command again."
            ) from None
        except orjson.JSONDecodeError as error:
            raise StoreDamaged(f"{path} is not JSON ({error}). {_ADVICE_DAMAGED}") from error
        except OSError as error:
            raise unreadable(folder, error) from error
        except ValueError as error:
            raise InputError(f"{path} cannot be read: {error}") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f"{path} is not of a convqa collection. {_ADVICE_FOREIGN}")
        if data.get("version") != VERSION:
            raise InputError(
                f"{folder} has collection format {data.get('version')!r}; this version of convqa reads {VERSION}. "
                "Index its passages again with --replace, or use the convqa that made it."
            )
        try:
            return _adapter().validate_python(data)
        except ValueError as error:
            raise StoreDamaged(f"{path} is garbled: {error}. {_ADVICE_DAMAGED}") from error


@cache
def _adapter() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


def identity(folder: str | Path) -> tuple[int, ...] | None:
    """A stamp that changes when a folder is committed to or replaced; None without a manifest. One system call."""
    try:
        status = os.stat(os.path.join(folder, NAME))
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


_ADVICE_FOREIGN = "Wanted: a folder made by convqa index."
_ADVICE_DAMAGED = "The collection is damaged: index its passages again with --replace."


def unreadable(folder: Path, error: OSError | ValueError) -> InputError | StoreDamaged:
    """The error for a folder whose files cannot be opened: kept from being read, or missing or garbled."""
    if isinstance(error, ValueError | FileNotFoundError | NotADirectoryError):
        return damaged(folder, error)
    return InputError(
        f"collection {folder}: {error.filename} cannot be read ({error.strerror}). Make it readable to this user."
    )


def damaged(folder: Path, error: Exception) -> StoreDamaged:
    """The error for a folder whose files contradict each other."""
    said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error) or type(error).__name__
    return StoreDamaged(f"collection {folder}: {said}. {_ADVICE_DAMAGED}")
