"""Fetches a file over HTTP: goes on where it was cut off, and puts it in place only if its MD5 sum is as wanted."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import httpx
from filelock import FileLock, Timeout

from convqa.errors import InputError, WorkError, reason_of
from convqa.files import sync_directory, unwritable
from convqa.tasks.downloads import Download

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes of the file; 0: unknown)."""

TRIES = 4
_LOCK = ".download.lock"
_OF_A_PASSING_FAULT = (httpx.ReadError, httpx.ReadTimeout, httpx.WriteError, httpx.RemoteProtocolError)

log = logging.getLogger("convqa")


class _Interrupted(Exception):
    """A transfer that is worth another try."""


def http_client() -> httpx.Client:
    """What files are fetched with; to be closed. Proxies and certificates are those that the environment names.

    :raises InputError: if these cannot be used.
    """
    try:
        return httpx.Client(follow_redirects=True, timeout=httpx.Timeout(30.0))
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
        raise InputError(
            "the proxy or the certificates that the environment names (ALL_PROXY, HTTP_PROXY, HTTPS_PROXY, "
            f"SSL_CERT_FILE, SSL_CERT_DIR) cannot be used: {reason_of(error).rstrip('.')}. Correct or unset them."
        ) from error


@contextmanager
def folder_for(folder: Path) -> Iterator[Path]:
    """The folder that files are fetched into, made if need be; one process at a time.

    :raises InputError: if it cannot be one, or another process is fetching into it.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; wanted a folder to put the files into.")
    lock = FileLock(folder / _LOCK)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(f"{folder}: another process is downloading into it; wait for it, or end it.") from None
    except OSError as error:
        raise unwritable(str(folder), error) from error
    try:
        yield folder
    finally:
        (folder / _LOCK).unlink(missing_ok=True)
        lock.release()


def fetch(
    client: httpx.Client, wanted: Download, folder: Path, progress: Progress | None = None, pause: float = 1.0
) -> Literal["fetched", "kept"]:
    """Fetch a file into a folder; one that is there with the right sum is kept, another one refused.

    What has come lies in ``FILE.part``. A transfer that breaks is tried again after ``pause`` seconds, then after
    twice as many; the same call later goes on from there too.

    :raises WorkError: if the server does not give the file, or gives another.
    :raises StorageFull: if it cannot be written.
    """
    target, part = folder / wanted.file, folder / f"{wanted.file}.part"
    if target.is_dir():
        raise WorkError(f"{target}: is a folder; wanted the file {wanted.url}. Choose another folder, or remove it.")
    if target.exists():
        if (found := md5(target)) != wanted.md5:
            raise WorkError(
                f"{target}: this is another file than {wanted.url}: found MD5 {found}, wanted {wanted.md5}. "
                "Choose another folder, or remove it."
            )
        return "kept"
    had = _size(part)
    _fill(client, wanted.url, part, progress, pause)
    found = md5(part)
    if found != wanted.md5 and had:
        log.warning("%s: what an earlier download left does not fit (MD5 %s); starting again", wanted.url, found)
        part.unlink()
        _fill(client, wanted.url, part, progress, pause)
        found = md5(part)
    if found != wanted.md5:
        size = _size(part)
        part.unlink()
        raise WorkError(
            f"{wanted.url}: what came is not the file: found {size} bytes with MD5 {found}, wanted MD5 {wanted.md5}. "
            "Nothing of it was kept; the server may have another version, or answer with a page."
        )
    try:
        part.replace(target)
        sync_directory(folder)
    except OSError as error:
        raise unwritable(str(target), error) from error
    return "fetched"


def md5(path: Path) -> str:
    """The MD5 sum of a file, in hexadecimal: a check of copies, nothing to do with security."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _fill(client: httpx.Client, url: str, part: Path, progress: Progress | None, pause: float) -> None:
    """Fetch what is missing, in several tries if need be."""
    for attempt in range(1, TRIES + 1):
        try:
            _transfer(client, url, part, progress)
            return
        except (_Interrupted, *_OF_A_PASSING_FAULT) as error:
            reason = reason_of(error)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise WorkError(f"{url}: cannot be reached ({reason_of(error)}). Is there a network?") from error
        if attempt < TRIES:
            log.info("%s: %s; going on in %.0f s", url, reason, pause * 2 ** (attempt - 1))
            time.sleep(pause * 2 ** (attempt - 1))
    raise WorkError(f"{url}: broke off {TRIES} times ({reason}). The same command goes on from where it broke off.")


def _transfer(client: httpx.Client, url: str, part: Path, progress: Progress | None) -> None:
    start = _size(part)
    # The file as it is, not compressed once more for the way: a range is one of its own bytes.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    with client.stream("GET", url, headers=headers) as response:
        if start and response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing is missing; the sum says whether it is the file
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error:
            raise _Interrupted(f"the server answers {response.status_code} {response.reason_phrase}")
        if not response.is_success:
            raise WorkError(f"{url}: the server answers {response.status_code} {response.reason_phrase}.")
        if response.status_code != httpx.codes.PARTIAL_CONTENT:
            start = 0  # a server that knows no ranges sends all of it
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            part.unlink(missing_ok=True)
            raise _Interrupted("the server sends another part than was asked for")
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdigit() else 0
        _write(response.iter_raw(), part, start, total, progress)


def _write(pieces: Iterator[bytes], part: Path, start: int, total: int, progress: Progress | None) -> None:
    done = start
    try:
        stream = part.open("ab" if start else "wb", buffering=0)
    except OSError as error:
        raise unwritable(str(part), error) from error
    with stream:
        for piece in pieces:
            try:
                stream.write(piece)
            except OSError as error:
                raise unwritable(str(part), error) from error
            done += len(piece)
            if progress is not None:
                progress(done, total)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
