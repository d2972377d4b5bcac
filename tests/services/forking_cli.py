"""The command line, called many times: each call runs in a fork of one process that has imported convqa.

A call costs a few hundredths of a second more than its work, and is a process of its own nevertheless: it may be
killed when it takes too long, and what it takes of processor time and memory is measured. Reads requests from standard
input, one JSON object a line, and writes one JSON object a line for each.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import traceback
from contextlib import suppress
from typing import Any


def main() -> None:
    """Serve until standard input ends."""
    import haystack  # noqa: F401 - imported once for all calls
    import numpy as np  # noqa: F401
    import onnxruntime  # noqa: F401
    import tokenizers  # noqa: F401

    from convqa.cli import application

    application()
    for line in sys.stdin:
        print(json.dumps(_serve(json.loads(line))), flush=True)


def _serve(request: dict[str, Any]) -> dict[str, Any]:
    """Call the command line. Seconds of processor time and of the clock, and MB at its peak, come with the exit code.

    The exit code of a call that was killed at ``request["seconds"]`` is "timeout"; that of a call that died of a signal
    is the signal's number, negative. With ``request["grace"]`` it is terminated at ``seconds``, and killed so many
    seconds later.
    """
    began = time.monotonic()
    grace = request.get("grace", 0.0)
    is_terminated = not grace
    child = os.fork()
    if child == 0:
        _call(request)
    code: int | str | None = None
    while code is None:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
        elif not is_terminated and time.monotonic() - began > request["seconds"]:
            is_terminated = True
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
        elif time.monotonic() - began > request["seconds"] + grace:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            usage = os.wait4(child, 0)[2]
            code = "timeout"
        else:
            time.sleep(0.003)
    return {
        "exit": code,
        "processor": usage.ru_utime + usage.ru_stime,
        "clock": time.monotonic() - began,
        "peak": usage.ru_maxrss / 1024,
    }


def _call(request: dict[str, Any]) -> None:
    """The child: the command line with its own folder, files, limits and arguments. Does not return."""
    from convqa.cli import main as command_line

    code = 1
    try:
        os.setsid()
        os.chdir(request["folder"])
        os.environ.update(request["environment"])
        sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        for number, path, flags in (
            (0, request["stdin"], os.O_RDONLY),
            (1, request["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            (2, request["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ):
            opened = os.open(path, flags)
            os.dup2(opened, number)
            os.close(opened)
        if "memory" in request:
            limit = request["memory"] * 2**20
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        sys.argv = ["convqa", *(os.fsdecode(os.fsencode(argument)) for argument in request["arguments"])]
        command_line()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
