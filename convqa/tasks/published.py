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

from convqa.errors import InputError, WorkError
from convqa.files import read_json, whole_file
from convqa.tasks.files import read_lines, read_values

_EXPECTED = "the file as published"


class _Benchmark:
    """Collects what a converter reads. ``where``: the current record; ``files``: name -> JSON value."""

    def __init__(self, where: str) -> None:
        self.where, self.files, self.passages = where, dict[str, Any](), dict[str, dict[str, str]]()

    def passage(self, id: str, title: str, text: str) -> str:
        """Add a passage unless its id is already there; return the id."""
        return self.passages.setdefault(id, {"id": id, "title": title, "text": text})["id"]

    def turn(self, id: tuple[int, int], question: str, rewritten: str = "", context: Any = None, **truth: Any) -> None:
        """Add a turn. ``rewritten``: the question for questions-rewritten.json, if it differs."""
        key = {"Conversation_no": id[0], "Turn_no": id[1]}
        asked = {"Question": question} | ({} if context is None else {"Context": context})
        rewrite, gold = {"Question": rewritten or question}, {"Truth_rewrite": "", **truth}
        for name, record in (("questions", asked), ("questions-rewritten", rewrite), ("ground-truth", gold)):
            self.files.setdefault(f"{name}.json", []).append(key | record)

    def records(self, path: Path, lines: bool = False) -> Iterator[tuple[Any, Any]]:
        """Yield (key or position, value) of a JSON object, a JSON array, or JSON lines."""
        self.where = str(path)
        data = read_values(path, _EXPECTED, array=False) if lines else read_json(path, _EXPECTED)
        for key, value in data.items() if isinstance(data, dict) else data if lines else enumerate(data):
            self.where = f"{path}: {key if lines else f'record {key}'}"
            yield key, value

    def rows(self, path: Path, **dialect: Any) -> Iterator[list[str]]:
        """Yield the rows of a table."""
        csv.field_size_limit(2**24)
        lines = (line.decode(errors="replace") for _, line in read_lines(path, _EXPECTED))
        for number, row in enumerate(csv.reader(lines, **dialect), 1):
            self.where = f"{path}: row {number}"
            yield row

    def topics(self, *paths: Path) -> Iterator[tuple[tuple[int, int], str, str]]:
        """Yield (topic and turn, question, human rewrite or "") of CAsT's topics."""
        for _, topic in (record for path in paths for record in self.records(path)):
            for turn in topic["turn"]:
                rewrite = turn.get("manual_rewritten_utterance", "")
                yield (topic["number"], turn["number"]), turn["raw_utterance"], rewrite


def inscit(benchmark: _Benchmark, dev: Path) -> None:
    """INSCIT's ``data/dev.json``: the passages are the evidence of all labels, the answer is that of the first."""
    for number, (_, dialogue) in enumerate(benchmark.records(dev), 1):
        for turn_no, turn in enumerate(dialogue["turns"], 1):
            labels, (*context, question) = turn["labels"], turn["context"]
            ids = {
                benchmark.passage(passage["passage_id"], " | ".join(passage["passage_titles"]), passage["passage_text"])
                for label in labels for passage in label["evidence"]
            }  # fmt: skip
            answers, types = ([label[key] for label in labels] for key in ("response", "responseType"))
            truth = {"Truth_answer": answers[0], "Truth_answers": answers, "Response_types": types}
            benchmark.turn((number, turn_no), question, context=context, **truth, Truth_passages=sorted(ids))


def or_sharc(benchmark: _Benchmark, utterances: Path, rules: Path) -> None:
    """OR-ShARC's dev utterances, each a conversation, and rule texts. The rewrite is the scenario and the question."""
    for id, text in benchmark.records(rules):
        benchmark.passage(id, "", text)
    for number, (_, record) in enumerate(benchmark.records(utterances, lines=True), 1):
        history = [past[key] for past in record["history"] for key in ("follow_up_question", "follow_up_answer")]
        benchmark.turn(
            (number, 1), record["question"], f"{record['scenario']} {record['question']}".strip(), history,
            Truth_answer=record["answer"], Truth_passages=[record["gold_snippet_id"]], Scenario=record["scenario"],
            Snippet_seen=record["snippet_seen"], utterance_id=record["utterance_id"], tree_id=record["tree_id"],
        )  # fmt: skip


def clapnq(benchmark: _Benchmark, *files: Path) -> None:
    """ClapNQ's dev questions, each a conversation, with their first answer. Tested on the first records."""
    records = (record for path in files for record in benchmark.records(path, lines=True))
    for number, (_, record) in enumerate(records, 1):
        answer, passage = record["output"][0], record["passages"][0]
        benchmark.turn(
            (number, 1), record["input"], Truth_answer=answer["answer"] or "", Answerable=bool(answer["answer"]),
            Cited_sentences=answer["selected_sentences"],
            Truth_passages=[benchmark.passage(f"clapnq_{record['id']}", passage["title"], passage["text"])],
        )  # fmt: skip


def mtrag_un(benchmark: _Benchmark, reference: Path) -> None:
    """MTRAG-UN's ``reference.jsonl``, a turn per task. Untested: the format is that of its pages and samples."""
    for number, (_, record) in enumerate(benchmark.records(reference, lines=True), 1):
        contexts = record["contexts"]
        gold = {benchmark.passage(part["document_id"], part.get("title") or "", part["text"]) for part in contexts}
        *context, question = (message["text"] for message in record["input"])
        truth = {"Truth_answer": record["targets"][0]["text"], "Truth_passages": sorted(gold)}
        kind = {"Answerability": record["Answerability"], "Collection": record["Collection"].split("-")[2]}
        benchmark.turn((number, 1), question, context=context, **truth, **kind, task_id=record["task_id"])


def cast2020(benchmark: _Benchmark, topics: Path, qrels: Path) -> None:
    """CAsT 2020's manual topics and qrels, without passages. Grades from 2 on are relevant, as in the track."""
    grades: dict[str, dict[str, int]] = {}
    for turn, _, passage, grade in benchmark.rows(qrels, delimiter=" "):
        if int(grade) >= 2:
            grades.setdefault(turn, {})[passage] = int(grade)
    for id, question, rewrite in benchmark.topics(topics):
        gold = grades.get("{}_{}".format(*id), {})
        truth = {"Truth_rewrite": rewrite, "Truth_answer": "", "Truth_passages": sorted(gold), "Relevance": gold}
        benchmark.turn(id, question, rewrite, **truth)


def qrecc_trec(
    benchmark: _Benchmark, passages: Path, answers: Path, resolved: Path, qrels: Path, *topics: Path
) -> None:
    """The TREC conversations of QReCC's test set (CAsT 2019's topics) that SCAI-QReCC-21's annotators saw, complete."""
    annotated = set()
    for conversation, _, _, ids, texts in [*benchmark.rows(passages)][1:]:
        annotated.add(conversation)
        for id, text in zip(ast.literal_eval(ids), ast.literal_eval(texts), strict=True):
            benchmark.passage(id, "", text)
    truths = {turn: (rewrite, answer) for turn, rewrite, answer, *_ in benchmark.rows(answers)}
    resolutions = dict(benchmark.rows(resolved, delimiter="\t", quoting=csv.QUOTE_NONE))
    gold = dict(benchmark.records(qrels))
    for id, question, _ in benchmark.topics(*topics):
        turn = "{}_{}".format(*id)
        rewrite, answer = truths.get(turn, ("", ""))
        available = [passage for passage in gold.get(turn, ()) if passage in benchmark.passages]
        if str(id[0]) in annotated:
            truth = {"Truth_rewrite": rewrite, "Truth_answer": answer, "Truth_passages": available}
            benchmark.turn(id, question, rewrite or resolutions.get(turn, ""), **truth)


def qrecc_dev(benchmark: _Benchmark, sampled: Path) -> None:
    """The turns that InfoCQR sampled from QReCC's dev part: conversations with odd numbers, as ``dev-turns.json``."""
    turns = [turn for _, turn in benchmark.records(sampled) if turn["Conversation_no"] % 2]
    benchmark.files["dev-turns.json"] = turns


def unzip(benchmark: _Benchmark, path: Path) -> None:
    """The JSON files of an archive, without its folders."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".json") and "__MACOSX" not in name]
        benchmark.files = {Path(name).name: json.loads(archive.read(name)) for name in names}


CONVERTERS: Mapping[str, Callable[..., None]] = {
    converter.__name__: converter
    for converter in (inscit, or_sharc, clapnq, mtrag_un, cast2020, qrecc_trec, qrecc_dev, unzip)
}


def convert(name: str, files: Sequence[Path], folder: Path) -> str:
    """Convert published files into a folder, and describe its content.

    :raises WorkError: naming the malformed record.
    """
    benchmark = _Benchmark(", ".join(map(str, files)))
    try:
        CONVERTERS[name](benchmark, *files)
        if not any(benchmark.files.values()):
            raise ValueError("no records")
    except Exception as error:  # any exception means that the file has another format
        message = str(error) if isinstance(error, InputError) else f"{benchmark.where}: {type(error).__name__}: {error}"
        message = message.partition(" on line ")[0]  # where ast names an object by its address
        raise WorkError(f"{message}. Expected {_EXPECTED}: remove it, and run the same command again.") from error
    if benchmark.passages:
        benchmark.files["passages.jsonl"] = list(benchmark.passages.values())
    for file, value in benchmark.files.items():
        lines = [json.dumps(item, ensure_ascii=False) + "\n" for item in value] if file.endswith("l") else []
        with whole_file(folder / file) as stream:
            stream.write(("".join(lines) or json.dumps(value, indent=1, ensure_ascii=False)).encode())
    return ", ".join(f"{file} ({len(value)} records)" for file, value in benchmark.files.items())
