"""Benchmarks of conversations as they are published, and how each becomes a folder that ``convqa run`` takes.

The folder gets questions.json, questions-rewritten.json, ground-truth.json and, where the passages are published too,
passages.jsonl, in the form of SCAI-QReCC-21.
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

_WANTED = "the file as it was published"


class _Benchmark:
    """What a converter gathers. ``where``: the record that it reads; ``files``: name -> JSON value."""

    def __init__(self, where: str) -> None:
        self.where, self.files, self.passages = where, dict[str, Any](), dict[str, dict[str, str]]()

    def passage(self, id: str, title: str, text: str) -> str:
        """Keep a passage, the first of its id; return the id."""
        return self.passages.setdefault(id, {"id": id, "title": title, "text": text})["id"]

    def turn(self, id: tuple[int, int], question: str, rewritten: str = "", context: Any = None, **truth: Any) -> None:
        """Keep a turn. ``rewritten``: the question of questions-rewritten.json, where it is another one."""
        key = {"Conversation_no": id[0], "Turn_no": id[1]}
        asked = {"Question": question} | ({} if context is None else {"Context": context})
        rewrite, gold = {"Question": rewritten or question}, {"Truth_rewrite": "", **truth}
        for name, record in (("questions", asked), ("questions-rewritten", rewrite), ("ground-truth", gold)):
            self.files.setdefault(f"{name}.json", []).append(key | record)

    def records(self, path: Path, lines: bool = False) -> Iterator[tuple[Any, Any]]:
        """(key or place, value) of a JSON object, a JSON array, or JSON lines."""
        self.where = str(path)
        found = read_values(path, _WANTED, "", False) if lines else read_json(path, _WANTED)
        for key, value in found.items() if isinstance(found, dict) else found if lines else enumerate(found):
            self.where = f"{path}: {key if lines else f'record {key}'}"
            yield key, value

    def rows(self, path: Path, **dialect: Any) -> Iterator[list[str]]:
        """The rows of a table."""
        csv.field_size_limit(2**24)
        lines = (line.decode(errors="replace") for _, line in read_lines(path, _WANTED))
        for number, row in enumerate(csv.reader(lines, **dialect), 1):
            self.where = f"{path}: row {number}"
            yield row

    def topics(self, *paths: Path) -> Iterator[tuple[tuple[int, int], str, str]]:
        """(topic and turn, question, human rewrite where there is one) of CAsT's topics."""
        for _, topic in (record for path in paths for record in self.records(path)):
            for turn in topic["turn"]:
                rewrite = turn.get("manual_rewritten_utterance", "")
                yield (topic["number"], turn["number"]), turn["raw_utterance"], rewrite


def inscit(made: _Benchmark, dev: Path) -> None:
    """INSCIT's ``data/dev.json``: the passages are the evidence of all labels, and the first label is the answer."""
    for number, (_, dialogue) in enumerate(made.records(dev), 1):
        for turn_no, turn in enumerate(dialogue["turns"], 1):
            labels, (*context, question) = turn["labels"], turn["context"]
            ids = {
                made.passage(one["passage_id"], " | ".join(one["passage_titles"]), one["passage_text"])
                for label in labels for one in label["evidence"]
            }  # fmt: skip
            answers, types = ([label[key] for label in labels] for key in ("response", "responseType"))
            truth = {"Truth_answer": answers[0], "Truth_answers": answers, "Response_types": types}
            made.turn((number, turn_no), question, context=context, **truth, Truth_passages=sorted(ids))


def or_sharc(made: _Benchmark, utterances: Path, rules: Path) -> None:
    """OR-ShARC's dev utterances, each a conversation, and rule texts; rewritten, a question says the scenario first."""
    for id, text in made.records(rules):
        made.passage(id, "", text)
    for number, (_, one) in enumerate(made.records(utterances, lines=True), 1):
        history = [past[key] for past in one["history"] for key in ("follow_up_question", "follow_up_answer")]
        made.turn(
            (number, 1), one["question"], f"{one['scenario']} {one['question']}".strip(), history,
            Truth_answer=one["answer"], Truth_passages=[one["gold_snippet_id"]], Scenario=one["scenario"],
            Snippet_seen=one["snippet_seen"], utterance_id=one["utterance_id"], tree_id=one["tree_id"],
        )  # fmt: skip


def clapnq(made: _Benchmark, *files: Path) -> None:
    """ClapNQ's dev questions, each a conversation; its first answer counts. Proven on the beginnings of the files."""
    records = (record for path in files for record in made.records(path, lines=True))
    for number, (_, one) in enumerate(records, 1):
        answer, passage = one["output"][0], one["passages"][0]
        made.turn(
            (number, 1), one["input"], Truth_answer=answer["answer"] or "", Answerable=bool(answer["answer"]),
            Cited_sentences=answer["selected_sentences"],
            Truth_passages=[made.passage(f"clapnq_{one['id']}", passage["title"], passage["text"])],
        )  # fmt: skip


def mtrag_un(made: _Benchmark, reference: Path) -> None:
    """MTRAG-UN's ``reference.jsonl``: a task is a turn. Not proven: the form is that of its pages and samples."""
    for number, (_, one) in enumerate(made.records(reference, lines=True), 1):
        gold = {made.passage(had["document_id"], had.get("title") or "", had["text"]) for had in one["contexts"]}
        *context, question = (said["text"] for said in one["input"])
        truth = {"Truth_answer": one["targets"][0]["text"], "Truth_passages": sorted(gold)}
        kind = {"Answerability": one["Answerability"], "Collection": one["Collection"].split("-")[2]}
        made.turn((number, 1), question, context=context, **truth, **kind, task_id=one["task_id"])


def cast2020(made: _Benchmark, topics: Path, qrels: Path) -> None:
    """CAsT 2020's manual topics and qrels, without passages; grades from 2 on are relevant, as in the track."""
    grades: dict[str, dict[str, int]] = {}
    for turn, _, passage, grade in made.rows(qrels, delimiter=" "):
        if int(grade) >= 2:
            grades.setdefault(turn, {})[passage] = int(grade)
    for id, question, rewrite in made.topics(topics):
        gold = grades.get("{}_{}".format(*id), {})
        truth = {"Truth_rewrite": rewrite, "Truth_answer": "", "Truth_passages": sorted(gold), "Relevance": gold}
        made.turn(id, question, rewrite, **truth)


def qrecc_trec(made: _Benchmark, passages: Path, answers: Path, resolved: Path, qrels: Path, *topics: Path) -> None:
    """The TREC conversations of QReCC's test set (CAsT 2019's topics) that SCAI-QReCC-21's annotators saw, whole."""
    seen = set()
    for conversation, _, _, ids, texts in [*made.rows(passages)][1:]:
        seen.add(conversation)
        for id, text in zip(ast.literal_eval(ids), ast.literal_eval(texts), strict=True):
            made.passage(id, "", text)
    known = {turn: (rewrite, answer) for turn, rewrite, answer, *_ in made.rows(answers)}
    resolutions = dict(made.rows(resolved, delimiter="\t", quoting=csv.QUOTE_NONE))
    gold = dict(made.records(qrels))
    for id, question, _ in made.topics(*topics):
        turn = "{}_{}".format(*id)
        rewrite, answer = known.get(turn, ("", ""))
        at_hand = [passage for passage in gold.get(turn, ()) if passage in made.passages]
        if str(id[0]) in seen:
            truth = {"Truth_rewrite": rewrite, "Truth_answer": answer, "Truth_passages": at_hand}
            made.turn(id, question, rewrite or resolutions.get(turn, ""), **truth)


def qrecc_dev(made: _Benchmark, sampled: Path) -> None:
    """The turns of QReCC's dev part that InfoCQR sampled: the conversations of odd number, as ``dev-turns.json``."""
    made.files["dev-turns.json"] = [turn for _, turn in made.records(sampled) if turn["Conversation_no"] % 2]


def unzip(made: _Benchmark, path: Path) -> None:
    """The JSON files of an archive, without its folders."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".json") and "__MACOSX" not in name]
        made.files = {Path(name).name: json.loads(archive.read(name)) for name in names}


CONVERTERS: Mapping[str, Callable[..., None]] = {
    one.__name__: one for one in (inscit, or_sharc, clapnq, mtrag_un, cast2020, qrecc_trec, qrecc_dev, unzip)
}


def convert(name: str, files: Sequence[Path], folder: Path) -> str:
    """Convert published files into a folder; say what it holds.

    :raises WorkError: naming the record that is not as it was published.
    """
    made = _Benchmark(", ".join(map(str, files)))
    try:
        CONVERTERS[name](made, *files)
        if not any(made.files.values()):
            raise ValueError("found no record")
    except Exception as error:  # whatever is raised, the file has another form
        told = str(error) if isinstance(error, InputError) else f"{made.where}: {type(error).__name__}: {error}"
        told = told.partition(" on line ")[0]  # where ast names an object by its place in memory
        raise WorkError(f"{told}. Wanted {_WANTED}: remove it, and give the command again.") from error
    if made.passages:
        made.files["passages.jsonl"] = list(made.passages.values())
    for file, value in made.files.items():
        lines = [json.dumps(one, ensure_ascii=False) + "\n" for one in value] if file.endswith("l") else []
        with whole_file(folder / file) as stream:
            stream.write(("".join(lines) or json.dumps(value, indent=1, ensure_ascii=False)).encode())
    return ", ".join(f"{file} ({len(value)} records)" for file, value in made.files.items())
