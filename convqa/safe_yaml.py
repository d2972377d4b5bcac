"""Reading YAML: every file and every ``--set`` goes through here, so that one place says what is accepted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from convqa.errors import InputError

MOST_CHARACTERS = 1_000_000
"""The most that a text may hold once its aliases are written out, about ten characters a value and its own: nine lines
of aliases can stand for billions of values, which the checks that follow would visit one by one."""


def read_yaml(path: Path, what: str) -> Any:
    """The YAML value in a file.

    :param what: what the file is called in messages, such as "training file".
    :raises InputError: if it cannot be read, or is no YAML.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {path} is not UTF-8: byte {error.start + 1}.") from error
    return parse_yaml(text, f"{what} {path}")


def parse_yaml(text: str, where: str) -> Any:
    """The YAML value of a text, of plain types only.

    Messages name the line and the fault, and quote no text: the file may not be what somebody took it for.

    :param where: what the text is called in messages.
    :raises InputError: for what is no YAML, for equal keys in one mapping (YAML would take the last in silence), and
        for aliases that stand within their own anchor or repeat too much.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # a SafeLoader
    except RecursionError as error:
        raise InputError(f"{where} is nested too deeply.") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise InputError(f"{where} is not valid YAML: {place}{error.problem or error.context}.") from error
    except Exception as error:  # PyYAML lets whatever its constructors raise pass, such as KeyError for !!bool maybe
        raise InputError(f"{where} is not valid YAML: {' '.join(str(error).split())}.") from error


class _Loader(yaml.SafeLoader):
    """Plain types, unequal keys, and aliases that neither contain themselves nor repeat too much."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._size = 0
        self._of_anchor: dict[str, int | None] = {}
        """The size of what an anchor names; None while that is read."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        anchor, before = event.anchor, self._size
        is_alias = isinstance(event, yaml.AliasEvent)
        if is_alias:
            if (repeated := self._of_anchor.get(anchor, 0)) is None:
                raise _fault(f"the alias *{anchor} stands within its own anchor", event.start_mark)
            self._size += repeated
        else:
            self._size += 10 + len(getattr(event, "value", ""))
            self._of_anchor[anchor] = None
        if self._size > MOST_CHARACTERS:
            most = f"more than {MOST_CHARACTERS:,} characters, with what its aliases repeat"
            raise _fault(f"the text holds {most}", event.start_mark)
        node = super().compose_node(parent, index)
        if not is_alias:
            self._of_anchor[anchor] = self._size - before
            if isinstance(node, yaml.MappingNode):
                _refuse_equal_keys(node)
        return node


# A word that only convqa reads, such as ``extends: !convqa default``: any other reader, Haystack's too, says so.
_Loader.add_constructor("!convqa", lambda _, node: str(node.value))


def _refuse_equal_keys(mapping: yaml.MappingNode) -> None:
    seen = set()
    for key, _ in mapping.value:
        if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
            if (key.tag, key.value) in seen:
                raise _fault(f"the key {key.value!r} stands twice", key.start_mark)
            seen.add((key.tag, key.value))


def _fault(problem: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
