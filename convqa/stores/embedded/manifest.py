"""manifest.json: what a collection's folder holds. Replacing it is what commits."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from convqa.errors import InputError, StoreDamaged
from convqa.files import whole_file
from convqa.stores.base import Encoder, VectorOptions

NAME = "manifest.json"
FORMAT = "convqa-index"
VERSION = 2
_WITHOUT_VECTORS = 1
"""The format of a collection without vectors: versions of convqa that know no vectors open it too."""


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
    """The vectors of ``count`` passages, in ``rows`` rows of the files of ``epoch``.

    ``generation`` counts the commits that changed them; ``digest`` names what was written, whatever the folder.
    """

    encoder: Encoder
    options: VectorOptions
    generation: int
    epoch: int
    rows: int
    count: int
    digest: str

    @classmethod
    def of(cls, data: dict[str, Any]) -> VectorState:
        """:raises KeyError, TypeError, ValueError: for what is not as it was written."""
        numbers = {name: int(data[name]) for name in ("generation", "epoch", "rows", "count")}
        return cls(Encoder(**data["encoder"]), VectorOptions(**data["options"]), **numbers, digest=str(data["digest"]))


@dataclass(frozen=True, slots=True)
class Manifest:
    """``numbers`` passages were ever added and ``count`` of them live; ``files`` are names with their bytes in use."""

    language: str
    analyzer: str
    generation: int = 0
    numbers: int = 0
    count: int = 0
    checksum: str = "0" * 32
    totals: dict[str, FieldTotals] = field(
        default_factory=lambda: {"all": FieldTotals(), "text": FieldTotals(), "title": FieldTotals()}
    )
    files: dict[str, int] = field(default_factory=dict)
    vectors: VectorState | None = None

    def write(self, folder: Path) -> None:
        """Replace the folder's manifest, whole or not at all, and make it last."""
        data = {"format": FORMAT, "version": VERSION, **asdict(self)}
        if self.vectors is None:
            del data["vectors"]
            data["version"] = _WITHOUT_VECTORS
        with whole_file(folder / NAME) as file:
            file.write(orjson.dumps(data, option=orjson.OPT_INDENT_2))

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest, with every file that it names seen to be there and long enough.

        :raises InputError: if the folder is missing, not a collection of convqa, or of a later version.
        :raises StoreDamaged: if the manifest or a file is not as it was written.
        """
        data = cls._load(folder)
        if data.get("format") != FORMAT:
            raise InputError(f"{folder / NAME} is not of a convqa collection. {_ADVICE_FOREIGN}")
        if not isinstance(data.get("version"), int) or data["version"] > VERSION:
            raise InputError(
                f"{folder} has collection format {data.get('version')!r}; this version of convqa reads up to "
                f"{VERSION}. Use a newer convqa, or index the passages again with --replace."
            )
        try:
            manifest = cls._of(data)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise StoreDamaged(f"{folder / NAME} lacks or garbles {error}. {_ADVICE_DAMAGED}") from error
        manifest._check_files(folder)
        return manifest

    @classmethod
    def _load(cls, folder: Path) -> dict[str, Any]:
        path = folder / NAME
        try:
            data = orjson.loads(path.read_bytes())
        except FileNotFoundError:
            if not folder.exists():
                raise InputError(f"collection {folder} does not exist. Make one with: convqa index FILES") from None
            raise InputError(f"{folder} is not a convqa collection: it has no {NAME}. {_ADVICE_FOREIGN}") from None
        except NotADirectoryError:
            raise InputError(f"collection {folder} is a file, not a folder. {_ADVICE_FOREIGN}") from None
        except orjson.JSONDecodeError as error:
            raise StoreDamaged(f"{path} is not JSON ({error}). {_ADVICE_DAMAGED}") from error
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {error}") from error
        if not isinstance(data, dict):
            raise InputError(f"{path} is not of a convqa collection. {_ADVICE_FOREIGN}")
        return data

    @classmethod
    def _of(cls, data: dict[str, Any]) -> Manifest:
        return cls(
            str(data["language"]),
            str(data["analyzer"]),
            int(data["generation"]),
            int(data["numbers"]),
            int(data["count"]),
            str(data["checksum"]),
            {name: FieldTotals(**totals) for name, totals in data["totals"].items()},
            {str(name): int(size) for name, size in data["files"].items()},
            VectorState.of(data["vectors"]) if data.get("vectors") else None,
        )

    def _check_files(self, folder: Path) -> None:
        for name, size in self.files.items():
            path = folder / name
            try:
                found = path.stat().st_size
            except OSError as error:
                raise StoreDamaged(f"collection {folder}: {name} is missing. {_ADVICE_DAMAGED}") from error
            if found < size:
                raise StoreDamaged(
                    f"collection {folder}: {name} has {found} bytes, the manifest says {size}. {_ADVICE_DAMAGED}"
                )


Identity = tuple[int, ...]


def identity(folder: str | Path) -> Identity | None:
    """What changes when a folder is committed to or replaced; None where there is no manifest. One system call."""
    try:
        status = os.stat(os.path.join(folder, NAME))
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


_ADVICE_FOREIGN = "Wanted: a folder made by convqa index."
_ADVICE_DAMAGED = "The collection is damaged: index its passages again with --replace."


def damaged(folder: Path, error: Exception | str) -> StoreDamaged:
    """The error for a folder whose files contradict each other."""
    return StoreDamaged(f"collection {folder}: {error or type(error).__name__}. {_ADVICE_DAMAGED}")
