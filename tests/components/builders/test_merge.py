"""Every passage that says the same is cited."""

from __future__ import annotations

import pytest

from convqa.components.builders.merge import Merge
from convqa.components.builders.sentences import Sentences
from convqa.domain import Citation, Hit, Passage, Ranking, Reading, Rewrite, Span, Turn, TurnId
from convqa.errors import InputError

SAID = "Ada Lovelace wrote the first program for the Analytical Engine of Charles Babbage in 1843."
P = Passage("p", f"She was a poet's daughter. {SAID}")
SAME = Passage("same", f"👋🏽 Hello.\r\n{SAID.replace('the Analytical', 'the  Analytical').upper()} More of it.")
LIKE = Passage("like", f"So: {SAID.replace('Charles Babbage', 'Babbage')}")
OTHER = Passage("other", SAID.replace("1843", "1842"))
DENIED = Passage("denied", SAID.replace("wrote", "never wrote"))


def build(*passages, spans=None, **parameters):
    """The answer to a reading of one sentence (P's), with the passages ranked in this order."""
    ranking = Ranking(tuple(Hit(passage.id, 9.0 - rank, passage) for rank, passage in enumerate(passages)))
    start = P.text.index(SAID)
    spans = spans or (Span("p", start, start + len(SAID), SAID, 1.0),)
    columns = [Turn(TurnId(1, 1), "Who?")], [Rewrite("Who?", ())], [ranking], [Reading(spans, 0.0)]
    merge = Merge(**parameters)
    merge.warm_up()
    (answer,) = merge.build_batch(*columns)
    texts = {passage.id: passage.text for passage in passages}
    assert answer.text == Sentences().build(*(column[0] for column in columns)).text
    return [
        [(one.passage_id, texts[one.passage_id][one.start : one.end]) for one in sentence.citations]
        for sentence in answer.sentences
    ]


def test_the_same_sentence_elsewhere_is_cited_at_its_exact_place_in_the_order_of_the_ranking():
    again = SAME.text[SAME.text.index("ADA") : SAME.text.index(" More")]
    assert build(SAME, P) == [[("same", again), ("p", SAID)]]
    assert build(P, SAME) == [[("p", SAID), ("same", again)]]


def test_almost_the_same_sentence_is_cited_too():
    assert build(P, LIKE) == [[("p", SAID), ("like", LIKE.text)]]


def test_another_number_or_a_negation_is_something_else():
    assert build(P, OTHER, DENIED) == [[("p", SAID)]]


@pytest.mark.parametrize(
    ("quote", "other", "language"),
    [
        ("Kowale is a village in the district of Gmina Wielun, in central Poland, near the river Warta.",
         "Nowiny is a village in the district of Gmina Wielun, in central Poland, near the river Warta.", "en"),
        ("The fleet that Anna Smith had ordered sailed from five harbours to France soon after the long war ended.",
         "The fleet that Anna Smith had ordered sailed from seven harbours to France soon after the long war ended.",
         "en"),
        ("この図書館では誰でも古い新聞を自由に使用することができる。",
         "この図書館では誰でも古い新聞を自由に使用することができない。", "ja"),
    ],
)  # fmt: skip
def test_one_word_in_the_place_of_another_is_something_else(quote, other, language):
    passages = Passage("p", quote), Passage("other", other), Passage("same", quote)
    ranking = Ranking(tuple(Hit(passage.id, 9.0 - rank, passage) for rank, passage in enumerate(passages)))
    reading = Reading((Span("p", 0, len(quote), quote, 1.0),), 0.0)
    turn = Turn(TurnId(1, 1), "?", language=language)
    (answer,) = Merge({"type": "sentences", "init_parameters": {"sentences": 1}}).build_batch(
        [turn], [Rewrite("?", ())], [ranking], [reading]
    )
    assert [one.passage_id for one in answer.sentences[0].citations] == ["p", "same"]


def test_there_are_no_more_citations_than_wanted():
    copies = [Passage(f"copy{number}", SAID) for number in range(5)]
    assert [id for id, _ in build(P, *copies)[0]] == ["p", "copy0", "copy1"]
    assert [id for id, _ in build(*copies, P, citations=2)[0]] == ["copy0", "p"]
    assert [id for id, _ in build(*copies, P, citations=1)[0]] == ["p"]
    assert [id for id, _ in build(*copies, P, passages=2)[0]] == ["p"]


def test_several_sentences_are_looked_for_in_a_row():
    two = "She was a poet's daughter. Ada Lovelace"
    spans = (Span("p", 0, len(two), two, 1.0),)
    both = Passage("both", f"Yes. {P.text}")
    assert build(P, both, SAME, spans=spans) == [[("p", P.text), ("both", P.text)]]


def test_a_citation_of_a_whole_passage_stays():
    builder = Merge()
    (answer,) = builder.build_batch(
        [Turn(TurnId(1, 1), "Who?")], [Rewrite("Who?", ())], [Ranking((Hit("r", 1.0),))],
        [Reading((Span("r", 3, 9, "a span", 1.0),), 0.0)],
    )  # fmt: skip
    assert answer.sentences[0].citations == (Citation("r", 3, 9),)


def test_the_builder_inside_is_named_as_in_yaml():
    merge = Merge({"type": "sentences", "init_parameters": {"sentences": 1}})
    assert merge.builder["init_parameters"]["sentences"] == merge._builder.sentences == 1
    with pytest.raises(InputError, match=r"'sentence' is not known\. Did you mean 'sentences'"):
        Merge("sentence")
