"""The Anserini engine: a collection is a folder with a Lucene index, which is read-only."""

from __future__ import annotations

from pathlib import Path

from convqa.errors import InputError
from convqa.stores.address import Address
from convqa.stores.anserini.index import SEGMENTS, fingerprint, is_index
from convqa.stores.anserini.store import LANGUAGE, AnseriniCollection
from convqa.stores.checks import check_folder, found_in

SCHEME = "anserini:"


def folder_of(address: Address) -> Path:
    return Path(address.url.removeprefix(SCHEME))


def identity(address: Address) -> str | None:
    return fingerprint(folder_of(address))


def open_collection(address: Address) -> AnseriniCollection:
    if address.language not in (None, LANGUAGE):
        raise InputError(
            f"collection {address.url}: expected language en, which Anserini indexes are searched in, got "
            f"{address.language!r}. Index the passages with convqa index --language {address.language}."
        )
    folder = folder_of(address)
    check_folder(folder, f"collection {address.url}: folder")
    if not is_index(folder):
        raise InputError(f"collection {address.url}: expected {SCHEME}FOLDER with a Lucene index (a file {SEGMENTS}N).")
    return AnseriniCollection(folder)


def find(address: Address) -> list[str]:
    return [f"{SCHEME}{path}" for path in found_in(folder_of(address), is_index)]
