"""What a collection is called: URLs, folders, files of configs/collections."""

from __future__ import annotations

import pytest

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.places import shipped_yaml
from convqa.stores import create_store, open_store
from convqa.stores.address import Address, address


@pytest.fixture
def file(tmp_path):
    def write(text, name="here.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize(
    "name", ["folder", "a/b", "./a:b", "C:\\x.y", "elasticsearch://h:9200/x.yaml", "anserini:x.yaml", "collection"]
)
def test_urls_and_folders_stand_as_they_are(name):
    assert address(name) == Address(url=name)
    assert address(f"{name}\udcff").url == f"{name}\udcff"


def test_a_file_says_where_the_passages_are_and_how(file):
    path = file("url: elasticsearch://host:9200/web\nlanguage: de\nsettings: {shards: 3, k1: 0.9, x: true}\n")
    settings = {"shards": 3, "k1": 0.9, "x": True}
    assert address(path) == Address(url="elasticsearch://host:9200/web", language="de", settings=settings)


def test_folders_in_a_file_are_relative_to_the_file(file, tmp_path):
    assert address(file("url: data/c")).url == str(tmp_path / "data" / "c")
    assert address(file("url: anserini:data/c")).url == f"anserini:{tmp_path}/data/c"
    assert address(file("url: anserini:/data/c")).url == "anserini:/data/c"
    assert address(file("url: /data/c")).url == "/data/c"


def test_shipped_files_can_be_read_and_go_by_name():
    assert "elasticsearch" in set(shipped_yaml("configs", "collections"))
    found = {name: address(name) for name in shipped_yaml("configs", "collections")}
    assert found["elasticsearch"].url == "elasticsearch://localhost:9200/passages"


def test_a_folder_of_that_name_comes_before_a_shipped_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elasticsearch").mkdir()
    (tmp_path / "odd.yaml").mkdir()
    assert address("elasticsearch") == Address(url="elasticsearch")
    assert address("odd.yaml") == Address(url="odd.yaml")
    (tmp_path / "elasticsearch").rmdir()
    assert address("elasticsearch") != Address(url="elasticsearch")


def test_a_store_is_made_and_opened_by_its_file(file, tmp_path):
    path = file("url: c\nlanguage: de\n")
    with create_store(path) as made:
        made.add([Passage("a", "Die Brücken von London")])
    assert open_store(path).info().language == "de"
    assert open_store(path) is open_store(str(tmp_path / "c"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an object, got None. Expected url"),
        ("- url", "expected an object, got ['url']. Expected url"),
        ("url: [", "is not valid YAML: line 1, column 7"),
        ("language: en", "url: is missing"),
        ("url: ''", "url: is empty"),
        ("url: 7", "url: expected a string, got 7"),
        ("url: c\nfield: {}", "field: unknown field"),
        ("url: c\nlanguage: xx", "language: unknown language 'xx'; expected one of de, en"),
        ("url: c\nsettings: {shards: [1]}", "settings.shards"),
        ("url: c\nsettings: 3", "settings: expected an object, got 3"),
        ("1: 2", "url: is missing"),
    ],
)
def test_mistakes_are_named_with_file_and_field(file, text, message):
    path = file(text)
    with pytest.raises(InputError) as caught:
        address(path)
    assert str(caught.value).startswith(f"collection file {path}")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("url: c\npassword: s3cret", "password"),
        ("url: c\nsettings: {api_key: s3cret}", "settings.api_key"),
        ("url: c\nsettings: {basic_auth: [elastic, s3cret]}", "settings.basic_auth"),
    ],
)
def test_secrets_belong_into_the_environment(file, text, place):
    with pytest.raises(InputError, match=rf"\.{place}: secrets are not allowed.*CONVQA_ELASTICSEARCH") as caught:
        address(file(text))
    assert "s3cret" not in str(caught.value)
