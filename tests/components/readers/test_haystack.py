"""Haystack's readers as stations: one of the test's own, and the stock reader where its packages are."""

from __future__ import annotations

import pytest
from haystack import Document, ExtractedAnswer, component
from haystack.utils import ComponentDevice

from convqa.components.readers.haystack import Haystack
from convqa.domain import Hit, Passage, Query, Ranking, Rankings, Reading, Rewrite, Rewrites, Turn, TurnId, Turns
from convqa.errors import RunError

TURN = Turn(TurnId(1, 1), "?")
PASSAGES = (Passage("a", "Faust 👋🏽 and Faust again.", "Title"), Passage("b", "Only Goethe."), Passage("c", " \n"))


@component
class Finder:
    """Finds what it was told to: (document id, text, start or None, score)."""

    def __init__(self, found: list | None = None) -> None:
        self.found = found or []
        self.asked = []

    @component.output_types(answers=list[ExtractedAnswer])
    def run(self, query: str, documents: list[Document]) -> dict:
        self.asked.append((query, [document.id for document in documents]))
        if query == "bad":
            raise RuntimeError("index out of range")
        answers = []
        for id, text, start, score in self.found:
            document = next((document for document in documents if document.id == id), None)
            offset = None if start is None else ExtractedAnswer.Span(start, start + len(text))
            answers.append(ExtractedAnswer(query, score, text, document, None, offset))
        return {"answers": answers}


def ranking(*passages):
    return Ranking(tuple(Hit(passage.id, 9.0 - place, passage) for place, passage in enumerate(passages)))


def read(*found, passages=PASSAGES, question="x", **options):
    station = Haystack(Finder(list(found)), **options)
    return station.read(TURN, Rewrite(question, (Query("other"),)), ranking(*passages))


def places(reading):
    return [(span.passage_id, span.start, span.end, span.score) for span in reading.spans]


def test_answers_become_spans_best_first_each_once():
    reading = read(("b", "Goethe", 5, 0.5), ("a", "Faust", 13, 0.9), ("b", "Goethe", 5, 0.7), ("a", "Faust", 0, 0.7))
    assert places(reading) == [("a", 13, 18, 0.9), ("a", 0, 5, 0.7), ("b", 5, 11, 0.7)]
    texts = {passage.id: passage.text for passage in PASSAGES}
    assert all(texts[span.passage_id][span.start : span.end] == span.text for span in reading.spans)


@pytest.mark.parametrize("start", [None, 7, 99, -6])
def test_offsets_that_do_not_point_at_the_answer_are_mended(start):
    assert places(read(("b", "Goethe", start, 0.5))) == [("b", 5, 11, 0.5)]


@pytest.mark.parametrize(
    ("answer", "message"),
    [(("b", "Schiller", 0, 0.5), "'Schiller' is not in passage 'b'"), (("z", "x", 0, 0.5), "from an unknown passage")],
)
def test_answers_that_are_no_quotes_are_refused(answer, message):
    with pytest.raises(ValueError, match=message):
        read(answer)


def test_the_null_score_is_that_of_no_answer():
    assert read(("b", "Goethe", 5, 0.5), (None, None, None, 0.25)).null_score == 0.25
    assert read(("b", "Goethe", 5, 0.5)).null_score == 0.0
    assert read() == Reading((), 1.0)


def test_only_top_passages_with_text_are_read_and_with_the_rewritten_question():
    station = Haystack(Finder(), passages=3)
    without = Ranking((Hit("n", 10.0), *ranking(PASSAGES[2], PASSAGES[1], PASSAGES[0]).hits))
    station.read(TURN, Rewrite("Who wrote it?", (Query("other"),)), without)
    assert station.wrapped.asked == [("Who wrote it?", ["b"])]


def test_nothing_is_asked_without_a_question_or_texts():
    station = Haystack(Finder())
    for question, given in ((" ", ranking(*PASSAGES)), ("x", Ranking()), ("x", ranking(PASSAGES[2]))):
        assert station.read(TURN, Rewrite(question, (Query("other"),)), given) == Reading((), 1.0)
    assert station.wrapped.asked == []


def test_one_that_fails_is_a_failure_of_its_own_and_a_score_that_is_no_number_stops_the_run():
    batches = {"turns": Turns((TURN, TURN)), "rankings": Rankings((ranking(*PASSAGES),) * 2)}
    rewrites = Rewrites(tuple(Rewrite(text, (Query(text),)) for text in ("bad", "good")))
    first, second = Haystack(Finder([("b", "Goethe", 5, 0.5)])).run(rewrites=rewrites, **batches)["readings"].items
    assert (first.stage, first.error, first.message) == ("reader", "RuntimeError", "index out of range")
    assert places(second) == [("b", 5, 11, 0.5)]
    for answer in (("b", "Goethe", 5, float("nan")), (None, None, None, float("inf"))):
        with pytest.raises(RunError, match="must be finite"):
            Haystack(Finder([answer])).run(rewrites=rewrites, **batches)


@pytest.mark.models
def test_the_stock_reader(tmp_path):
    """Random weights: what it finds means nothing, but it is found in the passages."""
    pytest.importorskip("torch")
    module = pytest.importorskip("haystack_integrations.components.readers.transformers")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "only", "goethe", ".", "faust", "and", "again"]
    words = {name: number for number, name in enumerate(names)}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    plain.normalizer = tokenizers.normalizers.Lowercase()
    plain.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    plain.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertForQuestionAnswering(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    station = Haystack(module.TransformersExtractiveReader(str(tmp_path), ComponentDevice.from_str("cpu"), top_k=3))
    station.warm_up()
    reading = station.read(TURN, Rewrite("Only Goethe?", (Query("x"),)), ranking(*PASSAGES))
    texts = {passage.id: passage.text for passage in PASSAGES}
    assert reading.spans and 0 <= reading.null_score <= 1
    assert all(texts[span.passage_id][span.start : span.end] == span.text for span in reading.spans)
