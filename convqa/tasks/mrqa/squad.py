"""SQuAD-format JSON: SQuAD 1 and 2, SQuADShifts, XQuAD, JSQuAD, PoQuAD."""

from __future__ import annotations

from pathlib import Path

from convqa.errors import InputError
from convqa.files import log, read_json
from convqa.tasks.mrqa.contexts import Context, Question
from convqa.validation import Record, read_as, shorten

WANTED = "SQuAD-format JSON: {data: [{title, paragraphs: [{context, qas: [{id, question, answers}]}]}]}"


class _Answer(Record):
    text: str
    answer_start: int


class _Question(Record):
    id: str | int | None = None  # PoQuAD has none
    question: str
    answers: list[_Answer] = []
    is_impossible: bool = False


class _Paragraph(Record):
    context: str
    qas: list[_Question]


class _Article(Record):
    title: str = ""
    paragraphs: list[_Paragraph]


def read_squad(path: Path, aligned: bool = True) -> list[Context]:
    """The paragraphs of a file, in order; a question that cannot be answered has no answers.

    A question without an id is called ``ARTICLE-PARAGRAPH-QUESTION``, each counted from 0.

    :param aligned: refuse an answer that does not stand where the file says; else it stays without its span, and one
        warning tells how many there are: predictions and their scores do not rest on spans.
    :raises InputError: naming file and record of the first mistake: also where an id names two questions.
    """
    data = read_json(path, WANTED)
    articles = data.get("data") if isinstance(data, dict) else None
    if not isinstance(articles, list):
        raise InputError(f"{path}: wanted {WANTED}.")
    seen: set[str] = set()
    contexts: list[Context] = []
    shifted: list[str] = []
    for number, found in enumerate(articles):
        article = read_as(_Article, found, f"{path}: data[{number}]", f"Wanted: {WANTED}.")
        for place, paragraph in enumerate(article.paragraphs):
            questions = []
            for index, asked in enumerate(paragraph.qas):
                where = f"{path}: data[{number}].paragraphs[{place}].qas[{index}]"
                question = _question(asked, paragraph.context, f"{number}-{place}-{index}", where, shifted)
                if aligned and shifted:
                    raise InputError(shifted[0])
                if question.id in seen:
                    raise InputError(f"{where}: id: {question.id!r} names an earlier question too.")
                seen.add(question.id)
                questions.append(question)
            contexts.append(Context(paragraph.context, tuple(questions), article.title))
    if shifted:
        log.warning(
            "%s: %d answers do not stand at their answer_start, which changes no prediction and no score. First: %s",
            path, len(shifted), shifted[0],
        )  # fmt: skip
    return contexts


def _question(asked: _Question, context: str, name: str, where: str, shifted: list[str]) -> Question:
    """A question; answers that do not stand where the file says are told in ``shifted``, and have no span."""
    answers = [] if asked.is_impossible else asked.answers
    spans = []
    for index, answer in enumerate(answers):
        start, end = answer.answer_start, answer.answer_start + len(answer.text)
        if start >= 0 and context[start:end] == answer.text:
            spans.append((start, end))
        else:
            there = shorten(context[start:end]) if start >= 0 else f"nothing at {start}"
            shifted.append(
                f"{where}.answers[{index}]: answer_start: the context has {there} there; wanted the answer "
                f"{shorten(answer.text)}."
            )
    id = name if asked.id is None else str(asked.id)
    return Question(id, asked.question, tuple(answer.text for answer in answers), tuple(spans))
