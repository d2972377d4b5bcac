"""Faults of the machine and of what a run depends on: what is finished stays, and the message says what to do.

Servers of passages have a file of their own, test_server_faults.py. docs/reference/after-a-kill.md lists
all faults and outcomes.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time

import pytest

from convqa.errors import counted

PLAIN = ("--pipeline", "copy-bm25", "--batch-size", 2)


def journal(folder):
    """The lines of a run's journal."""
    return (folder / "responses.jsonl").read_bytes().splitlines(keepends=True)


def wait_for(condition, running, seconds=60):
    """Wait until a condition holds, while a process runs."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert running.poll() is None and time.monotonic() < deadline, running.communicate()
        time.sleep(0.005)


@pytest.fixture
def command(small, indexed):
    """``command(output, *options)``: a run of the three conversations, without models."""
    return lambda output, *more: ("run", small, output, "--collection", indexed, *PLAIN, *more)


@pytest.fixture
def undisturbed(call, command, tmp_path):
    """The folder of a run that nothing disturbed."""
    assert call(*command(tmp_path / "undisturbed"))[0] == 0
    return tmp_path / "undisturbed"


@pytest.fixture
def disk(tmp_path):
    """``disk(kilobytes)``: an empty file system of this size."""
    folders = []

    def mount(kilobytes):
        folder = tmp_path / "disk"
        folder.mkdir()
        made = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
        if shutil.which("mount") is None or subprocess.run(made, capture_output=True, check=False).returncode:
            pytest.skip("this user cannot mount a file system")
        folders.append(folder)
        return folder

    yield mount
    for folder in folders:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_while_the_run_writes(call, command, undisturbed, disk):
    room = sum(map(len, journal(undisturbed))) // 2 + 40_000
    full = disk(2048)
    ballast = full / "ballast"
    # The input's copy and the notes of the run find room, half of the journal does not.
    ballast.write_bytes(bytes(2048 * 1024 - room))
    code, _, err = call(*command(full / "out"))
    assert code == 1 and "responses.jsonl" in err and "No space left" in err, err
    assert "Finished work is kept" in err
    done = journal(full / "out")
    assert 0 < len(done) < len(journal(undisturbed)) and not (full / "out" / "run.json").exists()
    assert call(*command(full / "out"))[0] == 1  # the disk is as full as before
    assert journal(full / "out")[: len(done)] == done
    ballast.unlink()
    assert call(*command(full / "out"))[0] == 0
    assert (full / "out" / "run.json").read_bytes() == (undisturbed / "run.json").read_bytes()


def test_a_disk_that_is_full_before_the_run_begins(call, command, disk):
    full = disk(64)
    with pytest.raises(OSError), (full / "ballast").open("wb", 0) as file:
        while True:
            file.write(bytes(4096))
    code, _, err = call(*command(full / "out"))
    assert code == 1 and "No space left on device" in err and "Traceback" not in err


@pytest.mark.parametrize("then", ["removed", "replaced"])
def test_an_output_that_is_removed_while_the_run_writes(process, call, slow, command, tmp_path, then):
    arguments = command(tmp_path / "out", "--pipeline", slow)
    running = process(*arguments, SLOW_SECONDS="0.2")
    wait_for(lambda: (tmp_path / "out" / "responses.jsonl").is_file() and journal(tmp_path / "out"), running)
    shutil.rmtree(tmp_path / "out")
    if then == "replaced":
        assert call(*arguments)[0] == 0
    _, err = running.communicate(timeout=120)
    assert running.returncode == 1 and "was removed" in err
    if then == "removed":
        assert not (tmp_path / "out").exists()
        assert call(*arguments)[0] == 0
    call(*command(tmp_path / "whole", "--pipeline", slow))
    assert (tmp_path / "out" / "run.json").read_bytes() == (tmp_path / "whole" / "run.json").read_bytes()


def test_a_model_that_is_damaged_between_two_starts(call, small, indexed, tmp_path, root):
    folder = shutil.copytree(root / "convqa" / "models" / "weights" / "encoder", tmp_path / "encoder")
    records = json.loads((small / "questions.json").read_text(encoding="utf-8"))
    (small / "questions.json").write_text(json.dumps(records[:3]), encoding="utf-8")
    options = ("--collection", indexed, "--pipeline", "hybrid", "--set", f"retriever.encoder={folder}")
    arguments = ("run", small, tmp_path / "out", *options, "--set", "retriever.candidates=2")
    assert call(*arguments)[0] == 0
    out, whole = tmp_path / "out", (tmp_path / "out" / "run.json").read_bytes()
    (out / "run.json").unlink()
    (out / "responses.jsonl").write_bytes(b"".join(journal(out)[:1]))
    done = journal(out)
    weights = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(weights[: len(weights) // 2])
    code, _, err = call(*arguments)
    assert code == 2 and "model.onnx" in err and "damaged" in err
    assert journal(out) == done
    (folder / "model.onnx").write_bytes(weights)
    code, said, _ = call(*arguments)
    assert code == 0 and "(1 turn from before)" in said and (out / "run.json").read_bytes() == whole


def test_a_run_whose_language_model_hangs_ends_within_its_grace(process, call, small, indexed, tmp_path, openai_server):
    """The server takes requests and never answers: SIGTERM ends the run all the same, and the next one goes on."""

    def model(prompt, number):
        return "Who said it?" if "uestion" in prompt else "They say so [1]."

    hangs = [False]
    server = openai_server(lambda prompt, number: 600.0 if hangs[0] and number > 4 else model(prompt, number))
    options = ("--collection", indexed, "--pipeline", "expansion-bm25", "--batch-size", 1, "--limit", 1)
    arguments = ("--llm", server.url, "--llm-model", "m")
    assert call("run", small, tmp_path / "whole", *options, *arguments)[0] == 0
    server.requests.clear()
    hangs[0] = True
    out = tmp_path / "out"
    running = process("run", small, out, *options, *arguments, XDG_CACHE_HOME=str(tmp_path / "empty"))
    wait_for(lambda: len(server.requests) > 4, running)
    time.sleep(0.5)
    done, began = journal(out), time.monotonic()
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 143 and time.monotonic() - began < 10, err
    assert "terminated. Finished work is kept" in err and journal(out) == done != []
    hangs[0] = False
    code, said, _ = call("run", small, out, *options, *arguments)
    assert code == 0 and f"({counted(len(done), 'turns')} from before)" in said
    assert (out / "run.json").read_bytes() == (tmp_path / "whole" / "run.json").read_bytes()


def test_turns_of_a_language_model_that_hangs_fail_and_can_be_tried_again(
    call, small, indexed, tmp_path, openai_server
):
    records = json.loads((small / "questions.json").read_text(encoding="utf-8"))
    (small / "questions.json").write_text(json.dumps(records[:3]), encoding="utf-8")
    hangs = [True]
    server = openai_server(lambda prompt, number: 1.0 if hangs[0] else "Who said it?")
    options = ("--collection", indexed, "--pipeline", "expansion-bm25", "--llm-role", "answer")
    limits = ("timeout=0.3", "max_retries=0")
    options += tuple(f"--set=builder.component.init_parameters.{limit}" for limit in limits)
    arguments = ("run", small, tmp_path / "out", *options, "--llm", server.url, "--llm-model", "m")
    code, _, err = call(*arguments, "--wait", 0)
    assert code == 1 and "turn 1_1 failed in builder: NoReply: the language model took too long" in err, err
    hangs[0] = False
    assert call(*arguments, "--retry-errors")[0] == 0
