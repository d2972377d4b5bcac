"""A server of a folder of documents: it lists them, opens the originals, and follows its collection."""

from __future__ import annotations

import time

import pytest

from convqa.indexing import index_sources
from convqa.pipeline.load import load
from convqa.qa import ready
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
