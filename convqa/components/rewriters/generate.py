"""Writes the self-contained question with a language model that was fine-tuned for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated

from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.encoding import ModelOptions
from convqa.components.history import Past, fitted, said_before
from convqa.components.members import member
from convqa.components.rewriters._prompts import of_format
from convqa.components.rewriters._rewrites import Search, first_line, from_json, settled
from convqa.domain import Rewrite, Turn
from convqa.models import Generator, Options, load_generator
from convqa.text.dialogue import open_question


@member
class Generate(Rewriter):
    """Let a sequence-to-sequence or causal model write the question; needs the extra ``models``.

    Where its text fails the checks of ``convqa.components.rewriters._rewrites`` (empty, unfinished, a loop, an answer,
    too long, astray), the turn keeps its question, and the reason is counted in the run's summary. Of a history that
    does not fit, the first question and the latest exchanges are shown.

    :param model: a folder, or a Hugging Face name such as ``castorini/t5-base-canard``.
    :param format: how history and question are shown: "canard-t5", "chat", "plain", a template of your own with
        ``{history}`` and ``{question}``, or "auto": what the mapping ``convqa`` in the model's config.json says, else
        "chat" for a model with a chat template, "canard-t5" for other encoder-decoders, "plain" for the rest.
    :param answers: of how many of the latest exchanges the answers are shown; None = all, and none with "canard-t5".
    :param rewrites: show earlier questions as they were rewritten, where they were.
    :param search: "terms" = new words of the text are weighted terms of the question; "text" = the text is a second
        query.
    :param weight: what a term, or the second query, counts, where the question counts 1.
    :param longest_input: tokens. :param most_tokens: tokens that are written at most. :param beams: 1 = greedy.
    :param seconds: time for one batch, after which what is not finished counts as such; None = no limit, as
        ``most_tokens`` is one. With a limit, a slow machine may give other results than a fast one.
    :param batch_size: questions at a time. :param options: ``device`` and ``precision`` of the model.
    """

    model: str
    format: str = "auto"
    answers: Annotated[int, Field(ge=0)] | None = None
    rewrites: bool = False
    search: Search = "terms"
    weight: Annotated[float, Field(gt=0, le=10)] = 0.5
    longest_input: Annotated[int, Field(ge=32)] = 512
    most_tokens: Annotated[int, Field(ge=1)] = 64
    beams: Annotated[int, Field(ge=1)] = 1
    seconds: Annotated[float, Field(gt=0)] | None = None
    batch_size: Annotated[int, Field(ge=1)] = 16
    options: ModelOptions | None = None

    def __post_init__(self) -> None:
        if self.format != "auto":
            of_format(self.format)

    @cached_property
    def _generator(self) -> Generator:
        """:raises InputError: if there is no such model, or if it cannot write so many tokens."""
        generator = load_generator(self.model, Options(**(self.options or {})))
        generator.room(self.most_tokens)
        return generator

    @cached_property
    def _format(self) -> str:
        """:raises InputError: if no format has this name, or if the model cannot be shown it."""
        generator = self._generator
        named = generator.settings.get("format") if self.format == "auto" else self.format
        if not isinstance(named, str):
            named = "canard-t5" if generator.kind == "seq2seq" else "plain"
            named = "chat" if generator.has_chat_template else named
        of_format(named)
        if named == "chat":
            generator.check_chat()
        return named

    def warm_up(self) -> None:
        _ = self._format

    def models(self) -> Mapping[str, Generator]:
        return {"generator": self._generator}

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        rewrites = [Rewrite.unchanged(open_question(turn)) for turn in turns]
        asked = [
            (place, said)
            for place, turn in enumerate(turns)
            if rewrites[place].text.strip() and (said := said_before(turn, self.rewrites))
        ]
        if not asked:
            return rewrites
        generator, shape = self._generator, of_format(self._format)
        most = 0 if self.answers is None and self._format == "canard-t5" else self.answers
        room = self.longest_input - generator.lengths([shape([], "")])[0]
        prompts = []
        for place, said in asked:
            question = rewrites[place].text
            prompts.append(shape(fitted(_with_answers(said, most), question, room, generator.lengths), question))
        written = generator.write(
            prompts, self.most_tokens, self.beams, self.longest_input, self.batch_size, self.seconds,
            self._format == "chat",
        )  # fmt: skip
        for (place, said), made in zip(asked, written, strict=True):
            found = from_json(made.text)
            text = first_line(made.text) if found is None else found
            # A causal model that goes on with a line of its own has finished the one that was asked for.
            doubt = "" if made.finished or "\n" in made.text.strip() else "unfinished"
            rewrites[place] = settled(
                text, doubt, rewrites[place].text, said, turns[place].language, self.search, self.weight, "generate"
            )
        return rewrites


def _with_answers(said: Sequence[Past], most: int | None) -> list[Past]:
    """The exchanges, with the answers of the latest ``most`` only."""
    first = 0 if most is None else len(said) - most
    shown = [exchange if place >= first else Past(exchange.question, "") for place, exchange in enumerate(said)]
    return [exchange for exchange in shown if any(exchange)]
