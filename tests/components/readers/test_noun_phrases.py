"""The official baseline's answer rule on given noun phrases; and with TextBlob's, where its corpora are."""

from __future__ import annotations

import pytest

from convqa.components.readers import noun_phrases
from convqa.components.readers.noun_phrases import NounPhrases, SentencePhrases, read, stem
from convqa.domain import Hit, Passage, Query, Ranking, Rewrite, Turn, TurnId
from convqa.errors import InputError


def phrased(*sentences):
    """A passage of sentences given as (text, phrases)."""
    text = " ".join(sentence for sentence, _ in sentences)
    found, start = [], 0
    for sentence, phrases in sentences:
        start = text.index(sentence, start)
        found.append(SentencePhrases(start, start + len(sentence), sentence, phrases))
        start += len(sentence)
    return text, found


def best(question, *passages):
    """The answer, as the official script would write it, and its score."""
    given = [(Passage(f"p{place}", text), found) for place, (text, found) in enumerate(passages)]
    spans = read(question, given).spans
    texts = {passage.id: passage.text for passage, _ in given}
    assert all(texts[span.passage_id][span.start : span.end] == span.text for span in spans)
    return (spans[0].text, spans[0].score) if spans else ""


def test_the_sentence_with_most_phrases_of_the_question_wins():
    first = phrased(("Rome is old.", ("rome",)), ("The walls of Rome fell.", ("wall", "rome")))
    second = phrased(("London is not Rome.", ("london", "rome")))
    assert best(["rome", "wall"], first, second) == ("The walls of Rome fell.", 2.0)


def test_repeats_in_the_sentence_count_and_those_of_the_question_do_not():
    passage = phrased(("Rome and walls.", ("rome", "wall")), ("Rome, Rome, Rome.", ("rome", "rome", "rome")))
    assert best(["rome", "wall", "wall"], passage) == ("Rome, Rome, Rome.", 3.0)


def test_the_first_of_the_best_wins():
    first = phrased(("Nothing here.", ()), ("Rome once.", ("rome",)))
    second = phrased(("Rome again.", ("rome",)))
    assert best(["rome"], first, second) == ("Rome once.", 1.0)


def test_only_sentences_that_end_in_a_full_stop_count():
    passage = phrased(("Is Rome old?", ("rome",)), ("Rome!", ("rome",)), ('He said "Rome."', ("rome",)), ("So.", ()))
    assert best(["rome"], passage) == ("So.", 0.0)


def test_without_overlap_it_is_the_first_full_sentence():
    assert best(["rome"], phrased(("Why?", ())), phrased(("What?", ()), ("One.", ()), ("Two.", ()))) == ("One.", 0.0)
    assert best([], phrased(("One.", ("rome",)))) == ("One.", 0.0)


def test_without_a_full_sentence_there_is_no_answer():
    assert best(["rome"], phrased(("Rome?", ("rome",)))) == ""
    assert best(["rome"]) == ""


def test_phrases_are_equal_as_wholes():
    assert best(["old rome"], phrased(("A.", ()), ("Rome.", ("rome",)))) == ("A.", 0.0)


def test_a_phrase_is_stemmed_as_one_word():
    pytest.importorskip("nltk")
    assert stem("average starting salaries") == "average starting salari"


def test_missing_corpora_say_how_to_fetch_them_beforehand(monkeypatch):
    nltk = pytest.importorskip("nltk")
    pytest.importorskip("textblob")
    monkeypatch.setattr(nltk.data, "path", ["/nowhere"])
    noun_phrases._textblob.cache_clear()
    with pytest.raises(InputError, match=r"punkt_tab, which is missing in /nowhere.*textblob\.download_corpora lite"):
        NounPhrases().warm_up()


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr(noun_phrases, "find_spec", lambda name: None)
    noun_phrases._textblob.cache_clear()
    with pytest.raises(InputError, match=r"textblob: pip install 'convqa\[baseline\]'"):
        NounPhrases().warm_up()


def test_another_language_is_refused():
    with pytest.raises(InputError, match="expected English, got language 'de'"):
        NounPhrases().read(Turn(TurnId(1, 1), "Wer?", language="de"), Rewrite("Wer?", (Query("Wer?"),)), Ranking())


def test_textblobs_phrases_where_its_corpora_are():
    try:
        NounPhrases().warm_up()
    except InputError as error:
        pytest.skip(str(error))
    passage = Passage("p", "Is it old?  It is a city.\n\nThe Roman Empire had average starting salaries.   Rome fell.")
    question = "What were the average starting salaries of the Roman Empire?"
    ranking = Ranking((Hit("p", 1.0, passage), Hit("q", 0.5)))
    spans = NounPhrases().read(Turn(TurnId(1, 1), question), Rewrite(question, (Query(question),)), ranking).spans
    assert spans[0].text == "The Roman Empire had average starting salaries."
    assert [passage.text[span.start : span.end] for span in spans] == [span.text for span in spans]
