"""Who may see what: keys, users in a header, and filters that no client can widen."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from starlette.exceptions import HTTPException
from starlette.requests import Request

KEY, OTHER = "k" * 20, "o" * 20
SALARY = "What is the salary of the director?"


@pytest.fixture
def keys(monkeypatch):
    """Two keys: one sees everything, one only people."""
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("OTHER_KEY", OTHER)
    return {"mine": {"env": "MY_KEY"}, "other": {"env": "OTHER_KEY", "filter": {"set": ["people", "books"]}}}


def bearer(key, **headers):
    return {"Authorization": f"Bearer {key}", **headers}


def ask(client, question, headers, **fields):
    return client.post("/api/turn", json={"question": question, **fields}, headers=headers)


def ids(reply):
    assert reply.status_code == 200, reply.text
    return {hit["id"] for hit in reply.json()["ranking"]}


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": KEY[:-1]}, bearer("x" * 20), bearer(""), bearer("\xe4" * 20)]
)
def test_without_a_key_nothing_is_said(make_client, keys, headers):
    client = make_client(keys=keys)
    for method, path in (("GET", "/api/conversations"), ("GET", "/api/passages/faust"), ("POST", "/api/turn")):
        reply = client.request(method, path, headers={name: value.encode("latin-1") for name, value in headers.items()})
        assert reply.status_code == 401 and reply.headers["www-authenticate"] == "Bearer"
        assert "Faust" not in reply.text
    assert client.get("/healthz").status_code == 200


def test_a_filter_of_a_key_holds_everywhere(make_client, keys):
    client = make_client(keys=keys)
    assert "salary" in ids(ask(client, SALARY, bearer(KEY)))
    for filter in ({}, {"set": ["secret"]}, {"set": ["secret", "people"]}):
        found = ask(client, SALARY, bearer(OTHER), filter=filter)
        assert "salary" not in ids(found) and "90,000" not in found.text
    assert ids(ask(client, "Who was Marie Curie?", bearer(OTHER), filter={"set": ["people"]})) <= {"curie", "goethe"}
    assert client.get("/api/passages/salary", headers=bearer(KEY)).status_code == 200
    hidden = client.get("/api/passages/salary", headers=bearer(OTHER))
    unknown = client.get("/api/passages/unknown", headers=bearer(OTHER))
    assert hidden.status_code == unknown.status_code == 404 and hidden.json() == unknown.json()


def test_conversations_belong_to_whoever_held_them(make_client, keys):
    client = make_client(keys=keys)
    id = ask(client, SALARY, bearer(KEY)).json()["conversation"]
    assert client.get("/api/conversations", headers=bearer(OTHER)).json() == {"conversations": []}
    for method, path in (("GET", id), ("DELETE", id)):
        assert client.request(method, f"/api/conversations/{path}", headers=bearer(OTHER)).status_code == 404
    assert ask(client, "And when?", bearer(OTHER), conversation=id).status_code == 404
    assert client.get(f"/api/conversations/{id}", headers=bearer(KEY)).status_code == 200


def test_kept_answers_are_hidden_once_the_rule_forbids_them(make_client, keys):
    first = make_client(keys=keys)
    id = ask(first, SALARY, bearer(KEY)).json()["conversation"]
    narrow = make_client(keys={**keys, "mine": {"env": "MY_KEY", "filter": {"set": ["people"]}}})
    read = narrow.get(f"/api/conversations/{id}", headers=bearer(KEY))
    (turn,) = read.json()["turns"]
    assert turn["question"] == SALARY and turn["answer"] is None and "no longer" in turn["error"]["message"]
    assert "90,000" not in read.text
    assert "90,000" not in ask(narrow, "How much is it?", bearer(KEY), conversation=id).text


def named(name):
    return bearer(KEY) | {"X-User": name.encode()}


def test_users_behind_one_key_are_told_apart(make_client, keys):
    users = {
        "header": "X-User",
        "keys": ["mine"],
        "filters": {"anna": {"set": ["secret"]}},
        "others": {"set": ["people", "{user}"]},
    }
    client = make_client(keys=keys, users=users)
    assert "salary" in ids(ask(client, SALARY, named("anna")))
    assert "salary" not in ids(ask(client, SALARY, named("bert")))
    assert "salary" in ids(ask(client, SALARY, named("secret")))  # stands for {user}
    assert ask(client, SALARY, bearer(KEY)).status_code == 403
    assert "salary" not in ids(ask(client, SALARY, bearer(OTHER, **{"X-User": "anna"})))  # that key is not believed
    lists = [client.get("/api/conversations", headers=named(user)).json()["conversations"] for user in ("anna", "carl")]
    assert [len(kept) for kept in lists] == [1, 0]


def test_users_who_are_not_named_are_refused(make_client, keys):
    client = make_client(keys=keys, users={"header": "X-User", "keys": ["mine"], "filters": {"anna": {}}})
    assert ask(client, SALARY, named(" anna\t")).status_code == 200
    assert ask(client, SALARY, named("bert")).status_code == 403


@pytest.mark.parametrize("name", ["blocked-ü@example.org", "à", "\xa0x", "x\x85"])
def test_names_of_users_are_utf8_and_keep_their_letters(make_client, keys, name):
    users = {"header": "X-User", "keys": ["mine"], "filters": {name: {"set": ["people"]}}, "others": {}}
    client = make_client(keys=keys, users=users)
    assert "salary" not in ids(ask(client, SALARY, named(name)))
    assert "salary" in ids(ask(client, SALARY, named("another")))


@pytest.mark.parametrize("values", [[b"\xfc"], [b"anna", b"bert"]])
def test_names_of_users_that_are_no_utf8_or_two_are_refused(make_client, keys, values):
    client = make_client(keys=keys, users={"header": "X-User", "keys": ["mine"], "others": {}})
    headers = [(b"authorization", f"Bearer {KEY}".encode()), *((b"x-user", value) for value in values)]
    with pytest.raises(HTTPException) as refused:
        client.app.state.access.caller(Request({"type": "http", "headers": headers}))
    assert refused.value.status_code == 400


def test_a_key_keeps_its_letters(make_client, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY + "à")
    client = make_client(keys={"mine": {"env": "MY_KEY"}})
    for key, status in ((KEY + "à", 200), (KEY, 401), (KEY + "Ã", 401)):
        assert ask(client, SALARY, {"Authorization": f"Bearer {key} ".encode()}).status_code == status


def test_keys_are_never_logged_or_shown(make_client, keys, caplog):
    client = make_client(keys=keys)
    replies = [client.get(path, headers=bearer(KEY)) for path in ("/api/pipelines", "/openapi.json", "/nope")]
    assert not any(KEY in text for text in [*(reply.text for reply in replies), caplog.text])


def test_the_example_of_the_docs_runs_over_documents(make_client, monkeypatch, tmp_path):
    """The rules in docs/reference/server.md, over documents whose fields come from front matter and meta.yaml."""
    from convqa.indexing import index_sources
    from convqa.pipeline.load import load
    from convqa.qa import ready

    documents = {
        "law/meta.yaml": "published: true\nteam: [law]",
        "law/contract.md": "# Contract\n\nThe contract ends in June.",
        "house/meta.yaml": "published: true\nteam: all",
        "house/rules.txt": "The contract of the house hangs in the hall.",
        "house/draft.md": "---\nteam: law\n---\n# Draft\n\nThe draft of the contract is on the shelf.",
        "new.md": "---\npublished: false\nteam: all\n---\nThe new contract is not ready.",
    }
    for name, text in documents.items():
        path = tmp_path / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    index_sources([tmp_path / "documents"], str(tmp_path / "collection"))
    page = (Path(__file__).parents[2] / "docs" / "reference" / "server.md").read_text(encoding="utf-8")
    example = page.split("Searches, passages by id")[1].split("```yaml")[1].split("```")[0]
    (tmp_path / "key").write_text(KEY)
    monkeypatch.setenv("INTERN_KEY", OTHER)
    rules = yaml.safe_load(example.replace("/run/secrets/convqa_key", str(tmp_path / "key")))
    client = make_client(pipelines={"talk": ready(load("talk"), str(tmp_path / "collection"))}, **rules)

    question = "What of the contract?"
    house = {"house/draft.md_p1", "house/rules.txt_p1"}
    assert ids(ask(client, question, bearer(OTHER))) == house
    assert ids(ask(client, question, bearer(KEY, **{"X-OpenWebUI-User-Email": "bob@example.org"}))) == house
    anna = bearer(KEY, **{"X-OpenWebUI-User-Email": "anna@example.org"})
    assert ids(ask(client, question, anna)) == {*house, "law/contract.md_p1"}
    assert ids(ask(client, question, anna, filter={"team": ["law"]})) == {"law/contract.md_p1"}
    assert ask(client, question, anna, filter={"tema": ["law"]}).status_code == 422
