"""MRQA from file to score on the command line: run, resume, evaluate, validate, and every mistake with its place."""

from __future__ import annotations

import gzip
import json
import shutil

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
    assert code == 2 and "'a'" in err and "copy.jsonl" in err
    (input.parent / "copy.jsonl").unlink()
    other = {"context": "Bach was born in Eisenach.", "qas": [{"qid": "d", "question": "Where?", "answers": ["x"]}]}
    write(input.parent / "DROP.jsonl", [other])
    assert call("run", input.parent, tmp_path / "run2", "--quiet")[0] == 0
    assert set(json.loads((tmp_path / "run2" / "predictions.json").read_text())) == set("abcd")
    code, out, _ = call("evaluate", input.parent, tmp_path / "run2")
    assert code == 0 and "SQuAD F1" in out and "DROP F1" in out and "all F1" in out


def test_the_flag_for_missing_answers(call, input, tmp_path):
    (tmp_path / "predictions.json").write_text('{"a": "goethe wrote faust", "zzz": "x"}')
    counted = call("evaluate", input, tmp_path / "predictions.json", "--json")
    left_out = call("evaluate", input, tmp_path / "predictions.json", "--json", "--skip-no-answer")
    assert json.loads(counted[1])["measures"]["EM"]["mean"] == 100 / 3
    assert json.loads(left_out[1])["measures"]["EM"]["mean"] == 100
    assert "lacks 2 of the 3 questions" in counted[2] and "ignored predictions" in counted[2]
    code, _, err = call("validate", input, tmp_path)
    assert code == 2 and "missing: b, c" in err and "zzz" in err


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


def test_a_malformed_file_is_refused_with_line_and_reason(call, tmp_path):
    path = write(tmp_path / "in" / "bad.jsonl", [LINES[0], {"context": 3, "qas": []}])
    (tmp_path / "predictions.json").write_text("{}")
    for arguments in (
        ("run", path, tmp_path / "run", "--task", "mrqa"),
        ("evaluate", path, tmp_path, "--task", "mrqa"),
        ("validate", path, tmp_path, "--task", "mrqa"),
    ):
        code, out, err = call(*arguments)
        assert code == 2 and f"{path}: line 2: context: " in err and "got 3" in err and "Traceback" not in err + out
    assert not (tmp_path / "run").exists()


def test_tasks_are_told_apart_and_two_matches_want_a_name(call, small, input, tmp_path):
    shutil.copy(input, small / "dev.jsonl.gz")
    code, _, err = call("run", small, tmp_path / "run")
    assert code == 2 and "mrqa and qrecc" in err and "--task mrqa" in err
    assert call("run", small, tmp_path / "run", "--task", "mrqa", "--quiet")[0] == 2  # questions.json is no data set
    code, _, err = call("run", tmp_path / "in" / "absent", tmp_path / "run")
    assert code == 2 and "no such file or directory" in err
    (tmp_path / "in" / "dev.jsonl.gz").write_text("nothing")
    code, _, err = call("run", tmp_path / "in", tmp_path / "run")
    assert code == 2 and "(mrqa)" in err


def test_an_option_of_another_task_is_refused_by_name(call, small, input, tmp_path):
    (tmp_path / "predictions.json").write_text("{}")
    code, _, err = call("evaluate", input, tmp_path, "--no-rewriting")
    assert code == 2 and "mrqa" in err and "--no-rewriting" in err
    (tmp_path / "run.json").write_text("[]")
    code, _, err = call("evaluate", small, tmp_path / "run.json", "--skip-no-answer")
    assert code == 2 and "qrecc" in err and "--skip-no-answer" in err
