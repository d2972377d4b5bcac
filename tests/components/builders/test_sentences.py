"""Answers of whole sentences with citations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from convqa.components.builders.sentences import SentencesBuilder
from convqa.domain import (
    Citation,
    Hit,
    Passage,
    Ranking,
    Reading,
    Rewrite,
    Sentence,
    Span,
    Turn,
    TurnId,
    Unit,
)
from convqa.text.units import units_of_text

P = Passage("p", "Ada was born in London.\r\nShe  wrote notes. She died in 1852.")
Q = Passage("q", "Ada was born in London, too. Babbage built engines.")
RANKING = Ranking((Hit("p", 2.0, P), Hit("q", 1.0, Q), Hit("r", 0.5)))


def span(passage, text, score):
    start = passage.text.index(text)
    return Span(passage.id, start, start + len(text), text, score)


def build(*spans, ranking=RANKING, language="en", reading=True, question="Who?", history=(), **parameters):
    turn = Turn(TurnId(1, 1), question, history, language=language)
    read = Reading(spans, 0.0) if reading else None
    return SentencesBuilder(**parameters).build(turn, Rewrite(question, ()), ranking, read)


def test_best_spans_in_the_order_of_ranking_and_text():
    answer = build(
        span(Q, "Babbage built engines.", 3.0), span(P, "She died in 1852.", 2.0), span(P, "She  wrote notes.", 1.0)
    )
    assert answer.text == "She died in 1852. Babbage built engines."
    assert answer.sentences == (
        Sentence("She died in 1852.", (Citation("p", 43, 60),)),
        Sentence("Babbage built engines.", (Citation("q", 29, 51),)),
    )
    assert P.text[43:60] == "She died in 1852."
    assert (answer.kind, answer.score) == ("answer", None)


def test_white_space_of_a_quote_is_collapsed_in_the_answer_only():
    answer = build(span(P, "Ada was born in London.\r\nShe  wrote notes.", 1.0))
    assert answer.text == "Ada was born in London. She wrote notes."
    (citation,) = answer.sentences[0].citations
    assert P.text[citation.start : citation.end] == "Ada was born in London.\r\nShe  wrote notes."


def test_a_repeated_sentence_is_passed_over():
    answer = build(
        span(P, "Ada was born in London.", 3.0),
        span(Q, "Ada was born in London, too.", 2.0),
        span(P, "She died in 1852.", 1.0),
    )
    assert answer.text == "Ada was born in London. She died in 1852."


def test_without_a_reading_the_best_passage_begins():
    assert build(reading=False).text == build().text == "Ada was born in London. She wrote notes."
    assert build(reading=False, max_sentences=9).text.endswith("She died in 1852.")
    assert build(reading=False, ranking=Ranking((Hit("r", 3.0), Hit("q", 1.0, Q)))).sentences[0].citations == (
        Citation("q", 0, 28),
    )


def test_chinese_sentences_are_joined_without_blanks():
    passage = Passage("z", "她生于伦敦。她写了笔记。")
    assert (
        build(reading=False, ranking=Ranking((Hit("z", 1.0, passage),)), language="en").text
        == "她生于伦敦。 她写了笔记。"
    )
    spans = (span(passage, "她生于伦敦。", 2.0), span(passage, "她写了笔记。", 1.0))
    assert build(*spans, ranking=Ranking((Hit("z", 1.0, passage),)), language="zh").text == passage.text


def test_nothing_to_say_gives_a_reason():
    nothing = build(reading=False, ranking=Ranking())
    assert (nothing.kind, nothing.text, nothing.sentences) == ("none", "", ())
    assert (nothing.reason, nothing.nearest) == ("no passage was found", ())
    bare = build(reading=False, ranking=Ranking((Hit("r", 1.0), Hit("e", 0.5, Passage("e", " ")))))
    assert (bare.kind, bare.nearest) == ("none", ("r", "e"))
    assert bare.reason == "no passage that was found has a text to quote"


def test_a_span_is_quoted_with_the_whole_sentences_that_it_is_part_of():
    answer = build(span(P, "born", 3.0), span(P, "notes. She", 2.0), span(P, "Ada", 1.0))
    assert answer.sentences == (
        Sentence("Ada was born in London.", (Citation("p", 0, 23),)),
        Sentence("She wrote notes. She died in 1852.", (Citation("p", 25, 60),)),
    )


def test_no_sentence_is_quoted_twice():
    spans = (span(P, "London.\r\nShe", 3.0), span(P, "notes. She", 2.0), span(Q, "Babbage", 1.0))
    assert build(*spans).text == "Ada was born in London. She wrote notes. Babbage built engines."
    waves = Passage("w", "👍🏽 👋🏽")
    answer = build(span(waves, "👍🏽", 2.0), span(waves, "👋🏽", 1.0), ranking=Ranking((Hit("w", 1.0, waves),)))
    assert answer.text == waves.text


def test_a_span_of_a_passage_whose_text_is_not_there_stays_as_it_is():
    answer = build(Span("r", 3, 9, "a span", 1.0))
    assert answer.sentences == (Sentence("a span", (Citation("r", 3, 9),)),)


def test_sentences_are_added_while_they_bring_the_answer_closer_to_so_many_words():
    spans = (span(P, "Ada was born in London.", 3.0), span(P, "She died in 1852.", 2.0), span(Q, "Babbage", 1.0))
    lengths = [
        len(build(*spans, max_sentences=9, target_words=words).sentences) for words in (1, 6.9, 7, 10.4, 10.5, 99)
    ]
    assert lengths == [1, 1, 2, 2, 3, 3]
    assert len(build(*spans, max_sentences=2, target_words=99).sentences) == 2


def test_the_length_of_an_answer_without_a_reading():
    assert build(reading=False, target_words=5).text == "Ada was born in London."


def test_what_sentences_say_are_not_their_stop_words():
    passage = Passage("d", "Das ist auf der Wiese. Das ist auf der Matte. Es war auf den Wiesen.")
    answer = build(reading=False, max_sentences=9, language="de", ranking=Ranking((Hit("d", 1.0, passage),)))
    assert answer.text == "Das ist auf der Wiese. Das ist auf der Matte."


def test_a_language_without_an_analysis_has_its_words():
    passage = Passage("k", "Kissa istuu matolla. Kissa istuu. Koira nukkuu nyt.")
    ranking = Ranking((Hit("k", 1.0, passage),))
    assert (
        build(reading=False, language="fi", ranking=ranking, target_words=5).text
        == "Kissa istuu matolla. Koira nukkuu nyt."
    )


def test_japanese_sentences_are_told_apart_by_what_they_say():
    pytest.importorskip("sudachipy")
    passage = Passage("j", "彼女は東京で生まれました。彼女は東京で生まれた。父は京都で亡くなりました。")
    ranking = Ranking((Hit("j", 1.0, passage),))
    answer = build(reading=False, max_sentences=9, language="ja", ranking=ranking)
    assert answer.text == "彼女は東京で生まれました。父は京都で亡くなりました。"
    lengths = [
        len(build(reading=False, max_sentences=9, target_words=words, language="ja", ranking=ranking).sentences)
        for words in (9, 12)
    ]
    assert lengths == [1, 2]


def test_a_span_of_blanks_spoils_nothing_beside_it():
    answer = build(Span("p", 23, 25, "\r\n", 3.0), span(Q, "Babbage built engines.", 1.0))
    assert answer.text == "Babbage built engines."
    assert build(Span("p", 23, 25, "\r\n", 3.0)).text == build(reading=False).text


SPANS = (span(Q, "Babbage built engines.", 0.5), span(P, "She died in 1852.", 0.4), span(P, "She  wrote notes.", 0.2))


def test_the_best_sentence_comes_first_and_the_others_keep_their_order():
    answer = build(*SPANS, max_sentences=3, best_first=True)
    assert answer.text == "Babbage built engines. She wrote notes. She died in 1852."
    assert answer.sentences[0].citations == (Citation("q", 29, 51),)
    assert build(*SPANS, max_sentences=3).text == "She wrote notes. She died in 1852. Babbage built engines."


def test_a_sentence_much_worse_than_the_best_is_not_said():
    gaps = (None, 0.3, 0.29, 0.1, 0.09, 0.0)
    assert [len(build(*SPANS, max_sentences=3, max_score_gap=gap).sentences) for gap in gaps] == [3, 3, 2, 2, 1, 1]


def test_scores_below_0_are_said_unless_they_are_to_be_near():
    below = tuple(span(P, text, score) for text, score in (("She died in 1852.", -1.0), ("She  wrote notes.", -2.0)))
    assert len(build(*below).sentences) == 2


def test_besides_the_best_none_is_said_that_answers_less_well_than_asked():
    texts = (("She died in 1852.", 2.0), ("She  wrote notes.", 0.5), ("Ada was born in London.", -0.5))
    spans = tuple(span(P, text, score) for text, score in texts)
    assert len(build(*spans, max_sentences=3, min_score=0.0).sentences) == 2
    assert len(build(*spans, max_sentences=3, min_score=5.0).sentences) == 1


LIST = Passage("l", "You can bring:\n- a towel\n- a ball\n\nDogs are not allowed. These are free:\n\nNothing.", "Pool")


def listed(*texts, passage=LIST, **parameters):
    found = [span(passage, text, 5.0 - place) for place, text in enumerate(texts)]
    return build(*found, max_sentences=4, best_first=True, ranking=Ranking((Hit("l", 1.0, passage),)), **parameters)


def test_a_line_that_introduces_a_list_takes_its_items_with_it():
    answer = listed("You can bring:", "a ball")
    assert [sentence.text for sentence in answer.sentences] == ["You can bring: a towel", "a ball"]
    quotes = [LIST.text[cited.start : cited.end] for sentence in answer.sentences for cited in sentence.citations]
    assert quotes == ["a towel", "a ball"]


def test_an_answer_never_ends_at_a_colon():
    assert listed("These are free:", "Dogs are not allowed.").text == "Dogs are not allowed."


def test_the_best_passage_comes_first_with_its_other_rows():
    table = Passage("t", "| | Adults |\n|---|---|\n| Day | 6 |\n| Week | 30 |\n| Year | 90 |", "Pool")
    found = [span(table, "| Week | 30 |", 3.0), span(Q, "Babbage built engines.", 2.0), span(table, "| Day | 6 |", 1.0)]
    ranking = Ranking((Hit("q", 2.0, Q), Hit("t", 1.0, table)))
    answer = build(*found, max_sentences=4, best_first=True, ranking=ranking)
    assert [sentence.text for sentence in answer.sentences] == [
        "Week: Adults 30",
        "Day: Adults 6",
        "Babbage built engines.",
    ]


def test_junk_is_not_quoted_and_a_heading_is_cut_off_the_quote():
    text = "Skip to content\nHome Menu Contact Us Engines (NP) The engine was built by Ada in 1843.[7]"
    text += " She wrote notes [8] on it."
    passage = Passage("w", text, url="https://w.org")
    found = [span(passage, part, 1.0) for part in ("Skip to content", "built by Ada", "She wrote notes [8] on it.")]
    answer = build(*found, max_sentences=3, ranking=Ranking((Hit("w", 1.0, passage),)))
    assert [sentence.text for sentence in answer.sentences] == [
        "The engine was built by Ada in 1843.", "She wrote notes on it.",
    ]  # fmt: skip
    quotes = [text[one.start : one.end] for sentence in answer.sentences for one in sentence.citations]
    assert quotes == ["The engine was built by Ada in 1843.", "She wrote notes [8] on it."]


def test_where_all_is_junk_the_best_of_it_is_quoted_alone():
    passage = Passage("w", "Skip to content\nHome Menu Contact", url="https://w.org")
    ranking = Ranking((Hit("w", 1.0, passage),))
    found = [span(passage, "Home Menu Contact", 2.0), span(passage, "Skip to content", 1.0)]
    assert build(*found, ranking=ranking).text == "Home Menu Contact"
    assert build(reading=False, ranking=ranking).text == "Skip to content"


DOCUMENT = Passage(
    "d",
    "To enter you need:\n- a pass\n- a lamp\n| Children | 3 | 4 |",
    "Rules",
    units=(
        Unit(0, 18, "sentence", "Entry"),
        Unit(21, 27, "item", "Entry", "To enter you need:"),
        Unit(30, 36, "item", "Entry", "To enter you need:"),
        Unit(37, 57, "row", "Entry fees", "| | Weekday | Weekend |"),
    ),
)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (["3"], "Entry fees, Children: Weekday 3, Weekend 4"),
        (["a lamp"], "To enter you need: a lamp"),
        (["pass", "lamp"], "To enter you need: a pass a lamp"),
    ],
)
def test_a_unit_of_a_document_is_shown_so_that_it_is_understood_alone(parts, text):
    ranking = Ranking((Hit("d", 1.0, DOCUMENT),))
    answer = build(*(span(DOCUMENT, part, 1.0) for part in parts), ranking=ranking)
    assert answer.text == text
    quotes = [DOCUMENT.text[one.start : one.end] for sentence in answer.sentences for one in sentence.citations]
    assert all(part in quote for part, quote in zip(parts, quotes, strict=True))


CARD = Passage(
    "card", "A card costs 48 pounds a year. It includes the workshop. No tools either.\n\nThey close at six."
)
CARDS = Ranking((Hit("card", 1.0, CARD),))


@pytest.mark.parametrize(
    ("best", "text"),
    [
        ("It includes the workshop.", "A card costs 48 pounds a year. It includes the workshop."),
        ("No tools either.", "It includes the workshop. No tools either."),
        ("A card costs 48 pounds a year.", "A card costs 48 pounds a year."),
        ("They close at six.", "They close at six."),
    ],
)
def test_a_sentence_is_quoted_with_the_one_that_it_refers_to(best, text):
    answer = build(span(CARD, best, 2.0), ranking=CARDS, max_sentences=1, antecedents=True)
    assert answer.text == text
    (citation,) = answer.sentences[0].citations
    assert CARD.text[citation.start : citation.end] == text
    assert build(span(CARD, best, 2.0), ranking=CARDS, max_sentences=1).text == best


def test_the_sentence_referred_to_is_not_said_twice():
    spans = (span(CARD, "It includes the workshop.", 2.0), span(CARD, "A card costs 48 pounds a year.", 1.0))
    for order in (spans, [replace(one, score=3.0 - one.score) for one in reversed(spans)]):
        answer = build(*order, ranking=CARDS, max_sentences=2, best_first=True, antecedents=True)
        assert answer.text == "A card costs 48 pounds a year. It includes the workshop."


STEPS = "Descaling\n\n1. Empty the tank.\n2. Pour in the descaler.\n3. Hold the button.\n\nIt takes long."


def stored(text):
    """A passage of a document: its units are stored."""
    return Passage("s", text, units=units_of_text(text, "en"))


@pytest.mark.parametrize(
    ("question", "quoted", "answer"),
    [
        (
            "How do I descale it?",
            "2. Pour in the descaler.",
            "1. Empty the tank. 2. Pour in the descaler. 3. Hold the button.",
        ),
        (
            "How does descaling work?",
            "3. Hold the button.",
            "1. Empty the tank. 2. Pour in the descaler. 3. Hold the button.",
        ),
        ("When do I pour in the descaler?", "2. Pour in the descaler.", "2. Pour in the descaler."),
        ("When do I hold the button?", "3. Hold the button.", "3. Hold the button."),
        ("How does descaling work?", "It takes long.", "It takes long."),
    ],
)
def test_steps_are_quoted_together_if_their_list_is_asked_for(question, quoted, answer):
    passage = stored(STEPS)
    ranking = Ranking((Hit("s", 1.0, passage),))
    made = build(span(passage, quoted, 2.0), ranking=ranking, question=question)
    assert made.text == answer
    citations = [sentence.citations[0] for sentence in made.sentences]
    assert " ".join(passage.text[citation.start : citation.end] for citation in citations) == answer


def test_a_list_that_is_asked_for_has_its_introduction_once():
    passage = stored("Bring to the workshop:\n- an apron\n- two towels\n\nIt is warm.")
    ranking = Ranking((Hit("s", 1.0, passage),))
    spans = (span(passage, "two towels", 2.0), span(passage, "an apron", 1.0))
    made = build(*spans, ranking=ranking, question="What should I bring to the workshop?")
    assert made.text == "Bring to the workshop: an apron two towels"


def test_an_item_is_quoted_once_with_the_list_that_is_asked_for():
    passage = stored("White loaf\n\n- 320 ml water\n- 500 g white flour\n- 9 g salt")
    ranking = Ranking((Hit("s", 1.0, passage),))
    spans = (span(passage, "500 g white flour", 2.0), span(passage, "320 ml water", 1.0))
    made = build(*spans, ranking=ranking, question="And the white one?", best_first=True)
    assert made.text == "320 ml water 500 g white flour 9 g salt"


def test_a_long_list_that_is_asked_for_is_not_quoted_as_a_whole():
    passage = stored("Descaling\n\n" + "\n".join(f"{n}. Press button {n} with care." for n in range(1, 60)))
    ranking = Ranking((Hit("s", 1.0, passage),))
    made = build(
        span(passage, "5. Press button 5 with care.", 2.0), ranking=ranking, question="How does descaling work?"
    )
    assert made.text == "5. Press button 5 with care."


def test_steps_that_go_on_in_the_next_passage_are_quoted_with_the_others():
    first = Passage("a.pdf_p1", STEPS.partition("\n\nIt")[0], units=units_of_text(STEPS, "en")[:4])
    units = (Unit(0, 10, "step", "Descaling"), Unit(12, 22, "sentence", "Descaling"))
    following = Passage("a.pdf_p2", "4. Let go.\n\nIt is done.", units=units)
    ranking = Ranking((Hit("a.pdf_p1", 2.0, first), Hit("a.pdf_p2", 1.0, following)))
    made = build(span(first, "2. Pour in the descaler.", 2.0), ranking=ranking, question="How does descaling work?")
    assert made.text == "1. Empty the tank. 2. Pour in the descaler. 3. Hold the button. 4. Let go."
