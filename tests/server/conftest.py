"""Pipelines behind a server: one that talks about a small collection, one that answers from a turn's own passages."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

HERE = "http://127.0.0.1"
PASSAGES = [
    ("faust", "Faust is a tragic play by Johann Wolfgang von Goethe. It was published in 1808.", {"set": "books"}),
    ("goethe", "Johann Wolfgang von Goethe was a German poet. He was born in Frankfurt in 1749.", {"set": "people"}),
    ("curie", "Marie Curie was a Polish physicist. She won the Nobel Prize in Physics in 1903.", {"set": "people"}),
    ("salary", "The salary of the director is 90,000 euros a year.", {"set": "secret"}),
    ("emoji", "The \U0001f600 face was added to Unicode 6.1. The \U0001f600 face is yellow.", {"set": "books"}),
    ("script", "The tag <script>alert(1)</script> runs a program in the browser.", {"set": "books"}),
]


@pytest.fixture(scope="session")
def collection(tmp_path_factory):
    from convqa.domain import Passage
    from convqa.stores import create_store

    folder = tmp_path_factory.mktemp("served") / "library"
    with create_store(str(folder)) as store:
        store.add(Passage(id, text, title=id.title(), meta=meta) for id, text, meta in PASSAGES)
    return str(folder)


@pytest.fixture(scope="session")
def talk(collection):
    """The pipeline of the same name, bound and warm."""
    from convqa.pipeline.load import load
    from convqa.qa import ready

    return ready(load("talk"), collection)


@pytest.fixture
def make_app(talk, tmp_path):
    """``make_app(**fields of the configuration)``: a server's application with the pipeline talk."""
    from convqa.server.app import create_app
    from convqa.server.config import ServerConfig

    def make(pipelines=None, served=None, **fields):
        served = served or {name: {"examples": []} for name in pipelines or {"talk": talk}}
        fields = {"conversations": str(tmp_path / "conversations.sqlite"), "pipelines": served, **fields}
        return create_app(ServerConfig.model_validate(fields).checked(), pipelines or {"talk": talk})

    return make


@pytest.fixture
def serve_app():
    """``serve_app(app)``: the address of an application, on a real port."""
    import threading
    import time

    import uvicorn

    started = []

    def start(app):
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
        thread = threading.Thread(target=server.run)
        thread.start()
        started.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"

    yield start
    for server, thread in started:
        server.should_exit = True
        thread.join()


@pytest.fixture
def live(make_app, serve_app):
    """``live(**fields)``: the address of such a server, on a real port."""
    return lambda *arguments, **fields: serve_app(make_app(*arguments, **fields))


@pytest.fixture
def make_client(make_app):
    """``make_client(**fields)``: a client of such a server."""
    opened = []

    def make(*arguments, **fields):
        opened.append(TestClient(make_app(*arguments, **fields), HERE, raise_server_exceptions=False).__enter__())
        return opened[-1]

    yield make
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture(scope="module")
def client(talk):
    """A client of a server of its own for each module, whose conversations are those of all its tests."""
    from convqa.server.app import create_app
    from convqa.server.config import ServerConfig

    fields = {"conversations": ":memory:", "pipelines": {"talk": {"examples": []}}}
    app = create_app(ServerConfig.model_validate(fields).checked(), {"talk": talk})
    with TestClient(app, HERE, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def own_client(make_client):
    """A client of a server of the test's own, with its conversations in a file."""
    return make_client()


@pytest.fixture(scope="session")
def qa():
    """Answers from a turn's own passages, without a model."""
    import convqa

    return convqa.load(Path(__file__).resolve().parents[1] / "fixtures" / "own-passages.yaml")


@pytest.fixture
def line():
    """A line of an MRQA file, as JSON gives it: with tokens and gold."""
    return {
        "id": "",
        "context": "Goethe wrote Faust. Schiller wrote Wallenstein.",
        "context_tokens": [["Goethe", 0], ["wrote", 7]],
        "qas": [
            {
                "qid": "q1",
                "question": "Who wrote Faust?",
                "question_tokens": [["Who", 0]],
                "answers": ["gold of q1"],
                "detected_answers": [{"text": "Goethe", "char_spans": [[0, 5]], "token_spans": [[0, 0]]}],
            },
            {"qid": "q2", "question": "Who wrote Wallenstein?", "answers": ["gold of q2"]},
        ],
    }
