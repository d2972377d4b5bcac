"""Paths: files that ship with convqa (pipelines, configs, the example), the cache, and modules of Python."""

from __future__ import annotations

import os
import site
from pathlib import Path

import platformdirs

from convqa.errors import InputError, nearest

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = [Path(folder).resolve() for folder in (*site.getsitepackages(), site.getusersitepackages())]


def shipped(*parts: str) -> Path:
    """Return the path of a shipped file or folder, in a checkout or in an installed wheel.

    The wheel has the ``pipelines``, ``configs`` and ``examples`` of the checkout in ``convqa/share``.
    """
    root = _PACKAGE / "share"
    if not root.is_dir():
        root = _PACKAGE.parent
    return root.joinpath(*parts)


def shipped_yaml(*folder: str) -> list[str]:
    """Return the names of the YAML files in a shipped folder."""
    return sorted(path.stem for path in shipped(*folder).glob("*.yaml"))


def is_yaml(name: str) -> bool:
    """Return whether a name is the path of a YAML file rather than the name of a shipped one."""
    return name.endswith((".yaml", ".yml"))


def yaml_file(name: str, what: str, *folder: str, alternative: str = "") -> Path:
    """Return the path of a YAML file, given as a path or as the name of a file in a shipped folder.

    :param what: the option or kind of file, for the message. :param alternative: ends the message's expectation.
    :raises InputError: for an unknown name. A missing file is left to the reader.
    """
    if is_yaml(name):
        return Path(name)
    known = shipped_yaml(*folder)
    if name not in known:
        raise InputError(
            f"{what}: unknown name {name!r}.{nearest(name, known)} Expected one of {', '.join(known)}, or the path of "
            f"a file that ends in .yaml{alternative}."
        )
    return shipped(*folder, f"{name}.yaml")


def cache_folder() -> Path:
    """Return the folder of what can be made again: ``$CONVQA_HOME/cache``, or the system's, ``~/.cache/convqa``."""
    return _home("cache") or platformdirs.user_cache_path("convqa", appauthor=False)


def data_folder() -> Path:
    """Return the folder of data to keep: ``$CONVQA_HOME/data``, or the system's, ``~/.local/share/convqa``."""
    return _home("data") or platformdirs.user_data_path("convqa", appauthor=False)


def _home(name: str) -> Path | None:
    home = os.environ.get("CONVQA_HOME")
    return Path(home, name) if home else None


def is_installed(path: Path) -> bool:
    """Return whether a module is in a folder of installed packages."""
    return any(folder in path.parents for folder in _INSTALLED)
