"""Downloading the files of benchmarks that a YAML file lists. A file is put in place only if its checksum matches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Literal

import httpx
from pydantic import AfterValidator, BaseModel, Field, RootModel

from convqa.errors import InputError, WorkError, nearest, reason_of
from convqa.files import unwritable
from convqa.places import yaml_file
from convqa.safe_yaml import read_yaml
from convqa.tasks.published import CONVERTERS
from convqa.validation import read_as

FilePath = Annotated[str, Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$")]  # relative, and inside the folder


class Download(BaseModel, strict=True, extra="forbid", frozen=True):
    """A file to fetch: its path, URL and checksum, ``md5:HEX`` or ``sha256:HEX`` (null if unknown)."""

    file: FilePath
    url: str = Field(pattern=r"^https?://")
    checksum: str | None = Field(pattern=r"^(md5:[0-9a-f]{32}|sha256:[0-9a-f]{64})$")

    def describe(self, folder: Path, outcome: Literal["fetched", "kept"]) -> str:
        """Describe the file once it is in the folder."""
        path = folder / self.file
        checked = "checksum matches" if self.checksum else "not pinned: its checksum is unknown"
        return f"{path}: {path.stat().st_size / 1e6:.1f} MB; {outcome}, {checked}"


def _known_converter(name: str) -> str:
    if name not in CONVERTERS:
        raise ValueError(f"expected one of {', '.join(CONVERTERS)}, got {name!r}")
    return name


class DownloadSet(BaseModel, strict=True, extra="forbid", frozen=True):
    """Files that belong together.

    ``convert``: a converter of ``tasks.published``, and ``folder``: where it writes. ``missing``: what cannot be
    downloaded, why, and what to do instead.
    """

    licence: str | None = None
    files: list[Download] = []
    convert: Annotated[str, AfterValidator(_known_converter)] | None = None
    folder: FilePath = "."
    missing: str | None = None


class _Parts(RootModel[dict[str, Annotated[dict[str, DownloadSet], Field(min_length=1)]]]):
    """Part -> name -> set."""


def downloads(
    name: str,
    part: str,
    only: list[str] | None = None,
) -> dict[str, DownloadSet]:
    """Return the sets in a part (``train``) of a list of downloads, by name.

    :param name: the name of a shipped file in ``configs/downloads``, or the path of your own (a mirror).
    :param only: the names of the sets to return; None: all.
    :raises InputError: if there is no such file, part or set, or the file is malformed.
    """
    path = yaml_file(name, "download", "configs", "downloads")
    advice = "Expected: part, set, and file, url and checksum of each file."
    parts = read_as(_Parts, read_yaml(path, "list of downloads"), str(path), advice).root
    _require(part, parts, f"{name}: unknown part {part!r}")
    sets = parts[part]
    for chosen in only or ():
        _require(chosen, sets, f"--only {chosen}: unknown set of {part}")
    return {name: files for name, files in sets.items() if not only or name in only}


def _require(
    name: str,
    known: Collection[str],
    problem: str,
) -> None:
    if name not in known:
        raise InputError(f"{problem}; expected {', '.join(known)}.{nearest(name, known)}")


Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes of the file; 0 if unknown)."""


def http_client() -> httpx.Client:
    """Create the client that fetches files. The caller closes it."""
    return httpx.Client(follow_redirects=True, timeout=30.0)


def fetch(
    client: httpx.Client,
    download: Download,
    folder: Path,
    progress: Progress | None = None,
) -> Literal["fetched", "kept"]:
    """Fetch a file into a folder. Keeps an existing file with the right checksum and refuses any other.

    :raises InputError: if the folder is not writable.
    :raises WorkError: if the server does not send the file, or sends another.
    :raises StorageFull: if the file cannot be written.
    """
    target = folder / download.file
    part = folder / f"{download.file}.part"
    try:
        if target.exists():
            if mismatch := _mismatch(target, download):
                raise WorkError(f"{target}: this is not the file {download.url}: {mismatch}. Remove it.")
            return "kept"
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            _transfer(client, download.url, part, progress)
            if mismatch := _mismatch(part, download):
                raise WorkError(f"{download.url}: the server sent another file, which is removed: {mismatch}.")
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(str(target), error) from error
    return "fetched"


def _mismatch(path: Path, download: Download) -> str:
    """Describe how the checksum of a file differs; empty if it matches or is unknown."""
    if download.checksum is None:
        return ""
    kind, _, expected = download.checksum.partition(":")
    with path.open("rb") as stream:
        actual = hashlib.file_digest(stream, kind).hexdigest()
    return "" if actual == expected else f"expected {kind} {expected}, got {actual}"


def _transfer(
    client: httpx.Client,
    url: str,
    part: Path,
    progress: Progress | None,
) -> None:
    done = 0
    # Without compression, so that the length is the file's own.
    headers = {"Accept-Encoding": "identity"}
    try:
        with client.stream("GET", url, headers=headers) as response, part.open("wb") as stream:
            if not response.is_success:
                raise WorkError(f"{url}: the server answers {response.status_code} {response.reason_phrase}.")
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else 0
            for piece in response.iter_raw():
                stream.write(piece)
                done += len(piece)
                if progress is not None:
                    progress(done, total)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise WorkError(f"{url}: cannot be fetched ({reason_of(error)}). Is there a network? Try again.") from error
