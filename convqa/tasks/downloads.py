"""The files of benchmarks that can be downloaded, as a YAML file lists them, and how one is fetched.

A transfer goes on where it was cut off, and a file is put in place only if its sum is as wanted. One whose sum is not
known starts anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Annotated, Literal, Self

import httpx
from pydantic import BaseModel, Field, RootModel, model_validator

from convqa.errors import InputError, WorkError, nearest, reason_of
from convqa.files import unwritable
from convqa.places import shipped
from convqa.safe_yaml import read_yaml
from convqa.validation import read_as

FilePath = Annotated[str, Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$")]  # relative, and never out of the folder
Converter = Literal["inscit", "or_sharc", "clapnq", "mtrag_un", "cast2020", "qrecc_trec", "qrecc_dev", "unzip"]


class Download(BaseModel, strict=True, extra="forbid", frozen=True):
    """A file to fetch: where it goes, its sum in hexadecimal (null where none is known), and its questions."""

    file: FilePath
    url: str = Field(pattern=r"^https?://")
    md5: str | None = Field(None, pattern=r"^[0-9a-f]{32}$")
    sha256: str | None = Field(None, pattern=r"^[0-9a-f]{64}$")
    examples: int | None = Field(None, ge=0)

    @model_validator(mode="after")
    def _sum_is_named(self) -> Self:
        if not {"md5", "sha256"} & self.model_fields_set:
            raise ValueError("md5 or sha256 is missing (null where the sum is not known)")
        return self

    @property
    def sum(self) -> tuple[str, str] | None:
        """The kind of the sum, as messages name it, and the sum; None where it is not known."""
        return ("SHA-256", self.sha256) if self.sha256 else ("MD5", self.md5) if self.md5 else None

    def told(self, folder: Path, how: str) -> str:
        """What is said of the file when it is there, fetched or kept."""
        size = f"{folder / self.file}: {(folder / self.file).stat().st_size / 1e6:.1f} MB"
        questions = "" if self.examples is None else f", {self.examples} questions"
        checked = f"{self.sum[0]} as wanted" if self.sum else "not pinned: no sum of it is known"
        return f"{size}{questions}; {'was there, ' if how == 'kept' else ''}{checked}"


class DownloadSet(BaseModel, strict=True, extra="forbid", frozen=True):
    """Files that belong together. One file may stand for a set of it.

    ``folder``: where ``convert`` writes. ``missing``: what cannot be downloaded, why, and what to do instead.
    """

    licence: str | None = None
    files: list[Download] = []
    convert: Converter | None = None
    folder: FilePath = "."
    missing: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_one_file(cls, value: object) -> object:
        return {"files": [value]} if isinstance(value, Mapping) and "file" in value else value


class _Parts(RootModel[dict[str, Annotated[dict[str, DownloadSet], Field(min_length=1)]]]):
    """Part -> set."""


def downloads(what: str, part: str, only: list[str] | None = None) -> dict[str, DownloadSet]:
    """The sets of a part (``train``) of a list of downloads, by name.

    :param what: the name of a shipped file of ``configs/downloads``, or the path of one of your own (a mirror).
    :param only: names of the sets that are wanted; None: all.
    :raises InputError: if there is no such file, part or set, or the file has a mistake.
    """
    path, names = Path(what), [file.stem for file in sorted(shipped("configs", "downloads").glob("*.yaml"))]
    if path.suffix not in {".yaml", ".yml"}:
        if what not in names:
            raise InputError(
                f"{what}: there is nothing of this name; wanted: {', '.join(names)}.{nearest(what, names)}"
            )
        path = shipped("configs", "downloads", f"{what}.yaml")
    advice = "Wanted: part, set, and file, url, md5 or sha256 of each file."
    parts = read_as(_Parts, read_yaml(path, "list of downloads"), str(path), advice).root
    if part not in parts:
        raise InputError(f"{what}: there is no part {part!r}; wanted: {', '.join(parts)}.{nearest(part, parts)}")
    sets = parts[part]
    for name in only or ():
        if name not in sets:
            raise InputError(f"--only {name}: {part} has no such set; wanted: {', '.join(sets)}.{nearest(name, sets)}")
    return {name: one for name, one in sets.items() if not only or name in only}


Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes of the file; 0: unknown)."""


def http_client() -> httpx.Client:
    """The client that fetches files; to be closed. Proxies and certificates are those that the environment names."""
    try:
        return httpx.Client(follow_redirects=True, timeout=httpx.Timeout(30.0))
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
        raise InputError(
            "the proxy or the certificates that the environment names (ALL_PROXY, HTTP_PROXY, HTTPS_PROXY, "
            f"SSL_CERT_FILE, SSL_CERT_DIR) cannot be used: {reason_of(error).rstrip('.')}. Correct or unset them."
        ) from error


def fetch(
    client: httpx.Client, wanted: Download, folder: Path, progress: Progress | None = None
) -> Literal["fetched", "kept"]:
    """Fetch a file into a folder; one that is there with the right sum is kept, another one refused.

    What has come stays in ``FILE.part`` when the transfer breaks off, and the next call goes on from there.

    :raises InputError: if the folder is no place to write to.
    :raises WorkError: if the server does not give the file, or gives another.
    :raises StorageFull: if it cannot be written.
    """
    target, part = folder / wanted.file, folder / f"{wanted.file}.part"
    if target.is_dir():
        raise WorkError(f"{target}: is a folder; wanted the file {wanted.url}. Choose another folder, or remove it.")
    if target.exists():
        if differs := _difference(target, wanted):
            raise WorkError(
                f"{target}: this is another file than {wanted.url}: {differs}. Choose another folder, or remove it."
            )
        return "kept"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab" if wanted.sum else "wb") as stream:
            _transfer(client, wanted.url, stream, progress)
        if differs := _difference(part, wanted):
            size = part.stat().st_size
            part.unlink()
            raise WorkError(
                f"{wanted.url}: what came is not the file: found {size} bytes with {differs.removeprefix('found ')}. "
                "Nothing of it is kept. Give the command again; if it says the same, the server has another version, "
                "or answers with a page."
            )
        part.replace(target)
    except OSError as error:
        raise unwritable(str(target), error) from error
    finally:
        if part.is_file() and not part.stat().st_size:
            part.unlink()
    return "fetched"


def _difference(path: Path, wanted: Download) -> str:
    """How the sum of a file differs from the wanted one; empty where it does not, or where none is known."""
    kind, sum = wanted.sum or ("MD5", None)
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, kind.replace("-", "").lower()).hexdigest()
    return f"found {kind} {found}, wanted {kind} {sum}" if sum not in (None, found) else ""


def _transfer(client: httpx.Client, url: str, stream: IO[bytes], progress: Progress | None) -> None:
    """Add what the server sends to a stream that holds the file's beginning, or nothing."""
    done = stream.tell()
    # The file as it is, not compressed once more for the way: a range is one of its own bytes.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={done}-"} if done else {})
    try:
        with client.stream("GET", url, headers=headers) as response:
            if done and response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # nothing is missing; the sum says whether it is the file
            if not response.is_success:
                raise WorkError(f"{url}: the server answers {response.status_code} {response.reason_phrase}.")
            part = response.headers.get("Content-Range", "")
            if response.status_code == httpx.codes.PARTIAL_CONTENT and not part.startswith(f"bytes {done}-"):
                raise WorkError(f"{url}: wanted the bytes from {done} on; the server sends {part!r}. Try again later.")
            if response.status_code != httpx.codes.PARTIAL_CONTENT:
                done = 0  # a server without ranges sends all of it
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
            f"{url}: cannot be fetched ({reason_of(error)}). Is there a network? The same command goes on from here."
        ) from error
