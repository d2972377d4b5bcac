"""Where files are: what ships beside the code (pipelines, configs, the bundled example), the cache, Python modules."""

from __future__ import annotations

import os
import site
import sysconfig
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = [Path(folder).resolve() for folder in (*site.getsitepackages(), site.getusersitepackages())]
_PYTHON = Path(sysconfig.get_path("stdlib")).resolve()


def shipped(*parts: str) -> Path:
    """The path of a shipped file or folder, in a checkout or in an installed wheel.

    The wheel carries the checkout's ``pipelines``, ``configs`` and ``examples`` under ``convqa/share``.
    """
    share = _PACKAGE / "share"
    return (share if share.is_dir() else _PACKAGE.parent).joinpath(*parts)


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/convqa``, else ``~/.cache/convqa``."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "convqa"


def data_folder() -> Path:
    """``$XDG_DATA_HOME/convqa``, else ``~/.local/share/convqa``: for what is not made anew when it is lost."""
    root = os.environ.get("XDG_DATA_HOME")
    return (Path(root) if root else Path.home() / ".local" / "share") / "convqa"


def is_own(file: str) -> bool:
    """Whether a file of Python is the user's own: not convqa's, not Python's, and of no installed package."""
    place = Path(file).resolve()
    return place.is_file() and _PACKAGE not in place.parents and not is_installed(place) and not is_of_python(place)


def is_installed(place: Path) -> bool:
    """Whether a module or package is in a folder of installed packages."""
    return any(folder in place.parents for folder in _INSTALLED)


def is_of_python(place: Path) -> bool:
    """Whether a module or package is of Python's standard library."""
    return _PYTHON in place.parents and not is_installed(place)
