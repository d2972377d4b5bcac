"""Published benchmarks and what becomes of them: small files in each form, and the real ones where they are at hand."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest

from convqa.errors import WorkError
from convqa.tasks.published import convert
from convqa.tasks.qrecc.input import read

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
PUBLISHED = Path(__file__).resolve().parents[1] / "fixtures" / "published"
FILES = ("questions.json", "questions-rewritten.json", "ground-truth.json", "passages.jsonl")

EVIDENCE = [
    {"passage_id": id, "passage_text": f"Of {id}.", "passage_titles": titles}
    for id, titles in (("b:1", ["B", "Life"]), ("a:2", ["A"]))
]
INSCIT = {
    "food_1": {
        "turns": [
            {"context": ["Who?"], "prevEvidence": [], "labels": [
                {"responseType": "directAnswer", "response": "He.", "evidence": EVIDENCE[:1]},
                {"responseType": "noInfo", "response": "Unknown.", "evidence": EVIDENCE},
            ]},
            {"context": ["Who?", "He.", "Why?"], "prevEvidence": [], "labels": [
                {"responseType": "clarification", "response": "Why what?", "evidence": []},
            ]},
        ]
    }
}  # fmt: skip
UTTERANCE = {
    "utterance_id": "u1", "tree_id": "t1", "source_url": "https://x", "question": "May I?", "scenario": "I am old.",
    "answer": "Yes", "history": [{"follow_up_question": "Do you work?", "follow_up_answer": "No"}], "evidence": [],
    "gold_snippet_id": "7", "snippet_seen": False,
}  # fmt: skip
ASKED = {
    "id": "-12", "input": "what is it", "passages": [{"title": "It", "text": "It is . ", "sentences": ["It is ."]}],
    "output": [{"answer": "It is.", "selected_sentences": ["It is ."], "meta": {"round": 1}},
               {"answer": "It.", "selected_sentences": [], "meta": {"round": 2}}],
}  # fmt: skip
NOT_ANSWERED = {
    **ASKED, "id": 34, "output": [{"answer": "", "meta": {}, "selected_sentences": []}],
}  # fmt: skip
TASK = {
    "conversation_id": "c", "task_id": "c<::>2", "Collection": "mt-rag-fiqa-beir-elser-512-100-20240501", "turn": "2",
    "contexts": [{"document_id": "d2", "text": "Two."}, {"document_id": "d1", "text": "One.", "title": "T"}],
    "input": [{"speaker": who, "text": text} for who, text in (("user", "How?"), ("agent", "So."), ("user", "Why?"))],
    "targets": [{"speaker": "agent", "text": "Because."}], "Answerability": ["ANSWERABLE"],
}  # fmt: skip
TOPICS = [
    {"number": 81, "turn": [
        {"number": 1, "raw_utterance": "How is it?", "manual_rewritten_utterance": "How is tea?",
         "automatic_rewritten_utterance": "How?", "manual_canonical_result_id": "MARCO_9"},
        {"number": 2, "raw_utterance": "Why?", "manual_rewritten_utterance": "Why tea?"},
    ]},
]  # fmt: skip
QRELS = "81_1 0 MARCO_9 0\n81_1 0 MARCO_3 1\n81_1 0 MARCO_2 3\n81_1 0 CAR_1 2\n"


@pytest.fixture
def converted(tmp_path):
    """Converts contents, each JSON, lines of JSON or text; returns the records of the files that were made."""

    def made(name, *contents):
        paths = []
        for number, content in enumerate(contents):
            path = tmp_path / f"raw{number}"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            paths.append(path)
        convert(name, paths, tmp_path / "made")
        found = {}
        for path in (tmp_path / "made").iterdir():
            text = path.read_text(encoding="utf-8")
            found[path.name] = (
                [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
            )
        return found

    return made


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def table(*rows):
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    return stream.getvalue()


SEEN = table(["conversation_no", "turn_no", "question", "passage_ids", "passages"])


def test_inscit(converted, tmp_path):
    made = converted("inscit", json.dumps(INSCIT))
    one, two = {"Conversation_no": 1, "Turn_no": 1}, {"Conversation_no": 1, "Turn_no": 2}
    assert made == {
        "questions.json": [
            {**one, "Question": "Who?", "Context": []}, {**two, "Question": "Why?", "Context": ["Who?", "He."]}
        ],
        "questions-rewritten.json": [{**one, "Question": "Who?"}, {**two, "Question": "Why?"}],
        "ground-truth.json": [
            {**one, "Truth_rewrite": "", "Truth_answer": "He.", "Truth_answers": ["He.", "Unknown."],
             "Response_types": ["directAnswer", "noInfo"], "Truth_passages": ["a:2", "b:1"]},
            {**two, "Truth_rewrite": "", "Truth_answer": "Why what?", "Truth_answers": ["Why what?"],
             "Response_types": ["clarification"], "Truth_passages": []},
        ],
        "passages.jsonl": [
            {"id": "b:1", "title": "B | Life", "text": "Of b:1."}, {"id": "a:2", "title": "A", "text": "Of a:2."}
        ],
    }  # fmt: skip
    assert [turn.question for one in read(tmp_path / "made") for turn in one.turns] == ["Who?", "Why?"]


def test_or_sharc(converted):
    made = converted("or_sharc", lines(UTTERANCE), json.dumps({"7": "Old people may.", "8": "Others not."}))
    key = {"Conversation_no": 1, "Turn_no": 1}
    assert made["questions.json"] == [{**key, "Question": "May I?", "Context": ["Do you work?", "No"]}]
    assert made["questions-rewritten.json"] == [{**key, "Question": "I am old. May I?"}]
    assert [one["id"] for one in made["passages.jsonl"]] == ["7", "8"]
    (truth,) = made["ground-truth.json"]
    assert truth["Truth_passages"] == ["7"] and truth["Snippet_seen"] is False and truth["utterance_id"] == "u1"


def test_clapnq(converted):
    made = converted("clapnq", lines(ASKED), lines(NOT_ANSWERED))
    one, two = made["ground-truth.json"]
    assert (one["Truth_answer"], one["Answerable"], one["Truth_passages"]) == ("It is.", True, ["clapnq_-12"])
    assert one["Cited_sentences"] == ["It is ."] and one["Conversation_no"] == 1
    assert (two["Truth_answer"], two["Answerable"], two["Truth_passages"]) == ("", False, ["clapnq_34"])
    assert made["passages.jsonl"][0] == {"id": "clapnq_-12", "title": "It", "text": "It is . "}
    assert made["questions.json"][1] == {"Conversation_no": 2, "Turn_no": 1, "Question": "what is it"}


@pytest.mark.skipif(not DATA.is_dir(), reason="the sets of our experiments are not here")
def test_clapnq_and_cast_as_they_were_published(tmp_path):
    """Of these the whole files are not at hand: some records of them."""
    names = ("clapnq_dev_answerable.jsonl", "clapnq_dev_unanswerable.jsonl")
    convert("clapnq", [PUBLISHED / name for name in names], tmp_path)
    passages = [json.loads(line) for line in (tmp_path / "passages.jsonl").read_text(encoding="utf-8").splitlines()]
    known = (DATA / "conversations" / "clapnq_dev" / "passages.jsonl").read_text(encoding="utf-8").splitlines()
    assert passages == [json.loads(known[place]) for place in (0, 301)]
    for name in FILES[:3]:
        known = json.loads((DATA / "conversations" / "clapnq_dev" / name).read_bytes())
        made = json.loads((tmp_path / name).read_bytes())
        assert [{**one, "Conversation_no": 0} for one in made] == [{**known[i], "Conversation_no": 0} for i in (0, 301)]
    convert("cast2020", [PUBLISHED / "2020_manual_evaluation_topics_v1.0.json", PUBLISHED / "2020qrels.txt"], tmp_path)
    for name in FILES[:2]:
        known = json.loads((DATA / "conversations" / "cast2020" / name).read_bytes())
        assert json.loads((tmp_path / name).read_bytes()) == known[:8]
    assert json.loads((tmp_path / "ground-truth.json").read_bytes())[0]["Truth_passages"] == [
        "MARCO_1104225", "MARCO_4516817", "MARCO_4516825"
    ]  # fmt: skip


def test_mtrag_un(converted):
    made = converted("mtrag_un", lines(TASK))
    key = {"Conversation_no": 1, "Turn_no": 1}
    assert made["questions.json"] == [{**key, "Question": "Why?", "Context": ["How?", "So."]}]
    assert made["ground-truth.json"] == [
        {**key, "Truth_rewrite": "", "Truth_answer": "Because.", "Truth_passages": ["d1", "d2"],
         "Answerability": ["ANSWERABLE"], "Collection": "fiqa", "task_id": "c<::>2"}
    ]  # fmt: skip
    assert made["passages.jsonl"] == [
        {"id": "d2", "title": "", "text": "Two."}, {"id": "d1", "title": "T", "text": "One."}
    ]  # fmt: skip


def test_cast2020_has_no_passages(converted):
    made = converted("cast2020", json.dumps(TOPICS), QRELS)
    one, two = made["ground-truth.json"]
    assert one["Truth_passages"] == ["CAR_1", "MARCO_2"] and one["Relevance"] == {"MARCO_2": 3, "CAR_1": 2}
    assert one["Truth_rewrite"] == "How is tea?" and two["Truth_passages"] == []
    assert [turn["Question"] for turn in made["questions.json"]] == ["How is it?", "Why?"]
    assert [turn["Question"] for turn in made["questions-rewritten.json"]] == ["How is tea?", "Why tea?"]
    assert "passages.jsonl" not in made


def test_qrecc_trec(converted):
    topics = [{"number": number, "turn": [{"number": turn, "raw_utterance": f"q{number}_{turn}"} for turn in (1, 2, 3)]}
              for number in (31, 32)]  # fmt: skip
    made = converted(
        "qrecc_trec",
        SEEN + table([31, 1, "r", "['p1', 'p2']", '["It\'s", \'two, or three\']'], [31, 2, "r", "['p1']", "['again']"]),
        table(["id", "question", "gt", "predicted", "sas", "model"], ["31_1", "rewritten", "gold", "x", ".5", "m"],
              ["31_1", "rewritten", "gold", "y", ".4", "n"]),
        '31_1\tresolved\n31_2\tsaid "so" again\n',
        json.dumps({"31_1": {"p2": 1, "elsewhere": 1}, "31_2": {"": 1}}),
        "[]", json.dumps(topics),
    )  # fmt: skip
    assert [turn["Question"] for turn in made["questions.json"]] == ["q31_1", "q31_2", "q31_3"]
    assert [turn["Question"] for turn in made["questions-rewritten.json"]] == ["rewritten", 'said "so" again', "q31_3"]
    assert [turn["Truth_passages"] for turn in made["ground-truth.json"]] == [["p2"], [], []]
    assert (
        made["ground-truth.json"][0]["Truth_answer"] == "gold" and made["ground-truth.json"][1]["Truth_rewrite"] == ""
    )
    assert [one["text"] for one in made["passages.jsonl"]] == ["It's", "two, or three"]


def test_qrecc_dev_and_archives(converted, tmp_path):
    turns = [{"Conversation_no": number, "Question": "Zoë?"} for number in (3, 4, 5)]
    assert converted("qrecc_dev", json.dumps(turns))["dev-turns.json"] == turns[::2]
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("Release/dev.json", "../../train.json", "__MACOSX/Release/._dev.json", "Release/README"):
            archive.writestr(name, json.dumps([name]))
    convert("unzip", [tmp_path / "a.zip"], tmp_path / "unzipped")
    assert sorted(path.name for path in (tmp_path / "unzipped").iterdir()) == ["dev.json", "train.json"]
    assert json.loads((tmp_path / "unzipped" / "dev.json").read_bytes()) == ["Release/dev.json"]


@pytest.mark.parametrize(
    ("name", "contents", "said"),
    [
        ("inscit", ["{}"], "raw0: ValueError: no records"),
        ("inscit", ["{"], r"raw0: line 1, column 2: invalid JSON"),
        ("inscit", ["7"], "raw0: TypeError"),
        ("inscit", [json.dumps({"d": {"turns": [{"context": ["q"]}]}})], "raw0: KeyError: 'labels'"),
        ("or_sharc", [lines(UTTERANCE)], "TypeError"),
        ("clapnq", [lines(ASKED), lines({**ASKED, "output": []})], "raw0, .*raw1: IndexError"),
        ("mtrag_un", [lines({**TASK, "input": []})], "raw0: ValueError"),
        ("cast2020", [json.dumps(TOPICS), "81_1 0 MARCO_9\n"], "raw1: ValueError"),
        ("qrecc_trec", [SEEN + table([1, 1, "q", "f('x')", "[]"]), "", "", "{}", "[]"], "raw0, .*: ValueError"),
        ("qrecc_dev", ["[3]"], "raw0: TypeError"),
        ("unzip", ["no archive"], "raw0: BadZipFile"),
    ],
)  # fmt: skip
def test_files_that_are_not_as_they_were_published(converted, name, contents, said):
    with pytest.raises(WorkError, match=f"{said}.*Expected the file as published: remove it"):
        converted(name, *contents)


def same(made, folder):
    return [
        name for name in FILES if (made / name).read_bytes() != (DATA / "conversations" / folder / name).read_bytes()
    ]


@pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not here")
def test_the_published_files_become_the_sets_of_our_experiments_byte_for_byte(tmp_path):
    open_retrieval, qrecc = DATA / "sharc" / "open-retrieval", DATA / "qrecc"
    convert("inscit", [DATA / "inscit" / "dev.json"], tmp_path / "inscit")
    assert same(tmp_path / "inscit", "inscit_dev") == []
    files = [open_retrieval / "open_retrieval_sharc_dev.json", open_retrieval / "id2snippet.json"]
    convert("or_sharc", files, tmp_path / "sharc")
    assert same(tmp_path / "sharc", "or_sharc_dev") == []
    files = [
        qrecc / "annotated-passages.csv",
        qrecc / "annotated-answers.csv",
        *cast2019(tmp_path),
        qrecc / "qrels-test.json",
    ]
    files = [*files[:2], files[4], files[5], *files[2:4]]
    convert("qrecc_trec", files, tmp_path / "qrecc")
    assert same(tmp_path / "qrecc", "qrecc_trec_sample") == []


def cast2019(folder):
    """CAsT 2019's topics (training, evaluation) and resolved questions as published, made from the copy at hand."""
    turns = json.loads((DATA / "qrecc" / "test-trec" / "questions.json").read_bytes())
    topics = {}
    for turn in turns:
        spoken = {"number": turn["Turn_no"], "raw_utterance": turn["Question"]}
        topics.setdefault(turn["Conversation_no"], []).append(spoken)
    parts = ([number for number in topics if number <= 30], [number for number in topics if number > 30])
    paths = [folder / name for name in ("training.json", "evaluation.json", "resolved.tsv")]
    for path, numbers in zip(paths, parts, strict=False):
        path.write_text(json.dumps([{"number": number, "turn": topics[number]} for number in numbers]))
    resolved = json.loads((DATA / "qrecc" / "test-trec" / "questions-resolved-31-80.json").read_bytes())
    paths[2].write_text("".join(f"{one['Conversation_no']}_{one['Turn_no']}\t{one['Question']}\n" for one in resolved))
    return paths
