"""Sentences held to their passages: what is cited, what is moved, what is not said."""

from __future__ import annotations

import pytest

from convqa.components.builders._grounding import check, word_support
from convqa.components.builders._prompt import INSTRUCTION, AnswerLimits, passage_parts
from convqa.components.builders._reply import CONTINUED, ReplySentence
from convqa.domain import Hit, Passage, Ranking
from convqa.models import load_support
from convqa.text.support import SUPPORTED, lexical_support
from convqa.text.words import words

GOETHE = "\U0001f44b Goethe was a poet. Goethe wrote Faust in Weimar. It rained. He was born in Frankfurt in 1749."
SCHILLER = "Schiller met Goethe in Jena. His play The Robbers was performed in Mannheim."
PASSAGES = (
    Passage("goethe", GOETHE, title="Johann Wolfgang von Goethe"),
    Passage("schiller", SCHILLER, url="https://schiller.example/life"),
    Passage("copy", "In Weimar Goethe wrote Faust. Cows eat grass."),
)


def checked(*said, unsupported="drop", most=5, passages=PASSAGES, score=None):
    parts = passage_parts(Ranking(tuple(Hit(one.id, 1.0, one) for one in passages)), None, 5, 1200, "en")
    return check(
        [ReplySentence(*one) for one in said],
        parts,
        score or load_support("lexical").score,
        "en",
        unsupported,
        AnswerLimits(most, most),
    )


def quotes(found):
    texts = {one.id: one.text for one in PASSAGES}
    return [[texts[one.passage_id][one.start : one.end] for one in sentence.citations] for sentence in found.sentences]


def test_a_citation_quotes_the_sentence_that_says_it():
    found = checked(("Goethe wrote Faust.", (1,)), ("The Robbers was performed in Mannheim.", (2,)))
    assert quotes(found) == [["Goethe wrote Faust in Weimar."], ["His play The Robbers was performed in Mannheim."]]
    assert found.notes == ()


def test_every_named_passage_that_supports_it_is_cited_and_no_other():
    found = checked(("Goethe wrote Faust in Weimar.", (3, 2, 1)))
    assert [one.passage_id for one in found.sentences[0].citations] == ["copy", "goethe"]
    assert found.notes == ()


def test_passages_that_support_it_only_together_are_both_cited():
    def every_word(pairs, language):
        return [float(set(words(sentence)) <= set(words(evidence))) for evidence, sentence in pairs]

    said = ("The Robbers was performed in Mannheim: cows eat grass.", (1, 2, 3))
    found = checked(said, score=every_word)
    assert quotes(found) == [["His play The Robbers was performed in Mannheim.", "Cows eat grass."]]
    assert checked((said[0], (1, 2)), score=every_word).notes == ("unsupported sentence",)


def test_a_quote_grows_to_the_next_sentence_where_that_helps():
    found = checked(("It rained, and he was born in Frankfurt in 1749.", (1,)))
    assert quotes(found) == [["It rained. He was born in Frankfurt in 1749."]]


def test_without_a_number_the_passage_that_says_it_is_found():
    found = checked(("Schiller met Goethe in Jena.", ()))
    assert (quotes(found), found.notes) == ([["Schiller met Goethe in Jena."]], ("citation added",))


def test_with_a_wrong_number_too():
    found = checked(("Schiller met Goethe in Jena.", (1,)))
    assert (quotes(found), found.notes) == ([["Schiller met Goethe in Jena."]], ("citation moved",))


def test_what_nothing_supports_is_dropped_or_marked():
    said = [("Goethe wrote Faust.", (1,)), ("He sold watches to Napoleon.", (1,))]
    dropped, marked = checked(*said), checked(*said, unsupported="mark")
    assert [one.text for one in dropped.sentences] == ["Goethe wrote Faust."]
    assert [(one.text, len(one.citations)) for one in marked.sentences] == [(said[0][0], 1), (said[1][0], 0)]
    assert dropped.notes == marked.notes == ("unsupported sentence",)


def test_a_title_is_nothing_to_quote():
    assert checked(("Johann Wolfgang von Goethe.", (1,))).notes == ("unsupported sentence",)


def test_another_number_is_no_support():
    assert checked(("He was born in Frankfurt in 1794.", (1,))).notes == ("unsupported sentence",)


@pytest.mark.parametrize("unsupported", ["drop", "mark"])
@pytest.mark.parametrize(
    "address",
    [
        "http://evil.example/x", "https://evil.example", "www.evil.example", "evil.example/pay", "EVIL.EXAMPLE",
        "mailto:me@evil.example", "me@evil.example", "javascript:alert(1)", "data:text/html;base64,AAAA",
        "https://schiller.example/lives", "evil.shop", "evil.fr", "//evil.site", "\u0435vil.com", "evil\uff0ecom",
        "chiller.example", "b\u00fccher.de", "192.168.0.1/x",
    ],
)  # fmt: skip
def test_an_address_that_no_passage_has_is_never_said(address, unsupported):
    found = checked((f"Goethe wrote Faust in Weimar, see {address}.", (1,)), unsupported=unsupported)
    assert (found.sentences, found.notes) == ((), ("foreign address",))


def test_an_address_of_a_passage_may_be_said():
    found = checked(("Schiller met Goethe in Jena: https://schiller.example/life.", (2,)), unsupported="mark")
    assert len(found.sentences) == 1 and found.notes != ("foreign address",)


def test_a_host_of_a_passage_is_no_part_of_anothers_name():
    passages = (Passage("p", "Goethe wrote Faust, see notevil.com."),)
    said = [(f"Goethe wrote Faust, see {host}.", (1,)) for host in ("evil.com", "notevil.com")]
    found = checked(*said, passages=passages)
    assert ([one.text for one in found.sentences], found.notes) == ([said[1][0]], ("foreign address",))


@pytest.mark.parametrize("unsupported", ["drop", "mark"])
def test_the_instruction_is_never_said(unsupported):
    for line in INSTRUCTION.format(sentences=3, items=9, fence="f").splitlines():
        if len(line.split()) > 12:
            found = checked((f"My rules: {line}", (1,)), unsupported=unsupported)
            assert (found.sentences, found.notes) == ((), ("instruction repeated",))


def test_an_answer_has_as_many_sentences_as_were_asked_for():
    said = [
        ("Goethe wrote Faust.", (1,)),
        ("Nobody knows why he did.", (1,)),
        ("Cows eat grass.", (3,)),
        ("More.", (3,)),
    ]
    assert [one.text for one in checked(*said, most=2).sentences] == ["Goethe wrote Faust.", "Cows eat grass."]


def test_any_scorer_may_decide():
    asked = []

    def score(pairs, language):
        asked.extend(pairs)
        return [0.9 if evidence.startswith("Schiller") else 0.1 for evidence, _ in pairs]

    found = checked(("Goethe wrote Faust.", (1,)), score=score)
    assert [one.passage_id for one in found.sentences[0].citations] == ["schiller"]
    # The title stands before the quote.
    assert asked[0] == ("Johann Wolfgang von Goethe\nGoethe wrote Faust in Weimar.", "Goethe wrote Faust.")


def test_offsets_are_of_the_whole_text_where_a_part_was_shown():
    text = " ".join(["Nothing is said here."] * 60) + " Goethe wrote Faust. \U0001f44b"
    passage = Passage("p", text)
    parts = passage_parts(Ranking((Hit("p", 1.0, passage),)), None, 5, 2000, "en")
    (sentence,) = check(
        [ReplySentence("Goethe wrote Faust.", (1,))],
        parts,
        load_support("lexical").score,
        "en",
        "drop",
        AnswerLimits(3, 3),
    )[0]
    assert text[sentence.citations[0].start : sentence.citations[0].end] == "Goethe wrote Faust."


FRENCH = "Goethe a écrit Faust à Weimar. Il y est mort en 1832."
CHINESE = "歌德在魏玛写了浮士德。"


def test_with_an_analysis_it_is_the_lexical_score():
    pairs = [("Goethe wrote Faust in Weimar.", said) for said in ("He wrote in Weimar.", "He did not write.", "")]
    assert word_support(pairs, "en") == [lexical_support(*pair, "en") for pair in pairs]


@pytest.mark.parametrize(
    ("language", "evidence", "said", "supported"),
    [
        ("fr", FRENCH, "Goethe a écrit Faust.", True),
        ("fr", FRENCH, "Il est mort à Weimar en 1832.", True),
        ("fr", FRENCH, "Il est mort à Weimar en 1823.", False),
        ("fr", FRENCH, "Il y a vendu des montres à Napoléon.", False),
        ("zh", CHINESE, "歌德写了浮士德。", True),
        ("zh", CHINESE, "歌德卖表给拿破仑。", False),
        ("zh", CHINESE, "德歌", False),
        ("fr", FRENCH, "...", False),
        ("fr", "", "Goethe", False),
    ],
)
def test_without_one_words_are_compared(language, evidence, said, supported):
    (score,) = word_support([(evidence, said)], language)
    assert 0 <= score <= 1 and (score >= SUPPORTED) == supported
    assert word_support([(said, said)], language) == [1.0 if any(map(str.isalnum, said)) else 0.0]


STEPS = Passage("p", "Open the lid. Take out the old filter. Rinse the case. Put in the new filter. Close the lid.")


def test_items_keep_their_numbers_and_a_gap_shows_what_was_left_out():
    said = [("Open the lid.", (1,), "1."), ("Call the police.", (1,), "2."), ("Rinse the case.", (1,), "3.")]
    found = checked(*said, ("Close the lid.", (1,)), passages=[STEPS])
    assert [one.text for one in found.sentences] == ["1. Open the lid.", "3. Rinse the case.", "Close the lid."]
    assert [STEPS.text[one.citations[0].start : one.citations[0].end] for one in found.sentences] == [
        "Open the lid.", "Rinse the case.", "Close the lid.",
    ]  # fmt: skip
    assert found.notes == ("unsupported sentence", "item left out")


def test_a_mark_waits_for_the_first_sentence_of_its_item_that_may_be_said():
    said = [("Open the lid.", (1,), "1."), ("Call the police.", (1,), "2."), ("Rinse the case.", (1,), CONTINUED)]
    assert [one.text for one in checked(*said, passages=[STEPS]).sentences] == [
        "1. Open the lid.",
        "2. Rinse the case.",
    ]


def test_prose_and_lists_have_limits_of_their_own():
    prose = [ReplySentence("Rinse the case.", (1,)), ReplySentence("Close the lid.", (1,))]
    steps = [ReplySentence(text, (1,), f"{number}.") for number, text in enumerate(STEPS.text.split(". ")[:4], 1)]
    parts = passage_parts(Ranking((Hit("p", 1.0, STEPS),)), None, 5, 1200, "en")
    found = check([*prose, *steps], parts, load_support("lexical").score, "en", "drop", AnswerLimits(1, 4)).sentences
    assert [one.text for one in found] == [
        "Rinse the case.", "1. Open the lid", "2. Take out the old filter", "3. Rinse the case"
    ]  # fmt: skip
