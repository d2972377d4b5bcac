"""Data sets: a file each, in one of two formats, with the name and the domain that the shared task gave it."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from convqa.domain import DEFAULT_LANGUAGE
from convqa.errors import InputError
from convqa.files import log
from convqa.tasks.lines import files_in, read_start
from convqa.tasks.mrqa import jsonl, squad
from convqa.tasks.mrqa.contexts import Context
from convqa.tasks.mrqa.jsonl import Lenient
from convqa.text.analysis import analyzer

Domain = Literal["in-domain", "out-of-domain", ""]

SUFFIXES = (".jsonl", ".jsonl.gz", ".json")

IN_DOMAIN = ("SQuAD", "NewsQA", "TriviaQA", "SearchQA", "HotpotQA", "NaturalQuestions")
"""The six sets that there is training data of."""
OUT_OF_DOMAIN = (
    "BioASQ", "DROP", "DuoRC", "RACE", "RelationExtraction", "TextbookQA",
    "BioProcess", "ComplexWebQuestions", "MCTest", "QAMR", "QAST", "TREC",
)  # fmt: skip
"""The six of the development data, and the six that only the hidden test had."""
_OTHERWISE = {"TriviaQA-web": "TriviaQA", "NaturalQuestionsShort": "NaturalQuestions", "DuoRC.ParaphraseRC": "DuoRC"}
"""What releases and result files call some of them."""

AVERAGES = ("in-domain", "out-of-domain", "all")
"""What macro averages are called; a set of that name has its file's name instead."""

_HEADER = 2**16


@dataclass(frozen=True, slots=True)
class DataSet:
    """A file with contexts. ``domain`` is "" for sets that are none of the task's."""

    path: Path
    name: str
    domain: Domain
    language: str


def data_sets(path: Path) -> list[DataSet]:
    """The data set in a file, or those in a folder, by file name.

    :raises InputError: if there is none, a file is of no known format, or two have one name.
    """
    if not path.is_dir():
        return [_data_set(path)]
    found = [_data_set(file) for file in files_in(path, SUFFIXES)]
    if not found:
        raise InputError(f"{path}: has no file {', '.join(SUFFIXES)}; wanted files with {WANTED}.")
    named: dict[str, Path] = {}
    for one in found:
        _check_beginning(one.path)
        other = named.setdefault(one.name, one.path)
        if other != one.path:
            raise InputError(
                f"{path}: {other.name} and {one.path.name} are both called {one.name}; wanted one of them."
            )
    return found


def _check_beginning(file: Path) -> None:
    """Refuse a folder for a file that is something else, with the words of the reader that it would have."""
    if form_of(file)[0] is not None:
        return
    try:
        next(read_contexts(file, aligned=False), None)
    except InputError as error:
        raise InputError(f"{error} Take the file out of {file.parent}, or give the others one by one.") from None


def is_data_set(path: Path) -> bool:
    """Whether a file begins as one of the two formats does; of a pipe, which is refused, its reader says more."""
    try:
        return form_of(path)[0] is not None
    except InputError:
        return path.is_fifo()


def domain_of(name: str) -> Domain:
    """Where the shared task has a set of that name."""
    if name in IN_DOMAIN:
        return "in-domain"
    return "out-of-domain" if name in OUT_OF_DOMAIN else ""


def official_name(name: str) -> str:
    """The name in the task's tables.

    >>> official_name("DuoRC.ParaphraseRC"), official_name("xquad.de")
    ('DuoRC', 'xquad.de')
    """
    return _OTHERWISE.get(name, name)


def _data_set(file: Path) -> DataSet:
    stem = next((file.name.removesuffix(end) for end in SUFFIXES if file.name.endswith(end)), file.name)
    names = [official_name(name) for name in (*_name_in_header(file), stem)]
    name = next((name for name in names if domain_of(name)), names[0])
    if name in AVERAGES:
        name = file.name
    return DataSet(file, name, domain_of(name), _language(stem))


def _name_in_header(file: Path) -> list[str]:
    start, _ = read_start(file, WANTED, _HEADER)
    try:
        header: Any = orjson.loads(start.removeprefix(BOM_UTF8).partition(b"\n")[0])["header"]["dataset"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return []
    return [header] if isinstance(header, str) and header else []


def _language(stem: str) -> str:
    """XQuAD's files say it in their names (xquad.de.json); nothing else does, and what cannot be analysed is as en."""
    language = stem.rpartition(".")[2]
    try:
        analyzer(language)
    except InputError:
        return DEFAULT_LANGUAGE
    return language


class Owners:
    """Which of several data sets a question is in: a run has one answer to an id."""

    def __init__(self) -> None:
        self._set_of: dict[str, DataSet] = {}

    def claim(self, id: str, one: DataSet) -> None:
        """Note that a question is in a data set.

        :raises InputError: if it is in another one too.
        """
        other = self._set_of.setdefault(id, one)
        if other is not one:
            raise InputError(
                f"{one.path}: question {id!r} is in {other.path.name} too, and a run has one answer to an id. "
                "Give the files one by one."
            )


def warn_of_gaps(sets: Sequence[DataSet]) -> None:
    """Say what keeps a macro average from being the published one: sets that lack, and others than the task's."""
    names = {one.name for one in sets}
    if len(names) < 2:
        return
    for domain, published in (("in-domain", IN_DOMAIN), ("out-of-domain", OUT_OF_DOMAIN[:6])):
        lacking = [name for name in published if name not in names]
        if names.intersection(published) and lacking:
            log.warning("the %s average is not the published one: there is no %s", domain, ", ".join(lacking))
    strange = [one.name for one in sets if not one.domain]
    if strange and len(strange) < len(sets):
        log.warning("%s: none of the shared task's sets; they count in the average of all only", ", ".join(strange))


Form = Literal["mrqa", "squad"]

WANTED = f"{jsonl.WANTED}, or {squad.WANTED}"

_LOOKED_AT = 2**20
_FIRST_KEY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"([^"\\]*)"\s*:')
_DATA, _PARAGRAPHS = re.compile(rb'"data"\s*:'), re.compile(rb'"paragraphs"\s*:')  # keys: answers may say such words


def read_contexts(path: Path, lenient: Lenient | None = None, aligned: bool = True) -> Iterator[Context]:
    """The contexts of a file in either format, in order; MRQA's are read one at a time.

    :param lenient, aligned: as ``read_official`` has them; SQuAD-format JSON is always read strictly.
    :raises InputError: naming file and place of the first mistake.
    """
    form, packed = form_of(path)
    if (form or _form_by_name(path)) == "mrqa":
        yield from jsonl.read_official(path, lenient, aligned)
    elif packed:
        raise InputError(f"{path}: SQuAD-format JSON is read as plain JSON only; unpack it with gunzip.")
    else:
        yield from squad.read_squad(path)


def form_of(path: Path) -> tuple[Form | None, bool]:
    """The format that a file's beginning shows, None where it shows neither; and whether the file is gzip.

    :raises InputError: if it cannot be read.
    """
    start, packed = read_start(path, WANTED, _LOOKED_AT)
    first = _FIRST_KEY.match(start)
    if first is None:
        return None, packed
    if _DATA.search(start) and _PARAGRAPHS.search(start):
        return "squad", packed
    line, end, _ = start[first.start(1) - 1 :].partition(b"\n")
    goes_on = not end and len(start) == _LOOKED_AT  # a context so long that its questions are further on
    is_mrqa = first.group(1) == b"header" or (b'"context"' in line and (b'"qas"' in line or goes_on))
    return ("mrqa" if is_mrqa else None), packed


def _form_by_name(path: Path) -> Form:
    """Where the beginning of a file shows no format: the reader that can say best what is wrong."""
    return "squad" if path.name.endswith(".json") else "mrqa"
