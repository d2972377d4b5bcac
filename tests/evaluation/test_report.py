from __future__ import annotations

import json

import pytest
from rich.console import Console

from convqa.errors import InputError
from convqa.evaluation import evaluate, official_text, render, write_official, write_turns

TRUTH = [
    {
        "Conversation_no": 7,
        "Turn_no": 1,
        "Truth_rewrite": "",
        "Truth_passages": ["a"],
        "Truth_answer": "x",
        "kind": "[red]",
    },
    {
        "Conversation_no": 7,
        "Turn_no": 2,
        "Truth_rewrite": "",
        "Truth_passages": [],
        "Truth_answer": "the x",
        "kind": "",
    },
]
RUN = [
    {"Conversation_no": 7, "Turn_no": 1, "Model_rewrite": "r", "Model_passages": {"b": 2, "a": 1}, "Model_answer": "x"},
    {"Conversation_no": 7, "Turn_no": 2, "Model_rewrite": "r", "Model_passages": {}, "Model_answer": "the the y"},
]


@pytest.fixture
def evaluation(tmp_path):
    (tmp_path / "ground-truth.json").write_text(json.dumps(TRUTH))
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    return evaluate(tmp_path, tmp_path, breakdown=["kind"])


def test_prototext_is_the_official_file_to_the_byte(evaluation, tmp_path):
    path = write_official(evaluation, tmp_path / "new")
    assert path == tmp_path / "new" / "evaluation.prototext"
    assert path.read_bytes() == (
        b'measure{\n  key: "MRR"\n  value: "0.500"\n}\n'
        b'measure{\n  key: "EM"\n  value: "0.500"\n}\n'
        b'measure{\n  key: "F1"\n  value: "0.500"\n}\n'
        b'measure{\n  key: "ROUGE1-R"\n  value: "0.750"\n}'
    )
    assert path.read_text() == official_text(evaluation)


def text_of(evaluation, width=140):
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(render(evaluation))
    return console.export_text()


def test_table_shows_dashes_turns_and_what_stands_beside(evaluation):
    rows = {cells[0]: cells[1:] for line in text_of(evaluation).splitlines() if (cells := _cells(line))}
    assert rows["QR"] == ["-", "-", "0", "the truth has no rewrites of turns after the first"]
    assert rows["MRR"][0] == "0.500"
    assert rows["MRR"][2:] == ["1", "MRR@10 0.500, nDCG@3 0.631, nDCG@10 0.631, R@10 1.000, R@100 1.000"]
    assert rows["EM"][0::2] == ["0.500", "2"]
    assert rows["ROUGE1-R"][3] == "precision 0.667, F1 0.700"
    assert rows["[red]"] == ["0.500 (1)", "1.000 (1)", "1.000 (1)", "1.000 (1)"]
    assert rows["(empty)"] == ["-", "0.000 (1)", "0.000 (1)", "0.500 (1)"]


def _cells(line):
    return [cell.strip() for cell in line.split("│")[1:-1]]


def test_the_largest_groups_come_first_and_long_names_have_an_ellipsis(tmp_path):
    kinds = [f"{number} long long long long" for number in range(30)] + ["twice", "日本語の長い名前" * 3] * 2
    truth = [TRUTH[0] | {"Turn_no": number, "kind": kind} for number, kind in enumerate(kinds)]
    (tmp_path / "ground-truth.json").write_text(json.dumps(truth))
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    found = evaluate(tmp_path, tmp_path, breakdown=["kind"])
    assert "The 20 largest of 32 groups of kind; --json has all." in text_of(found)
    assert len(found.to_json()["breakdowns"]["kind"]) == 32
    lines = text_of(found).split("by kind: mean")[1].splitlines()
    names = [cells[0] for line in lines if (cells := _cells(line))]
    assert names[:3] == ["twice", "日本語の長い名前日本語 …", "0 long long long long"]


def test_turns_have_their_scores_on_a_line_each(evaluation, tmp_path):
    lines = write_turns(evaluation, tmp_path / "turns.jsonl").read_text().splitlines()
    first, second = map(json.loads, lines)
    assert (first["Conversation_no"], first["Turn_no"], first["MRR"], first["EM"]) == (7, 1, 0.5, 1)
    assert second["ROUGE1-R"] == 0.5
    assert "MRR" not in second and "QR" not in second


def test_json_holds_means_intervals_and_reasons(evaluation):
    data = json.loads(json.dumps(evaluation.to_json()))
    assert data["measures"]["MRR"] == {"mean": 0.5, "low": 0.5, "high": 0.5, "turns": 1}
    assert data["skipped"] == {"QR": "the truth has no rewrites of turns after the first"}
    assert data["breakdowns"]["kind"]["[red]"]["EM"]["mean"] == 1
    assert data["options"] == {"eval_missing_truth": False, "eval_turn_one_rewrites": False}
    assert data["truth"].endswith("ground-truth.json") and data["run"].endswith("run.json")


def test_output_not_writable(evaluation, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"evaluation\.prototext: cannot be written"):
        write_official(evaluation, tmp_path / "file")
