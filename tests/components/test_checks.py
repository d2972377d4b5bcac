"""What every answer keeps: property tests over every builder that ships, and each way to break it."""

from __future__ import annotations

import importlib.util

import pytest
from haystack import component
from haystack.dataclasses import ChatMessage
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.components.base import Builder
from convqa.components.checks import nothing, verified
from convqa.components.members import full_name, import_type, members, parameters_of
from convqa.domain import (
    Answer,
    Answers,
    Citation,
    Failure,
    Hit,
    Passage,
    Query,
    Ranking,
    Rankings,
    Reading,
    Readings,
    Rewrite,
    Rewrites,
    Sentence,
    Span,
    Turn,
    TurnId,
    Turns,
)
from convqa.domain.answer import joined

P = Passage("p", "Ada wrote notes.  She died.")
RANKING = Ranking((Hit("p", 2.0, P), Hit("bare", 1.0)))
SAID = Sentence("Ada wrote notes.", (Citation("p", 0, 16),))


def say(*sentences, **changes):
    return Answer(
        **{"kind": "answer", "text": " ".join(one.text for one in sentences), "sentences": sentences} | changes
    )


def cite(*place):
    return say(Sentence("x", (Citation(*place),)))


@pytest.mark.parametrize(
    "answer",
    [
        say(SAID),
        say(SAID, Sentence("She died.", (Citation("p", 18, 27), Citation("bare")))),
        say(SAID, Sentence("So it is.")),
        say(SAID, SAID, text=SAID.text * 2),
        cite("bare"),
        Answer("question", "Which Ada?"),
        Answer("none", "", reason="nothing was found"),
        nothing(RANKING, "why not"),
    ],
)
def test_it_is_the_answer_that_was_given(answer):
    assert verified(answer, RANKING) is answer


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (cite("stranger"), "a passage outside its ranking: 'stranger'"),
        (cite("stranger", 0, 3), "a passage outside its ranking"),
        (cite("p", 20, 28), r"\[20, 28\) of passage 'p', where the ranking has no text"),
        (cite("p", 16, 18), "where the ranking has no text"),
        (cite("p", 4, 4), "where the ranking has no text"),
        (cite("bare", 0, 1), "where the ranking has no text"),
        (say(), "'answer' has the text ''"),
        (say(text="Ada wrote notes."), "differs from its sentences"),
        (say(Sentence("So it is.")), "has no citation"),
        (say(SAID, Sentence(" ")), "a sentence of the answer is empty"),
        (say(SAID, text="Ada wrote."), "differs from its sentences: 'Ada wrote.'"),
        (Answer("question", " "), "of kind 'question' has the text ' '"),
        (
            Answer("answered", "Ada wrote notes."),
            "expected an answer of kind answer, question, talk, none",
        ),
        (Answer("question", "Which?", (Sentence("x", (Citation("stranger"),)),)), "outside its ranking"),
        (Answer("none", "Ada", reason="why"), "of kind 'none' has the text 'Ada'"),
        (Answer("talk", "Hello", (Sentence("Hello"),)), "of kind 'talk' has the text"),
        (Answer("answer", "So.", (Sentence("So."),)), "has no citation"),
        (Answer("none", ""), "has no reason"),
    ],
)
def test_what_breaks_it_is_refused(answer, problem):
    with pytest.raises(ValueError, match=problem):
        verified(answer, RANKING)


def test_nothing_names_the_nearest_passages():
    ranking = Ranking(tuple(Hit(id, 9.0 - place) for place, id in enumerate("abcd")))
    assert nothing(ranking, "why", 0.25) == Answer("none", "", reason="why", score=0.25, nearest=("a", "b", "c"))


@component
class Chatting:
    """A language model that says what it was made to say."""

    def __init__(self, says: str = ""):
        self.says = says

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict:
        return {"replies": [ChatMessage.from_assistant(self.says)] if self.says else []}


NEEDED = {"component": Chatting}
"""What builders are given that cannot be made without parameters, from a reply."""


def shipped():
    """Every builder that ships, to be made from the reply of a language model, which most do not look at."""
    for member in members("builder"):
        cls = import_type(full_name(member, "type", ["builder"]), "type")
        needed = {name: NEEDED[name] for name in parameters_of(cls) if name in NEEDED}
        yield pytest.param(
            lambda says, cls=cls, needed=needed: cls(**{name: make(says) for name, make in needed.items()}),
            id=member,
        )


def test_no_builder_is_left_out():
    assert {"generative", "rules", "sentences"} <= {one.id for one in shipped()}


wild = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from(".?!\r\n\t eE\u0301\u0627\u0644\u200f\U0001f469\u200d\ud800\u3002\u300c\u300d\u6771"),
    ),
    max_size=80,
)
JAPANESE = "東京タワーは1958年に完成した。「高い。」と父は言った。"
LANGUAGES = ["en", "fr", *(["ja"] if importlib.util.find_spec("sudachipy") else [])]


@st.composite
def found(draw):
    """A ranking, some of whose hits bring their text, and what was read in them: mostly true, at times not."""
    texts = draw(st.lists(st.one_of(wild, st.sampled_from([P.text, f"Yes. {P.text}", JAPANESE, " \n"])), max_size=6))
    hits = []
    for number, text in enumerate(texts):
        there = draw(st.integers(0, 4)) > 0
        hits.append(Hit(f"p{number}", 9.0 - number, Passage(f"p{number}", text) if there else None))
    spans, honest = [], True
    for _ in range(draw(st.integers(0, 4))):
        passage = draw(st.sampled_from([hit.passage for hit in hits])) if hits else None
        if passage is not None and draw(st.integers(0, 9)) > 0:
            start = draw(st.integers(0, len(passage.text)))
            end = draw(st.integers(start, len(passage.text)))
            spans.append(Span(passage.id, start, end, passage.text[start:end], draw(st.floats(-9, 9))))
            honest = honest and bool(passage.text[start:end].strip())
        else:
            start, length = draw(st.integers(0, 100)), draw(st.integers(0, 100))
            spans.append(Span(draw(st.sampled_from(["p0", "p1", "q"])), start, start + length, draw(wild), 0.5))
            honest = False
    reading = draw(st.one_of(st.none(), st.just(Reading(tuple(spans), draw(st.floats(0, 1))))))
    return Ranking(tuple(hits)), reading, honest or reading is None


@st.composite
def replies(draw, ranking):
    """What a language model might say: passages or parts of them, or anything, with markers behind, true or not."""
    texts = [hit.passage.text for hit in ranking.hits if hit.passage is not None]
    parts = [text[start:end] for text in texts for start, end in ((0, None), (0, len(text) // 2), (3, 17))]
    said = st.tuples(st.sampled_from([*parts, "", "NO_ANSWER"]) | wild, st.sampled_from(["", *"0123456789"]))
    return "".join(f"{text} [{number}] " for text, number in draw(st.lists(said, max_size=4)))


def run(builder, question, ranking, reading, language="en"):
    batch = (
        Turns((Turn(TurnId(1, 1), question, language=language),)),
        Rewrites((Rewrite(question, (Query(question),)),)),
    )
    (made,) = builder.run(*batch, Rankings((ranking,)), Readings((reading,)) if reading else None)["answers"]
    return made


@pytest.mark.parametrize("make", list(shipped()))
@settings(deadline=None)
@given(data=st.data(), question=wild, given_found=found(), language=st.sampled_from(LANGUAGES))
def test_every_citation_of_every_builder_is_a_quote(make, data, question, given_found, language):
    ranking, reading, honest = given_found
    answer = run(make(data.draw(replies(ranking))), question, ranking, reading, language)
    if isinstance(answer, Failure):
        assert not honest, answer
        return
    texts = {hit.id: hit.passage and hit.passage.text for hit in ranking.hits}
    if answer.kind == "none":
        assert answer.text == "" and answer.reason
        assert answer.nearest == tuple(texts)[:3]
    elif answer.kind == "answer":
        assert answer.text == joined(answer.sentences, "" if language == "ja" else " ")
        assert any(sentence.citations or sentence.mark for sentence in answer.sentences)
    for sentence in answer.sentences:
        quotes = [texts[one.passage_id][one.start : one.end] for one in sentence.citations]
        assert all(quote.strip() for quote in quotes)
        # Each of these builders says what its passages say: all of a quote, or a part of it.
        placed = [one for one in sentence.citations if one.start is not None]
        assert all(0 <= one.start < one.end <= len(texts[one.passage_id]) for one in placed)


def test_every_builder_is_held_to_it_whoever_made_it():
    @component
    class Inventive:
        """A component of Haystack's kind, of which a builder is made."""

        @component.output_types(text=str)
        def run(self, text: str) -> dict:
            return {"text": text.upper()}

    @component
    class Wrapping(Builder):
        def build(self, turn, rewrite, ranking, reading):
            said = Inventive().run(text=rewrite.text)["text"]
            return Answer.of((Sentence(said, (Citation("p", 0, len(said)),)),), "en")

    short, long = run(Wrapping(), "ada", RANKING, None), run(Wrapping(), "ada" * 20, RANKING, None)
    assert (short.text, short.sentences[0].citations) == ("ADA", (Citation("p", 0, 3),))
    assert isinstance(long, Failure) and "where the ranking has no text" in long.message
    assert isinstance(Wrapping().run(*[kind(()) for kind in (Turns, Rewrites, Rankings)])["answers"], Answers)
