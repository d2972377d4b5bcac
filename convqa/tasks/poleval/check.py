"""Check an out.tsv: report all format errors at once, of which GEval refuses only a wrong number of lines."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path

from convqa.tasks.files import read_lines
from convqa.tasks.poleval import passages, run
from convqa.tasks.poleval.input import Questions, read_questions
from convqa.tasks.poleval.run import HEADER, parse_ids
from convqa.validation import shorten


def problems(input_path: Path, file: Path) -> Iterator[tuple[str, str]]:
    """Yield (line or "" for the file, message) for a run over the questions at ``input_path``."""
    asked = read_questions(input_path)
    lines = list(read_lines(file, run.EXPECTED))
    if lines and parse_ids(lines[0][1])[:1] == (HEADER,):
        yield "line 1", "is a header; expected none (GEval ignores it)"
        del lines[0]
    for number, line in lines:
        yield from ((f"line {number}", message) for message in _line_errors(line))
    if len(lines) != len(asked.items):
        yield "", f"has {len(lines)} lines; expected {len(asked.items)}, one per question"
        if asked.of_several_sets:  # the sets of the lines are unknown
            return
    yield from ((f"line {number}", message) for number, message in _unknown_ids(asked, lines))


def _line_errors(line: bytes) -> Iterator[str]:
    if line.startswith(BOM_UTF8):
        yield "starts with a byte order mark, which GEval reads as part of the id; expected UTF-8 without it"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        yield f"byte {error.start + 1} is not UTF-8; GEval replaces it by U+FFFD"
    ids = parse_ids(line)
    empty = ids.count("")
    if empty:
        yield f"has {empty} empty ids, each of which takes a rank; expected one TAB between two ids and none at the end"
    for id in dict.fromkeys(ids):
        if id and len(id.split()) != 1:
            yield f"{shorten(id)} has blanks, and GEval reads it as one id; expected TABs between ids"
        elif id != id.strip():
            yield f"{shorten(id)} has blanks around it, which are part of the id"
    repeated = [id for id in dict.fromkeys(ids) if id and ids.count(id) > 1]
    if repeated:
        yield f"has {', '.join(map(shorten, repeated))} more than once; the first counts"
    if len(ids) > run.DEPTH:
        yield f"has {len(ids)} ids; expected at most {run.DEPTH}"


def _unknown_ids(asked: Questions, lines: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, str]]:
    """Report ids that are not among the passages, if those are in the folder of the questions."""
    ids_by_set: dict[str, set[str]] = {}
    rows = [(number, item.set, parse_ids(line)) for (number, line), item in zip(lines, asked.items, strict=False)]
    for _, name, ids in rows:
        ids_by_set.setdefault(name, set()).update(filter(None, ids))
    unknown = passages.unknown(asked, ids_by_set)
    for number, name, ids in rows:
        if strangers := [id for id in dict.fromkeys(ids) if id in unknown.get(name, ())]:
            of_set = f" of {name}" if name else ""
            yield number, f"expected ids of the passages{of_set}, got {', '.join(map(shorten, strangers))}"
