"""What a reader makes of logits: windows, margins, probabilities; and readers of random weights on both engines."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.errors import InputError, WorkError
from convqa.models import load_encoder, load_pair_scorer, load_reader
from convqa.models.export import export
from convqa.models.kinds.reader import Calibration, PairReading

FAUST = "Faust is a tragic play in two parts. It was written by Goethe in Weimar."
KINDS = ["words", "bytes", "pieces"]
FAMILIES = ["Bert", "Roberta", "XLMRoberta", "DebertaV2", "DistilBert", "Electra"]


@pytest.fixture(scope="module")
def inner(tiny_readers):
    """The tokenizers, each made once; "shipped" has the words of these tests whole."""
    return {kind: tiny_readers.tokenizer(kind) for kind in (*KINDS, "shipped")}


@pytest.fixture
def chance(tiny_readers, inner):
    return lambda kind="words", most=48: tiny_readers.without_network(inner[kind], tiny_readers.by_chance, most)


def texts(reading, passage):
    return [passage[found.start : found.end] for found in reading.spans]


def test_the_margin_is_what_a_span_has_above_no_answer(tiny_readers, inner):
    reader = tiny_readers.that_likes(inner["shipped"], {"Goethe": 5, "Weimar": 2.5})
    (found,) = reader.read([("Who wrote Faust?", FAUST)], 2, 1)
    assert texts(found, FAUST) == ["Goethe", "Weimar"]
    assert [span.margin for span in found.spans] == [10, 5] and found.margin == 10


def test_no_answer_is_judged_window_by_window(tiny_readers, inner):
    # The windows differ in what they say of no answer: a span counts by what it has above that of its own.
    def logits(tokens):
        made = np.zeros((2, len(tokens)), np.float32)
        made[:, 0] = -float(tokens.ids.count(inner["shipped"].token_to_id("faust")))
        return made

    reader = tiny_readers.without_network(inner["shipped"], logits, 24)
    passage = "x y z " * 12 + "faust " * 4
    (found,) = reader.read([("", passage)], 1, 1)
    assert found.margin == 8


def test_the_question_is_never_an_answer(tiny_readers, inner):
    reader = tiny_readers.that_likes(inner["shipped"], {"Faust": 9, "Weimar": 1})
    assert texts(reader.read([("Faust? " * 30, "in Weimar")], 1, 1)[0], "in Weimar") == ["Weimar"]


def test_nothing_to_read(chance):
    for passage in ("", " \t\r\n\u3000", "[PAR] [DOC]"):
        assert chance().read([("Who?", passage)], 3) == [PairReading((), -math.inf)]
    assert chance().read([], 3) == []
    assert chance().null(-math.inf) == 1 and chance().expected(-math.inf) == 0


def test_a_pair_is_read_once_and_a_passage_is_its_own_for_each_question(chance):
    reader = chance()
    pairs = [("Who?", FAUST), ("Where?", FAUST), ("Who?", FAUST), ("Who?", "Goethe")] * 3
    made = reader.read(pairs, 3)
    assert made[:4] == made[4:8] == made[8:] and made[0] == made[2] != made[1]
    sequences = [tuple(sequence.ids) for call in reader.seen for sequence in call]
    assert len(sequences) == len(set(sequences))


@pytest.mark.parametrize("size", [1, 7, 64])
def test_neither_batches_nor_chunks_change_a_result(chance, monkeypatch, size):
    pairs = [(f"Who {place % 3}?", (FAUST + " ") * (place % 7) + str(place % 11)) for place in range(64)]
    whole = chance().read(pairs, 3)
    monkeypatch.setattr("convqa.models.kinds.reader._PAIRS_IN_MEMORY", 5)
    reader = chance()
    parts = [made for start in range(0, 64, size) for made in reader.read(pairs[start : start + size], 3)]
    assert parts == whole


def test_spans_of_any_length_need_no_more_memory_than_those_of_a_window(chance):
    reader, pair = chance(), ("Who?", "x " * 5000)
    tracemalloc.start()
    made = reader.read([pair], 1, 10**9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A number for each span of 5,000 tokens would take 100 MB.
    assert peak < 30_000_000 and made == reader.read([pair], 1, 48)


def test_like_lengths_are_neighbors(chance):
    reader = chance(most=384)
    reader.read([("Who?", "acb"[place % 3] + " Faust" * (place * 7 % 41)) for place in range(41)], 3)
    lengths = [len(sequence) for call in reader.seen for sequence in call]
    assert len(lengths) == 41 and lengths == sorted(lengths)


def test_a_long_passage_is_read_to_its_end(tiny_readers, inner):
    reader = tiny_readers.that_likes(inner["shipped"], {"Weimar": 5, "Goethe": 4})
    passage = "Goethe " + "x " * 50_000 + "Weimar"
    assert len(passage) > 100_000
    (found,) = reader.read([("Where?" * 1000, passage)], 3, 1)
    assert texts(found, passage)[:2] == ["Weimar", "Goethe"]


def test_calibration(tiny_readers, inner):
    calibration = Calibration(answer=(0.5, -1.0), null=(-0.25, 2.0))
    reader = tiny_readers.that_likes(inner["shipped"], {}, calibration=calibration)
    assert reader.expected(4) == pytest.approx(1 / (1 + math.exp(-1)))
    assert reader.null(4) == pytest.approx(1 / (1 + math.exp(-1)))
    assert reader.expected(1e9) == 1 and reader.null(1e9) == 0 and reader.expected(-1e9) == 0


def test_a_model_that_makes_no_numbers_is_an_error(tiny_readers, inner):
    reader = tiny_readers.without_network(inner["words"], lambda tokens: np.full((2, len(tokens)), np.nan))
    with pytest.raises(WorkError, match="returned invalid numbers"):
        reader.read([("Who?", FAUST)], 1)


def test_a_reader_of_few_tokens_is_refused(tiny_readers, inner):
    with pytest.raises(InputError, match="max_tokens: expected 16 or more, got 12"):
        tiny_readers.without_network(inner["words"], tiny_readers.by_chance, 12)


wild = st.text(
    alphabet=st.one_of(
        st.characters(), st.sampled_from("ab \t\r\n\u00a0\u3000e\u0301\u0627\u200f\u200d👩👍🏽\ud800京[PAR][DOC]")
    ),
    max_size=120,
)


@settings(deadline=None)
@given(st.sampled_from(KINDS), wild, wild, st.integers(1, 6), st.integers(1, 8))
def test_whatever_is_read_spans_are_quotes_apart_and_short(tiny_readers, inner, kind, question, passage, most, longest):
    reader = tiny_readers.without_network(inner[kind], tiny_readers.by_chance, 24)
    (reading,) = reader.read([(question, passage)], most, longest)
    spans = reading.spans
    assert len(spans) <= most
    assert [found.margin for found in spans] == sorted((found.margin for found in spans), reverse=True)
    for found in spans:
        text = passage[found.start : found.end]
        assert 0 <= found.start < found.end <= len(passage) and text and text == text.strip()
        assert not any(mark in text for mark in ("[PAR]", "[DOC]"))
    ordered = sorted(spans, key=lambda found: found.start)
    assert all(one.end <= two.start for one, two in itertools.pairwise(ordered))
    if kind == "words":  # the others' tokens can share characters
        offsets = reader._input.passage(passage).offsets
        for found in spans:
            assert sum(start < found.end and end > found.start for start, end in offsets) <= longest


PAIRS = [("Who wrote Faust?", FAUST), ("Where?", "Goethe was born in Frankfurt. " * 12), ("", "x"), ("When?", " ")]


@pytest.mark.models
@pytest.mark.parametrize("family", FAMILIES)
def test_any_model_for_question_answering_reads(tiny_reader, family):
    folder = str(tiny_reader(family))
    reader = load_reader(folder)
    made = reader.read(PAIRS, 5)
    assert [bool(found.spans) for found in made] == [True, True, True, False]
    assert (reader.max_tokens, str(reader.runs)) == (64, "torch float32 on cpu")


@pytest.mark.models
def test_models_that_encode_and_decode_read(tiny_reader):
    folder = tiny_reader("Bart")
    # As those that others published: three labels by name, two outputs.
    assert len(json.loads((folder / "config.json").read_text()).get("id2label", "123")) == 3
    assert load_reader(str(folder)).read(PAIRS, 1)[1].spans


@pytest.mark.models
def test_what_cannot_be_exported_is_said_in_words(tiny_reader, tmp_path):
    pytest.importorskip("onnx")
    folder = str(tiny_reader("Longformer"))
    assert load_reader(folder).read(PAIRS, 1)[0].spans
    with pytest.raises(InputError, match=r"cannot be exported to a graph \(.*three separator tokens.*on torch"):
        export(folder, tmp_path / "graph")
    assert not (tmp_path / "graph").exists()


@pytest.mark.models
@pytest.mark.parametrize("family", FAMILIES)
def test_margins_are_those_of_the_model_itself(tiny_reader, family):
    import tokenizers
    import torch
    import transformers

    folder = tiny_reader(family)
    pair = "Who wrote Faust?", "It was Goethe."
    encoded = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(*pair)
    assert len(encoded.ids) <= 64
    given = {"input_ids": torch.tensor([encoded.ids])}
    if family in {"Bert", "Electra"}:
        # The stock reader leaves them out.
        given["token_type_ids"] = torch.tensor([encoded.type_ids])
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    with torch.inference_mode():
        made = model(**given)
    starts, ends = made.start_logits[0].numpy(), made.end_logits[0].numpy()
    # A token of white space alone, which XLM-R's kind has, begins and ends no span.
    spaces = [pair[1][start:end].isspace() or start == end for start, end in encoded.offsets]
    places = [place for place, of in enumerate(encoded.sequence_ids) if of == 1 and not spaces[place]]
    margins = {}
    for i in places:
        for j in [place for place in places if i <= place < i + 30]:
            start, end = encoded.offsets[i][0], encoded.offsets[j][1]
            text = pair[1][start:end]
            span = end - len(text.lstrip()), start + len(text.rstrip())
            margin = float(starts[i] + ends[j] - starts[0] - ends[0])
            margins[span] = max(margin, margins.get(span, margin))
    found = load_reader(str(folder)).read([pair], 1)[0].spans[0]
    assert found.margin == pytest.approx(max(margins.values()), abs=1e-4)
    assert found.margin == pytest.approx(margins[found.start, found.end], abs=1e-4)


@pytest.mark.models
def test_batches_change_nothing_beyond_1e4(tiny_reader, monkeypatch):
    monkeypatch.setattr("convqa.models.engines.torch.runtime.MAX_BATCH_TOKENS", {"cpu": 300})
    reader = load_reader(str(tiny_reader("Bert")))
    pairs = [(f"Who {place % 3}?", FAUST[place % 5 : 12 + place]) for place in range(64)]
    whole = reader.read(pairs, 3)
    for size in (1, 7):
        parts = [made for start in range(0, 64, size) for made in reader.read(pairs[start : start + size], 3)]
        for one, two in zip(parts, whole, strict=True):
            assert [span[:2] for span in one.spans] == [span[:2] for span in two.spans]
            assert [span.margin for span in one.spans] == pytest.approx([span.margin for span in two.spans], abs=1e-4)


@pytest.mark.models
@pytest.mark.parametrize("family", ["Bert", "Roberta"])
def test_the_exported_graph_reads_as_the_model_does(tiny_reader, family):
    pytest.importorskip("onnx")
    exact, graph = load_reader(str(tiny_reader(family))), load_reader(str(tiny_reader(f"{family} onnx")))
    assert str(graph.runs) == "onnx float32 on cpu" and graph.max_tokens == exact.max_tokens
    assert graph.calibration == exact.calibration == Calibration()
    for one, two in zip(exact.read(PAIRS, 3), graph.read(PAIRS, 3), strict=True):
        assert [span[:2] for span in one.spans] == [span[:2] for span in two.spans]
        assert [span.margin for span in one.spans] == pytest.approx([span.margin for span in two.spans], abs=1e-4)


@pytest.mark.models
def test_int8_reads_each_pair_alone(tiny_reader):
    pytest.importorskip("onnx")
    small = str(tiny_reader("Bert int8"))
    reader = load_reader(small)
    assert (reader.max_tokens, str(reader.runs)) == (64, "onnx int8 on cpu")
    alone = [reader.read([pair], 3)[0] for pair in PAIRS]
    assert reader.read(PAIRS, 3) == alone


def change(folder, **fields):
    file = folder / "convqa.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))
    return str(folder)


@pytest.fixture
def copied(tiny_reader, tmp_path):
    pytest.importorskip("onnx")
    return shutil.copytree(tiny_reader("Bert onnx"), tmp_path / "copied")


@pytest.mark.models
def test_a_manifest_carries_the_calibration(copied):
    before = load_reader(str(copied))
    after = load_reader(change(copied, settings={"calibration": {"answer": [0.5, 1.0], "null": [-2.0, 0]}}))
    assert after.calibration == Calibration(answer=(0.5, 1.0), null=(-2.0, 0.0))
    assert after.identity != before.identity


@pytest.mark.models
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"settings": {"calibration": 5}}, "settings: calibration: .*got 5"),
        ({"settings": {"calibration": {"answer": [-1.0, 0.0]}}}, r"settings: calibration\.answer.*got -1\.0"),
        ({"settings": {"calibration": {"null": [1.0, 0.0]}}}, r"settings: calibration\.null.*got 1\.0"),
        ({"settings": {"calibration": {"null": [-1.0]}}}, r"settings: calibration\.null"),
        ({"settings": {"calibration": {"answer": ["much", 0]}}}, "got 'much'"),
        ({"max_tokens": 9}, "max_tokens: expected 16 or more, got 9"),
    ],
)
def test_a_manifest_that_is_no_readers_is_refused_at_load(copied, fields, message):
    with pytest.raises(InputError, match=message):
        load_reader(change(copied, **fields))


@pytest.mark.models
def test_models_of_another_kind_are_refused(tiny_reader, copied, cross_encoder):
    with pytest.raises(InputError, match="expected a model of kind 'reader', got kind 'encoder'"):
        load_reader("encoder")
    with pytest.raises(InputError, match="expected a model of kind 'encoder', got kind 'reader'"):
        load_encoder(str(copied))
    with pytest.raises(InputError, match="the weights lack 2 tensors, such as qa_outputs"):
        load_reader(str(cross_encoder))
    with pytest.raises(InputError, match="expected those of BertForSequenceClassification"):
        load_pair_scorer(str(tiny_reader("Bert")))
    with pytest.raises(InputError, match="unknown model 'raeder'"):
        load_reader("raeder")


@pytest.mark.models
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 100}, "other shapes|cannot be loaded"),
        ({"num_labels": 3}, "the weights have other shapes|cannot be loaded"),
    ],
)
def test_a_damaged_folder_is_refused(tiny_reader, tmp_path, changes, message):
    folder = shutil.copytree(tiny_reader("Bert"), tmp_path / "copied")
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    with pytest.raises(InputError, match=message):
        load_reader(str(folder))
