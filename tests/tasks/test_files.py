"""Reading lines of gzip files."""

from __future__ import annotations

import gzip
import signal

import pytest

from convqa.tasks.files import read_lines


class Ended(BaseException):
    """What a handler of signals raises."""


def test_a_signal_while_gzip_is_read_is_what_its_handler_raises(tmp_path):
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress(b"a\n" * 2_000_000, 1))

    def end(number, frame):
        raise Ended

    before = signal.signal(signal.SIGALRM, end)
    try:
        for _ in range(20):
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            with pytest.raises(Ended):
                for _ in read_lines(path, "lines"):
                    pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
