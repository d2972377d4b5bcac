"""Fetches a file over HTTP, and puts it in place only if it came whole, with the MD5 sum that it should have."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Literal

import httpx

from convqa.errors import InputError, WorkError, reason_of
from convqa.files import whole_file
from convqa.tasks.downloads import Download

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes of the file; 0: unknown)."""


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


def fetch(
    client: httpx.Client, wanted: Download, folder: Path, progress: Progress | None = None
) -> Literal["fetched", "kept"]:
    """Fetch a file into a folder; one that is there with the right sum is kept, another one refused.

    :raises InputError: if the folder is no place to write to.
    :raises WorkError: if the server does not give the file, or gives another.
    :raises StorageFull: if it cannot be written.
    """
    target = folder / wanted.file
    if target.is_dir():
        raise WorkError(f"{target}: is a folder; wanted the file {wanted.url}. Choose another folder, or remove it.")
    if target.exists():
        if (found := md5(target)) != wanted.md5:
            raise WorkError(
                f"{target}: this is another file than {wanted.url}: found MD5 {found}, wanted {wanted.md5}. "
                "Choose another folder, or remove it."
            )
        return "kept"
    with whole_file(target) as stream:
        try:
            size, found = _transfer(client, wanted.url, stream, progress)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise WorkError(f"{wanted.url}: cannot be fetched ({reason_of(error)}). Is there a network?") from error
        if found != wanted.md5:
            raise WorkError(
                f"{wanted.url}: what came is not the file: found {size} bytes with MD5 {found}, wanted MD5 "
                f"{wanted.md5}. The server may have another version, or answer with a page."
            )
    return "fetched"


def md5(path: Path) -> str:
    """The MD5 sum of a file, in hexadecimal: a check of copies, nothing to do with security."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _transfer(client: httpx.Client, url: str, stream: IO[bytes], progress: Progress | None) -> tuple[int, str]:
    """Write what the server sends to a stream; returns how many bytes it is and its MD5 sum."""
    sum, done = hashlib.md5(usedforsecurity=False), 0
    # The file as it is, not compressed once more for the way.
    with client.stream("GET", url, headers={"Accept-Encoding": "identity"}) as response:
        if not response.is_success:
            raise WorkError(f"{url}: the server answers {response.status_code} {response.reason_phrase}.")
        length = response.headers.get("Content-Length", "")
        for piece in response.iter_raw():
            stream.write(piece)
            sum.update(piece)
            done += len(piece)
            if progress is not None:
                progress(done, int(length) if length.isdigit() else 0)
    return done, sum.hexdigest()
