"""The encoder that ships, as the base install runs it."""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from convqa.errors import InputError
from convqa.models import Options, load_encoder
from convqa.models.source import SHIPPED

TEXTS = [
    "Goethe wrote Faust.",
    "Faust is a play by Johann Wolfgang von Goethe, in two parts, of which the second appeared after his death.",
    "Physician assistants practise medicine.",
    "كتب غوته فاوست",
    "歌德写了浮士德",
    "🎭🔥",
    "",
    "half a character: \ud83d",
    "word " * 2000,
]


@pytest.fixture(scope="module")
def encoder():
    return load_encoder("encoder")


def test_vectors_are_float32_of_length_one_in_order(encoder):
    made = encoder.encode(TEXTS)
    assert made.shape == (len(TEXTS), encoder.dimension) == (len(TEXTS), 384)
    assert made.dtype == np.float32
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    for text, vector in zip(TEXTS, made, strict=True):
        assert np.array_equal(encoder.encode([text])[0], vector)


def test_no_text_no_vector(encoder):
    assert encoder.encode([]).shape == (0, 384)


def test_vectors_say_what_texts_are_about(encoder):
    who, plays, medicine = encoder.encode(["Who is the author of Faust?", TEXTS[1], TEXTS[2]])
    assert who @ plays > 0.5 > 0.2 > who @ medicine


def test_the_weights_are_those_that_were_measured(encoder):
    """The first numbers of two vectors of the original in float32; int8 is off by less than the tolerance."""
    original = [[0.042156, 0.083622, 0.032853, 0.025595], [0.006403, 0.025236, 0.036637, -0.035355]]
    made = encoder.encode(["Goethe wrote Faust.", "Physician assistants practise medicine."])
    assert np.allclose(made[:, :4], original, atol=0.015)


def test_a_text_is_cut_where_the_model_ends(encoder):
    assert encoder.max_tokens == 256
    assert np.array_equal(*encoder.encode(["word " * 254, "word " * 5000]))
    assert not np.array_equal(*encoder.encode(["word " * 253, "word " * 254]))


def test_it_is_loaded_once_whoever_asks(encoder):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: load_encoder("encoder"), range(16)))
    assert {id(one) for one in [*found, load_encoder("encoder", Options(device="cpu"))]} == {id(encoder)}


def test_threads_share_it(encoder):
    alone = encoder.encode(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for made in pool.map(lambda _: encoder.encode(TEXTS), range(4)):
            assert np.array_equal(made, alone)


def test_processes_load_it_at_once_without_torch():
    code = (
        "import sys; from convqa.models import load_encoder\n"
        "made = load_encoder('encoder').encode(['one', 'two'])\n"
        "print(made.shape, sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0].strip() for process in started] == ["(2, 384) []"] * 2


def test_spawned_processes_load_it_at_once(encoder):
    """As workers of a pool do; they begin together, so that nobody finds the work done."""
    with multiprocessing.get_context("spawn").Pool(
        2, _together, [multiprocessing.get_context("spawn").Barrier(2)]
    ) as pool:
        for checksum, made in pool.map(_encoded, [TEXTS[:3]] * 2, chunksize=1):
            assert checksum == encoder.checksum
            assert np.array_equal(made, encoder.encode(TEXTS[:3]))


def _together(barrier):
    _together.barrier = barrier


def _encoded(texts):
    _together.barrier.wait(60)
    found = load_encoder("encoder")
    return found.checksum, found.encode(texts)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
def test_a_forked_child_loads_it_anew():
    code = (
        "import os, sys; from convqa.models import load_encoder\n"
        "load_encoder('encoder').encode(['one', 'two', 'three'])\n"
        "child = os.fork()\n"
        "made = load_encoder('encoder').encode(['one', 'two', 'three'])\n"
        "child or os._exit(0 if made.shape == (3, 384) else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_its_identity_says_how_it_runs(encoder):
    assert encoder.identity == f"{encoder.checksum} (onnx int8 on cpu)"


def test_prompts_in_an_encoders_name(encoder):
    asked = load_encoder("encoder?query=query: &passage=passage: ")
    assert np.array_equal(asked.encode(["Faust"], "query"), encoder.encode(["query: Faust"]))
    assert np.array_equal(asked.encode(["Faust"]), encoder.encode(["passage: Faust"]))
    with pytest.raises(InputError, match=r"expected NAME\?query=TEXT&passage=TEXT"):
        load_encoder("encoder?qery=x")
    with pytest.raises(InputError, match="pooling=mean or pooling=cls"):
        load_encoder("encoder?pooling=max")


def test_what_is_put_before_queries_makes_no_vectors_foreign(encoder):
    families = {load_encoder(f"encoder?{asked}").family for asked in ("query=a", "query=b", "query=a&passage=")}
    assert families == {encoder.family}
    assert load_encoder("encoder?passage=a").family != encoder.family
    checksums = [load_encoder(name).checksum for name in ("encoder", "encoder?query=a", "encoder?query=b")]
    assert len(set(checksums)) == 3


def test_a_family_without_its_prompts_is_warned_of_unless_none_are_asked_for(tmp_path, caplog):
    folder = tmp_path / "e5-small-v2"
    shutil.copytree(SHIPPED / "encoder", folder)
    load_encoder(str(folder))
    assert "without the prompts of its family" in caplog.text and "query=query: &passage=passage: " in caplog.text
    caplog.clear()
    load_encoder(f"{folder}?query=")
    assert caplog.text == ""
