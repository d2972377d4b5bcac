"""Gathering: many turns in one run of the pipeline, each answered as if it were alone."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.exceptions import HTTPException

from convqa.domain import Turn, TurnId
from convqa.driver.waves import answer
from convqa.errors import InputError, RunError, StoreUnavailable
from convqa.server.config import ServerConfig
from convqa.server.service import Service
from convqa.workers.stopping import Abandoned, stop_check

QUESTIONS = ["Who was Marie Curie?", "What is Faust?", "Who was Johann Wolfgang von Goethe?", "thanks"]


def turn(question):
    return Turn(TurnId("talk", 1), question)


def served(talk, work, turns=32, waiting=256):
    """What ``work(service)`` gives, beside the sizes of the batches that were answered."""
    sizes = []

    def counting(pipeline, batch, report):
        responses = answer(pipeline, batch, report)
        sizes.append(len(batch))
        return responses

    async def run():
        service = Service("talk", talk, ServerConfig(batch={"turns": turns}, limits={"waiting": waiting}))
        service.start()
        try:
            return await work(service)
        finally:
            await service.stop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("convqa.server.service.answer", counting)
        return asyncio.run(run()), sizes


def test_turns_that_wait_are_answered_together(talk):
    async def work(service):
        asked = [service.ask(turn(question)) for question in QUESTIONS * 3]
        return [await one.response for one in asked]

    made, sizes = served(talk, work)
    assert sizes == [12]
    for question, response in zip(QUESTIONS * 3, made, strict=True):
        alone = answer(talk, [turn(question)])[0]
        assert response.answer == alone.answer and response.ranking == alone.ranking


def test_batches_have_a_size(talk):
    async def work(service):
        return [await one.response for one in [service.ask(turn("thanks")) for _ in range(5)]]

    assert served(talk, work, turns=2)[1] == [2, 2, 1]
    assert served(talk, work, turns=1)[1] == [1] * 5


def test_a_question_that_stops_the_run_stops_no_other(talk, monkeypatch):
    run = talk.run

    def refusing(turns, on_output=None):
        if any("mistake" in one.question for one in turns):
            raise RunError("no such field", InputError("no such field"))
        return run(turns, on_output)

    monkeypatch.setattr(talk, "run", refusing)

    async def work(service):
        asked = [service.ask(turn(question)) for question in ("Who was Marie Curie?", "mistake", "thanks")]
        return await asyncio.gather(*(one.response for one in asked), return_exceptions=True)

    (good, bad, also), _ = served(talk, work)
    assert good.answer.text and also.error is None
    assert bad.status_code == 422 and "no such field" not in bad.detail


def test_a_store_that_is_away_is_no_mistake_of_the_callers(talk, monkeypatch, make_client):
    def away(*_):
        raise StoreUnavailable("elasticsearch://user@host is away")

    monkeypatch.setattr(talk, "run", away)

    async def work(service):
        return await asyncio.gather(service.ask(turn("What?")).response, return_exceptions=True)

    assert isinstance(served(talk, work)[0][0], StoreUnavailable)
    reply = make_client().post("/api/turn", json={"question": "What?"})
    assert reply.status_code == 503 and reply.headers["retry-after"] and "host" not in reply.text


def test_more_than_may_wait_is_refused_with_a_time(talk):
    async def work(service):
        asked = [service.ask(turn("thanks")) for _ in range(3)]
        with pytest.raises(HTTPException) as caught:
            service.ask(turn("thanks"))
        await asyncio.gather(*(one.response for one in asked))
        await service.ask(turn("thanks")).response
        return int(caught.value.headers["Retry-After"])

    assert served(talk, work, waiting=3)[0] >= 1


def test_whoever_went_away_is_not_answered(talk):
    async def work(service):
        gone, there = service.ask(turn("What is Faust?")), service.ask(turn("thanks"))
        gone.response.cancel()
        return await there.response

    assert served(talk, work)[1] == [1]


def test_other_work_stops_when_its_caller_leaves(talk):
    ended = threading.Event()

    def endless():
        check = stop_check()
        try:
            while True:
                check()
                time.sleep(0.01)
        except Abandoned:
            ended.set()
            raise

    async def work(service):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await service.do(endless)
        await asyncio.to_thread(ended.wait, 10)
        return await service.do(lambda: "free")

    assert served(talk, work)[0] == "free" and ended.is_set()


def test_saturation_over_http(make_client, talk, monkeypatch):
    run = talk.run
    monkeypatch.setattr(talk, "run", lambda *given: time.sleep(0.05) or run(*given))
    client = make_client(limits={"waiting": 4}, batch={"turns": 1})
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda _: client.post("/api/turn", json={"question": "thanks"}), range(24)))
    assert {reply.status_code for reply in replies} == {200, 503}
    assert all(int(reply.headers["retry-after"]) >= 1 for reply in replies if reply.status_code == 503)
    assert client.post("/api/turn", json={"question": "thanks"}).status_code == 200


def test_health(client):
    assert client.get("/healthz").json() == {"status": "ok"}
