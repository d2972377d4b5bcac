"""Acts: what is answered from the conversation, at what passages, and how replies are told from answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from convqa.components import acts
from convqa.components.builders.sentences import SentencesBuilder
from convqa.components.rewriters.small_talk import SmallTalk
from convqa.domain import Citation, Exchange, Hit, Passage, Ranking, Rankings, Rewrite, Rewrites, Turn, TurnId, Turns

DRINKS = Exchange("What about drinks?", "The drinks are yours. Tea is free.", cited=("b",))
PRICE = Exchange("What does the course cost?", "It costs 78 pounds. Members pay 60.", cited=("a",))
IDLE = Exchange("thanks", "You're welcome.", status="idle")


class Store:
    """Has two documents of two passages."""

    passages = [
        Passage("a", "It costs 78 pounds.", "Prices", meta={"file": "prices.md"}),
        Passage("a2", "Members pay 60.", "Prices", meta={"file": "prices.md"}),
        Passage("b", "The drinks are yours.", "Rules, food", meta={"file": "rules.md"}),
    ]

    def fetch(self, ids):
        return [next((passage for passage in self.passages if passage.id == id), None) for id in ids]

    def scan(self):
        return iter(self.passages)


def turn(question, *history):
    return Turn(TurnId(1, len(history) + 1), question, history)


def replied(act, asked):
    ranking = acts.passages_of(act, asked, Store())
    return acts.reply(act, asked, ranking)


@pytest.mark.parametrize("act", acts.SOCIAL)
def test_a_social_act_gets_a_line_and_no_citation(act):
    answer = replied(act, turn("thanks", PRICE))
    assert (answer.kind, answer.text, answer.shown) == ("talk", "", acts.SOCIAL[act])
    assert acts.is_reply(answer.shown)


@pytest.mark.parametrize("act", [act for act in acts.AGAIN if act != acts.MORE])
def test_an_act_about_an_answer_quotes_the_last_one_with_its_passage(act):
    answer = replied(act, turn("are you sure?", DRINKS, PRICE, IDLE))
    opening, quoted = answer.sentences
    assert opening.text == acts.AGAIN[act] and quoted.text.startswith("It costs 78 pounds.")
    assert quoted.citations == (Citation("a", 0, 19),)
    assert ("Members" in quoted.text) == (act in ("sure", "repeat"))
    assert acts.is_reply(answer.shown)


def test_what_was_said_about_something_is_repeated():
    answer = replied("repeat", turn("what did you say about the drinks?", DRINKS, PRICE))
    assert answer.shown == "I said: The drinks are yours. Tea is free."


def test_what_is_doubted_by_name_is_not_the_last_answer():
    answer = replied("sure", turn("are you sure that tea is free?", DRINKS, PRICE))
    assert answer.sentences[1].text == "The drinks are yours. Tea is free."


def test_an_answer_that_quotes_nothing_cites_its_passages_as_a_whole():
    answer = replied("sure", turn("sure?", replace(PRICE, answer="Seventy-eight.")))
    assert answer.sentences[1].citations == (Citation("a"),)


LIST = Passage(
    "c", "Swim here. Fees\nMembers pay:\n- 5 euros a day\n- 20 euros a week\n\nNo cards are taken. Bring a towel."
)


def test_more_quotes_what_follows_and_then_what_precedes_and_nothing_twice(monkeypatch):
    monkeypatch.setattr(Store, "passages", [LIST])
    history = [Exchange("What do members pay?", "Members pay: 5 euros a day", cited=("c",)), IDLE]
    shown = []
    for _ in range(3):
        answer = replied("more", turn("more", *history))
        shown.append(answer.shown)
        history.append(Exchange("more", answer.shown, status="idle"))
        cited = [LIST.text[citation.start : citation.end] for part in answer.sentences for citation in part.citations]
        assert all(quote in answer.shown for quote in cited)
    assert shown == [
        "Also: Members pay: 20 euros a week No cards are taken. Bring a towel.",
        "Also: Swim here. Fees",
        acts.NO_MORE,
    ]
    assert all(map(acts.is_reply, shown))


@pytest.mark.parametrize("history", [(), (IDLE,), (Exchange("Why?", status="unanswered"),)])
def test_without_an_answer_there_is_no_more(history):
    assert replied("more", turn("more", *history)).shown == acts.NO_MORE


def test_without_an_answer_it_is_said_so():
    assert replied("sure", turn("sure?", Exchange("Why?", status="unanswered"))).shown == acts.NOT_FOUND


def test_many_documents_are_not_all_named():
    named = [Passage(str(number), "Text.", f"T{number:02}", meta={"file": f"{number}.md"}) for number in range(11)]
    answer = acts.reply(
        "documents", turn("help"), Ranking(tuple(Hit(passage.id, 1.0, passage) for passage in named[::-1]))
    )
    assert answer.shown.endswith("T08; T09; others.")


def test_documents_are_named_by_their_titles():
    assert (
        replied("documents", turn("what do you read?")).shown == "I answer from these documents: Prices; Rules, food."
    )
    assert acts.reply("documents", turn("help"), Ranking()).shown == "I answer from the passages of this collection."


def test_documents_that_the_filter_hides_are_not_named_or_cited():
    narrow = {"file": ("rules.md",)}
    asked = replace(turn("what do you read?"), filter=narrow)
    assert replied("documents", asked).shown == "I answer from these documents: Rules, food."
    sure = replace(turn("sure?", PRICE), filter=narrow)
    assert acts.passages_of("sure", sure, Store()).hits == ()


def test_acts_pass_the_builder_beside_questions():
    found = Ranking((Hit("a", 1.0, Store.passages[0]),))
    rewrites = Rewrites((Rewrite("sure?", (), act="sure"), Rewrite.unchanged("What does it cost?")))
    turns = Turns((turn("sure?", PRICE), turn("What does it cost?")))
    sure, answered = SentencesBuilder().run(turns, rewrites, Rankings((found, found)))["answers"]
    assert (sure.kind, answered.kind) == ("talk", "answer")


ACTS = {
    "You've been a great help, thank you!": ("thanks", "praise"),
    "Are you absolutely sure about that?": ("sure",),
    "Could you say that again?": ("repeat",),
    "Make it shorter, please": ("shorter",),
    "Which documents do you know?": ("documents",),
    "What can you help me with?": ("capability",),
}


@pytest.mark.parametrize("text", ACTS)
def test_the_shipped_weights_know_acts(text):
    (rewrite,) = SmallTalk(rewriter="copy").rewrite_batch([turn(text, PRICE)])
    assert rewrite.act in ACTS[text] and not rewrite.queries


@pytest.mark.parametrize(
    "text", ["Which documents do I have to bring?", "Is it shorter by bus?", "Can I repeat the course?"]
)
def test_questions_are_no_acts(text):
    (rewrite,) = SmallTalk(rewriter="copy").rewrite_batch([turn(text, PRICE)])
    assert not rewrite.act and rewrite.queries
