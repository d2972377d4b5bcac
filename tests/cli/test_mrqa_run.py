"""MRQA from file to score on the command line: run, resume, evaluate, validate, and every mistake with its place."""

from __future__ import annotations

import gzip
import json
import shutil
import time

import pytest

LINES = [
    {"header": {"dataset": "SQuAD", "split": "dev"}},
    {
        "context": "Goethe wrote Faust. It appeared in 1808. Schiller lived in Weimar.",
        "qas": [
            {"qid": "a", "question": "Who wrote Faust?", "answers": ["Goethe wrote Faust"]},
            {"qid": "b", "question": "Where did Schiller live?", "answers": ["Weimar", "in Weimar"]},
        ],
    },
    {"context": "", "qas": [{"qid": "c", "question": "And here?", "answers": ["nothing"]}]},
]


def write(path, lines, packed=False):
    data = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


@pytest.fixture
def input(tmp_path):
    return write(tmp_path / "in" / "dev.jsonl.gz", LINES, packed=True)


def test_from_file_to_score(call, input, tmp_path):
    code, out, err = call("run", input, tmp_path / "run", "--set", "reader.type=sentences")
    assert (code, err) == (0, "") and "3 turns of 3 conversations" in out and "1 unanswered" in out
    answers = json.loads((tmp_path / "run" / "predictions.json").read_text())
    assert answers == {"a": "Goethe wrote Faust.", "b": "Schiller lived in Weimar.", "c": ""}
    assert call("validate", input, tmp_path / "run")[:2] == (0, f"{tmp_path / 'run'}: ok\n")

    code, out, err = call("evaluate", input, tmp_path / "run", "--output", tmp_path / "scores", "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["task"] == "mrqa" and set(report["measures"]) == {"EM", "F1"}
    official = (tmp_path / "scores" / "evaluation.json").read_text()
    found = {name: measure["mean"] for name, measure in report["measures"].items()}
    # b: two of the four words said are the two of "in Weimar"; c is not answered.
    assert found == {"EM": 100 / 3, "F1": pytest.approx(100 * (1 + 2 / 3) / 3)}
    assert official == json.dumps({"exact_match": found["EM"], "f1": found["F1"]}) + "\n"
    turns = [json.loads(line) for line in (tmp_path / "scores" / "turns.jsonl").read_text().splitlines()]
    assert [turn["qid"] for turn in turns] == ["a", "b", "c"] and [turn["EM"] for turn in turns] == [1, 0, 0]


def test_a_folder_of_sets(call, input, tmp_path):
    write(input.parent / "copy.jsonl", LINES[1:])
    code, _, err = call("run", input.parent, tmp_path / "run", "--quiet")
    assert code == 2 and "question 'a' is also in copy.jsonl" in err
    (input.parent / "copy.jsonl").unlink()
    other = {"context": "Bach was born in Eisenach.", "qas": [{"qid": "d", "question": "Where?", "answers": ["x"]}]}
    write(input.parent / "DROP.jsonl", [other])
    assert call("run", input.parent, tmp_path / "run2", "--quiet")[0] == 0
    assert set(json.loads((tmp_path / "run2" / "predictions.json").read_text())) == set("abcd")
    code, out, err = call("evaluate", input.parent, tmp_path / "run2")
    assert code == 0 and "SQuAD F1" in out and "DROP F1" in out and "all F1" in out
    assert "the in-domain average is not the published one" in err


def test_the_flag_for_missing_answers(call, input, tmp_path):
    (tmp_path / "predictions.json").write_text('{"a": "goethe wrote faust", "zzz": "x"}')
    counted = call("evaluate", input, tmp_path / "predictions.json", "--json")
    left_out = call("evaluate", input, tmp_path / "predictions.json", "--json", "--skip-no-answer")
    assert json.loads(counted[1])["measures"]["EM"]["mean"] == 100 / 3
    assert json.loads(left_out[1])["measures"]["EM"]["mean"] == 100
    assert "lacks 2 of the 3 questions" in counted[2] and "ignored 1 predictions" in counted[2]
    code, _, err = call("validate", input, tmp_path)
    assert code == 2 and "2 of 3 questions of the input are missing: b, c" in err and "not in the input: zzz" in err


@pytest.mark.slow
def test_squads_format_and_real_sets(call, data, tmp_path):
    real = data / "squad-format"
    assert call("run", real / "xquad.de.json", tmp_path / "de", "--limit", 30, "--quiet")[0] == 0
    assert len(json.loads((tmp_path / "de" / "predictions.json").read_text())) == 30
    resolved = json.loads((tmp_path / "de" / "responses.jsonl").read_text().splitlines()[0])
    assert resolved["id"][0] == "56beb4343aeaaa14008c925b"
    assert call("run", data / "mrqa" / "NewsQA_sample.jsonl", tmp_path / "news", "--quiet")[0] == 0
    code, out, _ = call("evaluate", data / "mrqa" / "NewsQA_sample.jsonl", tmp_path / "news", "--json")
    assert code == 0 and json.loads(out)["measures"]["F1"]["turns"] == 17


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_to_the_same_file(call, process, tmp_path):
    lines = [
        {"context": f"Tower {number} is {number} metres high.", "qas": [{"qid": f"q{number}", "question": "How high?"}]}
        for number in range(200)
    ]
    source = write(tmp_path / "in.jsonl", lines)
    started = process("run", source, tmp_path / "killed", "--batch-size", 5, "--quiet")
    journal = tmp_path / "killed" / "responses.jsonl"
    while started.poll() is None and (not journal.exists() or journal.stat().st_size < 10_000):
        time.sleep(0.02)
    started.kill()
    started.wait()
    assert not (tmp_path / "killed" / "predictions.json").exists()
    for name in ("killed", "whole"):
        assert call("run", source, tmp_path / name, "--batch-size", 5, "--quiet")[0] == 0
    killed, whole = ((tmp_path / name / "predictions.json").read_bytes() for name in ("killed", "whole"))
    assert killed == whole and len(json.loads(whole)) == 200
    assert json.loads((tmp_path / "killed" / "run.meta.json").read_text())["counts"]["resumed"] > 0


BAD = [
    (["{"], "line 1, column 2: invalid JSON"),
    ([LINES[1], LINES[1]], "line 2: qas[0].qid: 'a' is also the qid of an earlier"),
    ([LINES[1], ""], "line 2: is blank"),
    ([LINES[1], LINES[0]], "line 2: a header may only be on the first line"),
    ([LINES[0], {"context": 3, "qas": []}], "line 2: context: expected a string, got 3"),
    (
        [{"context": "c", "qas": [{"qid": "q", "question": None}]}],
        "line 1: qas[0].question: expected a string, got None",
    ),
    ([{"context": '"\\ud800"', "qas": []}, '{"context": "\\ud800", "qas": []}'], "line 2: has 1 lone surrogates"),
    ([{"context": "c", "qas": [{"qid": "q", "question": "?", "answers": ["c"], "detected_answers": [
        {"text": "c", "char_spans": [[0, 1]]}]}]}], "expected first and last character"),
    ([LINES[0]], "has no contexts"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "message"), BAD)
def test_a_malformed_file_is_refused_with_line_and_reason(call, tmp_path, lines, message):
    path = write(tmp_path / "in" / "bad.jsonl", lines)
    (tmp_path / "predictions.json").write_text("{}")
    for arguments in (
        ("run", path, tmp_path / "run", "--task", "mrqa"),
        ("evaluate", path, tmp_path, "--task", "mrqa"),
        ("validate", path, tmp_path, "--task", "mrqa"),
    ):
        code, out, err = call(*arguments)
        assert code == 2 and message in err and f"convqa: error: {path}: " in err and "Traceback" not in err + out
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ('{"a": null}', "question 'a': expected a string, got None"),
        ('{"a": ["x"]}', "question 'a': expected a string, got ['x']"),
        ("[]", "expected a JSON object {qid: answer}, got []"),
        ("{", "invalid JSON"),
        ("", "the file is empty"),
    ],
)
def test_predictions_at_which_the_official_script_crashes(call, input, tmp_path, predictions, message):
    (tmp_path / "predictions.json").write_text(predictions)
    code, _, err = call("evaluate", input, tmp_path)
    assert code == 2 and message in err and str(tmp_path / "predictions.json") in err


def test_nothing_left_to_score(call, input, tmp_path):
    (tmp_path / "predictions.json").write_text("{}")
    code, _, err = call("evaluate", input, tmp_path, "--skip-no-answer")
    assert code == 2 and "nothing is left to score" in err


def test_tasks_are_told_apart_and_two_matches_want_a_name(call, small, input, tmp_path):
    shutil.copy(input, small / "dev.jsonl.gz")
    code, _, err = call("run", small, tmp_path / "run")
    assert code == 2 and "looks like the input of mrqa and qrecc: choose one with --task mrqa" in err
    assert call("run", small, tmp_path / "run", "--task", "mrqa", "--quiet")[0] == 2  # questions.json is no data set
    code, _, err = call("run", tmp_path / "in" / "absent", tmp_path / "run")
    assert code == 2 and "no such file or directory" in err
    (tmp_path / "in" / "dev.jsonl.gz").write_text("nothing")
    code, _, err = call("run", tmp_path / "in", tmp_path / "run")
    assert code == 2 and "MRQA's JSON lines or SQuAD-format JSON (mrqa)" in err


def test_an_option_of_another_task_is_refused_by_name(call, small, input, tmp_path):
    (tmp_path / "predictions.json").write_text("{}")
    code, _, err = call("evaluate", input, tmp_path, "--no-rewriting")
    assert code == 2 and "the task mrqa has no option 'no_rewriting'" in err
    (tmp_path / "run.json").write_text("[]")
    code, _, err = call("evaluate", small, tmp_path / "run.json", "--skip-no-answer")
    assert code == 2 and "the task qrecc has no option 'skip_no_answer'" in err
