"""Converters from conversational benchmarks as published to folders that ``convqa run`` accepts.

A folder gets questions.json, questions-rewritten.json, ground-truth.json and, if the passages are published too,
passages.jsonl, in the format of SCAI-QReCC-21.
"""

from __future__ import annotations

import ast
import csv
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from convqa.errors import WorkError, counted
from convqa.files import read_json, whole_file
from convqa.tasks.files import read_values

_EXPECTED = "the file as published"


class _Folder:
    """Collects the records of a folder: ``files`` by name, and ``passages`` by id."""

    def __init__(self) -> None:
        self.files: dict[str, Any] = {}
        self.passages: dict[str, dict[str, str]] = {}

    def add_passage(
        self,
        id: str,
        title: str,
        text: str,
    ) -> str:
        """Add a passage unless its id is already there; return the id."""
        self.passages.setdefault(id, {"id": id, "title": title, "text": text})
        return id

    def add_turn(
        self,
        conversation: int,
        turn: int,
        question: str,
        truth: dict[str, Any],
        rewrite: str = "",
        context: Any = None,
    ) -> None:
        """Add a turn. ``rewrite``: the question for questions-rewritten.json, if it differs."""
        key = {"Conversation_no": conversation, "Turn_no": turn}
        asked = {"Question": question}
        if context is not None:
            asked["Context"] = context
        for file, fields in (
            ("questions.json", asked),
            ("questions-rewritten.json", {"Question": rewrite or question}),
            ("ground-truth.json", {"Truth_rewrite": ""} | truth),
        ):
            self.files.setdefault(file, []).append(key | fields)


def _object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file."""
    return dict(read_json(path, _EXPECTED))


def _records(*paths: Path) -> Iterator[Any]:
    """Yield the values of JSON arrays or JSON lines."""
    for path in paths:
        for _, value in read_values(path, _EXPECTED):
            yield value


def _rows(path: Path, **dialect: Any) -> Iterator[list[str]]:
    """Yield the rows of a table."""
    csv.field_size_limit(2**24)
    with path.open(encoding="utf-8", errors="replace", newline="") as lines:
        yield from csv.reader(lines, **dialect)


def _topics(*paths: Path) -> Iterator[tuple[int, int, str, str]]:
    """Yield (topic, turn, question, human rewrite or "") of CAsT's topics."""
    for topic in _records(*paths):
        for turn in topic["turn"]:
            rewrite = turn.get("manual_rewritten_utterance", "")
            yield topic["number"], turn["number"], turn["raw_utterance"], rewrite


def inscit(folder: _Folder, dev: Path) -> None:
    """INSCIT's ``data/dev.json``: the passages are the evidence of all labels, the answer is that of the first."""
    for number, (_, dialogue) in enumerate(_object(dev).items(), 1):
        for turn_no, turn in enumerate(dialogue["turns"], 1):
            *context, question = turn["context"]
            labels = turn["labels"]
            passages = {
                folder.add_passage(
                    passage["passage_id"], " | ".join(passage["passage_titles"]), passage["passage_text"]
                )
                for label in labels
                for passage in label["evidence"]
            }
            truth = {
                "Truth_answer": labels[0]["response"],
                "Truth_answers": [label["response"] for label in labels],
                "Response_types": [label["responseType"] for label in labels],
                "Truth_passages": sorted(passages),
            }
            folder.add_turn(number, turn_no, question, truth, context=context)


def or_sharc(
    folder: _Folder,
    utterances: Path,
    rules: Path,
) -> None:
    """OR-ShARC's dev utterances, each a conversation, and rule texts. The rewrite is the scenario and the question."""
    for id, text in _object(rules).items():
        folder.add_passage(id, "", text)
    for number, record in enumerate(_records(utterances), 1):
        history = []
        for past in record["history"]:
            history += [past["follow_up_question"], past["follow_up_answer"]]
        truth = {
            "Truth_answer": record["answer"],
            "Truth_passages": [record["gold_snippet_id"]],
            "Scenario": record["scenario"],
            "Snippet_seen": record["snippet_seen"],
            "utterance_id": record["utterance_id"],
            "tree_id": record["tree_id"],
        }
        rewrite = f"{record['scenario']} {record['question']}".strip()
        folder.add_turn(number, 1, record["question"], truth, rewrite, history)


def clapnq(folder: _Folder, *files: Path) -> None:
    """ClapNQ's dev questions, each a conversation, with their first answer. Tested on the first records."""
    for number, record in enumerate(_records(*files), 1):
        answer = record["output"][0]
        passage = record["passages"][0]
        truth = {
            "Truth_answer": answer["answer"] or "",
            "Answerable": bool(answer["answer"]),
            "Cited_sentences": answer["selected_sentences"],
            "Truth_passages": [folder.add_passage(f"clapnq_{record['id']}", passage["title"], passage["text"])],
        }
        folder.add_turn(number, 1, record["input"], truth)


def mtrag_un(folder: _Folder, reference: Path) -> None:
    """MTRAG-UN's ``reference.jsonl``, a turn per task. Untested: the format is that of its pages and samples."""
    for number, record in enumerate(_records(reference), 1):
        *context, question = (message["text"] for message in record["input"])
        passages = {
            folder.add_passage(passage["document_id"], passage.get("title") or "", passage["text"])
            for passage in record["contexts"]
        }
        truth = {
            "Truth_answer": record["targets"][0]["text"],
            "Truth_passages": sorted(passages),
            "Answerability": record["Answerability"],
            "Collection": record["Collection"].split("-")[2],
            "task_id": record["task_id"],
        }
        folder.add_turn(number, 1, question, truth, context=context)


def cast2020(
    folder: _Folder,
    topics: Path,
    qrels: Path,
) -> None:
    """CAsT 2020's manual topics and qrels, without passages. Grades from 2 on are relevant, as in the track."""
    grades: dict[str, dict[str, int]] = {}
    for turn, _, passage, grade in _rows(qrels, delimiter=" "):
        if int(grade) >= 2:
            grades.setdefault(turn, {})[passage] = int(grade)
    for topic, turn_no, question, rewrite in _topics(topics):
        relevant = grades.get(f"{topic}_{turn_no}", {})
        truth = {
            "Truth_rewrite": rewrite,
            "Truth_answer": "",
            "Truth_passages": sorted(relevant),
            "Relevance": relevant,
        }
        folder.add_turn(topic, turn_no, question, truth, rewrite)


def qrecc_trec(
    folder: _Folder,
    passages: Path,
    answers: Path,
    resolved: Path,
    qrels: Path,
    *topics: Path,
) -> None:
    """The TREC conversations of QReCC's test set (CAsT 2019's topics) that SCAI-QReCC-21's annotators saw, complete."""
    annotated = set()
    _, *rows = _rows(passages)
    for conversation, _, _, ids, texts in rows:
        annotated.add(conversation)
        for id, text in zip(_list(ids), _list(texts), strict=True):
            folder.add_passage(id, "", text)
    truths = {turn: (rewrite, answer) for turn, rewrite, answer, *_ in _rows(answers)}
    resolutions = dict(_rows(resolved, delimiter="\t", quoting=csv.QUOTE_NONE))
    relevant = _object(qrels)
    for topic, turn_no, question, _ in _topics(*topics):
        if str(topic) not in annotated:
            continue
        turn = f"{topic}_{turn_no}"
        rewrite, answer = truths.get(turn, ("", ""))
        truth = {
            "Truth_rewrite": rewrite,
            "Truth_answer": answer,
            "Truth_passages": [passage for passage in relevant.get(turn, ()) if passage in folder.passages],
        }
        folder.add_turn(topic, turn_no, question, truth, rewrite or resolutions.get(turn, ""))


def qrecc_dev(folder: _Folder, sampled: Path) -> None:
    """The turns that InfoCQR sampled from QReCC's dev part: conversations with odd numbers, as ``dev-turns.json``."""
    folder.files["dev-turns.json"] = [turn for turn in _records(sampled) if turn["Conversation_no"] % 2]


def unzip(folder: _Folder, path: Path) -> None:
    """The JSON files of an archive, without its folders."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".json") and "__MACOSX" not in name:
                folder.files[Path(name).name] = json.loads(archive.read(name))


_CONVERTERS = (inscit, or_sharc, clapnq, mtrag_un, cast2020, qrecc_trec, qrecc_dev, unzip)
CONVERTERS: Mapping[str, Callable[..., None]] = {converter.__name__: converter for converter in _CONVERTERS}


def _list(text: str) -> Any:
    """Parse a list as Python writes it."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise ValueError(f"expected a list, got {text:.60}") from None


def convert(
    name: str,
    files: Sequence[Path],
    target: Path,
) -> str:
    """Convert published files into a folder, and describe its content.

    :raises WorkError: if the files have another format.
    """
    folder = _Folder()
    try:
        CONVERTERS[name](folder, *files)
        if not any(folder.files.values()):
            raise ValueError("no records")
    except Exception as error:  # any exception means that the file has another format
        names = ", ".join(map(str, files))
        problem = f"{names}: {type(error).__name__}: {error}"
        raise WorkError(f"{problem}. Expected {_EXPECTED}: remove it, and run the same command again.") from error
    if folder.passages:
        folder.files["passages.jsonl"] = list(folder.passages.values())
    for file, value in folder.files.items():
        text = json.dumps(value, indent=1, ensure_ascii=False)
        if file.endswith(".jsonl"):
            text = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in value)
        with whole_file(target / file) as stream:
            stream.write(text.encode())
    return ", ".join(f"{file} ({counted(len(value), 'records')})" for file, value in folder.files.items())
