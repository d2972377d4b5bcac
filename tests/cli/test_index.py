"""``convqa index`` as a user calls it; reading and building themselves: tests/test_indexing.py."""

from __future__ import annotations

import json

import pytest


def passages(path, *ids):
    path.write_text("".join(json.dumps({"id": id, "text": f"The text of {id}."}) + "\n" for id in ids))
    return path


def test_index_add_replace(call, tmp_path):
    source, more = passages(tmp_path / "a.jsonl", "a", "b"), passages(tmp_path / "b.jsonl", "c")
    code, out, err = call("index", source, "--collection", tmp_path / "c")
    assert (code, err) == (0, "") and out.startswith("2 passages")
    code, _, err = call("index", more, "--collection", tmp_path / "c")
    assert code == 2 and "--add" in err and "--replace" in err
    assert call("index", more, "--collection", tmp_path / "c", "--add")[1].startswith("3 passages")
    assert call("index", more, "--collection", tmp_path / "c", "--replace")[1].startswith("1 passages")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.jsonl", "--collection", "c"], "nowhere.jsonl"),
        (["{source}"], "--collection"),
        (["{source}", "--collection", "{folder}/c", "--language", "xx"], "xx"),
        (["{source}", "--collection", "elasticsearch://localhost/x"], "elasticsearch"),
        (["{source}", "--collection", "{folder}/c", "--add", "--replace"], "exclude each other"),
    ],
)
def test_mistakes(call, tmp_path, arguments, message):
    source = passages(tmp_path / "a.jsonl", "a")
    code, _, err = call("index", *[argument.format(source=source, folder=tmp_path) for argument in arguments])
    assert code == 2 and message in err and "Traceback" not in err


def test_a_duplicate_id_is_named_with_its_places(call, tmp_path):
    first, second = passages(tmp_path / "a.jsonl", "a", "b"), tmp_path / "b.jsonl"
    second.write_text('{"id": "c", "text": "c"}\n\n{"id": "b", "text": "another"}\n')
    code, _, err = call("index", first, second, "--collection", tmp_path / "c")
    assert code == 2 and f"{first}:2 and {second}:3: two passages have the id 'b'" in err
    assert not (tmp_path / "c").exists()
