"""Read SQuAD-format JSON: SQuAD 1 and 2, SQuADShifts, XQuAD, JSQuAD, PoQuAD."""

from __future__ import annotations

from pathlib import Path

from convqa.errors import InputError
from convqa.tasks.files import read_document
from convqa.tasks.mrqa.contexts import Context, Question
from convqa.validation import Record, read_as

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
    offset has no span, since predictions and scores do not depend on spans.
    """
    data = read_document(path, EXPECTED)
    articles = data.get("data") if isinstance(data, dict) else None
    if not isinstance(articles, list):
        raise InputError(f"{path}: expected {EXPECTED}.")
    seen: set[str] = set()
    contexts: list[Context] = []
    for article_no, value in enumerate(articles):
        article = read_as(_Article, value, f"{path}: data[{article_no}]", f"Expected: {EXPECTED}.")
        for paragraph_no, paragraph in enumerate(article.paragraphs):
            questions = []
            for index, record in enumerate(paragraph.qas):
                question = _question(record, paragraph.context, f"{article_no}-{paragraph_no}-{index}")
                if question.id in seen:
                    where = f"{path}: data[{article_no}].paragraphs[{paragraph_no}].qas[{index}]"
                    raise InputError(f"{where}: id: {question.id!r} is also the id of an earlier question.")
                seen.add(question.id)
                questions.append(question)
            contexts.append(Context(paragraph.context, tuple(questions), article.title))
    return contexts


def _question(record: _Question, context: str, default_id: str) -> Question:
    answers = [] if record.is_impossible else record.answers
    spans = tuple(
        (answer.answer_start, answer.answer_start + len(answer.text))
        for answer in answers
        if answer.answer_start >= 0 and context.startswith(answer.text, answer.answer_start)
    )
    id = default_id if record.id is None else str(record.id)
    return Question(id, record.question, tuple(answer.text for answer in answers), spans)
