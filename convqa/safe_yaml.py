"""Safe reading of YAML, for every file and every ``--set``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from convqa.errors import InputError

MAX_CHARACTERS = 1_000_000
"""Maximum size of a text with its aliases expanded, at ten characters a value plus its own. Nine lines of aliases can
expand to billions of values, which later checks would visit one by one."""


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
    :raises InputError: for invalid YAML, duplicate keys (YAML would silently keep the last), and aliases that contain
        themselves or expand too far.
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
    """Loads plain types. Rejects duplicate keys, and aliases that contain themselves or expand too far."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._size = 0
        self._size_by_anchor: dict[str, int | None] = {}
        """Anchor -> the size of its value; None while the value is being read."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        anchor, before = event.anchor, self._size
        is_alias = isinstance(event, yaml.AliasEvent)
        if is_alias:
            repeated = self._size_by_anchor.get(anchor, 0)
            if repeated is None:
                raise _fault(f"the alias *{anchor} is inside its own anchor", event.start_mark)
            self._size += repeated
        else:
            self._size += 10 + len(getattr(event, "value", ""))
            self._size_by_anchor[anchor] = None
        if self._size > MAX_CHARACTERS:
            problem = f"the text has more than {MAX_CHARACTERS:,} characters with its aliases expanded"
            raise _fault(problem, event.start_mark)
        node = super().compose_node(parent, index)
        if not is_alias:
            self._size_by_anchor[anchor] = self._size - before
            if isinstance(node, yaml.MappingNode):
                _refuse_duplicate_keys(node)
        return node


def _refuse_duplicate_keys(mapping: yaml.MappingNode) -> None:
    seen = set()
    for key, _ in mapping.value:
        if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
            if (key.tag, key.value) in seen:
                raise _fault(f"duplicate key {key.value!r}", key.start_mark)
            seen.add((key.tag, key.value))


def _fault(problem: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
