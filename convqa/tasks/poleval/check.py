"""Every format error of an out.tsv at once. GEval refuses none of them but a wrong number of lines."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path

from convqa.tasks.files import read_lines
from convqa.tasks.poleval import passages, run
from convqa.tasks.poleval.input import Questions, read_questions
from convqa.tasks.poleval.run import HEADER, ids_in
from convqa.validation import shorten


def problems(input_path: Path, file: Path) -> Iterator[tuple[str, str]]:
    """(line, or "" for the file; what is wrong) of a run that answers the questions at ``input_path``."""
    asked = read_questions(input_path)
    lines = list(read_lines(file, run.WANTED))
    if lines and ids_in(lines[0][1])[:1] == (HEADER,):
        yield "line 1", "found a header; wanted none (GEval leaves it out)"
        del lines[0]
    for number, line in lines:
        yield from ((f"line {number}", message) for message in _line_errors(line))
    if len(lines) != len(asked.items):
        yield "", f"has {len(lines)} lines; wanted {len(asked.items)}, one for each question"
        if asked.of_several_sets:  # nobody knows of which set a line is then
            return
    yield from ((f"line {number}", message) for number, message in _unknown_ids(asked, lines))


def _line_errors(line: bytes) -> Iterator[str]:
    if line.startswith(BOM_UTF8):
        yield "begins with a mark of byte order, which GEval takes for a part of the id; wanted UTF-8 without it"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        yield f"byte {error.start + 1} is not UTF-8; GEval puts U+FFFD there"
    ids = ids_in(line)
    empty = ids.count("")
    if empty:
        yield f"has {empty} empty ids, each of which takes a rank; wanted one TAB between two ids and none at the end"
    for id in dict.fromkeys(ids):
        if id and len(id.split()) != 1:
            yield f"found {shorten(id)} with blanks, which GEval takes for one id; wanted TABs between ids"
        elif id != id.strip():
            yield f"found {shorten(id)} with blanks around it, which are a part of the id"
    repeated = [id for id in dict.fromkeys(ids) if id and ids.count(id) > 1]
    if repeated:
        yield f"has {', '.join(map(shorten, repeated))} more than once; the first counts"
    if len(ids) > run.DEPTH:
        yield f"has {len(ids)} ids; wanted {run.DEPTH} at most"


def _unknown_ids(asked: Questions, lines: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, str]]:
    """Where the passages lie beside the questions: ids that are none of theirs."""
    named: dict[str, set[str]] = {}
    rows = [(number, one.set, ids_in(line)) for (number, line), one in zip(lines, asked.items, strict=False)]
    for _, name, ids in rows:
        named.setdefault(name, set()).update(filter(None, ids))
    lacking = passages.unknown(asked, named)
    for number, name, ids in rows:
        strange = [id for id in dict.fromkeys(ids) if id in lacking.get(name, ())]
        if strange:
            of = f" of {name}" if name else ""
            yield number, f"found {', '.join(map(shorten, strange))}; wanted ids of the passages{of}"
