"""The command line application, its commands, and how errors are reported."""

from __future__ import annotations

import functools
import inspect
import io
import logging
import os
import signal
import sys
import sysconfig
import traceback
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, get_type_hints

import typer

import convqa
from convqa.errors import ConvqaError, RunError, StorageFull

_NOT_YOURS = (str(Path(convqa.__file__).parent), *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")), "<")
"""The beginnings of files that are not the user's own code."""


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

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show more detail.")]
Function = Callable[..., int | None]
"""A command's function. It returns the exit code, None for 0."""
Registered = Callable[..., None]
LogFile = Annotated[Path | None, typer.Option("--log-file", help="Also write the log to this file.")]

_RESUMABLE = frozenset(["ablate", "download", "index", "merge", "run", "train"])
"""Commands that keep finished work when they are interrupted."""

_RESUME = " Finished work is kept. Run the same command again to continue."

_SERVING = frozenset(["serve", "mcp"])
"""Commands that run until a signal ends them, which is not an error."""


class Terminated(BaseException):
    """Raised on SIGTERM."""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"convqa {convqa.__version__}")
        raise typer.Exit


@app.callback()
def _app(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Conversational question answering over a collection of passages, with cited answers."""


def command(function: Function, name: str | None = None, members: typer.Typer = app) -> Registered:
    """Register a command."""
    registered = prepared(function)
    members.command(name)(registered)
    return registered


def group(name: str, help: str) -> Callable[[str], Callable[[Function], Registered]]:
    """Register a group of commands: ``group("x", ...)("list")`` registers ``convqa x list``."""
    members = typer.Typer(name=name, help=help, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(members)
    return lambda member: functools.partial(command, name=member, members=members)


def prepared(function: Function) -> Registered:
    """Add ``-v`` and ``--log-file`` to a command, and turn its errors into messages and exit codes.

    A parameter whose type is a dataclass becomes one option per field.
    """
    own = inspect.signature(function, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        parameter.name: parameter.annotation for parameter in own if is_dataclass(parameter.annotation)
    }

    @functools.wraps(function)
    def wrapped(verbose: bool, log_file: Path | None, **arguments: Any) -> None:
        _log(verbose, log_file)
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
            # File names may contain bytes that no encoding can represent.
            sys.stdout.reconfigure(errors="backslashreplace")
        signal.signal(signal.SIGTERM, _terminate)
        for name, kind in groups.items():
            arguments[name] = kind(**{field.name: arguments.pop(field.name) for field in fields(kind)})
        code = _exit_code(function, arguments)
        if code:
            raise typer.Exit(code)

    parameters: list[inspect.Parameter] = []
    for parameter in own:
        parameters += _options(parameter.annotation) if parameter.name in groups else [parameter]
    parameters += [_option("verbose", Verbose, False), _option("log_file", LogFile, None)]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return wrapped


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [_option(field.name, hints[field.name], field.default) for field in fields(group)]


def _option(name: str, annotation: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _exit_code(function: Function, arguments: dict[str, Any]) -> int:
    """Run a command. Return 0 done, 2 user error, 1 work failed, 130 or 143 interrupted."""
    try:
        Path.cwd()
    except FileNotFoundError:
        _say_error("the working directory was removed. Change to one that exists.")
        return 2
    try:
        return function(**arguments) or 0
    except ConvqaError as error:
        _say_error(str(error))
        return error.exit_code
    except RunError as error:
        kept = function.__name__ in _RESUMABLE and (error.transient or isinstance(error, StorageFull))
        _say_error(f"{error}{_RESUME if kept else ''}")
        return error.ordinary().exit_code
    except BrokenPipeError:
        # The reader of the output (head, less) has exited.
        sys.stderr.close()
        return 0
    except OSError as error:
        _say_error(f"{error.filename or 'the system'}: {error.strerror or error}.")
        return 1
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if not frame.filename.startswith(_NOT_YOURS)]
        whose = (
            f"It was raised by {own[-1].filename}, line {own[-1].lineno}, in {own[-1].name}"
            if own
            else "This is a bug in convqa"
        )
        _say_error(f"unexpected: {type(error).__name__}: {error}. {whose}; -v shows the traceback.")
        return 1
    except (KeyboardInterrupt, Terminated) as signalled:
        ended, code = ("terminated", 143) if isinstance(signalled, Terminated) else ("interrupted", 130)
        if function.__name__ not in _SERVING:
            _say_error(f"{ended}.{_RESUME if function.__name__ in _RESUMABLE else ''}")
            if code == 143:
                # Exits at once because a thread may wait for a server for minutes.
                sys.stdout.flush()
                os._exit(code)
        return code


def _say_error(message: str) -> None:
    logging.getLogger("convqa").debug("traceback of the error below", exc_info=True)
    typer.echo(f"convqa: error: {message}", err=True)


def _terminate(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the handler's signature
    raise Terminated


def _log(verbose: bool, log_file: Path | None) -> None:
    """Log warnings, and details with -v, to standard error, and everything to the log file."""
    logger = logging.getLogger("convqa")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    console = logging.StreamHandler()
    console.setLevel(logging.DEBUG if verbose else logging.WARNING)
    console.setFormatter(_Plain())
    logger.handlers = [console]
    if log_file is not None:
        try:
            file = logging.FileHandler(log_file, encoding="utf-8")
        except OSError as error:
            _say_error(f"--log-file {log_file}: cannot be written ({error.strerror or error}).")
            raise typer.Exit(2) from error
        file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logger.addHandler(file)
    logging.getLogger("haystack").setLevel(logging.INFO if verbose else logging.WARNING)


class _Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = f"convqa: {record.levelname.lower()}: {record.getMessage()}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text
