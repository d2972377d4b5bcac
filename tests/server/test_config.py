"""Server files: every mistake named, nothing open by mistake."""

from __future__ import annotations

import pytest

from convqa.errors import InputError
from convqa.server.config import ServerConfig, read_config


def test_a_file(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("pipelines: {talk: {}, careful: {pipeline: talk, set: {builder.max_sentences: 1}}}\nport: 0\n")
    config = read_config(str(file))
    assert list(config.pipelines) == ["talk", "careful"] and config.port == 0 and config.batch.turns == 32


def test_shipped_files_can_be_read(root):
    names = [file.stem for file in (root / "configs" / "server").glob("*.yaml")]
    assert names
    for name in names:
        read_config(name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot: 1", "prot: unknown field"),
        ("port: http", "port: expected a whole number, got 'http'"),
        ("pipelines: {talk: {colection: x}}", "pipelines.talk.colection: unknown field"),
        ("limits: {seconds: 0}", "limits.seconds: expected more than 0, got 0"),
        ("keys: {mine: {env: A, token: abc}}", "secrets are not allowed"),
        ("users: {header: X-User, keys: []}", "users.keys: is empty"),
    ],
)
def test_mistakes_in_a_file(tmp_path, text, said):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        read_config(str(file))
    assert said in str(caught.value) and str(file) in str(caught.value)


def test_no_file():
    with pytest.raises(InputError, match="--config: unknown name 'nowhere'"):
        read_config("nowhere")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"host": "0.0.0.0"}, "other machines can reach the server, but it has no keys"),
        ({"keys": {"a": {}}}, "expected either env"),
        ({"keys": {"a": {"env": "A", "file": "b"}}}, "expected either env"),
        ({"keys": {"a": {"env": "NOT_SET_HERE"}}}, "characters or more in the environment variable NOT_SET_HERE"),
        ({"keys": {"a": {"file": "/etc/nowhere"}}}, "the file named under file cannot be read"),
        ({"users": {"header": "X-User", "keys": ["b"]}}, "users.keys: expected names under keys"),
    ],
)
def test_mistakes_in_what_is_asked(fields, said):
    with pytest.raises(InputError, match=said):
        ServerConfig.model_validate(fields).checked()


def test_one_key_has_one_name(monkeypatch):
    monkeypatch.setenv("ONE_KEY", "s" * 16)
    config = ServerConfig.model_validate({"keys": {"a": {"env": "ONE_KEY"}, "b": {"env": "ONE_KEY", "filter": {}}}})
    with pytest.raises(InputError, match="two names have the same key"):
        config.checked()


def test_a_key_in_a_file(tmp_path):
    file = tmp_path / "key"
    file.write_text(f"{'s' * 16}\n")
    config = ServerConfig.model_validate({"host": "0.0.0.0", "keys": {"a": {"file": str(file)}}}).checked()
    assert config.secrets == {"a": "s" * 16}
    file.write_text("short")
    with pytest.raises(InputError, match="16 characters or more"):
        ServerConfig.model_validate({"keys": {"a": {"file": str(file)}}}).checked()


SECRET = "q3Zk/9x+T7mWv2=="


@pytest.mark.parametrize(
    "text",
    [
        f"keys: {{webui: '{SECRET}'}}",
        f"keys: ['{SECRET}']",
        f"keys: '{SECRET}'",
        f"keys: {{webui: {{env: '{SECRET}'}}}}",
        f"keys: {{webui: {{file: '{SECRET}'}}}}",
        f"keys: {{webui: {{key: '{SECRET}'}}}}",
        f"key: '{SECRET}'",
        f"keys: {{webui: {{file: '/{SECRET}'}}}}",
        f"keys: {{webui: {{env: ['{SECRET}']}}}}",
        f"keys: {{webui: {{env: A, filter: '{SECRET}'}}}}",
        f"keys: {{'{SECRET}': {{env: A}}}}",
        f"users: {{header: X-User, keys: ['{SECRET}']}}",
        f"users: {{header: X-User, keys: '{SECRET}'}}",
        f"keys: {{webui: {'1' * 16}}}",
        f"users: {{header: X-User, keys: {{key: '{SECRET * 9}'}}}}",
    ],
)
def test_a_key_in_the_wrong_place_is_not_shown(tmp_path, text):
    file = tmp_path / "server.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        read_config(str(file)).checked()
    assert SECRET not in str(refused.value) and "1" * 16 not in str(refused.value) and "key" in str(refused.value)
