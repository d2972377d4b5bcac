"""Folders that hold models: whole ones, damaged ones and foreign ones."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from convqa.errors import InputError
from convqa.models import load_encoder, load_pair_scorer
from convqa.models.folder import (
    Manifest,
    ModelFolder,
    languages_of,
    licence_of,
    open_folder,
    read_manifest,
    write_folder,
)
from convqa.models.source import SHIPPED

ABOUT = {"kind": "encoder", "name": "made", "precision": "float32", "dimension": 2, "max_tokens": 8}
FILES = {"model.onnx": b"graph", "tokenizer.json": b"{}", "README.md": b"# made"}


@pytest.fixture
def made(tmp_path):
    write_folder(tmp_path / "made", ABOUT, FILES)
    return tmp_path / "made"


@pytest.fixture
def copied(tmp_path):
    return shutil.copytree(SHIPPED / "encoder", tmp_path / "copied")


def change(folder, **fields):
    file = folder / "convqa.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def test_what_is_written_is_read(made):
    folder = open_folder("made", made)
    assert folder.manifest == read_manifest(made) == Manifest(format=1, files=folder.manifest.files, **ABOUT)
    assert set(folder.manifest.files) == {"model.onnx", "tokenizer.json"}
    assert (made / "README.md").read_bytes() == b"# made"


def test_the_checksum_names_what_shapes_results(made, tmp_path):
    before = open_folder("made", made).checksum()
    write_folder(tmp_path / "same", {**ABOUT, "name": "other", "licence": "MIT"}, {**FILES, "README.md": b"# other"})
    write_folder(tmp_path / "shorter", {**ABOUT, "max_tokens": 7}, FILES)
    write_folder(tmp_path / "heavier", ABOUT, {**FILES, "model.onnx": b"graphs"})
    found = [open_folder(name, tmp_path / name).checksum() for name in ("same", "shorter", "heavier")]
    assert found[0] == before and len({before, *found}) == 3


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_is_refused(copied, name):
    data = bytearray((copied / name).read_bytes())
    data[len(data) // 2] ^= 1
    (copied / name).write_bytes(data)
    with pytest.raises(InputError, match=rf"{name}: the checksum differs from convqa.json: the file is damaged"):
        load_encoder(str(copied))


def test_damage_after_the_first_load_is_seen(copied):
    load_encoder(str(copied))
    file = copied / "tokenizer.json"
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(InputError, match="is damaged or was replaced"):
        load_encoder(str(copied))


def test_a_missing_file_is_refused(copied):
    (copied / "model.onnx").unlink()
    with pytest.raises(InputError, match=r"model.onnx: cannot be read \(No such file"):
        load_encoder(str(copied))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"format": 2}, "format: expected 1, got 2. The model may be of another version of convqa"),
        ({"dimension": "wide"}, "dimension: expected a whole number, got 'wide'"),
        ({"files": {"model.onnx": "00", "tokenizer.json": "00"}}, "the checksum differs"),
    ],
)
def test_a_bad_manifest_is_refused(made, fields, message):
    change(made, **fields)
    with pytest.raises(InputError, match=message):
        open_folder("made", made)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"settings": {"prefixes": 5}}, r"convqa\.json: settings: prefixes: expected an object, got 5"),
        ({"settings": {"prefixes": "abc"}}, "settings: prefixes: expected an object, got 'abc'"),
        ({"settings": {"prefixes": {"query": 3}}}, r"settings: prefixes\.query: expected a string, got 3"),
        ({"settings": {"prefixes": {"qery": "q: "}}}, "expected 'query' or 'passage', got 'qery'"),
    ],
)
def test_settings_that_no_encoder_has_are_refused(copied, fields, message):
    change(copied, **fields)
    with pytest.raises(InputError, match=message):
        load_encoder(str(copied))


def test_a_manifest_that_is_no_json_is_refused(made):
    (made / "convqa.json").write_text('{"format": 1,')
    with pytest.raises(InputError, match=r"convqa\.json: .*invalid JSON"):
        open_folder("made", made)


def test_a_graph_that_cannot_be_run_is_refused(tmp_path):
    tokenizer = (SHIPPED / "encoder" / "tokenizer.json").read_bytes()
    write_folder(tmp_path / "made", ABOUT, {**FILES, "tokenizer.json": tokenizer})
    with pytest.raises(InputError, match=r"model\.onnx: cannot be run"):
        load_encoder(str(tmp_path / "made"))


def test_a_tokenizer_that_is_none_is_refused(tmp_path):
    graph = (SHIPPED / "encoder" / "model.onnx").read_bytes()
    write_folder(tmp_path / "made", ABOUT, {**FILES, "model.onnx": graph})
    with pytest.raises(InputError, match=r"tokenizer\.json: is not a tokenizer"):
        load_encoder(str(tmp_path / "made"))


def test_a_model_of_another_kind_is_refused(copied):
    with pytest.raises(InputError, match="expected a model of kind 'pairs', got kind 'encoder'"):
        load_pair_scorer(str(copied))
    change(copied, kind="reader")
    with pytest.raises(InputError, match="expected a model of kind 'encoder', got kind 'reader'"):
        load_encoder(str(copied))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no model; expected convqa.json"),
        ({"passages.jsonl": "{}"}, "has no model; expected convqa.json"),
    ],
)
def test_a_folder_without_a_model_is_refused(tmp_path, files, message):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        open_folder("it", tmp_path)


def test_nothing_is_written_over(made, tmp_path):
    with pytest.raises(InputError, match="already exists"):
        write_folder(made, ABOUT, FILES)
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", {**ABOUT, "dimension": 3}, FILES)
    assert (read_manifest(made).dimension, read_manifest(tmp_path / "empty").dimension) == (2, 3)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="already exists"):
        write_folder(tmp_path / "file", ABOUT, FILES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file", "made"]


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        (b"---\nlanguage: en\nlicense: apache-2.0\n---\n# A model", "apache-2.0"),
        (b"# A model\nIts license: see there", ""),
        (b"---\nlicense: mit\n---\n\xff", "mit"),
        (b"---\nlicense: gemma\n---\n", "gemma"),
        (None, ""),
    ],
)
def test_the_licence_is_what_the_head_of_the_card_names(tmp_path, card, licence):
    if card is not None:
        (tmp_path / "README.md").write_bytes(card)
    assert licence_of(tmp_path) == licence


@pytest.mark.parametrize(
    ("head", "languages"),
    [
        ("language: en\nlicense: mit", ["en"]),
        ("license: mit\nlanguage:\n- en\n- de-AT\ntags:\n- x", ["en", "de"]),
        ('language:\n  - no\n  - "pl"', ["no", "pl"]),
        ("language: [ja, zh]", ["ja", "zh"]),
        ("language: multilingual", []),
        ("language:\n- en\n- code", []),
        ("language:\nlicense: mit", []),
        ("license: mit", []),
    ],
)
def test_the_languages_are_those_that_the_head_of_the_card_names(tmp_path, head, languages):
    (tmp_path / "README.md").write_text(f"---\n{head}\n---\n# A model")
    assert languages_of(tmp_path) == ModelFolder("x", tmp_path, None).languages == languages


def test_the_encoder_that_ships_is_english():
    assert open_folder("encoder", SHIPPED / "encoder").languages == ["en"]
    model = load_encoder("encoder")
    assert model.knows("en") and not model.knows("de")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="every place can be written to")
def test_a_place_that_cannot_be_written_to_is_said(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        write_folder(tmp_path / "made", ABOUT, FILES)
