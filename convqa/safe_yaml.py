"""Safe reading of YAML, for every file and every ``--set``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from convqa.errors import InputError


def read_yaml(path: Path, what: str) -> Any:
    """Return the YAML value in a file.

    :param what: the kind of file, for messages, such as "training file".
    :raises InputError: if the file is unreadable or invalid YAML.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {path} is not UTF-8: byte {error.start + 1}.") from error
    return parse_yaml(text, f"{what} {path}")


def parse_yaml(text: str, where: str) -> Any:
    """Return the YAML value of a text, of plain types only.

    Messages name line and problem but quote no text, because the file may be something else, with secrets in it.

    :param where: names the text in messages.
    :raises InputError: for invalid YAML, and for duplicate keys, of which YAML would silently keep the last.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # a SafeLoader
    except RecursionError as error:
        raise InputError(f"{where} is nested too deeply.") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise InputError(f"{where} is not valid YAML: {position}{error.problem or error.context}.") from error
    except Exception as error:  # PyYAML's constructors raise anything, such as KeyError for !!bool maybe
        raise InputError(f"{where} is not valid YAML: {' '.join(str(error).split())}.") from error


class _Loader(yaml.SafeLoader):
    """Loads plain types. Rejects duplicate keys."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.MappingNode):
            _refuse_duplicate_keys(node)
        return node


def _refuse_duplicate_keys(mapping: yaml.MappingNode) -> None:
    seen = set()
    for key, _ in mapping.value:
        if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
            if (key.tag, key.value) in seen:
                raise yaml.MarkedYAMLError(problem=f"duplicate key {key.value!r}", problem_mark=key.start_mark)
            seen.add((key.tag, key.value))
