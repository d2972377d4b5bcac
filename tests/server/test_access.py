"""Who may see what: keys, users in a header, filters that no client can widen, rates."""

from __future__ import annotations

import pytest

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
    for method, path in (("GET", id), ("DELETE", id), ("GET", f"{id}/export")):
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
    assert b"90,000" not in narrow.get(f"/api/conversations/{id}/export", headers=bearer(KEY)).content
    assert "90,000" not in ask(narrow, "How much is it?", bearer(KEY), conversation=id).text


def test_users_behind_one_key_are_told_apart(make_client, keys):
    users = {
        "header": "X-User",
        "keys": ["mine"],
        "filters": {"anna": {"set": ["secret"]}},
        "others": {"set": ["people", "{user}"]},
    }
    client = make_client(keys=keys, users=users)
    assert "salary" in ids(ask(client, SALARY, bearer(KEY, **{"X-User": "anna"})))
    assert "salary" not in ids(ask(client, SALARY, bearer(KEY, **{"X-User": "bert"})))
    assert "salary" in ids(ask(client, SALARY, bearer(KEY, **{"X-User": "secret"})))  # stands for {user}
    assert ask(client, SALARY, bearer(KEY)).status_code == 403
    assert "salary" not in ids(ask(client, SALARY, bearer(OTHER, **{"X-User": "anna"})))  # that key is not believed
    lists = [
        client.get("/api/conversations", headers=bearer(KEY, **{"X-User": user})).json()["conversations"]
        for user in ("anna", "bert", "carl")
    ]
    assert [len(one) for one in lists] == [1, 1, 0]


def test_users_who_are_not_named_are_refused(make_client, keys):
    client = make_client(keys=keys, users={"header": "X-User", "keys": ["mine"], "filters": {"anna": {}}})
    assert ask(client, SALARY, bearer(KEY, **{"X-User": "anna"})).status_code == 200
    assert ask(client, SALARY, bearer(KEY, **{"X-User": "bert"})).status_code == 403


def test_no_examples_where_not_everybody_may_see_everything(make_client, keys):
    for rules in ({"keys": keys}, {"filter": {"set": ["people"]}}):
        client = make_client(served={"talk": {}}, **rules)
        (described,) = client.get("/api/pipelines", headers=bearer(KEY)).json()["pipelines"]
        assert described["examples"] == []


def test_a_header_that_is_there_twice_is_refused(make_client, keys):
    client = make_client(keys=keys, users={"header": "X-User", "keys": ["mine"], "filters": {"anna": {}, "bert": {}}})
    twice = [("Authorization", f"Bearer {KEY}"), ("X-User", "anna"), ("X-User", "bert")]
    assert client.get("/api/conversations", headers=twice).status_code == 400


def test_what_a_rewrite_took_from_passages_is_hidden_with_them(make_client, keys):
    wide = make_client(keys=keys)
    id = ask(wide, SALARY, bearer(KEY)).json()["conversation"]
    ask(wide, "Who was Marie Curie?", bearer(KEY), conversation=id, filter={"set": ["people"]})
    narrow = make_client(keys={**keys, "mine": {"env": "MY_KEY", "filter": {"set": ["people"]}}})
    turns = narrow.get(f"/api/conversations/{id}", headers=bearer(KEY)).json()["turns"]
    assert [turn["answer"] for turn in turns] == [None, None]


def test_rates_are_counted_by_key(make_client, keys):
    client = make_client(keys=keys, limits={"per_minute": 2})
    said = [ask(client, "thanks", bearer(KEY)) for _ in range(3)]
    assert [reply.status_code for reply in said] == [200, 200, 429]
    assert 1 <= int(said[2].headers["retry-after"]) <= 60
    assert ask(client, "thanks", bearer(OTHER)).status_code == 200


def test_keys_are_never_logged_or_shown(make_client, keys, caplog):
    client = make_client(keys=keys)
    replies = [
        client.get(path, headers=bearer(KEY)) for path in ("/api/pipelines", "/metrics", "/openapi.json", "/nope")
    ]
    assert not any(KEY in text for text in [*(reply.text for reply in replies), caplog.text])
