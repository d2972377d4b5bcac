"""Workers: results, errors and warnings come back, and whoever dies is replaced."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import time

import pytest

from convqa.errors import InputError, StoreUnavailable, WorkError
from convqa.workers import WorkerLost, pool, start_workers
from convqa.workers.threads import cores, threads

EXECUTORS = ["processes", pytest.param("ray", marks=pytest.mark.services)]


def double(number):
    logging.getLogger("convqa.test").warning("doubling is slow")
    return 2 * number


def fail(error):
    raise error


def die_once(marker):
    if not os.path.exists(marker):
        open(marker, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def die():
    os._exit(3)


@pytest.fixture(params=EXECUTORS)
def workers(request):
    if request.param == "ray":
        request.getfixturevalue("ray_cluster")
    with start_workers(request.param, 2) as made:
        yield made


def test_work_comes_back_with_its_errors_and_each_warning_once(workers, caplog, monkeypatch):
    monkeypatch.setattr(pool, "_warned", set())
    with caplog.at_level(logging.WARNING):
        futures = [workers.submit(workers.call, double, number) for number in range(5)]
        assert [future.result() for future in futures] == [0, 2, 4, 6, 8]
    assert caplog.text.count("doubling is slow") == 1
    mistake = InputError("no such thing")
    with pytest.raises(InputError, match="no such thing"):
        workers.call(fail, mistake)
    error = StoreUnavailable("away", mistake)
    with pytest.raises(StoreUnavailable, match="away") as raised:
        workers.call(fail, error)
    assert raised.value.transient and str(raised.value.mistake) == "no such thing"
    with pytest.raises(WorkError, match=r"unexpected, in a worker: KeyError: 'x'"):
        workers.call(fail, KeyError("x"))


def test_a_worker_that_dies_is_replaced_and_work_that_kills_is_given_up(workers, tmp_path, caplog):
    assert workers.call(die_once, str(tmp_path / "died")) == "alive"
    assert "a worker died" in caplog.text
    with pytest.raises(WorkerLost, match="3 workers died"):
        workers.call(die)
    assert workers.call(double, 4) == 8


def test_workers_share_the_processors_unless_they_are_told_how_many_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")
    for count in (1, cores()):
        with start_workers("processes", count) as workers:
            assert workers.call(threads) == cores() // count
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with start_workers("processes", 2) as workers:
        assert workers.call(threads) == 3


def test_closing_does_not_wait_for_work():
    start = time.monotonic()
    with start_workers("processes", 1) as workers:
        workers.call(double, 1)
        future = workers.submit(workers.call, time.sleep, 60)
        time.sleep(0.2)
    assert time.monotonic() - start < 30
    assert isinstance(future.exception(), WorkerLost)


def test_several_local_workers_and_a_missing_package_are_refused(monkeypatch):
    with start_workers("local", 1) as none:
        assert none is None
    with pytest.raises(InputError, match="--workers 2: needs --executor processes or ray"), start_workers("local", 2):
        pass
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'convqa\[ray\]'"), start_workers("ray", 2):
        pass


def test_more_workers_than_the_cluster_has_processors_are_refused(ray_cluster):
    with pytest.raises(InputError, match="--workers 9: the Ray cluster has 2 processors"), start_workers("ray", 9):
        pass
