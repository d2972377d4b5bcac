"""MRQA 2019's predict function: a context with its questions in, their answers out.

What the task's evaluator (predict_server.py) does: it connects to the port, up to 600 times, and drops the connection
without a word; then it POSTs the contexts of a file to ``/``, one after another, waits for each as long as it takes,
reads every reply as JSON, whatever its status, and merges the objects {qid: answer}. One reply that is no JSON would
end it, so every reply here is JSON, errors too.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException

from convqa.errors import InputError
from convqa.files import parse_line
from convqa.qa import QA
from convqa.server.guard import ERRORS, Guarded
from convqa.server.service import Service
from convqa.server.turns import Asker
from convqa.tasks.mrqa.contexts import Context, Question, conversations
from convqa.validation import Record, read_as

_WANTED = "Wanted: an object with context and qas."

log = logging.getLogger("convqa")
router = APIRouter(route_class=Guarded, responses=ERRORS)


class _Asked(Record):
    """The fields that are read of a question: all else, the gold above all, stays outside."""

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
    read = read_as(_Line, line, "the body", "Wanted: context, and qas with qid and question each.")
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


@router.post("/", summary="Answer the questions of a context (MRQA 2019)")
async def predict(request: Request, caller: Asker) -> dict[str, str]:
    """Answers by question id, "" where there is none, of the first pipeline that answers from a text that is given."""
    services: Mapping[str, Service] = request.app.state.services
    service = next((one for one in services.values() if not one.pipeline.needs_collection), None)
    if service is None:
        raise HTTPException(404, "No pipeline here answers from a text that is given: convqa serve --pipeline mrqa.")
    if "Origin" in request.headers:
        raise HTTPException(403, "This is for programs, not for pages of other sites.")
    request.app.state.access.count(caller)
    line, _ = parse_line(await request.body(), "the body", _WANTED, first=True)
    return await service.do(lambda: answer_context(QA(service.pipeline), line))
