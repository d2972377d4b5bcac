"""Which files of a folder are questions, truth and passages: under GEval's names, or under the competition's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from convqa.errors import InputError

IN, EXPECTED = "in.tsv", "expected.tsv"
_QUESTIONS, _PAIRS, _PASSAGES = "questions", "pairs", "passages"

WANTED_QUESTIONS = f"{IN} (set, TAB, question), or {_QUESTIONS}.jl (JSON lines with id and text)"
WANTED_TRUTH = f"{EXPECTED} beside {IN}, or {_PAIRS}.tsv beside {_QUESTIONS}.jl"


def questions_file(path: Path) -> Path:
    """The file of questions: the path itself, or the one in a folder.

    :raises InputError: if a folder has none, or several, such as those of a test and a training set.
    """
    return _only(path, filter(looks_like_questions, _inside(path)), WANTED_QUESTIONS) if path.is_dir() else path


def truth_file(path: Path) -> Path:
    """The file of the truth: the path itself, the one in a folder, or the one of a file of questions.

    :raises InputError: if a folder has none, or several.
    """
    if path.is_dir():
        return _only(path, filter(_is_truth, _inside(path)), WANTED_TRUTH)
    return _truth_of(path) if looks_like_questions(path) else path


def questions_of(truth: Path) -> Path:
    """Where the questions of a truth are."""
    if is_pairs(truth):
        return truth.with_name(f"{_QUESTIONS}{truth.stem.removeprefix(_PAIRS)}.jl")
    return truth.with_name(IN)


def looks_like_questions(path: Path) -> bool:
    """Whether this is called as questions are: in.tsv, questions.jl, questions-test.jl."""
    return path.is_file() and (path.name == IN or (is_jl(path) and path.name.startswith(_QUESTIONS)))


def looks_like_truth(path: Path) -> bool:
    """Whether this is called as a truth is (expected.tsv, pairs.tsv, pairs-test.tsv), or as questions that have one."""
    return _is_truth(path) or (looks_like_questions(path) and _truth_of(path).is_file())


def holds_questions(path: Path) -> bool:
    """Whether a file, or a file of a folder, looks like questions."""
    return any(map(looks_like_questions, _inside(path)))


def holds_truth(path: Path) -> bool:
    """Whether a file, or a file of a folder, looks like a truth."""
    return any(map(looks_like_truth, _inside(path)))


def is_jl(path: Path) -> bool:
    """Whether questions are the competition's, as JSON lines."""
    return path.suffix == ".jl"


def is_pairs(path: Path) -> bool:
    """Whether a truth is the competition's, as pairs."""
    return path.name.startswith(_PAIRS) and path.suffix == ".tsv"


def passage_files(questions: Path, sets: tuple[str, ...]) -> dict[str, Path]:
    """Set -> its passages.jl (or .jl.gz); {} where none is found.

    They lie beside the questions, or, as the published data has them, in a folder of the set's name there or one above;
    those of a single set may also lie one above.

    :raises InputError: if some of several sets have none, or a folder has both files.
    """
    found = passage_files_found(questions, sets)
    lacking = [name for name in sets if name not in found]
    if found and lacking:
        here = questions.parent
        raise InputError(
            f"{questions}: there are passages for {', '.join(found)}, and none for {', '.join(lacking)}; wanted "
            f"{lacking[0]}/{_PASSAGES}.jl in {here} or in {here.absolute().parent}, or a collection of all sets by "
            "--collection."
        )
    return found


def passage_files_found(questions: Path, sets: tuple[str, ...]) -> dict[str, Path]:
    """``passage_files`` of those sets that have some."""
    here = questions.parent
    above = here.absolute().parent
    found: dict[str, Path] = {}
    for name in sets:
        folders = [here / name, above / name] if name else []
        for folder in folders if len(sets) > 1 else [here, *folders, *([above] if name else [])]:
            files = [file for end in (".jl", ".jl.gz") if (file := folder / f"{_PASSAGES}{end}").is_file()]
            if len(files) > 1:
                raise InputError(f"{folder}: has {' and '.join(file.name for file in files)}; wanted one of them.")
            if files:
                found[name] = files[0]
                break
    return found


def _is_truth(path: Path) -> bool:
    return path.is_file() and (path.name == EXPECTED or is_pairs(path))


def _truth_of(questions: Path) -> Path:
    if is_jl(questions):
        return questions.with_name(f"{_PAIRS}{questions.stem.removeprefix(_QUESTIONS)}.tsv")
    return questions.with_name(EXPECTED)


def _inside(path: Path) -> list[Path]:
    """The files of a folder that can be read, by name; a file is itself."""
    if not path.is_dir():
        return [path]
    try:
        return sorted(path.iterdir())
    except OSError:
        return []


def _only(folder: Path, found: Iterable[Path], wanted: str) -> Path:
    files = list(found)
    if len(files) == 1:
        return files[0]
    if not files:
        raise InputError(f"{folder}: found none of the files wanted; wanted {wanted}.")
    names = ", ".join(file.name for file in files)
    raise InputError(f"{folder}: has {names}, and a run answers one of them; give the file's path.")
