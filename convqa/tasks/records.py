"""Files of records with ids: reading them, and listing what is wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from pydantic import ValidationError

from convqa.errors import InputError
from convqa.tasks.files import read_values
from convqa.validation import Shape, explain, read_as, shorten

Problems = Iterator[tuple[str, str]]
"""The format errors of a run: (record or "" for the file, message)."""

_NAMED_IDS = 10
"""Number of ids that a message names."""


@dataclass(frozen=True, slots=True)
class RecordFile(Generic[Shape]):
    """The format of a file with records of one shape, whose ids are distinct: a JSON array or JSON lines.

    :param noun: what a record is, for messages.
    :param expected: what the file contains, and ``advice``: what to do about a mistake, also for messages.
    """

    shape: type[Shape]
    noun: str
    id_field: str
    expected: str
    advice: str

    def values(self, file: Path) -> Iterator[tuple[str, Any]]:
        """Yield (label, value) without checking the values. A label is ``line 3 (entry 17)``."""
        for label, value in read_values(file, self.expected):
            if isinstance(value, dict) and self.id_field in value:
                label += f" ({self.noun} {shorten(value[self.id_field])})"
            yield label, value

    def read(self, file: Path) -> list[tuple[str, Shape]]:
        """Return the records with their labels, at least one.

        :raises InputError: naming file, record and field of a mistake.
        """
        records: list[tuple[str, Shape]] = []
        labels: dict[Any, str] = {}
        for label, value in self.values(file):
            record = read_as(self.shape, value, f"{file}: {label}", self.advice)
            first = labels.setdefault(getattr(record, self.id_field), label)
            if first != label:
                raise self.mistake(
                    file,
                    label,
                    f"{self.id_field}: is also that of {first}; expected another one",
                )
            records.append((label, record))
        if not records:
            raise InputError(f"{file}: has no records. {self.advice}")
        return records

    def mistake(
        self,
        file: Path,
        label: str,
        message: str,
    ) -> InputError:
        """Return the error to raise for a mistake in a record."""
        return InputError(f"{file}: {label}: {message}. {self.advice}")


def read_json_lines(
    file: Path,
    shape: type[Shape],
    expected: str,
) -> Iterator[Shape]:
    """Yield the records of a file of JSON lines, plain or gzip, which must not be empty."""
    line = ""
    for line, value in read_values(file, expected, array=False):
        yield read_as(shape, value, f"{file}: {line}", f"Expected: {expected}.")
    if not line:
        raise InputError(f"{file}: the file is empty; expected {expected}.")


def mistakes(validate: Callable[[Any], object], value: object) -> list[str]:
    """Return what a pydantic model or adapter finds wrong with a value, one message per field."""
    try:
        validate(value)
    except ValidationError as error:
        return [f"{field}: {message}" if field else message for field, message in explain(error)]
    return []


def id_problems(
    noun: str,
    expected: Collection[object],
    actual: Iterable[object],
) -> Problems:
    """Report missing, unexpected and repeated ids as problems of the whole file."""
    counts = Counter(list(actual))  # of a mapping, the keys
    missing = [id for id in expected if id not in counts]
    unknown = [id for id in counts if id not in expected]
    repeated = [id for id, count in counts.items() if count > 1]
    yield from some_ids(f"{noun} of the input are missing", missing, len(expected))
    yield from some_ids(f"{noun} are not in the input", unknown, len(counts))
    yield from some_ids(f"{noun} occur more than once", repeated, len(counts))


def some_ids(
    problem: str,
    ids: Sequence[object],
    total: int,
) -> Problems:
    """Report a problem of the whole file that names the first of some ids, if there are any.

    >>> list(some_ids("turns are missing", [3, 7], 9)), list(some_ids("turns are missing", [], 9))
    ([('', '2 of 9 turns are missing: 3, 7')], [])
    """
    if ids:
        more = f" and {len(ids) - _NAMED_IDS} more" if len(ids) > _NAMED_IDS else ""
        yield (
            "",
            f"{len(ids)} of {total} {problem}: {', '.join(map(str, ids[:_NAMED_IDS]))}{more}",
        )
