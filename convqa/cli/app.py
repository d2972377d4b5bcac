"""The command line application, its commands, and how errors are reported."""

from __future__ import annotations

import functools
import inspect
import io
import logging
import os
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, get_type_hints

import typer
from typer import Option

import convqa
from convqa.errors import ArgumentError, ConvqaError, RunError, StorageFull


class _Alphabetical(typer.core.TyperGroup):
    """Lists commands by name instead of in order of import."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx))


app = typer.Typer(
    name="convqa",
    cls=_Alphabetical,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Function = Callable[..., int | None]
"""A command's function. It returns the exit code, None for 0."""

_RESUMABLE = frozenset(["ablate", "download", "index", "merge", "run", "train"])
"""Commands that keep finished work when they are interrupted."""

_RESUME_HINT = " Finished work is kept. Run the same command again to continue."

_SERVING = frozenset(["serve", "mcp"])
"""Commands that run until a signal ends them, which is not an error."""


_SECRET_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.I)
_MIN_SECRET_CHARS = 8


class Terminated(BaseException):
    """Raised on SIGTERM."""


def _print_version(is_given: bool) -> None:
    if is_given:
        typer.echo(f"convqa {convqa.__version__}")
        raise typer.Exit


@app.callback()
def _app(
    version: Annotated[
        bool,
        Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Conversational question answering over a collection of passages, with cited answers."""


@dataclass(frozen=True)
class LogOptions:
    """Options of every command."""

    verbose: Annotated[bool, Option("--verbose", "-v", help="Show more detail.")] = False
    log_file: Annotated[Path | None, Option(help="Also write the log to this file.")] = None


def command(
    function: Function,
    name: str | None = None,
    members: typer.Typer = app,
) -> Function:
    """Register a command. Its function's annotations are read only when it is called, or its help is shown."""

    class Deferred(typer.core.TyperCommand):
        @cached_property
        def _complete(self) -> Any:
            complete = typer.Typer(add_completion=False)
            complete.command()(_with_options(function))
            return typer.main.get_command(complete)

        def get_params(self, ctx: Any) -> Any:
            return self._complete.get_params(ctx)

        def invoke(self, ctx: Any) -> Any:
            return self._complete.invoke(ctx)

    members.command(name or function.__name__, cls=Deferred, help=function.__doc__)(lambda: None)
    return function


def group(name: str, help: str) -> Callable[[str], Callable[[Function], Function]]:
    """Register a group of commands: ``group("x", ...)("list")`` registers ``convqa x list``."""
    members = typer.Typer(name=name, help=help, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(members)
    return lambda member: functools.partial(command, name=member, members=members)


def _with_options(function: Function) -> Callable[..., None]:
    """Return a command's function with ``-v`` and ``--log-file``, which turns errors into messages and exit codes.

    A parameter whose type is a dataclass, or a function that returns one, becomes one option per field.
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        group = parameter.annotation
        if inspect.isfunction(group):
            group = group()
        if is_dataclass(group):
            groups[parameter.name] = group
            parameters += _options(group)
        else:
            parameters.append(parameter)

    @functools.wraps(function)
    def wrapped(verbose: bool, log_file: Path | None, **arguments: Any) -> None:
        _log(verbose, log_file)
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
            # File names may contain bytes that no encoding can represent.
            sys.stdout.reconfigure(errors="backslashreplace")
        signal.signal(signal.SIGTERM, _terminate)
        for name, group in groups.items():
            arguments[name] = group(**{field.name: arguments.pop(field.name) for field in fields(group)})
        code = _exit_code(function, arguments)
        if code:
            raise typer.Exit(code)

    signature = inspect.Signature([*parameters, *_options(LogOptions)])
    wrapped.__signature__ = signature  # type: ignore[attr-defined]
    return wrapped


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def _exit_code(function: Function, arguments: dict[str, Any]) -> int:
    """Run a command. Return 0 done, 2 user error, 1 work failed, 130 or 143 interrupted."""
    try:
        return function(**arguments) or 0
    except ConvqaError as error:
        _say_error(str(error.__cause__ if isinstance(error, ArgumentError) else error))
        return error.exit_code
    except RunError as error:
        is_kept = function.__name__ in _RESUMABLE and (error.transient or isinstance(error, StorageFull))
        _say_error(f"{error}{_RESUME_HINT if is_kept else ''}")
        return error.ordinary().exit_code
    except BrokenPipeError:
        # The reader of the output (head, less) has exited.
        sys.stderr.close()
        return 0
    except OSError as error:
        _say_error(f"{error.filename or 'the system'}: {error.strerror or error}.")
        return 1
    except Exception as error:
        _say_error(f"unexpected: {type(error).__name__}: {error}. -v shows the traceback.")
        return 1
    except KeyboardInterrupt:
        _say_interrupted("interrupted", function.__name__)
        return 130
    except Terminated:
        _say_interrupted("terminated", function.__name__)
        if function.__name__ not in _SERVING:
            # Exits at once because a thread may wait for a server for minutes.
            sys.stdout.flush()
            os._exit(143)
        return 143


def _say_interrupted(how: str, command: str) -> None:
    if command not in _SERVING:
        _say_error(f"{how}.{_RESUME_HINT if command in _RESUMABLE else ''}")


def _say_error(message: str) -> None:
    logging.getLogger("convqa").debug("traceback of the error below", exc_info=True)
    typer.echo(_masked(f"convqa: error: {message}"), err=True)


def _terminate(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the handler's signature
    raise Terminated


def _log(verbose: bool, log_file: Path | None) -> None:
    """Log warnings, and details with -v, to standard error, and everything to the log file."""
    logger = logging.getLogger("convqa")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    console = logging.StreamHandler()
    console.setLevel(logging.DEBUG if verbose else logging.WARNING)
    console.setFormatter(_ConsoleFormatter())
    logger.handlers = [console]
    if log_file is not None:
        try:
            file = logging.FileHandler(log_file, encoding="utf-8")
        except OSError as error:
            _say_error(f"--log-file {log_file}: cannot be written ({error.strerror or error}).")
            raise typer.Exit(2) from error
        file.setFormatter(_Masking("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logger.addHandler(file)
    logging.getLogger("haystack").setLevel(logging.INFO if verbose else logging.WARNING)


class _Masking(logging.Formatter):
    """A formatter that masks secrets, which a server's error may repeat."""

    def format(self, record: logging.LogRecord) -> str:
        return _masked(super().format(record))


def _masked(text: str) -> str:
    """Mask the values of environment variables whose names suggest a secret."""
    for name, value in os.environ.items():
        if len(value) >= _MIN_SECRET_CHARS and _SECRET_VARIABLE.search(name):
            text = text.replace(value, "***")
    return text


class _ConsoleFormatter(_Masking):
    def formatMessage(self, record: logging.LogRecord) -> str:
        return f"convqa: {record.levelname.lower()}: {record.message}"
