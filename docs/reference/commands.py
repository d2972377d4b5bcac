"""Write docs/reference/commands.md from the commands' own ``--help``. ``make fix`` runs this; a test compares."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from convqa.cli import application

WIDTH = 100
HEADER = """# Commands

Made from `convqa COMMAND --help` by `make fix`; do not edit.

Exit codes of every command: 0 done; 1 the work failed; 2 a mistake in input, options or pipeline; 130 interrupted
(Ctrl-C); 143 terminated.
"""


def text() -> str:
    """The whole page."""
    return "\n".join([HEADER, *_parts(typer.main.get_command(application()), "convqa", 1)])


def _parts(command: Any, name: str, level: int) -> Iterator[str]:
    """The help of a command, then, each under a heading of its own, of the commands that it has."""
    with typer.Context(
        command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH, help_option_names=["-h", "--help"]
    ) as context:
        heading = "" if level == 1 else f"{'#' * level} {name}\n\n"
        yield f"{heading}```text\n{command.get_help(context)}\n```\n"
        for member in sorted(command.list_commands(context)) if isinstance(command, typer.core.TyperGroup) else ():
            yield from _parts(command.get_command(context, member), f"{name} {member}", level + 1)


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(text(), encoding="utf-8")
