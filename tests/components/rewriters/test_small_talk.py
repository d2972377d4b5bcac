"""A rewriter that is asked only where the user asks something, and the way of a turn that asks nothing."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from convqa.components.acts import SOCIAL
from convqa.components.builders.sentences import SentencesBuilder
from convqa.components.rewriters.expansion import Expansion
from convqa.components.rewriters.small_talk import IDLE, SmallTalk, phrased
from convqa.domain import Exchange, Hit, Passage, Query, Ranking, Rankings, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.pipeline.merge import resolve

ADA = Exchange("Who was Ada Lovelace?", "She worked with Charles Babbage.")
THANKS = Exchange("thanks", "", "thanks", "idle")


def turn(question, *history):
    return Turn(TurnId(1, len(history) + 1), question, history)


def test_what_asks_nothing_has_no_query_and_the_others_are_rewritten_in_their_order():
    turns = [turn("When was she born?", ADA), turn("ok cool", ADA), turn("Who is Goethe?"), turn("hi")]
    made = SmallTalk(rewriter="expansion").rewrite_batch(turns)
    assert made[0] == Expansion().rewrite(turns[0]) and made[2] == Rewrite.unchanged("Who is Goethe?")
    assert made[1] == Rewrite("ok cool", (), (IDLE,), act=made[1].act) and made[1].act in SOCIAL
    assert made[3] == Rewrite("hi", (), (IDLE,), act="greeting")
    assert SmallTalk(rewriter="expansion").rewrite_batch(turns[1:2]) == [made[1]]


@pytest.mark.parametrize("name", ["expansion", "concatenate", "copy", "edit", "statements"])
def test_every_rewriter_passes_over_it_afterwards(name):
    made = SmallTalk(rewriter=name)
    made.warm_up()
    chatty = Exchange("Thank you so much, that was really very helpful!", "", None, "idle")
    with_it, without = turn("When was she born?", ADA, chatty), turn("When was she born?", ADA)
    assert made.rewrite_batch([with_it]) == made.rewrite_batch([without])
    # A conversation in which nothing was asked before has not begun.
    assert made.rewrite_batch([turn("When was she born?", THANKS)]) == [Rewrite.unchanged("When was she born?")]


def test_a_reply_to_what_was_asked_back_is_no_small_talk():
    asked = Exchange("Can I apply?", "Are you over 60?", status="asked")
    (made,) = SmallTalk(rewriter="copy").rewrite_batch([turn("Yes", asked)])
    assert made.queries == (Query("Can I apply?"),)


def test_a_builder_answers_nothing_where_nothing_was_asked():
    passage = Passage("a", "Ada Lovelace was born in 1815.")
    found = Ranking((Hit("a", 1.0, passage),))
    rewrites = [Rewrite("thanks", (), (IDLE,)), Rewrite.unchanged("Who?")]
    turns = Turns((turn("thanks"), turn("Who?")))
    first, second = SentencesBuilder().run(turns, Rewrites(tuple(rewrites)), Rankings((Ranking(), found)))["answers"]
    assert (first.kind, first.text, second.kind) == ("talk", "", "answer")
    (alone,) = SentencesBuilder().run(Turns((turn("hi"),)), Rewrites((rewrites[0],)), Rankings((found,)))["answers"]
    assert (alone.kind, alone.nearest) == ("talk", ())


def test_the_rewriter_inside_talk_is_that_of_default():
    """``talk`` has to say its parameters again, because the type of its node is another."""
    default, inner = (
        resolve("default").components["rewriter"],
        SmallTalk(**resolve("talk").components["rewriter"].init_parameters),
    )
    assert inner.rewriter["type"] == default.type
    assert {**inner.rewriter, **default.init_parameters} == inner.rewriter


SMALL_TALK = [
    "thanks", "Thanks!", "thank you so much", "Thank you very much!!", "thx", "ok thanks", "OK, thank you.",
    "many thanks", "Thanks a lot for your help", "thanks for the info", "thank you for explaining that", "cheers",
    "thanks again :)", "ok", "Okay.", "k", "ok cool", "alright then", "sure", "Sure thing", "got it",
    "Got it, thanks!", "i see", "I see...", "I understand", "makes sense", "That makes sense, thank you",
    "fair enough", "yes", "no", "yeah", "nope", "true", "exactly", "of course", "right", "all right", "agreed",
    "I agree", "I didn't know that", "I don't know", "never mind", "forget it", "no worries", "not really", "cool",
    "Nice.", "great!", "that's great", "That\u2019s great", "awesome", "very interesting",
    "That is really interesting!", "That's interesting, thanks.", "it is great", "wow", "Wow, that's amazing",
    "good to know", "good job", "what a pity", "that was very helpful", "You are very helpful", "I love it",
    "how sad", "how interesting", "lol", "LOL!!", "haha", "hahaha that's funny", "hehe", "hmm", "Oh.", "oh no",
    "oh my god", "ah ok", "hi", "Hello!", "hey there", "hello again", "good morning", "Good evening everyone",
    "hi, how are you?", "what's up?", "How are you doing today?", "nice to meet you", "bye", "bye bye", "Goodbye!",
    "ok bye", "see you later", "take care", "have a nice day", "Thanks, have a great day!", "good night",
    "that's all", "That will be all, thank you", "that's all i wanted to know", "no more questions", "nothing else",
    "no thanks", "I'm good, thanks", "sorry", "my bad", "you're welcome", "...", "\U0001f44d", "\U0001f602\U0001f602",
    "!!", ":)", "ok, so nice", "yes, please",
]  # fmt: skip
ASKS = [
    "ok, who wrote it?", "thanks, and his wife?", "cool, tell me more about her", "Ok, nice. Let's talk about tamales",
    "hello kitty", "thanks, tell me about the second one", "go on strike", "more tea", "what else do I need?",
    "and?", "why", "Why?", "ok?", "really?", "how", "how bad", "How great is it", "interesting facts",
    "what is interesting about it", "Thank you for the music", "good morning america", "the good wife", "Great Wall",
    "great expectations", "so what", "Hello Dolly", "ok computer", "nice france", "cool runnings", "bye bye birdie",
    "hey jude", "yes minister", "the best", "Is that true?", "Is it good", "who cares for the elderly",
    "what a wonderful world", "and his wife", "no one else", "that's not what I asked", "That is wrong",
    "I want to know about Faust", "interesting, what about his wife", "how are tamales made?", "How are you made",
    "what's up doc?", "say that again", "again", "repeat that", "yes I did apply", "I live in Rome", "lol what",
    "good books", "other questions", "all about Rome", "help", "?", "\u3042",
]  # fmt: skip


@pytest.mark.parametrize("text", SMALL_TALK)
def test_small_talk_asks_nothing(text):
    assert phrased(text) not in (None, "more", "question")


@pytest.mark.parametrize("text", ASKS)
def test_what_goes_on_behind_small_talk_and_what_only_looks_like_it_asks(text):
    assert phrased(text) is None


@pytest.mark.parametrize(
    ("language", "nothing", "something"),
    [
        (
            "de",
            ["Danke!", "vielen Dank", "ok, alles klar", "Das ist sehr interessant.", "Tschüss"],
            ["Dank wem", "gut so"],
        ),
        ("pl", ["Dziękuję bardzo", "ok, rozumiem", "do widzenia"], ["tak wygląda", "a jego żona"]),
        ("ja", ["ありがとうございます。", "なるほど", "はい、わかりました!"], ["妻は誰ですか", "ありがとうの歌"]),
        ("fr", [], ["merci", "ok"]),
    ],
)
def test_in_other_languages(language, nothing, something):
    assert all(phrased(text, language) is not None for text in nothing)
    assert all(phrased(text, language) is None for text in something)


def test_long_and_wild_texts_take_no_time():
    start = time.process_time()
    for text in ("so " * 100_000, "very very really so " * 5 + "x", "that's a " * 6, "ha" * 200_000, "\x00" * 10_000):
        phrased(text)
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("text", "is_small_talk"),
    [
        ("Thank you my dear, back to my needles.", True),
        ("All right. I look forward to it, bye!", True),
        ("You're calming me down, thanks!", True),
        ("thanks, and when does the shop open", False),
        ("hello can i come to the meeting and say something", False),
        ("goodbye ceremony date", False),
        ("cheers, how much butter", False),
        ("Cheers, what about brioche?", False),
        ("bye-laws?", False),
    ],
)
def test_a_vector_tells_small_talk_in_other_words(text, is_small_talk):
    (made,) = SmallTalk(rewriter="copy").rewrite_batch([turn(text, ADA)])
    assert (made.notes == (IDLE,)) == is_small_talk


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("thx", "thanks"),
        ("hi there", "greeting"),
        ("Good evening", "greeting"),
        ("great", "praise"),
        ("that's sad", ""),
        ("yes please", ""),
        ("never mind", ""),
        ("Good night", "bye"),
        ("Thanks, have a nice evening!", "bye"),
        ("tell me more", "more"),
        ("ok, go on please", "more"),
        ("Can you tell me more about that?", "more"),
        ("anything else?", "more"),
        ("is there anything else interesting", "more"),
    ],
)
def test_a_phrase_has_its_act(text, act):
    (made,) = SmallTalk(rewriter="copy").rewrite_batch([turn(text, replace(ADA, cited=("a",)))])
    assert (made.notes, made.act) == ((IDLE,), act)


def test_more_of_an_answer_without_citations_is_searched():
    (made,) = SmallTalk(rewriter="copy").rewrite_batch([turn("tell me more", ADA)])
    assert made == Rewrite.unchanged("tell me more")
    (first,) = SmallTalk(rewriter="copy").rewrite_batch([turn("tell me more")])
    assert first.act == "more"


@pytest.mark.parametrize(
    "text",
    [
        "no, I meant the other one",
        "No, I meant for adults.",
        "sorry, I was asking about Sundays",
        "you misunderstood me, I meant the pool",
        "actually I meant tomorrow",
    ],
)
def test_a_correction_is_a_question(text):
    (made,) = SmallTalk(rewriter="copy").rewrite_batch([turn(text, ADA)])
    assert made == Rewrite.unchanged(text)


@pytest.mark.parametrize("text", ["that's not what I meant", "No, that's not what I asked"])
def test_a_complaint_corrects_nothing(text):
    (made,) = SmallTalk(rewriter="copy").rewrite_batch([turn(text, ADA)])
    assert made.act == "complaint"


@pytest.mark.parametrize(
    ("language", "text", "act"),
    [
        ("de", "Gute Nacht!", "bye"),
        ("de", "erzähl mir mehr", "more"),
        ("pl", "więcej", "more"),
        ("ja", "どうも", "thanks"),
    ],
)
def test_acts_in_other_languages(language, text, act):
    assert phrased(text, language) == act
