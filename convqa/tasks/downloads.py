"""Downloading the files of benchmarks that a YAML file lists.

Interrupted transfers are resumed, and a file is put in place only if its checksum matches. A file without a known
checksum is downloaded from the start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import IO, Annotated, Literal

import httpx
from pydantic import BaseModel, Field, RootModel

from convqa.errors import InputError, WorkError, nearest, reason_of
from convqa.files import unwritable
from convqa.places import yaml_file
from convqa.safe_yaml import read_yaml
from convqa.validation import read_as

FilePath = Annotated[str, Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$")]  # relative, and inside the folder
Converter = Literal[
    "inscit",
    "or_sharc",
    "clapnq",
    "mtrag_un",
    "cast2020",
    "qrecc_trec",
    "qrecc_dev",
    "unzip",
]


class Download(BaseModel, strict=True, extra="forbid", frozen=True):
    """A file to fetch: its path, URL and checksum, ``md5:HEX`` or ``sha256:HEX`` (null if unknown)."""

    file: FilePath
    url: str = Field(pattern=r"^https?://")
    checksum: str | None = Field(pattern=r"^(md5:[0-9a-f]{32}|sha256:[0-9a-f]{64})$")

    def describe(self, folder: Path, outcome: Literal["fetched", "kept"]) -> str:
        """Describe the file once it is in the folder."""
        size = f"{folder / self.file}: {(folder / self.file).stat().st_size / 1e6:.1f} MB"
        checked = "checksum matches" if self.checksum else "not pinned: its checksum is unknown"
        return f"{size}; {'already there, ' if outcome == 'kept' else ''}{checked}"


class DownloadSet(BaseModel, strict=True, extra="forbid", frozen=True):
    """Files that belong together.

    ``folder``: where ``convert`` writes. ``missing``: what cannot be downloaded, why, and what to do instead.
    """

    licence: str | None = None
    files: list[Download] = []
    convert: Converter | None = None
    folder: FilePath = "."
    missing: str | None = None


class _Parts(RootModel[dict[str, Annotated[dict[str, DownloadSet], Field(min_length=1)]]]):
    """Part -> name -> set."""


def downloads(name: str, part: str, only: list[str] | None = None) -> dict[str, DownloadSet]:
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


def _require(name: str, known: Collection[str], problem: str) -> None:
    if name not in known:
        raise InputError(f"{problem}; expected {', '.join(known)}.{nearest(name, known)}")


Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes of the file; 0 if unknown)."""


def http_client() -> httpx.Client:
    """Create the client that fetches files, with the environment's proxies and certificates. The caller closes it."""
    try:
        return httpx.Client(follow_redirects=True, timeout=httpx.Timeout(30.0))
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
        raise InputError(
            "the proxy or the certificates that the environment names (ALL_PROXY, HTTP_PROXY, HTTPS_PROXY, "
            f"SSL_CERT_FILE, SSL_CERT_DIR) cannot be used: {reason_of(error).rstrip('.')}. Correct or unset them."
        ) from error


def fetch(
    client: httpx.Client,
    download: Download,
    folder: Path,
    progress: Progress | None = None,
) -> Literal["fetched", "kept"]:
    """Fetch a file into a folder. Keeps an existing file with the right checksum and refuses any other.

    An interrupted transfer leaves ``FILE.part``, from which the next call resumes.

    :raises InputError: if the folder is not writable.
    :raises WorkError: if the server does not send the file, or sends another.
    :raises StorageFull: if the file cannot be written.
    """
    target, part = folder / download.file, folder / f"{download.file}.part"
    if target.exists():
        mismatch = "it is a folder" if target.is_dir() else _mismatch(target, download)
        if mismatch:
            advice = "Choose another folder, or remove it."
            raise WorkError(f"{target}: this is not the file {download.url}: {mismatch}. {advice}")
        return "kept"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab" if download.checksum else "wb") as stream:
            _transfer(client, download.url, stream, progress)
        if mismatch := _mismatch(part, download):
            size = part.stat().st_size
            part.unlink()
            raise WorkError(
                f"{download.url}: the {size} bytes received are not the file: {mismatch}. They are removed. Give the "
                "command again; if it fails the same way, the server has another version, or answers with a page."
            )
        part.replace(target)
    except OSError as error:
        raise unwritable(str(target), error) from error
    finally:
        if part.is_file() and not part.stat().st_size:
            part.unlink()
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
    stream: IO[bytes],
    progress: Progress | None,
) -> None:
    """Append the rest of the file to a stream that holds its beginning, or nothing."""
    done = stream.tell()
    # Without compression, since ranges count the file's own bytes.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={done}-"} if done else {})
    try:
        with client.stream("GET", url, headers=headers) as response:
            if done and response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # complete; the checksum decides whether it is the file
            if not response.is_success:
                raise WorkError(f"{url}: the server answers {response.status_code} {response.reason_phrase}.")
            part = response.headers.get("Content-Range", "")
            if response.status_code == httpx.codes.PARTIAL_CONTENT and not part.startswith(f"bytes {done}-"):
                raise WorkError(f"{url}: expected the bytes from {done} on, got {part!r}. Try again later.")
            if response.status_code != httpx.codes.PARTIAL_CONTENT:
                done = 0  # a server without ranges sends the whole file
                stream.truncate(0)
            length = response.headers.get("Content-Length", "")
            total = done + int(length) if length.isdigit() else 0
            for piece in response.iter_raw():
                stream.write(piece)
                done += len(piece)
                if progress is not None:
                    progress(done, total)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise WorkError(
            f"{url}: cannot be fetched ({reason_of(error)}). Is there a network? The same command resumes the download."
        ) from error
