from __future__ import annotations

import gzip
import sys
from unittest.mock import MagicMock

import numpy
import pytest

from convqa.errors import InputError
from convqa.tasks.qrecc import scorers
from convqa.tasks.qrecc.scorers import _cleaned, posscore, read_vectors, sas


def tag(text):
    return [(word, "NOUN" if word in ("cat", "dog") else "DET") for word in text.split()]


@pytest.mark.parametrize("name", ["wiki-news-300d-1M-subword.vec", "mine.vec", "mine.vec.gz"])
def test_posscore_reads_vectors_and_names_what_it_used(tmp_path, name):
    path = tmp_path / name
    content = b"3 2\ncat 1.0 0.0\ndog 0.0 1.0\nthe 1 0 \n"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    scorer = posscore(path, tag)
    assert scorer.name == f"POSSCORE({name})"
    assert not scorer.official
    assert scorer.score([("the cat", "the cat"), ("the cat", "the dog"), ("cat", "")]) == pytest.approx([2, 1, 0])


def test_only_wanted_vectors_are_kept(tmp_path):
    path = tmp_path / "v.vec"
    path.write_text("2 2\n2 1 0\ncat 1 0\n")
    found = read_vectors(path, {"cat", "2"})
    assert found.keys() == {"cat", "2"}
    assert numpy.array_equal(found["cat"], [1, 0])


def test_missing_vectors(tmp_path):
    with pytest.raises(InputError, match=r"POSSCORE: .*v\.vec: no such file; expected word vectors"):
        posscore(tmp_path / "v.vec")


def test_missing_packages_are_named_with_the_command(tmp_path, monkeypatch):
    (tmp_path / "v.vec").write_text("")
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(InputError, match=r"needs spacy, which is not installed\. Run: pip install spacy nltk"):
        posscore(tmp_path / "v.vec")


def test_markdown_links_are_their_text_as_in_the_package_posscore():
    """The package's own example, and what it does with others."""

    def cleaned(text):
        return _cleaned(text, str.split)

    assert cleaned("please try [ GitHub ] ( https://github.com )") == "please try github"
    assert cleaned("[x] ( http://a.b/c )") == "x"
    # Where the link's brackets stand close to it, the package loses the last one and keeps the link.
    assert cleaned("[x](http://a.b)") == cleaned("[x] (http://a.b)") == "x  url"


def test_sas_strips_both_texts_as_sentence_transformers_does(monkeypatch):
    scorer = MagicMock()
    scorer.score.return_value = numpy.zeros(2, numpy.float32)
    monkeypatch.setattr(scorers, "load_pair_scorer", lambda *_: scorer)
    assert sas("folder").score([(" truth\n", " answer "), ("two", "words ")]) == [0.5, 0.5]
    assert scorer.score.call_args.args == ([("answer", "truth"), ("words", "two")],)


@pytest.mark.models
def test_sas_by_a_small_cross_encoder(tmp_path):
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "yes", "no"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = transformers.BertConfig(vocab_size=len(words), num_labels=1, **sizes)
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    scorer = sas(str(tmp_path))
    assert scorer.name == f"SAS({tmp_path})"
    assert not scorer.official
    pairs = [("yes", "no"), ("no", "yes yes yes"), ("yes", "")]
    together = scorer.score(pairs)
    assert together == pytest.approx([scorer.score([pair])[0] for pair in pairs], abs=1e-4)
    assert all(0 < score < 1 for score in together)


def test_a_model_that_is_not_here_is_named():
    with pytest.raises(InputError, match=r"stsb-roberta-large is not on this machine.*hf download cross-encoder/stsb"):
        sas()
