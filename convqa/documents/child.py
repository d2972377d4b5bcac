"""Read documents in a child process with limits of time and memory, because a small file can take hours or gigabytes.

The process is this module: it takes pickled pairs (suffix, bytes) and answers each with a pickled document and the
warnings of its reader, or with an error. It is started as a program and not by multiprocessing, which would run the
user's script again.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, Any

from convqa.documents.blocks import Document, Unreadable
from convqa.errors import InputError, reason_of

MAX_BYTES = 2**28
"""Limit of a document's size."""
MAX_CHARS = 5_000_000
"""Limit of a document's text, about 2,500 pages."""
_MAX_SECONDS = 300
_MAX_MEMORY_BYTES = 2**30

Answer = tuple[Document, tuple[str, ...]]
"""A document, and the warnings of its reader."""


class DocumentReader:
    """Reads documents one after another. A context manager, which ends the child process."""

    def __init__(self, max_seconds: float = _MAX_SECONDS) -> None:
        self._max_seconds = max_seconds
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> DocumentReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self, suffix: str, data: bytes) -> Answer:
        """Return a document, and the warnings of its reader.

        :raises Unreadable: if it cannot be read, or not within the limits.
        :raises InputError: if a package is missing.
        """
        if len(data) > MAX_BYTES:
            raise Unreadable(f"it has more than {MAX_BYTES:,} bytes; split it")
        if self._child is None:
            command = [sys.executable, "-c", "from convqa.documents.child import main; main()"]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        timer = threading.Timer(self._max_seconds, self._child.kill)
        timer.start()
        try:
            _send(self._child.stdin, (suffix, data))
            answer = pickle.load(self._child.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            was_slow = not timer.is_alive()
            self._end()
            limit = f"{self._max_seconds:g} seconds" if was_slow else f"{_MAX_MEMORY_BYTES:,} bytes of memory"
            raise Unreadable(f"reading it takes more than {limit}; split it or save it as text") from error
        finally:
            timer.cancel()
        if isinstance(answer, Exception):
            raise answer
        result: Answer = answer
        return result

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None


def _send(stream: IO[bytes], value: Any) -> None:
    pickle.dump(value, stream)
    stream.flush()


def _read(suffix: str, data: bytes) -> Document:
    from convqa.documents.formats import document_formats

    try:
        document = document_formats()[suffix].read(data)
    except (Unreadable, InputError, MemoryError):
        raise
    except ImportError as error:
        missing = f"documents of the type {suffix} need a package that is not installed ({error.name})"
        raise InputError(f"{missing}: pip install 'convqa[documents]'.") from error
    except Exception as error:  # libraries raise anything for damaged files
        raise Unreadable(f"it is damaged or of another type ({reason_of(error).rstrip('.')})") from error
    characters = sum(len(block.text) + sum(map(len, block.cells)) for block in document.blocks)
    if characters > MAX_CHARS:
        raise Unreadable(f"it has more than {MAX_CHARS:,} characters; split it")
    return document


def main() -> None:
    """Answer until the parent closes the input."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    requests = sys.stdin.buffer
    answers = sys.stdout.buffer
    # What a library prints must not mix with the answers.
    sys.stdout = sys.stderr
    warnings: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("convqa")
    logger.setLevel(logging.WARNING)
    logger.addHandler(handler)
    logger.propagate = False
    logging.getLogger().setLevel(logging.ERROR)
    # Without memory, the parent starts another child.
    with suppress(EOFError, BrokenPipeError, MemoryError):
        while True:
            suffix, data = pickle.load(requests)
            warnings.clear()
            try:
                document = _read(suffix, data)
            except (Unreadable, InputError) as error:
                _send(answers, error)
            else:
                _send(answers, (document, tuple(warnings)))
