"""Opening by URL."""

from __future__ import annotations

import subprocess
import sys

import pytest

from convqa.errors import InputError
from convqa.stores import open_store


@pytest.mark.parametrize("url", [None, ""])
def test_no_collection_is_said_with_the_option(url):
    with pytest.raises(InputError, match="--collection"):
        open_store(url)


@pytest.mark.parametrize("url", ["elasticsearch://localhost:9200/x", "anserini:folder", "http://x/y"])
def test_an_engine_that_is_not_there_is_named(url):
    with pytest.raises(InputError, match=f"no engine for {url.split(':')[0]}:.*a folder"):
        open_store(url)


def test_a_folder_may_have_a_drive_letter_or_a_colon():
    for url in ("C:\\data\\index", "./a:b"):
        with pytest.raises(InputError, match="does not exist"):
            open_store(url)


def test_the_engine_is_loaded_only_when_it_is_used():
    code = "import sys, convqa.stores; print([name for name in ('tantivy', 'elasticsearch') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
