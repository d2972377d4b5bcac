"""Builds answers with a language model, and marks the sentences that the passages do not support."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from haystack.dataclasses import ChatMessage
from pydantic import Field

from convqa.components.acts import MORE
from convqa.components.base import ON_OUTPUT, PARTIAL, Builder, MaybeReadings
from convqa.components.builders._grounding import Grounding
from convqa.components.builders._prompt import PassagePart, numbered_parts, passage_parts
from convqa.components.builders._reply import ReplyKind, parse
from convqa.components.chat import ChatStation, Reply, fallback_note, plain
from convqa.components.checks import nothing
from convqa.components.members import member
from convqa.components.one_document import document_asked
from convqa.components.prompts import conversation, count_tokens, quoted
from convqa.domain import CAVEAT, UNAIDED, Answer, Failure, Ranking, Reading, Rewrite, Sentence, Turn
from convqa.domain.batches import Answers
from convqa.text.dialogue import open_question
from convqa.text.support import IDENTITY as QUOTES

_DECLINED = "the language model found no answer in the passages"
_LEFT_OUT = "nothing of the language model's reply may be shown"
_EMPTY = "the language model's reply is empty"
_NO_TEXT = "no passage that was found has a text to quote"
_NOT_SEARCHED = "(none: the message asks nothing of them)"
_TOKENS_A_WORD = 3
"""Room for an answer's words, with markers and thoughts."""

_MIN_ROOM = 400
"""Tokens of passages that are always shown, however small the context is."""

_ENDINGS = frozenset(".!?\n\u3002\uff01\uff1f")


class _Request(NamedTuple):
    """The messages for a turn, and the passages in them; none if the turn asks nothing of them.

    ``note``: how much of a document it has, if the question is about one as a whole.
    """

    messages: Sequence[ChatMessage]
    passages: Sequence[PassagePart]
    turn: Turn
    question: str
    note: str = ""

    def grounding(self) -> Grounding:
        """Return what a reply is checked against."""
        return Grounding(
            self.passages,
            self.question,
            self.turn,
            self.messages[0].text or "",
        )


@member
class Generative(ChatStation, Builder):
    """Generate an answer from the best passages, and check each sentence against them.

    The prompt has the passages with their line breaks, numbered, and asks for the numbers of supporting passages after
    each sentence. The reply is shown as written. A citation points at the sentences or rows that support it; a sentence
    without support is marked. Left out are only addresses that no passage has and repeated instructions, with a note.
    What asks nothing of the passages is answered from the conversation (kind ``talk``), "tell me more" from the
    passages that were cited last, and the model may ask back.

    A failed request is a failure of its turn. Unavailable servers, keys, timeouts, retries and sampling are as in the
    rewriter ``llm``.

    Example::

        generator = OpenAIChatGenerator(model="gpt-4o-mini")
        builder = Generative(component=generator, max_words=80, fallback="sentences")

    :param context: how many tokens the model reads and writes; it limits the passages in the prompt.
    :param max_passages: how many of the best passages with a text are in the prompt.
    :param max_passage_chars: maximum characters of each passage in the prompt: whole units around its best span.
    :param max_words: how long an answer the prompt asks for.
    :param history: number of earlier exchanges in the prompt.
    :param fallback: another builder. It answers, with a note, if the model fails or replies nothing.
    """

    prompt: str = "answer"
    context: Annotated[int, Field(ge=1024)] = 8192
    max_passages: Annotated[int, Field(ge=1, le=100)] = 8
    max_passage_chars: Annotated[int, Field(ge=100, le=100_000)] = 2000
    max_words: Annotated[int, Field(ge=5, le=5000)] = 150
    history: Annotated[int, Field(ge=0, le=50)] = 5

    def identity(self) -> Mapping[str, str]:
        """Include the check that chooses quotes, which must not measure the results as well."""
        return {**ChatStation.identity(self), "quotes": QUOTES}

    def _build_asked(self, *columns: Sequence[Any]) -> Sequence[Answer | Failure]:
        # What asks nothing is the model's to answer, too.
        return self.build_batch(*columns)

    def build_batch(
        self,
        turns: Sequence[Turn],
        rewrites: Sequence[Rewrite],
        rankings: Sequence[Ranking],
        readings: MaybeReadings,
    ) -> Sequence[Answer | Failure]:
        answers: dict[int, Answer | Failure] = {}
        requests: dict[int, _Request] = {}
        for index, row in enumerate(zip(turns, rewrites, rankings, readings, strict=True)):
            request = self._request(*row)
            if isinstance(request, Answer):
                answers[index] = request
            else:
                requests[index] = request
        listener = ON_OUTPUT.get()
        on_text = None
        if listener is not None and len(turns) == len(requests) == 1:
            on_text = _on_text(requests[0], listener)
        replies = self._asked({index: request.messages for index, request in requests.items()}, on_text)
        for index, reply in replies.items():
            answer = self._answer(reply, requests[index], rankings[index])
            answers[index] = replace(answer, usage=reply.usage) if isinstance(answer, Answer) else answer
        if self._fallback:
            self._replace_failed(answers, (turns, rewrites, rankings, readings))
        return [answers[index] for index in range(len(turns))]

    def _replace_failed(
        self,
        answers: dict[int, Answer | Failure],
        columns: Sequence[Sequence[Any]],
    ) -> None:
        """Let the fallback answer where the model failed or replied nothing."""
        reasons = {
            index: answer.message if isinstance(answer, Failure) else _EMPTY
            for index, answer in answers.items()
            if isinstance(answer, Failure) or answer.reason == _EMPTY
        }
        others = self._fallback._build_asked(*([column[index] for index in reasons] for column in columns))
        for index, other in zip(reasons, others, strict=True):
            if isinstance(other, Answer):
                caveat = fallback_note(reasons[index], "Only the passages were asked.")
                other = replace(other, notes=(*other.notes, UNAIDED, caveat))
            answers[index] = other

    def _request(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
        reading: Reading | None,
    ) -> _Request | Answer:
        """Return the request for a turn, or the answer without one."""
        if not open_question(turn).strip():
            return nothing(ranking, "there is no question")
        said = conversation(turn, self.history, self._template.speaker)
        texts = {
            "conversation": said or "(this is the first message)",
            "question": quoted(turn.question),
            "rewrite": quoted(rewrite.text),
            "words": str(self.max_words),
            "passages": _NOT_SEARCHED,
        }
        if not rewrite.queries and rewrite.act != MORE:
            return _Request(
                self._template.messages(texts),
                (),
                turn,
                turn.question,
            )
        fixed = "".join([self._template.system, self._template.user, *texts.values()])
        room = self.context - count_tokens(fixed) - _TOKENS_A_WORD * self.max_words
        whole = document_asked(turn, rewrite, ranking.passages())
        others = [passage for passage in ranking.passages() if passage not in whole]
        parts = passage_parts(
            [*whole, *others],
            reading,
            turn.language,
            count=len(whole) + self.max_passages,
            max_chars=self.max_passage_chars,
            max_tokens=max(room, _MIN_ROOM),
        )
        if not parts:
            return nothing(ranking, _NO_TEXT if ranking.hits else "no passage was found")
        texts["passages"] = numbered_parts(parts)
        question = f"{turn.question}\n{rewrite.text}"
        note = ""
        if whole:
            count = sum(part.passage in whole for part in parts)
            note = f"Read: {count} of {len(whole)} passages of {whole[0].meta['file']}."
        return _Request(
            self._template.messages(texts),
            parts,
            turn,
            question,
            note,
        )

    def _answer(
        self,
        reply: Reply,
        request: _Request,
        ranking: Ranking,
    ) -> Answer | Failure:
        if reply.doubt:
            return Failure(self.station, "NoReply", plain(reply.doubt))
        parsed = parse(reply.text, len(request.passages), request.turn.language)
        if not parsed.sentences and parsed.kind != "none":
            return replace(nothing(ranking, _EMPTY), notes=("generative: empty",))
        grounding = request.grounding()
        sentences = grounding.shown(parsed.sentences)
        answer = _of_kind(
            parsed.kind if request.passages else "talk",
            sentences,
            request,
            ranking,
        )
        left_out = [f"One sentence was left out: {reason}." for reason in grounding.left_out]
        notes = [f"generative: {note}" for note in [*grounding.notes, *["left out"] * len(left_out)]]
        said = " ".join(filter(None, [request.note, *left_out]))
        if said:
            notes.append(CAVEAT + said)
        return replace(answer, notes=tuple(notes))


def _on_text(request: _Request, listener: Callable[[str, Answers], None]) -> Callable[[str], None]:
    """Return a function that takes parts of a reply and passes on its sentences but the last.

    Markers may follow the last one.
    """
    text = ""
    count = 0

    def add(part: str) -> None:
        nonlocal text, count
        text += part
        if _ENDINGS.isdisjoint(part):
            return
        parsed = parse(text, len(request.passages), request.turn.language)
        complete = parsed.sentences[:-1]
        if len(complete) > count and parsed.kind in ("answer", "talk"):
            count = len(complete)
            answer = Answer.of(request.grounding().shown(complete), request.turn.language)
            listener(PARTIAL, Answers((answer,)))

    return add


def _of_kind(
    kind: ReplyKind,
    sentences: Sequence[Sentence],
    request: _Request,
    ranking: Ranking,
) -> Answer:
    answer = Answer.of(sentences, request.turn.language)
    if kind in ("talk", "question") and sentences:
        unchecked = tuple(Sentence(sentence.text) for sentence in sentences)
        return Answer(kind, "" if kind == "talk" else answer.text, unchecked)
    if kind != "answer" or not sentences:
        reason = _DECLINED if kind == "none" else _LEFT_OUT
        return replace(nothing(ranking, reason), sentences=answer.sentences)
    if not any(sentence.citations or sentence.mark for sentence in sentences):
        unfounded = [replace(sentence, supported=False) for sentence in sentences]
        return Answer.of(unfounded, request.turn.language)
    return answer
