"""A conversation in the terminal: questions and slash commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain

import typer
from rich.text import Text

from convqa.cli.screen import Screen, answer_lines, failure_message, response_lines, rewrite_line, source_lines
from convqa.components.base import PARTIAL
from convqa.domain import Response, TurnId
from convqa.domain.batches import Batch
from convqa.errors import ConvqaError, InputError, RunError, nearest
from convqa.exports.text import escape
from convqa.qa import Talk

COMMANDS = {
    "/sources": "show the sources of the last answer",
    "/rewrite": "show the question as understood, and the search query",
    "/new": "start a new conversation",
    "/help": "show this list",
    "/quit": "leave (or Ctrl-D)",
}


class Chat:
    """A typed or piped conversation."""

    def __init__(self, screen: Screen, talk: Talk) -> None:
        self._screen = screen
        self._talk = talk
        self._is_typed = screen.is_terminal and sys.stdin.isatty()
        self._last: Response | None = None
        self._has_abandoned_turns = False

    def hold(self) -> None:
        """Reply to lines until they end. Errors and Ctrl-C do not end a typed conversation."""
        if self._is_typed:
            self._screen.show(["Ask a question. Type /help for commands, Ctrl-D to leave.", ""])
        for line in _until_quit(_typed_lines() if self._is_typed else _piped_lines()):
            if not self._is_typed:
                typer.echo(f"> {escape(line)}")
            is_command = line.startswith("/")
            try:
                self._screen.show(self._command(line) if is_command else self._answer(line))
            except (ConvqaError, RunError) as error:
                if is_command:
                    self._show_error(str(error))
                elif self._is_typed:
                    self._show_error(f"{error} Press the up arrow to edit the question.")
                else:
                    raise
            except KeyboardInterrupt:
                if not self._is_typed:
                    raise
                self._has_abandoned_turns = True
                typer.echo("Stopped.")
            typer.echo()
        if self._has_abandoned_turns:
            # Does not wait for the threads of a language model's client.
            sys.stdout.flush()
            os._exit(0)

    def _answer(self, question: str) -> list[Text]:
        with self._screen.status("Answering") as status:

            def show_partial(label: str, output: Batch) -> None:
                if label == PARTIAL:
                    response = Response(TurnId("", 1), answer=output.items[0])
                    status.update(Text("\n").join([Text("Answering ..."), *answer_lines(response, self._screen)]))

            response = self._talk.ask(question, on_output=show_partial if self._is_typed else None)
        self._last = response
        if response.error is None:
            return response_lines(response, self._screen, brief=True)
        self._show_error(failure_message(response.error))
        return []

    def _show_error(self, message: str) -> None:
        if self._is_typed:
            self._screen.show([self._screen.mark(escape(message), "red")])
        else:
            typer.echo(f"convqa: error: {message}", err=True)

    def _command(self, line: str) -> Iterable[Text | str]:
        name = line.split()[0].lower()
        if name == "/help":
            return [f"{command:<10}{effect}" for command, effect in COMMANDS.items()]
        if name == "/new":
            self._last = None
            self._talk.history = ()
            return ["New conversation."]
        if name not in COMMANDS:
            hint = nearest(name, COMMANDS)
            raise InputError(f"unknown command {name!r:.40}.{hint} Type /help for a list.")
        if self._last is None:
            raise InputError("this conversation has no question yet.")
        if name == "/rewrite":
            return _rewrite(self._last, self._screen)
        sources = list(source_lines(self._last, self._screen))
        return sources or ["The last answer has no sources."]


def _rewrite(response: Response, screen: Screen) -> Iterator[Text | str]:
    yield rewrite_line(response, screen)
    queries = response.rewrite.queries if response.rewrite else ()
    if not queries:
        yield "There was no search."
    for query in queries:
        yield f"Search query: {escape(query.text)}"
        heaviest_first = sorted(query.terms, key=lambda term: -term[1])
        words = [f"{escape(term)} ({weight:.2g})" for term, weight in heaviest_first]
        if words:
            yield f"    plus words of the conversation, by weight: {', '.join(words)}"


def _until_quit(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that are not blank, up to /quit."""
    for line in map(str.strip, lines):
        if line.lower() == "/quit":
            return
        if line:
            yield line


def _piped_lines() -> Iterator[str]:
    """Return the lines of standard input."""
    stdin = typer.get_text_stream("stdin", errors="replace")
    # Files from Windows begin with a byte order mark.
    first = next(stdin, "").removeprefix("\ufeff")
    return chain([first], stdin)


def _typed_lines() -> Iterator[str]:
    """Yield the typed lines. Ctrl-C clears a line."""
    with suppress(ImportError):  # arrow keys recall earlier lines
        import readline  # noqa: F401
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    while True:
        try:
            yield input("> ")
        except KeyboardInterrupt:
            typer.echo()
        except EOFError:
            typer.echo()
            return
