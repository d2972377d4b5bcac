"""A server of a folder of documents: it lists them, opens the originals, and follows its collection."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from convqa.errors import InputError
from convqa.indexing import index_sources
from convqa.pipeline.load import load
from convqa.qa import ready
from convqa.server import adding as module
from convqa.server.config import ServerConfig
from convqa.stores.embedded.writer import writer_lock
from tests.server.test_turns import ask

LEASE = "# Lease\n\nThe notice period is three months.\n"
RULES = "The rules of the house forbid drums after ten in the evening.\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "documents" / "house").mkdir(parents=True)
    (tmp_path / "documents" / "lease.md").write_text(LEASE)
    (tmp_path / "documents" / "house" / "rules.txt").write_text(RULES)
    (tmp_path / "documents" / "page.html").write_text("<p>The page of the landlord is open.</p>")
    return tmp_path / "documents"


@pytest.fixture
def served(folder, tmp_path):
    """A pipeline over the folder."""
    index_sources([folder], str(tmp_path / "mine"))
    return ready(load("talk"), str(tmp_path / "mine"))


def test_documents_are_listed_and_asked_alone(make_client, served):
    client = make_client({"talk": served})
    listed = client.get("/api/documents").json()["documents"]
    assert list(listed) == ["house/rules.txt", "lease.md", "page.html"] and listed["lease.md"] == "Lease"
    found = ask(client, "What is the notice period of the house?", filter={"file": ["house/rules.txt"]})
    assert {hit["id"] for hit in found["ranking"]} == {"house/rules.txt_p1"}
    hidden = make_client({"talk": served}, filter={"file": ["lease.md"]})
    assert hidden.get("/api/documents").json() == {"documents": {"lease.md": "Lease"}}


def test_originals_of_what_is_indexed(make_client, served, folder, tmp_path):
    (folder / "secret.txt").write_text("Not indexed.")
    client = make_client({"talk": served}, originals=str(folder))
    assert client.get("/api/pipelines").json()["originals"] is True
    found = client.get("/api/originals/lease.md_p1")
    assert found.text == LEASE and found.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert found.headers["Content-Disposition"].startswith("inline") and "script-src" in str(found.headers)
    page = client.get("/api/originals/page.html_p1")
    assert page.status_code == 200 and page.headers["Content-Disposition"].startswith("attachment")
    for id in ("secret.txt_p1", "secret.txt", "../mine/manifest.json"):
        assert client.get(f"/api/originals/{id}").status_code == 404
    hidden = make_client({"talk": served}, originals=str(folder), filter={"file": ["page.html"]})
    assert hidden.get("/api/originals/lease.md_p1").status_code == 404
    assert make_client({"talk": served}).get("/api/originals/lease.md_p1").status_code == 404
    (folder / "lease.md").unlink()
    (folder / "lease.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "outside.md").write_text("Outside.")
    assert client.get("/api/originals/lease.md_p1").status_code == 404


def test_a_new_version_is_taken_up_while_the_server_runs(make_client, served, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("convqa.server.service.FOLLOW_SECONDS", 0.05)
    client = make_client({"talk": served})
    first = ask(client, "What is the notice period?")
    (folder / "pets.txt").write_text("The deposit for a parrot is ninety euros.\n")
    index_sources([folder], str(tmp_path / "mine"))
    until = time.monotonic() + 20
    while client.get("/api/pipelines").json()["pipelines"][0]["passages"] == 3:
        assert time.monotonic() < until
        time.sleep(0.05)
    found = ask(client, "What is the deposit for a parrot?", conversation=first["conversation"])
    assert "ninety euros" in found["answer"]["text"] and found["number"] == 2
    assert client.get("/api/passages/pets.txt_p1").status_code == 200


def test_a_version_that_cannot_be_read_is_said_once(make_client, served, monkeypatch, caplog):
    monkeypatch.setattr("convqa.server.service.FOLLOW_SECONDS", 0.05)
    client = make_client({"talk": served})

    def broken(_):
        raise OSError("the disk is away")

    monkeypatch.setattr("convqa.server.service.open_store", broken)
    time.sleep(0.5)
    assert "notice" in ask(client, "What is the notice period?")["answer"]["text"]
    assert [record.getMessage() for record in caplog.records].count(
        "talk: the collection's new version cannot be served: the disk is away"
    ) == 1


PETS = b"The deposit for a parrot is ninety euros.\n"
BODY = {"Content-Type": "application/octet-stream"}
KEYS = {name: f"the key of a caller: {name}" for name in ("ADDER", "READER", "INTERN", "PROXY", "OTHER")}


def add(client, name="pets.txt", data=PETS, **headers):
    return client.post("/api/documents", params={"name": name}, content=data, headers={**BODY, **headers})


def listed(client):
    return list(client.get("/api/documents").json()["documents"])


@pytest.fixture
def adding(make_client, served, folder):
    """``adding(**fields)``: a client of a server that takes documents."""
    return lambda **fields: make_client({"talk": served}, originals=str(folder), documents=True, **fields)


def test_a_document_is_added_asked_and_removed(adding, folder, tmp_path):
    client = adding()
    assert client.get("/api/pipelines").json()["adding"]["bytes"] == 50_000_000
    reply = add(client)
    assert reply.status_code == 201 and reply.json()["file"] == "added/pets.txt" and reply.json()["unread"] == []
    found = ask(client, "What is the deposit for a parrot?")
    assert "ninety euros" in found["answer"]["text"] and found["citations"][0]["passage"] == "added/pets.txt_p1"
    assert client.get("/api/originals/added/pets.txt_p1").content == PETS
    # Indexing the folder keeps it, as it is.
    indexed = index_sources([folder], str(tmp_path / "mine"))
    assert (indexed.same, indexed.read, indexed.gone) == (4, 0, 0)
    again = add(client, data=b"Something else.")
    assert again.status_code == 409 and again.json()["error"]["message"] == (
        "There is a document added/pets.txt already. Remove it first."
    )
    assert (folder / "added" / "pets.txt").read_bytes() == PETS
    assert client.delete("/api/documents/added/pets.txt").status_code == 204
    assert listed(client) == ["house/rules.txt", "lease.md", "page.html"]
    assert not (folder / "added" / "pets.txt").exists()
    assert "ninety" not in (ask(client, "What is the deposit for a parrot?")["answer"]["text"] or "")
    assert client.delete("/api/documents/added/pets.txt").status_code == 404


def test_vectors_of_added_documents(adding, folder, tmp_path):
    from convqa.indexing import add_vectors
    from convqa.models import load_encoder
    from convqa.stores import open_store

    add_vectors(str(tmp_path / "mine"), load_encoder("encoder"))
    assert add(adding()).status_code == 201
    info = open_store(str(tmp_path / "mine")).info()
    assert info.count == info.vectors == 4


def test_what_of_a_document_was_not_read(adding, folder):
    client = adding()
    refused = add(client, "broken.pdf", b"%PDF-1.7 nothing")
    assert refused.status_code == 422
    assert refused.json()["error"]["message"].startswith("broken.pdf cannot be read: ")
    assert add(client, "empty.md", b"").json()["error"]["message"] == "empty.md cannot be read: it is empty."
    assert [*(folder / "added").iterdir()] == [] and len(listed(client)) == 3
    page = b"<p>The cat of the house is gray.</p><form><input name=a></form><img src=cat.png>"
    assert add(client, "cat.html", page).json()["unread"] != []


NO_FILE_NAMES = [
    "../lease.md",
    "../../outside.md",
    "/etc/outside.md",
    "house/rules.txt",
    "..\\outside.md",
    "C:outside.md",
    "a\0.md",
    "a\n.md",
    "a\u202etxt.md",
    ".hidden.md",
    "~$open.docx",
    "..",
    f"{'x' * 300}.md",
    "\N{GRINNING FACE}" * 60 + ".md",
]


def test_names_that_are_no_file_names(adding, folder, tmp_path):
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file() and "mine" not in path.parts}
    client = adding()
    for name in NO_FILE_NAMES:
        reply = add(client, name)
        assert reply.status_code == 422 and reply.json()["error"]["message"].startswith(
            "name: expected the name of a file"
        )
        for path in (f"added/{name}", name):
            assert client.delete(f"/api/documents/{quote(path, safe='')}").status_code in {404, 405, 422}
    after = {path: path.read_bytes() for path in before}
    assert before == after and not (folder / "added").exists()


def test_documents_that_are_refused(adding, folder):
    client = adding(limits={"document_bytes": 2_000, "body_bytes": 1_000})
    for name in ("run.exe", "meta.yaml", "passages.jsonl", "lease", ""):
        reply = add(client, name)
        assert reply.status_code == 415 and ".pdf" in reply.json()["error"]["message"]
    large = add(client, data=iter([b"x" * 1500, b"x" * 1500]))
    assert large.status_code == 413 and "more than 2000 bytes" in large.json()["error"]["message"]
    assert add(client, data=b"The parrot. " * 150).status_code == 201
    # Other bodies keep their limit.
    assert client.post("/api/turn", json={"question": "x" * 1500}).status_code == 413
    # A page of another site can send such a request without asking.
    assert add(client, "cat.md", **{"Content-Type": "text/plain"}).status_code == 415
    assert client.delete("/api/documents/lease.md").status_code == 404 and (folder / "lease.md").exists()
    assert client.delete("/api/documents/added/no.md").status_code == 404


def test_who_may_add_documents(adding, make_client, served, folder, monkeypatch):
    for name, key in KEYS.items():
        monkeypatch.setenv(f"{name}_KEY", key)
    keys = {
        "adder": {"env": "ADDER_KEY", "documents": True},
        "reader": {"env": "READER_KEY"},
        "intern": {"env": "INTERN_KEY", "filter": {"file": ["house/rules.txt"]}, "documents": True},
        "proxy": {"env": "PROXY_KEY", "documents": True},
        "other": {"env": "OTHER_KEY"},
    }
    users = {
        "header": "X-User",
        "keys": ["proxy", "other"],
        "others": {},
        "filters": {"eve": {"file": ["lease.md"]}},
        "documents": ["anna", "eve"],
    }
    client = adding(keys=keys, users=users)

    def status(key, user="", name="pets.txt"):
        return add(client, name, Authorization=f"Bearer {KEYS[key]}", **({"X-User": user} if user else {})).status_code

    assert add(client).status_code == 401
    assert status("INTERN") == status("READER") == 403
    assert status("PROXY", "bob") == status("PROXY", "eve") == status("OTHER", "anna") == 403
    assert not (folder / "added").exists()
    deleted = client.delete("/api/documents/added/pets.txt", headers={"Authorization": f"Bearer {KEYS['INTERN']}"})
    assert deleted.status_code == 403
    assert status("PROXY", "anna") == 201 and status("ADDER", name="cat.txt") == 201
    bearer = {"Authorization": f"Bearer {KEYS['INTERN']}"}
    assert list(client.get("/api/documents", headers=bearer).json()["documents"]) == ["house/rules.txt"]
    assert client.get("/api/pipelines", headers=bearer).json()["adding"] is False
    off = make_client({"talk": served}, originals=str(folder))
    assert add(off).status_code == off.delete("/api/documents/added/pets.txt").status_code == 403


@pytest.mark.parametrize("fields", [{}, {"originals": ".", "host": "0.0.0.0", "without_keys": True}])
def test_settings_that_would_let_anybody_add(fields):
    with pytest.raises(InputError, match=r"documents: expected originals: FOLDER, .*; keys, if other machines"):
        ServerConfig.model_validate({"documents": True, **fields}).checked()


def test_passages_take_no_documents(make_client, folder):
    reply = add(make_client(originals=str(folder), documents=True))
    assert reply.status_code == 422 and reply.json()["error"]["message"] == (
        "The collection of this pipeline was not made of documents."
    )


def test_one_document_at_a_time(adding, monkeypatch):
    client = adding()
    may_end = threading.Event()
    started = threading.Event()

    def slow(*arguments):
        started.set()
        assert may_end.wait(60)
        return start(*arguments)

    start = module.start
    monkeypatch.setattr(module, "start", slow)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(add, client)
        assert started.wait(30)
        second = add(client, "cat.txt")
        answer = ask(client, "What is the notice period?")
        may_end.set()
        assert first.result().status_code == 201
    assert second.status_code == 503 and second.headers["Retry-After"] == "5"
    assert "three months" in answer["answer"]["text"]
    assert add(client, "cat.txt").status_code == 201


class Here:
    """A worker in this process, where the time that a writer waits for another can be set."""

    def call(self, function, *arguments):
        return function(*arguments)

    def close(self):
        pass


def test_another_process_that_writes_the_collection(adding, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("convqa.stores.embedded.writer._WAIT_SECONDS", 0.1)
    monkeypatch.setattr(module, "start", lambda count: Here())
    client = adding()
    lock = writer_lock(tmp_path / "mine")
    reply = add(client)
    assert reply.status_code == 503 and "Another process" in reply.json()["error"]["message"]
    assert [*(folder / "added").iterdir()] == []
    lock.release()
    assert add(client).status_code == 201


def test_what_a_killed_server_left(adding, folder):
    # What a server leaves that was killed before indexing began: the file, and a part of another one.
    client = adding()
    (folder / "added").mkdir()
    (folder / "added" / "pets.txt").write_bytes(PETS)
    (folder / "added" / ".cat.txt.part").write_bytes(b"The c")
    assert listed(client) == ["house/rules.txt", "lease.md", "page.html"]
    assert add(client).status_code == 201 and add(client, "cat.txt").status_code == 201
    assert {path.name for path in (folder / "added").iterdir()} == {"pets.txt", "cat.txt"}
    # Removed from the folder, but not yet from the collection.
    (folder / "added" / "cat.txt").unlink()
    assert client.delete("/api/documents/added/cat.txt").status_code == 204
    assert listed(client) == ["added/pets.txt", "house/rules.txt", "lease.md", "page.html"]


def test_a_disk_that_is_full(adding, folder, monkeypatch):
    (folder / "added").write_text("A file is in the way of the folder.")
    reply = add(adding())
    assert reply.status_code in {400, 500} and "Traceback" not in reply.text


def test_the_last_document_is_removed_and_another_added(make_client, tmp_path):
    folder = tmp_path / "papers"
    (folder / "added").mkdir(parents=True)
    (folder / "added" / "lease.md").write_text(LEASE)
    index_sources([folder], str(tmp_path / "mine"))
    served = ready(load("talk"), str(tmp_path / "mine"))
    client = make_client({"talk": served}, originals=str(folder), documents=True)
    assert client.delete("/api/documents/added/lease.md").status_code == 204
    assert listed(client) == []
    assert ask(client, "What is the notice period?")["answer"]["kind"] == "none"
    assert add(client).status_code == 201 and listed(client) == ["added/pets.txt"]
