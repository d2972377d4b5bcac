"""Generators of transformers' own kinds, made by the test: loading them, their bounds, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from convqa.errors import InputError
from convqa.models import Options, load_generator
from convqa.models.kinds import generator as kinds

pytestmark = pytest.mark.models

KINDS = ["t5", "bart", "gpt2", "llama"]
PROMPTS = [
    "Who wrote Faust?",
    "",
    "When was he born? Goethe wrote Faust in Weimar.",
    "x" * 300,
    "Who?",
    "\ud800 \U0001f44d",
]


@pytest.mark.parametrize("kind", KINDS)
def test_texts_come_in_the_order_of_their_prompts_alone_or_in_batches(tiny_generator, kind, monkeypatch):
    generator = load_generator(tiny_generator(kind))
    assert generator.kind == ("seq2seq" if kind in {"t5", "bart"} else "causal")
    alone = [generator.write([prompt], 12)[0] for prompt in PROMPTS]
    for size in (1, 2, 16):
        monkeypatch.setattr(kinds, "_PROMPTS_PER_BATCH", size)
        assert generator.write(PROMPTS, 12) == alone
    # (A decoder of random weights that looks at its encoder as little as BART's writes the same for all.)
    assert len({written.text for written in alone}) > 1 or kind == "bart"
    assert generator.write([], 12) == []


@pytest.mark.parametrize("kind", KINDS)
def test_beams_give_one_text_each(tiny_generator, kind):
    generator = load_generator(tiny_generator(kind))
    assert len(generator.write(PROMPTS, 5, beams=3)) == len(PROMPTS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_generator_that_never_stops_is_stopped(tiny_generator, kind, tmp_path):
    import transformers

    folder = tmp_path / kind
    shutil.copytree(tiny_generator(kind), folder)
    auto = transformers.AutoModelForSeq2SeqLM if kind in {"t5", "bart"} else transformers.AutoModelForCausalLM
    model = auto.from_pretrained(folder)
    model.get_output_embeddings().weight.data.zero_()  # all tokens are equally likely, and the end is not the first
    model.generation_config.forced_eos_token_id = None
    model.save_pretrained(folder)
    generator = load_generator(str(folder))
    assert [written.finished for written in generator.write(["Who?", "When?"], 7)] == [False, False]


def test_a_prompt_of_any_length_fits(tiny_generator):
    for kind in KINDS:
        generator = load_generator(tiny_generator(kind))
        assert len(generator.write(["Faust " * 100_000], 3)) == 1


@pytest.mark.parametrize(("kind", "most"), [("gpt2", 224), ("bart", 1024)])
def test_more_tokens_than_the_model_has_places_for_are_refused(tiny_generator, kind, most):
    generator = load_generator(tiny_generator(kind))
    assert len(generator.write(["Faust " * 2000], most)) == 1
    with pytest.raises(InputError, match=f"max_new_tokens: expected {most} or less, got {most + 1}: .* positions"):
        generator.write(["Who?"], most + 1)


def test_the_middle_is_left_out(tiny_generator):
    generator = load_generator(tiny_generator("gpt2"))
    start, end = "Who wrote Faust? " * 9, " When was he born?" * 9
    short, long = (
        generator.write([start + middle + end], 9, longest_input=20)
        for middle in ("Goethe in Weimar " * 500, "something else, and longer " * 900)
    )
    assert short == long
    assert short != generator.write([start + " Goethe wrote Faust in Weimar." * 9], 9, longest_input=20)


def test_a_chat_template_is_used_where_it_is_asked_for(tiny_generator, tmp_path):
    folder = tmp_path / "chat"
    shutil.copytree(tiny_generator("llama"), folder)
    assert not load_generator(str(folder)).has_chat_template
    (folder / "chat_template.jinja").write_text("{% for m in messages %}Question: {{ m.content }}\nAnswer:{% endfor %}")
    generator = load_generator(str(folder))
    assert generator.has_chat_template
    assert generator.write(["Who?"], 8, chat=True) == generator.write(["Question: Who?\nAnswer:"], 8)
    assert generator.write(["Who?"], 8, chat=True) != generator.write(["Who?"], 8)


def test_settings_of_generation_leave_no_chance(tiny_generator, tmp_path):
    folder = tmp_path / "sampling"
    shutil.copytree(tiny_generator("gpt2"), folder)
    file = folder / "generation_config.json"
    told = {"do_sample": True, "temperature": 5.0, "top_k": 50, "top_p": 0.9, "max_length": 3, "min_length": 50}
    file.write_text(json.dumps({**json.loads(file.read_text()), **told}))
    written = load_generator(str(folder)).write(PROMPTS, 12)
    assert written == load_generator(tiny_generator("gpt2")).write(PROMPTS, 12)


def test_a_model_is_loaded_once_and_says_what_it_is(tiny_generator):
    folder = tiny_generator("t5")
    generator = load_generator(folder)
    assert load_generator(folder) is generator and load_generator(folder, Options(precision="float32")) is generator
    assert generator.checksum != load_generator(tiny_generator("gpt2")).checksum
    whole = load_generator(folder, Options("cpu"))
    assert (str(whole.runs), whole.identity) == ("torch float32 on cpu", f"{whole.checksum} (torch float32 on cpu)")
    assert load_generator(folder, Options("cpu", "bfloat16")).identity == f"{whole.checksum} (torch bfloat16 on cpu)"


def broken(folder: Path, how: str) -> None:
    weights = folder / "model.safetensors"
    told = json.loads((folder / "config.json").read_text())
    if how == "cut weights":
        weights.write_bytes(weights.read_bytes()[:-1000])
    elif how == "no weights":
        weights.unlink()
    elif how == "other shapes":
        (folder / "config.json").write_text(json.dumps({**told, "n_embd": 32}))
    elif how == "more layers":
        (folder / "config.json").write_text(json.dumps({**told, "n_layer": 3}))
    else:
        (folder / "config.json").write_text("{")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("cut weights", "cannot be loaded"),
        ("no weights", "cannot be loaded"),
        ("other shapes", "cannot be loaded|other shapes"),
        ("more layers", "weights lack"),
        ("no JSON", "cannot be loaded"),
    ],
)
def test_damaged_and_foreign_folders_are_refused(tiny_generator, tmp_path, how, message):
    folder = tmp_path / "broken"
    shutil.copytree(tiny_generator("gpt2"), folder)
    broken(folder, how)
    with pytest.raises(InputError, match=message):
        load_generator(str(folder))


def test_what_is_no_generator_is_refused():
    with pytest.raises(InputError, match="expected a model of kind 'generator', got kind 'encoder'"):
        load_generator("encoder")
    with pytest.raises(InputError, match="no such folder"):
        load_generator("./nothing")
