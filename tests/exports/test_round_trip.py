"""Every export and back: what a format can hold comes back as it was, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.domain import Answer, Citation, Hit, Passage, Ranking, Response, Rewrite, Sentence, TurnId
from convqa.exports import FORMATS, OF_ANSWERS, CitedAnswer, Submission, export
from convqa.exports.text import escape

SUBMISSION = Submission("a run", "a team")

PIECES = (
    "[1]", "[1][2]", "\\[1]", "\\", "\r\n", "\n", "\r", "\u2028", "\x85", "\x1b[1m",
    "👩‍👩‍👧", "🇩🇪", "e\u0301", "שלום", "مرحبا", "\u202e", "日本。", " ", "%20", "/", ":", "[", "]", "(", ")", '"', "'",
    "No answer: ", "Conversation 1, turn 2", "    id: x", "\\&", "\\u0041",
)  # fmt: skip


def texts(min_size=0, max_size=8, surrogates=False):
    """Texts of odd pieces and of any characters."""
    any_characters = st.characters() if surrogates else st.characters(exclude_categories=["Cs"])
    piece = st.one_of(st.sampled_from(PIECES), st.text(any_characters, min_size=1, max_size=3))
    return st.lists(piece, min_size=min_size, max_size=max_size).map("".join)


@st.composite
def random_responses(draw, surrogates=False):
    """A response whose answer cites passages of its ranking, by places or whole, twice where it likes."""
    wild = texts(surrogates=surrogates)
    ids = draw(st.lists(texts(min_size=1, max_size=3, surrogates=surrogates), min_size=1, max_size=4, unique=True))
    passages = [Passage(id, draw(wild), draw(wild), draw(wild)) for id in ids]
    ranking = Ranking(tuple(Hit(passage.id, 9.5 - place, passage) for place, passage in enumerate(passages)))

    def citation(passage):
        place = st.integers(0, len(passage.text))
        places = st.tuples(place, place).map(sorted)
        return st.one_of(st.just(Citation(passage.id)), places.map(lambda place: Citation(passage.id, *place)))

    citations = st.lists(st.sampled_from(passages).flatmap(citation), max_size=4).map(tuple)
    sentences = draw(st.lists(st.builds(Sentence, wild, citations), min_size=1, max_size=4))
    id = TurnId(draw(st.one_of(st.integers(-5, 10**9), wild)), draw(st.integers(0, 10**6)))
    score = draw(st.none() | st.floats(0, 1))
    return Response(id, Rewrite(draw(wild), ()), ranking, answer=Answer.of(sentences, "en", score))


@pytest.fixture(scope="module")
def round_trip(tmp_path_factory, readers):
    path = tmp_path_factory.mktemp("exports") / "file"

    def there_and_back(format, responses, language="en"):
        with path.open("wb") as file:
            export(responses, FORMATS[format], SUBMISSION, file.write)
        return list(readers.READERS[format](path, language))

    return there_and_back


def without_places(answer):
    """An answer as a format has it that cites passages: each once in a sentence."""
    return Answer.of(
        [
            Sentence(sentence.text, tuple(dict.fromkeys(Citation(c.passage_id) for c in sentence.citations)))
            for sentence in answer.sentences
        ],
        "en",
    )


@given(st.lists(random_responses(surrogates=True), min_size=1, max_size=3))
@settings(deadline=None)
def test_text_holds_all_but_scores_and_whole_passages(round_trip, responses):
    wanted = [CitedAnswer.of(response) for response in responses]
    wanted = [
        replace(
            cited,
            answer=replace(
                cited.answer, score=score if (score := cited.answer.score) is None else float(f"{score:.3g}")
            ),
            scores={},
            quotes={c: quote for c, quote in cited.quotes.items() if c.end is not None},
        )
        for cited in wanted
    ]
    assert round_trip("text", responses) == wanted


@given(st.lists(random_responses(), min_size=1, max_size=3))
@settings(deadline=None)
def test_evidence_holds_text_citations_and_quotes(round_trip, responses):
    for response, back in zip(responses, round_trip("evidence", responses), strict=True):
        wanted = CitedAnswer.of(response)

        def cited(one):
            return [(sentence.text, citation) for sentence in one.answer.sentences for citation in sentence.citations]

        assert (back.id, back.answer.text, back.quotes) == (wanted.id, wanted.answer.text, wanted.quotes)
        assert back.answer.score == wanted.answer.score
        assert cited(back) == cited(wanted)


@given(st.lists(random_responses(), min_size=1, max_size=3))
@settings(deadline=None)
def test_trec_rag_holds_sentences_and_their_passages(round_trip, responses):
    for response, back in zip(responses, round_trip("trec-rag", responses), strict=True):
        assert str(back.id) == str(response.id)
        assert (back.question, back.answer) == (response.rewrite.text, without_places(response.answer))


@given(st.lists(random_responses(), min_size=1, max_size=3))
@settings(deadline=None)
def test_ikat_holds_sentences_their_passages_and_the_ranking(round_trip, responses):
    for response, back in zip(responses, round_trip("ikat", responses), strict=True):
        assert str(back.id) == str(response.id)
        assert back.answer == without_places(response.answer)
        assert list(back.scores.items()) == [(hit.id, hit.score) for hit in response.ranking.hits]


@given(texts(surrogates=True))
def test_escaped_text_is_one_harmless_line(readers, text):
    assert readers.unescape(escape(text)) == text
    assert len(escape(text).splitlines()) <= 1
    assert "\x1b" not in escape(text)
    escape(text).encode()


@pytest.mark.parametrize("format", OF_ANSWERS)
def test_no_answers_and_failures_come_back_as_no_answers(round_trip, golden, format):
    """In JWHR's form a question back is no answer either."""
    back = round_trip(format, golden)
    assert [cited.answer.kind == "none" for cited in back] == [False, False, True, format == "jwhr", True]
    assert all(
        cited.answer.text == "" and cited.answer.sentences == () for cited in back if cited.answer.kind == "none"
    )


def test_text_holds_reason_nearest_score_label_and_questions(round_trip, golden):
    back = round_trip("text", golden)
    assert [cited.answer for cited in back[:4]] == [response.answer for response in golden[:4]]
    assert back[4].answer == Answer("none", "", reason="reader failed: ValueError: a bad\nturn")


@pytest.mark.parametrize("format", OF_ANSWERS)
def test_sentences_of_japanese_are_joined_without_a_blank(round_trip, golden, format):
    sentences = [Sentence("一つ。", golden[0].answer.sentences[0].citations), Sentence("二つ。")]
    response = replace(golden[0], answer=Answer.of(sentences, "ja"))
    (back,) = round_trip(format, [response], "ja")
    assert back.answer.text == "一つ。二つ。"
    assert [sentence.text for sentence in back.answer.sentences] == ["一つ。", "二つ。"]


@pytest.mark.parametrize("format", OF_ANSWERS)
def test_a_text_that_is_not_cut_into_sentences_is_said(round_trip, golden, format):
    (back,) = round_trip(format, [replace(golden[0], answer=Answer("answer", "Yes", label="Yes"))])
    assert back.answer.text == "Yes"
    assert back.answer.sentences == (Sentence("Yes"),)


@pytest.mark.parametrize("format", OF_ANSWERS)
def test_a_journal_keeps_what_an_export_needs(round_trip, golden, format):
    assert round_trip(format, [response.trimmed() for response in golden]) == round_trip(format, golden)


@pytest.mark.parametrize("format", OF_ANSWERS)
def test_one_conversation_after_the_other(golden, format):
    """What has been written does not depend on what follows: no more than a conversation is held back."""
    pieces = []

    def one_by_one():
        for number, response in enumerate(golden):
            assert len(pieces) == {0: 0, 1: 0, 2: 0, 3: 2, 4: 2}[number]
            yield response

    tally = export(one_by_one(), FORMATS[format], SUBMISSION, pieces.append)
    assert tally == {"answered": 3, "unanswered": 1, "failed": 1}


@pytest.mark.parametrize("format", OF_ANSWERS)
def test_nothing_is_an_empty_export(round_trip, format):
    assert round_trip(format, []) == []


def test_equal_sentences_keep_their_citations(round_trip, golden):
    """Sentences that repeat one another, and one that stands in another, are cited as often as before."""
    cited = [Citation(golden[0].ranking.hits[0].id, place, place + 2) for place in range(4)]
    texts = ["It is.", "So it is. It is.", "It is.", "It is."]
    answer = Answer.of([Sentence(text, (citation,)) for text, citation in zip(texts, cited, strict=True)], "en")
    (back,) = round_trip("evidence", [replace(golden[0], answer=answer)])
    assert back.answer.text == answer.text
    assert [citation for sentence in back.answer.sentences for citation in sentence.citations] == cited


def test_uncited_sentences_between_cited_ones_stay_there(round_trip, golden):
    (back,) = round_trip("evidence", golden[:1])
    assert back.answer.sentences == golden[0].answer.sentences
    texts = ["First.", "Cited.", "Last."]
    citation = golden[0].answer.sentences[0].citations[0]
    sentences = [Sentence(text, (citation,) if text == "Cited." else ()) for text in texts]
    (back,) = round_trip("evidence", [replace(golden[0], answer=Answer.of(sentences, "en"))])
    assert back.answer.sentences == tuple(sentences)


@pytest.mark.parametrize(("format", "most"), [("trec-rag", 20), ("trec-rag-2025", 100)])
def test_of_many_passages_trec_rag_keeps_the_first_and_names_the_others(round_trip, many, caplog, format, most):
    (back,) = round_trip(format, [many])
    cited = [sentence.citations for sentence in back.answer.sentences]
    assert cited == [(Citation(f"d{n}"),) for n in range(most)] + [()] * (120 - most)
    assert (
        f"turn 1_1 cites 120 passages; trec-rag takes the first {most}. Left out: d{most}, d{most + 1}, " in caplog.text
    )


@pytest.mark.parametrize("format", ["trec-rag", "trec-rag-2025"])
def test_topics_are_the_conversations_of_one_turn_and_every_id_comes_back(round_trip, golden, format):
    """Ids that look like a turn's, numbers and strings of digits, a last turn alone; two turns of a conversation."""
    ids = [TurnId("2024-145979", 1), TurnId(12, 1), TurnId("12", 1), TurnId("7_8", 1), TurnId("7_8", 2), TurnId(3, 4)]
    assert [cited.id for cited in round_trip(format, [replace(golden[0], id=id) for id in ids])] == ids
    pieces = []
    export([replace(golden[0], id=id) for id in ids], FORMATS[format], SUBMISSION, pieces.append)
    topics = [json.loads(piece)["topic_id"] for piece in pieces if piece]
    assert topics == ["2024-145979", "12", "12", "7_8_1", "7_8_2", "3"]


def test_both_forms_of_2025_are_read(readers, tmp_path):
    """Places and ids, as other systems hand them in."""
    record = {
        "metadata": {"team_id": "t", "run_id": "r", "narrative_id": "9", "narrative": "Why?"},
        "references": ["a", "b"],
    }
    answer = [{"text": "One.", "citations": [1, 0]}, {"text": "Two.", "citations": []}]
    named = [{**answer[0], "citations": ["b", "a"]}, answer[1]]
    lines = [json.dumps({**record, "answer": one}) for one in (answer, named)]
    (tmp_path / "file").write_text("\n".join(lines), encoding="utf-8")
    first, second = readers.read_trec_rag(tmp_path / "file")
    assert (first.id, first.question) == (TurnId("9", 1), "Why?")
    assert first.answer == second.answer
    assert first.answer.sentences == (Sentence("One.", (Citation("b"), Citation("a"))), Sentence("Two."))


@given(st.lists(random_responses(), min_size=1, max_size=3))
@settings(deadline=None)
def test_jwhr_holds_sentences_and_quotes(round_trip, responses):
    for response, back in zip(responses, round_trip("jwhr", responses), strict=True):
        wanted = CitedAnswer.of(response)

        def quoted(cited):
            return [
                (sentence.text, [cited.quotes.get(one, "") for one in dict.fromkeys(sentence.citations)])
                for sentence in cited.answer.sentences
            ]

        assert (back.question, back.answer.text) == (response.rewrite.text, response.answer.text)
        assert quoted(back) == quoted(wanted) or not response.answer.text


def test_ikat_keeps_a_thousand_references_and_all_that_are_cited(round_trip, many):
    (back,) = round_trip("ikat", [many])
    assert len(back.scores) == 1000
    assert back.answer.sentences == many.answer.sentences
    assert all(one >= other for one, other in pairwise(back.scores.values()))


@pytest.mark.parametrize("format", ["ikat"])
def test_digits_are_numbers_and_other_conversations_are_not(round_trip, golden, format):
    ids = [TurnId(7, 2), TurnId("7_8", 2), TurnId("007", 1), TurnId("", 1), TurnId(-3, 1)]
    assert [cited.id for cited in round_trip(format, [replace(golden[0], id=id) for id in ids])] == ids
