"""Read SQuAD-format JSON: SQuAD 1 and 2, SQuADShifts, XQuAD, JSQuAD, PoQuAD."""

from __future__ import annotations

from pathlib import Path

from convqa.errors import InputError
from convqa.files import log, read_json
from convqa.tasks.mrqa.contexts import Context, Question
from convqa.validation import Record, read_as, shorten

EXPECTED = "SQuAD-format JSON: {data: [{title, paragraphs: [{context, qas: [{id, question, answers}]}]}]}"


class _Answer(Record):
    text: str
    answer_start: int


class _Question(Record):
    id: str | int | None = None  # missing in PoQuAD
    question: str
    answers: list[_Answer] = []
    is_impossible: bool = False


class _Paragraph(Record):
    context: str
    qas: list[_Question]


class _Article(Record):
    title: str = ""
    paragraphs: list[_Paragraph]


def read_squad(path: Path) -> list[Context]:
    """Return the paragraphs of a file, in order; unanswerable questions have no answers.

    A question without an id is called ``ARTICLE-PARAGRAPH-QUESTION``, each counted from 0. An answer that is not at its
    offset has no span, and one warning counts such answers; predictions and scores do not depend on spans.
    """
    data = read_json(path, EXPECTED)
    articles = data.get("data") if isinstance(data, dict) else None
    if not isinstance(articles, list):
        raise InputError(f"{path}: expected {EXPECTED}.")
    seen: set[str] = set()
    contexts: list[Context] = []
    misplaced: list[str] = []
    for article_no, value in enumerate(articles):
        article = read_as(_Article, value, f"{path}: data[{article_no}]", f"Expected: {EXPECTED}.")
        for paragraph_no, paragraph in enumerate(article.paragraphs):
            questions = []
            for index, record in enumerate(paragraph.qas):
                where = f"{path}: data[{article_no}].paragraphs[{paragraph_no}].qas[{index}]"
                default_id = f"{article_no}-{paragraph_no}-{index}"
                question = _question(record, paragraph.context, default_id, where, misplaced)
                if question.id in seen:
                    raise InputError(f"{where}: id: {question.id!r} is also the id of an earlier question.")
                seen.add(question.id)
                questions.append(question)
            contexts.append(Context(paragraph.context, tuple(questions), article.title))
    if misplaced:
        log.warning(
            "%s: %d answers are not at their answer_start, which changes no prediction and no score. First: %s",
            path, len(misplaced), misplaced[0],
        )  # fmt: skip
    return contexts


def _question(record: _Question, context: str, default_id: str, where: str, misplaced: list[str]) -> Question:
    """Convert a question. Answers that are not at their offset have no span, and a message in ``misplaced``."""
    answers = [] if record.is_impossible else record.answers
    spans = []
    for index, answer in enumerate(answers):
        start, end = answer.answer_start, answer.answer_start + len(answer.text)
        if start >= 0 and context[start:end] == answer.text:
            spans.append((start, end))
        else:
            actual = shorten(context[start:end]) if start >= 0 else f"nothing at {start}"
            misplaced.append(
                f"{where}.answers[{index}]: answer_start: expected the answer {shorten(answer.text)} in the context, "
                f"got {actual}."
            )
    id = default_id if record.id is None else str(record.id)
    return Question(id, record.question, tuple(answer.text for answer in answers), tuple(spans))
