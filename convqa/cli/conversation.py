"""A conversation in the terminal: questions and slash commands."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import typer
from rich.text import Text

from convqa.cli.screen import Screen, failed, lines, places, understood
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

_ECHOED = 2_000
"""Maximum characters of a question to echo."""


class Chat:
    """A typed or piped conversation. :param load: loads the pipeline with a name."""

    def __init__(self, load: Callable[[str], QA], pipeline: str, scenario: str) -> None:
        self._load = load
        self._scenario = scenario
        self._screen = Screen()
        self._is_typed = self._screen.is_terminal and sys.stdin.isatty()
        self._left_behind = False
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
        for line in _questions(_typed()) if self._is_typed else _piped():
            is_command = line.startswith("/")
            try:
                self._screen.show(self._command(line) if is_command else self._answer(line))
            except (ConvqaError, RunError) as error:
                if not (is_command or self._is_typed):
                    raise
                self._complain(str(error) + ("" if is_command else " Press the up arrow to edit the question."))
            except KeyboardInterrupt:
                if not self._is_typed:
                    raise
                self._left_behind = True
                typer.echo("Stopped.")
            typer.echo()
        if self._left_behind:
            # Does not wait for the abandoned turns.
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
            return lines(response, self._screen, brief=True)
        self._complain(failed(response.error))
        return []

    def _complain(self, message: str) -> None:
        if self._is_typed:
            self._screen.show([self._screen.mark(escape(message), "red")])
        else:
            typer.echo(f"convqa: error: {message}", err=True)

    def _command(self, line: str) -> Iterable[Text | str]:
        name, _, argument = line.partition(" ")
        if name.lower() not in COMMANDS:
            known = nearest(name.lower(), COMMANDS)
            raise InputError(f"unknown command {name!r:.40}.{known} Type /help for a list.")
        reply: Iterable[Text | str] = getattr(self, f"_{name[1:].lower()}")(argument.strip())
        return reply

    def _last(self) -> Response:
        if not self._turns:
            raise InputError("this conversation has no question yet.")
        return self._turns[-1][1]

    def _sources(self, _: str) -> Iterable[Text]:
        return list(places(self._last(), self._screen)) or [Text("The last answer has no sources.")]

    def _rewrite(self, _: str) -> Iterator[Text | str]:
        rewrite = self._last().rewrite
        yield understood(self._last(), self._screen)
        queries = rewrite.queries if rewrite else ()
        for query in queries:
            weight = f" (weight {query.weight:.2g})" if len(queries) > 1 else ""
            yield f"Search query{weight}: {escape(query.text)}"
            if query.terms:
                terms = sorted(query.terms, key=lambda term: -term[1])
                words = ", ".join(f"{escape(term)} ({weight:.2g})" for term, weight in terms)
                yield f"    plus words of the conversation, by weight: {words}"
        if not queries:
            yield "There was no search."

    def _pipeline(self, name: str) -> Iterator[str]:
        history = self._talk.history
        if name:
            self._begin(name)
            self._talk.history = history
        others = f" Available: {', '.join(shipped_pipelines())}." if not name else ""
        yield f"Pipeline: {escape(self._name)}.{others}"

    def _new(self, _: str) -> Iterator[str]:
        self._turns, self._talk.history = [], ()
        yield "New conversation."

    def _export(self, path: str) -> Iterator[str]:
        target, _ = Path(path).expanduser(), self._last()
        if not path or "\0" in path or target.is_file() or any((target / name).exists() for name in evaluation.FILES):
            raise InputError(f"/export: expected a new folder, got {escape(path) or 'nothing'}.")
        evaluation.write(self._turns, target)
        yield f"Written: {' and '.join(evaluation.FILES)} in {escape(str(target))}."

    def _help(self, _: str) -> Iterator[str]:
        yield from (f"{name} {argument}".ljust(18) + help for name, (argument, help) in COMMANDS.items())


def _questions(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that are not blank, up to /quit."""
    for line in map(str.strip, lines):
        if line.lower().split()[:1] == ["/quit"]:
            return
        if line:
            yield line


def _piped() -> Iterator[str]:
    """Yield the lines of standard input, and echo each."""
    stdin = typer.get_text_stream("stdin", errors="replace")
    # Files from Windows begin with a byte order mark.
    for line in _questions(line if number else line.removeprefix("\ufeff") for number, line in enumerate(stdin)):
        typer.echo(f"> {escape(line[:_ECHOED])}{' ...' if len(line) > _ECHOED else ''}")
        yield line


def _typed() -> Iterator[str]:
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
