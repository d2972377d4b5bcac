"""From a published topic file to a submission: run, export, and the rules of the tracks' own checks."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest


def run(call, tmp_path, indexed, name, content):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    out = tmp_path / "out"
    code, _, err = call("run", path, out, "--collection", indexed, "--pipeline", "expansion-bm25", "--quiet")
    assert code == 0, err
    return out


def exported(call, out, *options):
    code, text, err = call("export", out, *options)
    assert code == 0, err
    return [json.loads(line) for line in text.splitlines()]


def ikat_errors(line, turns):
    """What the check of iKAT 2025 (scripts/validate_trec_ikat25.py) refuses of a line."""
    told = []
    meta = line["metadata"]
    told += [f"no {key}" for key in ("team_id", "run_id", "run_type") if key not in meta]
    told += [meta["run_type"]] if meta["run_type"] not in {"manual", "automatic", "generation-only"} else []
    told += ["references"] if not isinstance(line["references"], dict) or len(line["references"]) > 1000 else []
    for part in line["responses"]:
        told += ["text"] if not isinstance(part.get("text"), str) else []
        told += ["ptkb_provenance"] if "ptkb_provenance" not in part else []
        told += [id for id in part["citations"] if id not in line["references"]]
    words = sum(len(unicodedata.normalize("NFKC", part["text"]).split()) for part in line["responses"])
    told += [f"{words} words"] if words > 250 else []
    return told + ([line["turn_id"]] if line["turn_id"] not in turns else [])


def test_from_ikats_topics_to_its_submission(call, tmp_path, indexed):
    turn = {"response": "It was a case.", "relevant_ptkbs": [], "citations": []}
    topic = {"number": "1-1", "title": "Courts", "ptkb": ["I study law."], "responses": [
        {"turn_id": 1, "user_utterance": "What was Marbury v. Madison?", **turn},
        {"turn_id": 2, "user_utterance": "Was it unanimous?", **turn},
    ]}  # fmt: skip
    out = run(call, tmp_path, indexed, "2025_test_topics.json", [topic])
    lines = exported(call, out, "--as", "ikat", "--run-type", "manual", "--team-id", "us")
    assert [line["turn_id"] for line in lines] == ["1-1_1", "1-1_2"]
    assert [ikat_errors(line, {"1-1_1", "1-1_2"}) for line in lines] == [[], []]
    assert lines[0]["metadata"]["run_type"] == "manual" and lines[0]["responses"]
    runfile = (out / "run.trec").read_text()
    assert {line.split()[0] for line in runfile.splitlines()} == {"1-1_1", "1-1_2"}
    assert call("export", out, "--as", "ikat", "--run-type", "human")[0] == 2


def test_ikats_export_names_the_statements_that_the_query_has_words_of(call, tmp_path, indexed):
    turn = {"turn_id": 1, "user_utterance": "Which court suits me?", "response": ""}
    topic = {"number": "1-1", "ptkb": ["I study the Marbury case.", "I like trains."], "responses": [turn]}
    source = tmp_path / "2025_test_topics.json"
    source.write_text(json.dumps([topic]))
    record = {"Conversation_no": "1-1", "Turn_no": 1, "Model_rewrite": "Which court decided Marbury v. Madison?"}
    (tmp_path / "rewrites.json").write_text(json.dumps([record]))
    recorded = ("--set", "rewriter.type=recorded", "--set", f"rewriter.path={tmp_path / 'rewrites.json'}")
    options = ("--collection", indexed, "--pipeline", "expansion-bm25", "--quiet", *recorded)
    code, _, err = call("run", source, tmp_path / "out", *options)
    assert code == 0, err
    (line,) = exported(call, tmp_path / "out", "--as", "ikat")
    assert {*map(tuple, (part["ptkb_provenance"] for part in line["responses"]))} == {("I study the Marbury case.",)}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("topics.rag24.test.txt", "2024-145979\tWho led the Marbury court?\n"),
        ("rag25.jsonl", '{"id": "14", "narrative": "I want to know who led the Marbury court."}\n'),
    ],
)
def test_from_rags_topics_to_its_submission(call, tmp_path, indexed, name, content):
    out = run(call, tmp_path, indexed, name, content)
    (line,) = exported(call, out, "--as", "trec-rag")
    id = content.split("\t")[0] if "\t" in content else "14"
    assert (line["topic_id"], line["metadata"]["narrative_id"], line["metadata"]["type"]) == (id, id, "automatic")
    assert len(line["references"]) <= 100
    assert all(place < len(line["references"]) for part in line["answer"] for place in part["citations"])
    assert all(re.fullmatch(rf"{id} Q0 \S+ \d+ \S+ convqa", row) for row in (out / "run.trec").read_text().splitlines())


def test_cast_gives_a_runfile_for_trec_eval(call, tmp_path, indexed):
    turns = [{"number": 1, "raw_utterance": "What was Marbury v. Madison?"}, {"number": 2, "raw_utterance": "Who won?"}]
    out = run(call, tmp_path, indexed, "evaluation_topics_v1.0.json", [{"number": 31, "title": "x", "turn": turns}])
    assert {line.split()[0] for line in (out / "run.trec").read_text().splitlines()} == {"31_1", "31_2"}
    assert call("evaluate", tmp_path, out)[0] == 2
    (tmp_path / "qrels.txt").write_text("31_1 0 none 1\n31_2 0 none 2\n")
    for given in ([tmp_path / "evaluation_topics_v1.0.json", out], [out]):
        code, text, err = call("evaluate", *given, "--qrels", tmp_path / "qrels.txt", "--json")
        assert code == 0, err
        assert json.loads(text)["measures"]["nDCG@3"] == {"mean": 0.0, "low": 0.0, "high": 0.0, "turns": 2}


CAST_2022 = [
    ("1-1", None, "What was Marbury v. Madison?"),
    ("1-2", "1-1", "A case of the Supreme Court."),
    ("1-3", "1-2", "Was it unanimous?"),
    ("1-4", "1-3", "Yes."),
    ("2-1", "1-2", "Who was the chief justice?"),
]


def test_cast_2022_branches_from_topics_to_scores(call, tmp_path, indexed):
    """A turn sees its branch only: 2-1 follows 1-1, and not 1-3."""
    utterances = []
    for number, parent, text in CAST_2022:
        said = (
            {"participant": "System", "response": text}
            if text.endswith(".")
            else {"participant": "User", "utterance": text}
        )
        utterances.append({"number": number, **({"parent": parent} if parent else {}), **said})
    out = run(call, tmp_path, indexed, "2022_tree.json", [{"number": 132, "turn": utterances}])
    rewrites = {line["id"][1]: line["rewrite"]["queries"][0]["terms"] for line in responses(out)}
    assert rewrites["1-1"] == [] and rewrites["1-3"] and rewrites["2-1"]
    assert "unanimous" not in str(rewrites["2-1"])
    lines = [line.split() for line in (out / "run.trec").read_text().splitlines()]
    best = next(id for turn, _, id, *_ in lines if turn == "132_2-1")
    (tmp_path / "cast2022.qrel").write_text(f"132_1-3 0 none 1\n132_2-1 0 {best} 4\n")
    code, text, err = call("evaluate", out, "--qrels", tmp_path / "cast2022.qrel", "--json")
    assert code == 0, err
    assert json.loads(text)["measures"]["nDCG@3"]["mean"] == 0.5


def responses(out):
    return [json.loads(line) for line in (out / "responses.jsonl").read_text().splitlines()]


def test_ablate_scores_topics_by_qrels_and_says_if_there_are_none(call, tmp_path, indexed, caplog):
    turns = [{"number": 1, "raw_utterance": "What was Marbury v. Madison?"}, {"number": 2, "raw_utterance": "Who won?"}]
    (tmp_path / "topics.json").write_text(json.dumps([{"number": 31, "turn": turns}]))
    (tmp_path / "qrels.txt").write_text("31_1 0 none 1\n")
    (tmp_path / "mine.yaml").write_text(
        "pipeline: copy-bm25\nhistory: own\naxes: {rewriter: [copy]}\n"
        f"inputs: {{topics: {{collection: {indexed}}}}}\n"
    )
    ablate = ("ablate", tmp_path / "mine.yaml", tmp_path / "topics.json", tmp_path / "out")
    code, text, err = call(*ablate)
    assert code == 0, err
    assert "not scored" in " ".join(text.split()) and "no truth" in caplog.text + err
    code, text, err = call(*ablate, "--qrels", tmp_path / "qrels.txt")
    assert code == 0, err
    assert "nDCG@3" in text and "not scored" not in text
    code, _, err = call("report", tmp_path / "out")
    assert code == 0, err
    code, _, err = call(*ablate[:3], tmp_path / "topics.json", tmp_path / "out", "--qrels", tmp_path / "qrels.txt")
    assert code == 2 and "single input" in err
