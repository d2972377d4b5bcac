"""What the user sees of errors, whatever they are."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import convqa
from convqa.domain import Passage
from convqa.errors import InputError, RunError, StorageFull, StoreUnavailable, WorkError
from convqa.stores import create_store


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InputError("a mistake."), 2, "a mistake."),
        (WorkError("no luck."), 1, "no luck."),
        (StoreUnavailable("it is away."), 1, "it is away."),
        (StorageFull("no space."), 1, "no space."),
        (RunError("found late.", InputError("found late.")), 2, "found late."),
        (KeyboardInterrupt(), 130, "interrupted."),
        (PermissionError(13, "Permission denied", "/some/file"), 1, "/some/file: Permission denied"),
        (ZeroDivisionError("division by zero"), 1, "unexpected: ZeroDivisionError: division by zero."),
    ],
)
def test_every_error_is_a_message_and_an_exit_code(call, monkeypatch, error, code, message):
    def fail(*_):
        raise error

    monkeypatch.setattr("convqa.pipeline.merge.resolve", fail)
    got, _, err = call("show", "default")
    assert got == code and message in err and "Traceback" not in err


def test_verbose_shows_where(call, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("convqa.pipeline.merge.resolve", fail)
    code, _, err = call("show", "default", "-v")
    assert code == 1 and "Traceback" in err


def test_a_log_file_that_cannot_be_written(call):
    code, _, err = call("show", "default", "--log-file", "/proc/nothing/log")
    assert code == 2 and "--log-file /proc/nothing/log: cannot be written" in err


def test_names_that_are_not_utf8_are_printed_where_the_output_takes_utf8_alone(process, tmp_path):
    with create_store(str(tmp_path / "made")) as store:
        store.add([Passage("p", "A text.")])
    (tmp_path / "made").rename(tmp_path / "p\udce4sse")
    for option in ([], ["--json"]):
        listing = process("collections", "list", tmp_path, *option, PYTHONIOENCODING="utf-8:strict")
        out, err = listing.communicate(timeout=60)
        assert (listing.returncode, err) == (0, "") and "sse" in out


def test_secrets_of_the_environment_are_masked(call, monkeypatch, tmp_path):
    from convqa import stores

    def fail(*_):
        raise WorkError("the server answers: invalid key sk-123456789")

    monkeypatch.setenv("CONVQA_LLM_KEY", "sk-123456789")
    monkeypatch.setattr(stores, "check_store", fail)
    _, _, err = call("collections", "check", "x", "-v", "--log-file", tmp_path / "log")
    assert "invalid key ***" in err and "sk-123456789" not in err
    log = (tmp_path / "log").read_text()
    assert "invalid key ***" in log and "sk-123456789" not in log


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("ask --pipeline ta", ["talk"]),
        ("ask --collection lib", ["library"]),
        ("serve --collection ela", ["elasticsearch"]),
    ],
)
def test_names_of_pipelines_and_collections_are_completed(words, completed, tmp_path):
    from convqa.domain import Passage
    from convqa.stores import create_store

    with create_store(str(tmp_path / "library")) as store:
        store.add([Passage("p", "A text.")])
    environment = {**os.environ, "COMP_WORDS": f"convqa {words}", "COMP_CWORD": "3"}
    environment["_CONVQA_COMPLETE"] = "complete_bash"
    program = [sys.executable, "-c", "import sys; from convqa.cli import main; sys.argv = ['convqa']; main()"]
    out = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False).stdout
    assert out.split() == completed


def test_the_version(call):
    assert call("-V") == call("--version") == (0, f"convqa {convqa.__version__}\n", "")


def test_everything_to_keep_or_make_again_is_in_one_home(monkeypatch):
    from convqa import places

    monkeypatch.setenv("CONVQA_HOME", "/srv/convqa")
    assert list(map(str, (places.cache_folder(), places.data_folder()))) == ["/srv/convqa/cache", "/srv/convqa/data"]
    monkeypatch.delenv("CONVQA_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert str(places.cache_folder()) == "/c/convqa"
