"""Writes the self-contained question with a language model that was fine-tuned for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated

from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.encoding import ModelOptions
from convqa.components.history import OpenQuestion, Past, fitted, questions_with_history
from convqa.components.members import member
from convqa.components.rewriters._prompts import canard_t5, chat
from convqa.components.rewriters._rewrites import first_line, from_json, rewritten, why_not
from convqa.domain import Rewrite, Turn
from convqa.models import Generator, Options, load_generator
from convqa.text.dialogue import open_question


@member
class Generate(Rewriter):
    """Generate the question with a sequence-to-sequence or causal model. Requires the extra ``models``.

    If the text fails the checks of ``convqa.components.rewriters._rewrites`` (empty, unfinished, a loop, an answer, too
    long, unrelated), the turn keeps its question, and a run's summary counts the reason. A long history is reduced to
    the latest exchanges.

    A model with a chat template gets an instruction with the quoted conversation; any other gets the input of
    castorini/t5-base-canard, earlier questions and the question between bars.

    Example::

        rewriter: {type: generate, init_parameters: {model: castorini/t5-base-canard}}

    :param model: a folder, or a Hugging Face name such as ``castorini/t5-base-canard``.
    :param weight: weight of the text's new words, which are terms of the question, relative to a word of the question.
    :param max_input_tokens: maximum tokens of the prompt.
    :param max_new_tokens: maximum tokens of the text.
    :param beams: number of beams; 1 = greedy.
    :param options: ``device`` and ``precision`` of the model.
    """

    model: str
    weight: Annotated[float, Field(gt=0, le=10)] = 0.5
    max_input_tokens: Annotated[int, Field(ge=32)] = 512
    max_new_tokens: Annotated[int, Field(ge=1)] = 64
    beams: Annotated[int, Field(ge=1)] = 1
    options: ModelOptions | None = None

    @cached_property
    def _generator(self) -> Generator:
        """:raises InputError: for an unknown model, or one that cannot generate ``max_new_tokens``."""
        generator = load_generator(self.model, Options(**(self.options or {})))
        generator.room(self.max_new_tokens)
        return generator

    def models(self) -> Mapping[str, Generator]:
        return {"generator": self._generator}

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        rewrites = [Rewrite.unchanged(open_question(turn)) for turn in turns]
        pending = [question for question in questions_with_history(turns) if question.text.strip()]
        if not pending:
            return rewrites
        generated = self._generator.write(
            self._prompts(pending),
            self.max_new_tokens,
            self.beams,
            self.max_input_tokens,
            self._generator.has_chat_template,
        )
        for question, result in zip(pending, generated, strict=True):
            text = from_json(result.text)
            if text is None:
                text = first_line(result.text)
            # A causal model that continues with another line has finished the first one.
            is_finished = result.finished or "\n" in result.text.strip()
            reason = "" if is_finished else "unfinished"
            if is_finished and text != question.text:
                reason = why_not(text, question)
            rewrite = rewritten(question, text, self.weight)
            if reason:
                rewrite = Rewrite.unchanged(question.text, f"generate: {reason}")
            rewrites[question.row] = rewrite
        return rewrites

    def _prompts(self, questions: Sequence[OpenQuestion]) -> list[str]:
        count_tokens = self._generator.lengths
        is_chat = self._generator.has_chat_template
        prompt = chat if is_chat else canard_t5
        prompts = []
        for question in questions:
            history = question.history
            if not is_chat:
                history = [Past(exchange.question, "") for exchange in history if exchange.question]
            room = self.max_input_tokens - count_tokens([prompt([], question.text)])[0]
            history = fitted(history, room, count_tokens)
            prompts.append(prompt(history, question.text))
        return prompts
