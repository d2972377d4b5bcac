"""MRQA 2019's question to a server: a context with its questions in, their answers out."""

from __future__ import annotations

import logging

from pydantic import ValidationError

from convqa.errors import InputError
from convqa.qa import QA
from convqa.tasks.mrqa.contexts import Context, Question, conversations
from convqa.validation import Record, explain

log = logging.getLogger("convqa")


class _Asked(Record):
    """What is read of a question: all else, the gold above all, stays outside."""

    qid: str
    question: str


class _Line(Record):
    context: str
    qas: list[_Asked]


def answer_context(qa: QA, line: object) -> dict[str, str]:
    """The answers to all questions of a context, "" where there is none, in one run of the pipeline.

    :param line: a line of an MRQA file, as JSON gives it. A header line, and one without ``qas``, asks nothing.
    :raises InputError: naming the field that is not as it should be.
    :raises ConvqaError: if the work cannot go on.
    """
    if not isinstance(line, dict):
        raise InputError(f"the body: found {type(line).__name__}; wanted an object with context and qas.")
    if "header" in line or "qas" not in line:
        return {}
    try:
        read = _Line.model_validate(line)
    except ValidationError as error:
        problems = "; ".join(f"{field}: {message}" for field, message in explain(error))
        raise InputError(f"{problems}. Wanted: context, and qas with qid and question each.") from None
    seen: set[str] = set()
    for index, asked in enumerate(read.qas):
        if asked.qid in seen:
            raise InputError(f"qas[{index}].qid: {asked.qid!r} names an earlier question too; wanted an id for each.")
        seen.add(asked.qid)
    context = Context(read.context, tuple(Question(asked.qid, asked.question) for asked in read.qas))
    answers = {question.id: "" for question in context.questions}
    for response in qa.drive(conversations(context)):
        if response.error is not None:
            failure = response.error
            log.warning("turn %s failed in %s: %s: %s", response.id, failure.stage, failure.error, failure.message)
        elif response.answer is not None:
            answers[str(response.id.conversation)] = response.answer.text
    return answers
