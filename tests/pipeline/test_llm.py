"""A language model by one name: how it is read, and what becomes of the pipelines that get it."""

from __future__ import annotations

import pytest
import yaml

from convqa.errors import InputError
from convqa.pipeline.llm import KEY, Llm, read_llm
from convqa.pipeline.load import load
from convqa.pipeline.merge import resolve
from convqa.pipeline.read import shipped_pipelines
from convqa.places import shipped_yaml

LOCAL = "http://localhost:8080"


def node(document, name):
    return document.components[name].type.rpartition(".")[2], document.components[name].init_parameters


def generator(parameters):
    return parameters["component"]["init_parameters"]


@pytest.mark.parametrize(
    ("url", "address"),
    [
        (LOCAL, f"{LOCAL}/v1"),
        (f"{LOCAL}/", f"{LOCAL}/v1"),
        (f"{LOCAL}/v1/", f"{LOCAL}/v1"),
        ("https://gateway.example/llm/openai/v1", "https://gateway.example/llm/openai/v1"),
        ("http://[::1]:8080", "http://[::1]:8080/v1"),
    ],
)
def test_a_server_by_its_url_gets_the_key_of_one_variable_if_that_is_set(url, address):
    llm = read_llm(url, "m")
    assert (llm.url, llm.model, llm.role) == (address, "m", ["rewrite", "answer"])
    secret = generator(llm.parameters("answer"))["api_key"]
    assert (secret["env_vars"], secret["strict"]) == ([KEY], False)


@pytest.mark.parametrize("name", shipped_yaml("configs", "llms"))
def test_every_shipped_file_is_read_and_sends_only_the_key_that_it_names(name):
    llm = read_llm(name, "m", ["answer"])
    secret = generator(llm.parameters("answer"))["api_key"]
    assert (llm.model, llm.role) == ("m", ["answer"])
    assert secret == (secret and {"type": "env_var", "env_vars": ["OPENAI_API_KEY"], "strict": True})
    assert (secret is not None) == (name == "openai")


def test_a_file_of_ones_own(tmp_path):
    file = tmp_path / "mine.yaml"
    fields = {"url": LOCAL, "model": "m", "key": "MY_KEY", "role": ["rewrite"], "timeout": 7, "retries": 1,
              "concurrency": 3, "generation": {"seed": 1}, "context": 4096,
              "prompt": {"answer": "mine.yaml"}}  # fmt: skip
    file.write_text(yaml.safe_dump(fields))
    assert read_llm(file) == Llm(**fields | {"url": f"{LOCAL}/v1", "timeout": 7.0})
    assert read_llm(file, "other", ["answer"], timeout=9.0).model_dump(include={"model", "role", "timeout"}) == {
        "model": "other", "role": ["answer"], "timeout": 9.0
    }  # fmt: skip
    patient = read_llm(file, fallback=False)
    assert generator(patient.parameters("answer"))["max_retries"] == 1
    assert patient.parameters("rewrite")["cache_replies"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected a mapping with url and model"),
        ("url: http://x", "missing model; add --llm-model NAME"),
        ("{model: m}", "expected a mapping with url and model"),
        ("{model: m, url: 'ftp://x'}", "url: expected"),
        ("{model: m, url: 'http://x:99999999'}", "url: expected"),
        ("{model: m, url: 'http://u:S3CRET@x'}", "url: expected"),
        ("{model: m, url: 'http://x/v1?key=S3CRET'}", "url: expected"),
        ("{model: m, url: 'http://x', key: S3CRET-sk}", "key: expected the name of an environment variable"),
        ("{model: m, url: 'http://x', generation: {api_key: S3CRET}}", "secrets are not allowed"),
        ("{model: m, url: 'http://x', role: [write]}", "expected 'rewrite' or 'answer'"),
        (
            "{model: m, url: 'http://x', timeout: 0, color: red}",
            "expected more than 0, got 0; color: unknown field",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_said_and_no_secret_is(tmp_path, text, message):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=f"language model .*mine.yaml.*{message}") as error:
        read_llm(file)
    assert "S3CRET" not in str(error.value)


@pytest.mark.parametrize("name", ["ollamma", "localhost:11434", "ftp://x", "", "../ollama"])
def test_an_unknown_name_says_what_is_known(name):
    with pytest.raises(InputError, match=r"unknown name.*llama\.cpp, ollama.*http://localhost:11434/v1"):
        read_llm(name, "m")


def test_talk_keeps_its_small_talk_and_what_the_model_replaces_stands_behind_it():
    document = resolve("talk", llm=read_llm(LOCAL, "m"))
    kind, rewriter = node(document, "rewriter")
    assert (kind, rewriter["rewriter"]["type"].rpartition(".")[2]) == ("SmallTalk", "LlmRewriter")
    assert rewriter["rewriter"]["fallback"] == {
        "type": "edit",
        "min_probability": 0.5,
        "query_encoder": "query_encoder",
    }
    assert generator(rewriter["rewriter"])["timeout"] == 60.0
    kind, builder = node(document, "builder")
    assert kind == "Generative" and builder["fallback"]["allow_repeats"] is False
    assert generator(builder) == {
        "model": "m", "api_base_url": f"{LOCAL}/v1", "timeout": 60.0, "max_retries": 0, "generation_kwargs": {},
        "api_key": {"type": "env_var", "env_vars": [KEY], "strict": False},
    }  # fmt: skip
    assert node(document, "decider")[1]["decide_generated"] is False


def test_in_a_run_nothing_stands_in_for_the_model():
    document = resolve("default", llm=read_llm(LOCAL, "m", fallback=False))
    for name in ("rewriter", "builder"):
        parameters = node(document, name)[1]
        assert (
            "fallback" not in parameters and generator(parameters)["max_retries"] == 2 and parameters["cache_replies"]
        )


def test_one_role_leaves_the_rest_as_it_is():
    plain = resolve("talk")
    asking, writing = (resolve("talk", llm=read_llm(LOCAL, "m", [role])) for role in ("rewrite", "answer"))
    assert asking.components["builder"] == plain.components["builder"]
    assert asking.components["decider"] == plain.components["decider"]
    assert writing.components["rewriter"] == plain.components["rewriter"]


def test_settings_come_after_the_model():
    settings = {"builder.max_sentences": 8, "builder.fallback.max_sentences": 1}
    builder = node(resolve("talk", settings, read_llm(LOCAL, "m")), "builder")[1]
    assert (builder["max_sentences"], builder["fallback"]["max_sentences"]) == (8, 1)


def test_a_builder_that_holds_another_stays_and_one_that_asks_a_model_already_asks_this_one():
    kind, asking = node(resolve("asking", llm=read_llm(LOCAL, "m")), "builder")
    assert (kind, asking["builder"]["type"].rpartition(".")[2]) == ("Rules", "Generative")
    kind, builder = node(resolve("generative", llm=read_llm(LOCAL, "m")), "builder")
    assert (kind, generator(builder)["model"], "fallback" in builder) == ("Generative", "m", False)


@pytest.mark.parametrize("name", shipped_pipelines())
def test_every_shipped_pipeline_takes_it_where_it_has_the_nodes(name):
    nodes = resolve(name).components
    roles = [role for role, node in (("rewrite", "rewriter"), ("answer", "builder")) if node in nodes]
    made = load(name, llm=read_llm(LOCAL, "m", roles))
    text = made.document.to_yaml()
    assert text.count("api_base_url: http://localhost:8080/v1") == len(roles) and KEY in text
    if len(roles) == 1:
        with pytest.raises(InputError, match="missing builder for the role 'answer'"):
            resolve(name, llm=read_llm(LOCAL, "m"))
