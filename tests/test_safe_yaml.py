"""The one way in which YAML is read: what is refused, where it stands, and that it takes no time."""

from __future__ import annotations

import re
import time

import pytest

from convqa.errors import InputError
from convqa.safe_yaml import MAX_CHARACTERS, parse_yaml, read_yaml

LAUGHS = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))]
)
"""Nine lines that stand for 435 million values."""


def test_aliases_and_merges_are_read():
    text = "base: &base {k1: 0.9, b: 0.4}\none: *base\ntwo: {<<: *base, b: 0.5}\nthree: {<<: [*base, *base], k1: 1.0}\n"
    assert parse_yaml(text, "file") == {
        "base": {"k1": 0.9, "b": 0.4},
        "one": {"k1": 0.9, "b": 0.4},
        "two": {"k1": 0.9, "b": 0.5},
        "three": {"k1": 1.0, "b": 0.4},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, r"line 6, column 10: the text has more than 1,000,000 characters with its aliases expanded\."),
        (f"a: &a {'x' * 200_000}\nb: [*a, *a, *a, *a, *a]", "line 2, column 17: the text has more than 1,000,000"),
        (LAUGHS.replace("[", "{<<: [").replace("]", "]}"), "the text has more than"),
        ("a: &m {x: *m}", r"line 1, column 11: the alias \*m is inside its own anchor\."),
        ("a: &m [[*m]]", r"the alias \*m is inside its own anchor"),
        ("a: *nobody", "line 1, column 4: found undefined alias 'nobody'"),
        ("a: 1\nb: {c: 2, c: 3}", "line 2, column 11: duplicate key 'c'"),
        ("{[a]: 1}", "line 1, column 2: found unhashable key"),
        ("a: 2024-99-99", "month must be in"),
        ("a: !!bool perhaps", "is not valid YAML"),
        ("a: !!python/object:os.system x", "could not determine a constructor for the tag"),
        ("[" * 5000, "is nested too deeply"),
        ("a: \x00", "is not valid YAML"),
    ],
)
def test_what_is_no_good_is_refused_at_once_and_by_name(text, message):
    start = time.process_time()
    with pytest.raises(InputError, match=message) as caught:
        parse_yaml(text, "file x.yaml")
    assert str(caught.value).startswith("file x.yaml is n")
    assert time.process_time() - start < 20  # some 2 s here at most; an unbounded one takes minutes


def test_equal_keys_of_other_types_are_two():
    assert parse_yaml("{1: a, '1': b}", "file") == {1: "a", "1": "b"}


def test_messages_quote_no_text_of_the_file(tmp_path):
    path = tmp_path / "shadow"
    path.write_text("admin:$6$hash:19000:0\n\tdaemon: [\n")
    with pytest.raises(InputError) as caught:
        read_yaml(path, "pipeline")
    assert str(caught.value).startswith(f"pipeline {path} is not valid YAML: line 2, column 1: ")
    assert "admin" not in str(caught.value) and "daemon" not in str(caught.value)


def test_a_text_at_the_limit_is_read():
    assert len(parse_yaml(f"a: {'x' * (MAX_CHARACTERS - 31)}", "file")["a"]) == MAX_CHARACTERS - 31
    with pytest.raises(InputError, match="more than"):
        parse_yaml(f"a: {'x' * (MAX_CHARACTERS - 30)}", "file")


def test_nothing_else_reads_yaml(root):
    readers = [path.name for path in (root / "convqa").rglob("*.py") if re.search(r"yaml\.\w*load", path.read_text())]
    assert readers == ["safe_yaml.py"]
