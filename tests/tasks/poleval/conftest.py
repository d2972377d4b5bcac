"""Small inputs in the task's two layouts, in Polish."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from convqa.errors import InputError
from convqa.text.analysis import analyzer

RIVERS = [
    {"id": "1-0", "title": "Wisła", "text": "Najdłuższa rzeka Polski, uchodzi do Bałtyku.", "meta": {"article_id": 1}},
    {"id": "2-0", "title": "Odra", "text": "Rzeka w Europie Środkowej, płynie przez Wrocław i Szczecin."},
    {"id": "3-0", "title": "Warta", "text": "Prawy dopływ Odry; nad nią leży Poznań.", "meta": {"article_id": 3}},
]
LAWS = [
    {"id": "1-0", "title": "Ustawa o rzekach", "text": "Kapitan statku na rzece Wiśle prowadzi dziennik."},
    {"id": "2-0", "title": "Ustawa o miodzie", "text": "Miód sprzedaje się w słoikach z etykietą."},
]
ASKED = ["Która rzeka przepływa przez Wrocław?", "Nad którą rzeką leży Poznań?", "Która rzeka Polski jest najdłuższa?"]
ANSWERS = ["2-0", "3-0", "1-0"]


def write(path: Path, *lines: object) -> Path:
    """A file of lines: text as it is, everything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join((line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.fixture
def poleval():
    """This file: its texts, and ``write``."""
    return sys.modules[__name__]


@pytest.fixture
def one_set(tmp_path):
    """GEval's folder of one set, whose passages lie as the published data has them."""
    write(tmp_path / "wiki-trivia" / "passages.jl", *RIVERS)
    write(tmp_path / "dev-0" / "expected.tsv", *ANSWERS)
    return write(tmp_path / "dev-0" / "in.tsv", *(f"wiki-trivia\t{text}" for text in ASKED)).parent


@pytest.fixture
def two_sets(one_set):
    """GEval's folder of two sets, whose passages have the same ids; blanks before the names, as the test sets have."""
    folder = one_set.parent / "test-A"
    write(folder.parent / "legal-questions" / "passages.jl", *LAWS)
    write(folder / "expected.tsv", *ANSWERS, "2-0")
    rows = [*(f" wiki-trivia\t{text}" for text in ASKED), " legal-questions\tW czym sprzedaje się miód?"]
    return write(folder / "in.tsv", *rows).parent


@pytest.fixture
def competition(tmp_path):
    """The competition's folder of a set: the third question has no pair, ids of questions are numbers."""
    folder = tmp_path / "rivers"
    write(folder / "passages.jl", *RIVERS)
    write(folder / "pairs.tsv", "question-id\tpassage-id\tscore", "0\t2-0\t1", "5\t3-0\t1", "5\t1-0\t0")
    return write(folder / "questions.jl", *({"id": 5 * n, "text": text} for n, text in enumerate(ASKED))).parent


@pytest.fixture
def polish():
    """Skips where Polish words cannot be analyzed."""
    try:
        analyzer("pl")
    except InputError as error:
        pytest.skip(str(error))
