"""Where a model is found by its name, and that nothing is downloaded unasked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from convqa.errors import InputError
from convqa.models.source import (
    SHIPPED,
    find_model,
    install,
    installed,
    local_models,
)


def test_a_bare_word_is_a_shipped_model():
    assert local_models()["encoder"] == SHIPPED / "encoder"
    assert find_model("encoder").path == SHIPPED / "encoder"


def test_shipped_models_are_within_their_budget():
    """At most 25 MB a file and 80 MB in all; each with a card."""
    sizes = {path: path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()}
    assert max(sizes.values()) <= 25_000_000 and sum(sizes.values()) <= 100_000_000
    for name in local_models():
        assert "Licence" in (SHIPPED / name / "README.md").read_text(encoding="utf-8")
        assert find_model(name).manifest.licence


def test_an_unknown_word_is_refused_with_what_there_is():
    with pytest.raises(InputError, match=r"unknown model 'encodr'\. Did you mean 'encoder'\? Expected .*encoder"):
        find_model("encodr")
    with pytest.raises(InputError, match="unknown model ''"):
        find_model("")


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "~/nowhere", "."])
def test_what_looks_like_a_folder_is_one(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no such folder|has no model"):
        find_model(name)


def test_a_folder_that_exists_goes_before_a_hub_name(tmp_path, monkeypatch):
    (tmp_path / "owner" / "name").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="this folder has no model"):
        find_model("owner/name")


def test_an_installed_model_is_found_by_its_name(encoder_of_german, tmp_path, monkeypatch):
    with pytest.raises(
        InputError, match=r"unknown model 'multilingual'\. Expected a model of convqa models list .*models get"
    ):
        find_model("multilingual")
    assert install("multilingual", encoder_of_german) == installed("multilingual")
    (tmp_path / "cwd" / "multilingual").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "cwd")
    assert local_models()["multilingual"] == installed("multilingual")
    found = find_model("multilingual")
    assert (found.path, found.languages) == (installed("multilingual"), ["de", "pl"])
    assert {path.name for path in found.path.iterdir()} == {"convqa.json", "model.onnx", "tokenizer.json"}
    assert (
        install("multilingual", found.path) == install("multilingual", encoder_of_german) == found.path
        and find_model("multilingual").checksum() == found.checksum()
    )


def test_what_is_not_an_exported_model_is_not_installed(tmp_path, encoder_of_german):
    with pytest.raises(InputError, match=r"nowhere: no such folder"):
        install("mine", tmp_path / "nowhere")
    for name in ("encoder", "../mine", "a/b", ""):
        with pytest.raises(InputError, match="expected a name of letters, digits"):
            install(name, encoder_of_german)
    manifest = encoder_of_german / "convqa.json"
    whole = manifest.read_text()
    manifest.write_text(whole.replace('"tokenizer.json"', '"../tokenizer.json"'))
    with pytest.raises(InputError, match=r"files\.\.\./tokenizer\.json: expected"):
        install("mine", encoder_of_german)
    manifest.write_text(whole)
    install("mine", encoder_of_german)
    (encoder_of_german / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="is damaged or was replaced"):
        install("mine", encoder_of_german)
    assert "mine" in local_models() and find_model("mine").manifest


class Hub(BaseHTTPRequestHandler):
    """What Hugging Face's server says of the one model that it has."""

    commit = "c" * 40
    files = {"config.json": b'{"model_type": "bert"}', "pytorch_model.bin": b"weights", "onnx/model.onnx": b"left",
             "chat_template.jinja": b"{{ messages }}"}  # fmt: skip
    asked: list[str] = []

    def do_GET(self):
        Hub.asked.append(self.path)
        if self.path.startswith("/api/models/owner/name/tree/"):
            files = [{"type": "file", "path": name, "size": len(body), "oid": "0"} for name, body in Hub.files.items()]
            return self.answer(json.dumps(files).encode())
        if self.path.startswith("/api/models/owner/name"):
            files = [{"rfilename": name} for name in Hub.files]
            return self.answer(json.dumps({"id": "owner/name", "sha": Hub.commit, "siblings": files}).encode())
        name = self.path.removeprefix(f"/owner/name/resolve/{Hub.commit}/")
        return self.answer(Hub.files[name]) if name in Hub.files else self.answer(b"{}", 404)

    do_HEAD = do_GET

    def answer(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Repo-Commit", Hub.commit)
        self.send_header("ETag", f'"{abs(hash(self.path)):x}"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        """Nothing."""


@pytest.fixture
def hub():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Hub.asked.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_hub_model_comes_from_the_cache_and_is_downloaded_only_where_permitted(hub, tmp_path):
    code = (
        "import os, sys\n"
        "from convqa.errors import InputError\n"
        "from convqa.models.source import find_model\n"
        "for permitted in sys.argv[1:]:\n"
        "    os.environ['CONVQA_ALLOW_DOWNLOAD'] = permitted\n"
        "    try:\n        folder = find_model('owner/name').path\n"
        "        print(sorted(path.relative_to(folder).as_posix() for path in folder.rglob('*')))\n"
        "    except InputError as error:\n        print(error)\n"
    )

    def find(*permitted, **environment):
        """A process that looks for the model once for each argument."""
        settings = {"HF_ENDPOINT": hub, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
        command = [sys.executable, "-c", code, *permitted]
        full = {**os.environ, **settings, **environment}
        done = subprocess.run(command, env=full, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    refused = find("")
    assert refused.startswith("the model owner/name is not on this machine. Download it with: ")
    assert "hf download owner/name" in refused and "--allow-download" in refused and not Hub.asked
    whole = "['chat_template.jinja', 'config.json', 'pytorch_model.bin']"
    assert find("1") == whole and Hub.asked
    Hub.asked.clear()
    assert find("", "1") == f"{whole}\n{whole}" and not Hub.asked
    unknown = find("1", HF_HOME=str(tmp_path / "other"), HF_ENDPOINT="http://127.0.0.1:9")
    assert unknown.startswith("the model owner/name cannot be downloaded: ")
