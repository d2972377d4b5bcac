"""A conversation in the terminal: questions and slash commands."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path

import typer
from rich.text import Text

from convqa.cli.screen import Screen, failure_message, response_lines, rewrite_line, source_lines
from convqa.domain import Response
from convqa.errors import ConvqaError, InputError, RunError, nearest
from convqa.exports.text import escape
from convqa.pipeline.read import shipped_pipelines
from convqa.qa import QA
from convqa.tasks.qrecc import talk as evaluation

COMMANDS = {
    "/sources": ("", "show the sources of the last answer"),
    "/rewrite": ("", "show the question as understood, and the search query"),
    "/pipeline": ("[NAME]", "show the pipeline; NAME or a YAML file: switch to another"),
    "/new": ("", "start a new conversation"),
    "/export": ("FOLDER", "write questions.json and run.json to a folder"),
    "/help": ("", "show this list"),
    "/quit": ("", "leave (or Ctrl-D)"),
}

_MAX_ECHO_CHARS = 2_000
"""Characters of a question to echo."""


class Chat:
    """A typed or piped conversation. :param load: loads the pipeline with a name."""

    def __init__(self, load: Callable[[str], QA], pipeline: str, scenario: str) -> None:
        self._load = load
        self._scenario = scenario
        self._screen = Screen()
        self._is_typed = self._screen.is_terminal and sys.stdin.isatty()
        self._has_abandoned_turns = False
        self._turns: list[tuple[str, Response]] = []
        self._begin(pipeline)

    def _begin(self, pipeline: str) -> None:
        with self._screen.status(f"Loading {pipeline}"):
            self._talk = self._load(pipeline).conversation(scenario=self._scenario)
        self._name = pipeline

    def hold(self) -> None:
        """Reply to lines until they end. Errors and Ctrl-C do not end a typed conversation."""
        if self._is_typed:
            self._screen.show(["Ask a question. Type /help for commands, Ctrl-D to leave.", ""])
        for line in _until_quit(_typed_lines() if self._is_typed else _piped_lines()):
            if not self._is_typed:
                mark = " ..." if len(line) > _MAX_ECHO_CHARS else ""
                typer.echo(f"> {escape(line[:_MAX_ECHO_CHARS])}{mark}")
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
            # Does not wait for them.
            sys.stdout.flush()
            os._exit(0)

    def _answer(self, question: str) -> list[Text]:
        # Ctrl-C abandons the turn in its thread, and the conversation goes on without it.
        talk = copy.copy(self._talk)
        with self._screen.status("Answering"):
            response = ThreadPoolExecutor(1).submit(talk.ask, question).result()
        self._talk = talk
        self._turns.append((question, response))
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
        name, _, argument = line.partition(" ")
        if name.lower() not in COMMANDS:
            hint = nearest(name.lower(), COMMANDS)
            raise InputError(f"unknown command {name!r:.40}.{hint} Type /help for a list.")
        reply: Iterable[Text | str] = getattr(self, f"_{name[1:].lower()}")(argument.strip())
        return reply

    def _last_response(self) -> Response:
        if not self._turns:
            raise InputError("this conversation has no question yet.")
        return self._turns[-1][1]

    def _sources(self, _: str) -> Iterable[Text]:
        sources = list(source_lines(self._last_response(), self._screen))
        return sources or [Text("The last answer has no sources.")]

    def _rewrite(self, _: str) -> Iterator[Text | str]:
        response = self._last_response()
        yield rewrite_line(response, self._screen)
        queries = response.rewrite.queries if response.rewrite else ()
        if not queries:
            yield "There was no search."
        for query in queries:
            weight = f" (weight {query.weight:.2g})" if len(queries) > 1 else ""
            yield f"Search query{weight}: {escape(query.text)}"
            heaviest_first = sorted(query.terms, key=lambda term: -term[1])
            words = [f"{escape(term)} ({weight:.2g})" for term, weight in heaviest_first]
            if words:
                yield f"    plus words of the conversation, by weight: {', '.join(words)}"

    def _pipeline(self, name: str) -> Iterator[str]:
        if not name:
            yield f"Pipeline: {escape(self._name)}. Available: {', '.join(shipped_pipelines())}."
            return
        history = self._talk.history
        self._begin(name)
        self._talk.history = history
        yield f"Pipeline: {escape(self._name)}."

    def _new(self, _: str) -> Iterator[str]:
        self._turns = []
        self._talk.history = ()
        yield "New conversation."

    def _export(self, path: str) -> Iterator[str]:
        self._last_response()
        target = Path(path).expanduser()
        if not path or "\0" in path or target.is_file() or any((target / name).exists() for name in evaluation.FILES):
            raise InputError(f"/export: expected a new folder, got {escape(path) or 'nothing'}.")
        evaluation.write(self._turns, target)
        yield f"Written: {' and '.join(evaluation.FILES)} in {escape(str(target))}."

    def _help(self, _: str) -> Iterator[str]:
        for name, (argument, help) in COMMANDS.items():
            yield f"{name} {argument}".ljust(18) + help


def _until_quit(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that are not blank, up to /quit."""
    for line in map(str.strip, lines):
        if line.lower().split()[:1] == ["/quit"]:
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
