"""Reports of a small made ablation: what they say, what they show of what failed, and what they do not let through."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from convqa.domain import Answer, Citation, Hit, Passage, Ranking, Response, Rewrite, Sentence, TurnId
from convqa.driver.journal import Journal
from convqa.driver.waves import Wave
from convqa.errors import InputError
from convqa.evaluation import evaluate
from convqa.experiments.report import report
from convqa.tasks import find_task

CONVERSATIONS, TURNS = 10, 2
HOSTILE = "<script>alert('x')</script> | `b` & **c**"
IDS = [TurnId(c, t) for c in range(1, CONVERSATIONS + 1) for t in range(1, TURNS + 1)]
# How often the gold passage comes first, of ten conversations.
HITS = {"copy+bm25": 2, "edit+bm25": 9, "terms+bm25": 3, "human+bm25": 10}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs") / "talks"
    folder.mkdir()
    keys = [{"Conversation_no": id.conversation, "Turn_no": id.number} for id in IDS]
    truth = [
        {**key, "Truth_rewrite": "q", "Truth_answer": "Goethe", "Truth_passages": [f"gold{id}"]}
        for key, id in zip(keys, IDS, strict=True)
    ]
    (folder / "ground-truth.json").write_text(json.dumps(truth))
    (folder / "questions.json").write_text(json.dumps([{**key, "Question": f"Who? {HOSTILE}"} for key in keys]))
    other = {"id": "other", "text": f"Other text. {HOSTILE}", "title": HOSTILE}
    (folder / "passages.jsonl").write_text(json.dumps(other) + "\n")
    return folder


def respond(id, is_hit, answers):
    """The gold passage first or last; the answer quotes its second and third word."""
    gold = Passage(f"gold{id}", f"Faust Goethe wrote. {HOSTILE}")
    hits = [Hit(gold.id, 3.0 if is_hit else 0.5, gold), Hit("other", 2.0), Hit("another", 1.0)]
    answer = Answer.of([Sentence(f"Goethe. {HOSTILE}", (Citation(gold.id, 6, 18),))], "en") if answers else None
    return Response(id, Rewrite.unchanged(f"rewrite {HOSTILE}"), Ranking.of(hits), answer=answer)


def write_cell(folder, source, hits, answers):
    folder.mkdir(parents=True)
    responses = [respond(id, id.conversation <= hits, answers) for id in IDS]
    journal = Journal(folder / "responses.jsonl")
    journal.append(Wave(0, 0, responses, [(0, 0)] * len(responses)))
    journal.close()
    stages = frozenset({"rewrites", "rankings", *(["answers"] if answers else [])})
    find_task("qrecc", source).write(responses, folder, stages)


def write_ablation(output, source, answers=True, truth=True):
    """The folder of an ablation, and its record."""
    rows = [{"name": row, "values": dict(zip(("rewriter", "retriever"), row.split("+"), strict=True))} for row in HITS]
    overrides = {"rewriter.type": HOSTILE, "reranker": None}
    record = {
        "name": "made", "question": f"Which is best? {HOSTILE}", "base": "copy+bm25", "pipeline": "default",
        "measures": ["MRR", "nDCG@3"], "rows": [{**row, "overrides": overrides} for row in rows], "cells": [],
        "inputs": [{"name": "talks", "path": str(source), "truth": str(source) if truth else None, "history": "own",
                    "conversations": "all", "turns": len(IDS)}], "versions": {"convqa": "0.1.0"},
    }  # fmt: skip
    for number, (row, hits) in enumerate(HITS.items(), 1):
        folder = f"cells/{row}/talks"
        write_cell(output / folder, source, hits, answers)
        summaries = evaluate(source, output / folder).summaries if truth else {}
        means = {name: {"mean": one.mean, "low": one.low, "high": one.high, "turns": one.turns}
                 for name, one in summaries.items()}  # fmt: skip
        record["cells"].append({
            "row": row, "input": "talks", "folder": folder, "status": "done", "message": "", "seconds": 1.0,
            "milliseconds": {"rewriter": 1.5 * number, "retriever": 2.0}, "measures": means,
        })  # fmt: skip
    return save(output, record)


def save(output, record):
    (output / "ablation.json").write_text(json.dumps(record))
    return record


@pytest.fixture(scope="module")
def made(tmp_path_factory, source):
    folder = tmp_path_factory.mktemp("made")
    return folder, write_ablation(folder, source)


@pytest.fixture(scope="module")
def reported(made):
    """The page of the ablation as it was made."""
    return text_of(made[0])


@pytest.fixture
def copied(made, tmp_path):
    """A folder of an ablation that a test may change, and its record."""
    shutil.copytree(made[0], tmp_path / "out")
    return tmp_path / "out", json.loads(json.dumps(made[1]))


def text_of(output, **options):
    return report(output, **options).read_text(encoding="utf-8")


def test_it_begins_with_what_won_by_how_much_and_whether_that_is_certain(reported):
    words = " ".join(re.sub("<[^>]+>", "", reported[reported.index("<main>") :]).split())
    assert "edit+bm25 comes first: MRR 0.933, +0.467 (95 % interval" in words
    assert re.search(r"That is significant: p = 0\.0\d+ after Holm's correction over 3 rows\.", words)
    assert re.search(r"Also significantly different from the baseline: .*edit\+bm25 in nDCG@3 \(\+0\.", words)
    assert "MRR 20 turns" in words
    assert re.search(r"Not significantly different from the first: .*human\+bm25", words)
    assert words.index("edit+bm25 comes first") < words.index("ms/turn") < 700
    # The best of what is no ceiling is bold, and differs for certain.
    assert '<span class="top">0.933</span><span class="mark"' in reported
    assert '<span class="top">1.000' not in reported


def test_it_shows_turns_overrides_and_versions(reported):
    assert reported.count("<summary>") == 3  # turns that gained; none lost
    assert "rewrite, edit+bm25" in reported and "answer, copy+bm25" in reported
    assert "rewriter.type: &lt;script&gt;" in reported and "reranker: none" in reported
    assert "convqa 0.1.0" in reported


def test_it_says_what_was_run_on_how_many_passages(copied):
    output, record = copied
    save(output, {**record, "override": {"retriever.stopwords": "long"}})
    meta = {"git_commit": "abc1", "started": "2026-11-27T10:00:00+00:00", "command": ["convqa", "ablate", "made"]}
    for cell in record["cells"]:
        data = {**meta, "fingerprint": {"collection": {"count": 1}}}
        (output / cell["folder"] / "run.meta.json").write_text(json.dumps(data))
    words = " ".join(re.sub("<[^>]+>", "", text_of(output)).split())
    assert ", commit abc1 2026-11-27: convqa ablate made" in words
    assert f"{record['inputs'][0]['path']}, 1 passage" in words
    assert "beside those of all rows (retriever.stopwords: long)" in words


def test_one_row_is_not_corrected_and_an_interval_that_excludes_0_is_explained(copied):
    """Four of ten conversations gain, so that p is at least 2 / 2**4."""
    output, record = copied
    record["rows"], record["cells"] = record["rows"][:3:2], record["cells"][:3:2]
    folder = output / record["cells"][1]["folder"]
    shutil.rmtree(folder)
    write_cell(folder, record["inputs"][0]["path"], HITS["copy+bm25"] + 4, answers=True)
    record["cells"][1]["measures"]["MRR"]["mean"] = 0.9
    save(output, record)
    words = " ".join(re.sub("<[^>]+>", "", text_of(output)).split())
    assert "That may be chance: p = 0.125. The interval excludes 0" in words


def test_what_comes_from_files_is_text(reported):
    assert "<script" not in reported and "alert(&#39;x&#39;)" in reported
    assert not re.search(r"(?:src|href)=\"(?!#|data:,\")|url\((?!#)|@import", reported)
    assert "default-src 'none'" in reported


def test_cells_that_failed_or_are_gone_are_shown(copied):
    output, record = copied
    record["cells"][2] |= {"status": "failed", "message": f"no vectors {HOSTILE}", "measures": {}, "milliseconds": {}}
    save(output, record)
    assert "<strong>failed</strong>: no vectors &lt;script&gt;" in text_of(output)
    shutil.rmtree(output / record["cells"][1]["folder"])
    with pytest.raises(InputError, match="edit"):
        report(output)


def test_an_ablation_that_is_not_finished_says_so(copied):
    output, record = copied
    assert "Not finished" not in text_of(output)
    del record["cells"][3:]
    save(output, record)
    assert "Not finished: 3 of 4 cells. Give the command" in text_of(output)
    (output / "ablation.json").unlink()
    with pytest.raises(InputError, match="no such file"):
        report(output)
    (output / "pipelines").mkdir()
    with pytest.raises(InputError, match=r"no cell of this ablation is finished\. Give its command again"):
        report(output)


def test_without_the_baseline_nothing_is_tested(copied):
    output, record = copied
    record["cells"][0] |= {"status": "stopped", "message": "no time was left", "measures": {}}
    save(output, record)
    assert "is not tested: the truth, or one of both runs, is not there." in " ".join(text_of(output).split())


def test_an_input_without_truth(tmp_path, source):
    write_ablation(tmp_path, source, truth=False)
    assert "On talks nothing is scored: the input has no truth." in text_of(tmp_path)


def test_truth_that_has_moved_leaves_the_means(copied):
    output, record = copied
    record["inputs"][0]["truth"] = str(output / "gone")
    save(output, record)
    page = text_of(output)
    assert "edit+bm25</b> comes first: MRR 0.933" in page and "is not tested" in page


def test_rows_without_answers(tmp_path, source):
    write_ablation(tmp_path, source, answers=False)
    page = text_of(tmp_path)
    assert "rewrite, edit+bm25" in page and "answer, edit+bm25" not in page


def test_listed_rows_two_inputs_and_no_measures(copied):
    output, record = copied
    record["measures"] = []
    for row in record["rows"]:
        row["values"] = {}
    record["inputs"].append({**record["inputs"][0], "name": "again"})
    record["cells"] += [{**cell, "input": "again"} for cell in record["cells"][:2]]
    save(output, record)
    page = text_of(output, file=output / "two.html")
    heads = re.findall('<th scope="col">([^<]+?) ?<', page)
    assert "MRR" in heads and "EM" not in heads
    assert "<small>not run</small>" in page and ">again</h2>" in page


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"inputs": []}, "inputs"),
        ({"rows": [{"name": "a"}]}, "rows.0..values"),
    ],
)
def test_a_malformed_record_is_refused(copied, change, field):
    output, record = copied
    save(output, record | change)
    with pytest.raises(InputError, match=f"ablation.json: .*{field}"):
        report(output)


def test_a_folder_of_something_else(tmp_path):
    with pytest.raises(InputError, match=r"no such file; expected the record of convqa ablate"):
        report(tmp_path)


def test_the_same_folder_gives_the_same_bytes(made, reported):
    assert text_of(made[0]) == reported
