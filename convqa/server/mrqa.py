"""MRQA 2019's predict function: answers the questions of a context.

The task's evaluator (predict_server.py) first connects to the port, up to 600 times, and drops the connection. Then it
POSTs the contexts of a file to ``/`` one after another without a timeout, parses every reply as JSON regardless of its
status, and merges the objects {qid: answer}. A reply that is not JSON would end it, so even errors are JSON here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException

from convqa.errors import InputError
from convqa.files import parse_line
from convqa.qa import QA
from convqa.server.guard import ERRORS, GuardedRoute
from convqa.server.service import Service
from convqa.tasks.mrqa.formats import Context, Question, conversations
from convqa.validation import Record, read_as

log = logging.getLogger("convqa")
router = APIRouter(route_class=GuardedRoute, responses=ERRORS)


class _QuestionRecord(Record):
    """A question without its gold answers, which are ignored."""

    qid: str
    question: str


class _ContextRecord(Record):
    """A line of an MRQA file."""

    context: str
    qas: list[_QuestionRecord]


def answer_context(qa: QA, line: object) -> dict[str, str]:
    """Answer all questions of a context in one run of the pipeline, with "" for no answer.

    :param line: a parsed line of an MRQA file. A header line, and one without ``qas``, has no questions.
    :raises InputError: naming the malformed field.
    :raises ConvqaError: if the run fails.
    """
    if not isinstance(line, dict):
        raise InputError(f"the body: expected an object with context and qas, got {type(line).__name__}.")
    if "header" in line or "qas" not in line:
        return {}
    record = read_as(
        _ContextRecord,
        line,
        "the body",
        "Expected context, and qas with qid and question each.",
    )
    context = Context(record.context, tuple(Question(item.qid, item.question) for item in record.qas))
    answers = {question.id: "" for question in context.questions}
    for response in qa.drive(conversations(context)):
        failure = response.error
        if failure is not None:
            log.warning(
                "turn %s failed in %s: %s: %s",
                response.id,
                failure.stage,
                failure.error,
                failure.message,
            )
        elif response.answer is not None:
            answers[str(response.id.conversation)] = response.answer.text
    return answers


@router.post("/", summary="Answer the questions of a context (MRQA 2019)")
async def predict(request: Request) -> dict[str, str]:
    """Return question id -> answer, "" for none, by the first pipeline that needs no collection."""
    services: Mapping[str, Service] = request.app.state.services
    matches = [service for service in services.values() if not service.pipeline.needs_collection]
    if not matches:
        raise HTTPException(404, "No served pipeline answers from a given text; run convqa serve --pipeline mrqa.")
    if "Origin" in request.headers:
        raise HTTPException(403, "This route is for programs, not for pages of other sites.")
    expected = "Expected an object with context and qas."
    line, _ = parse_line(await request.body(), "the body", expected, first=True)
    return await matches[0].do(lambda: answer_context(QA(matches[0].pipeline), line))
