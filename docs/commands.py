"""Write docs/commands.md from the commands' own ``--help``. ``make fix`` runs this; a test compares."""

from __future__ import annotations

from pathlib import Path

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
    group = typer.main.get_command(application())
    parts = [HEADER]
    with typer.Context(group, info_name="convqa", terminal_width=WIDTH, max_content_width=WIDTH) as context:
        parts.append(f"```text\n{group.get_help(context)}\n```\n")
        for name in sorted(group.list_commands(context)):
            command = group.get_command(context, name)
            with typer.Context(
                command, info_name=f"convqa {name}", terminal_width=WIDTH, max_content_width=WIDTH
            ) as inner:
                parts.append(f"## convqa {name}\n\n```text\n{command.get_help(inner)}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(text(), encoding="utf-8")
