"""Index again whenever a document changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import typer

from convqa.errors import ConvqaError, InputError

_LOOK_MILLISECONDS = 500
"""Time before the first look, which the file system's messages need to begin."""


def index_again(sources: Sequence[str], index: Callable[[], object]) -> None:
    """Index now, and after every change of the sources that are files or folders, until a signal ends it.

    Later errors end one attempt only.
    """
    try:
        from watchfiles import watch
    except ImportError:
        raise InputError("--watch needs watchfiles: pip install 'convqa[documents]'.") from None
    # Watches before the first attempt, so that no change is missed; a missing source is refused by the attempt.
    watched = [source for source in sources if Path(source).exists()]
    looks = watch(*watched, rust_timeout=_LOOK_MILLISECONDS, yield_on_timeout=True)
    next(looks)
    index()
    with suppress(KeyboardInterrupt):
        for changes in looks:
            if not changes:
                continue
            try:
                index()
            except ConvqaError as error:
                typer.echo(f"convqa: error: {error} Waiting for the next change.", err=True)
