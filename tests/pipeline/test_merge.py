"""A pipeline's file, what it extends and --set, and what happens when they are wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from convqa.errors import InputError
from convqa.pipeline.load import load
from convqa.pipeline.merge import resolve
from convqa.pipeline.read import StationList, read, shipped_pipelines
from convqa.places import shipped

SMALL = """
stations:
  rewriter: copy
  retriever: {type: bm25, top_k: 10}
"""
GRAPH = """
components:
  rewriter:  {type: copy}
  retriever: {type: convqa.components.retrievers.bm25.BM25, init_parameters: {top_k: 10}}
connections:
  - {sender: rewriter.rewrites, receiver: retriever.rewrites}
inputs:  {turns: [rewriter.turns, retriever.turns]}
outputs: {rewrites: rewriter.rewrites, rankings: retriever.rankings}
"""
COPY = "convqa.components.rewriters.copy.Copy"
SHOUT = """
from convqa.components.base import Rewriter
from convqa.components.members import member
from convqa.domain import Rewrite

@member
class Shout(Rewriter):
    times: int = 1

    def rewrite(self, turn):
        return Rewrite.unchanged(turn.question.upper() + "!" * self.times)
"""


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def mistakes(pipeline: str, settings: dict | None = None) -> str:
    try:
        load(pipeline, settings)
    except InputError as error:
        return str(error)
    return ""


def parameters(document, name):
    return document.components[name].init_parameters


@pytest.mark.parametrize("name", shipped_pipelines())
def test_every_shipped_pipeline_loads_and_can_be_extended(name):
    assert mistakes(name) == ""
    content = read(shipped("pipelines", f"{name}.yaml"))
    assert isinstance(content, StationList) and content.extends is None


def test_extends_and_set_apply_in_this_order(tmp_path):
    write(tmp_path, "base.yaml", SMALL)
    child = write(tmp_path, "child.yaml", "extends: base.yaml\nstations: {retriever: {top_k: 20, k1: 1.2}}\n")
    assert parameters(resolve(child), "retriever") == {"top_k": 20, "k1": 1.2}
    assert parameters(resolve(child, {"retriever.top_k": 30}), "retriever") == {"top_k": 30, "k1": 1.2}


def test_a_station_is_added_in_its_place_replaced_or_removed(tmp_path):
    text = "extends: copy-bm25\nstations: {rewriter: edit, reranker: {type: encoder, depth: 5}, decider: null}\n"
    document = resolve(write(tmp_path, "child.yaml", text))
    assert list(document.components) == ["rewriter", "retriever", "reranker", "reader", "builder"]
    assert document.components["rewriter"].type == "convqa.components.rewriters.edit.Edit"
    assert document.outputs == {
        "rewrites": "rewriter.rewrites",
        "rankings": "reranker.rankings",
        "readings": "reader.readings",
        "answers": "builder.answers",
    }
    arrows = {(arrow.sender, arrow.receiver) for arrow in document.connections}
    assert ("retriever.rankings", "reranker.rankings") in arrows and ("reranker.rankings", "builder.rankings") in arrows
    assert resolve("copy-bm25", {"rewriter": "edit", "reranker": {"type": "encoder", "depth": 5}, "decider": None}) == (
        document.model_copy(update={"modules": []})
    )


def test_a_builder_answers_without_a_reader():
    document = resolve("expansion-bm25", {"reader": None})
    assert set(document.outputs) == {"rewrites", "rankings", "answers"}
    assert "builder.readings" not in {arrow.receiver for arrow in document.connections}


def test_a_new_type_starts_from_its_own_defaults():
    document = resolve("expansion-bm25", {"rewriter.type": "copy"})
    assert parameters(document, "rewriter") == {}
    assert resolve("copy-bm25").to_yaml() == document.to_yaml()
    same = resolve("expansion-bm25", {"rewriter.type": "expansion"})
    assert parameters(same, "rewriter") == {"terms": 5, "weight": 0.3}


def test_mappings_are_merged_unless_they_have_another_type(tmp_path):
    changed = {"builder": {"max_passages": 3, "component": {"init_parameters": {"model": "one"}}}}
    child = write(tmp_path, "p.yaml", yaml.safe_dump({"extends": "generative", "stations": changed}))
    component = parameters(resolve(child), "builder")["component"]
    assert component["init_parameters"]["model"] == "one"
    assert component["init_parameters"]["api_base_url"] == "http://localhost:8080/v1"
    document = resolve("asking", {"builder": {"builder": {"type": "span"}}})
    assert parameters(document, "builder")["builder"] == {"type": "span"}


def test_what_a_parameter_holds_is_set_by_its_path():
    path = "builder.component.init_parameters"
    settings = {
        f"{path}.generation_kwargs.temperature": 0,
        f"{path}.api_key.env_vars": ["MY_KEY"],
        f"{path}.model": "two",
    }
    made = parameters(resolve("generative", settings), "builder")["component"]["init_parameters"]
    assert made["model"] == "two" and made["api_base_url"] == "http://localhost:8080/v1"
    assert made["generation_kwargs"] == {"temperature": 0}
    assert made["api_key"] == {"type": "env_var", "env_vars": ["MY_KEY"], "strict": True}


def test_a_name_of_a_member_with_a_parameter_is_a_member():
    document = resolve("talk", {"rewriter.rewriter.weight": 0.5, "retriever.weights.dense": 3.0})
    assert parameters(document, "rewriter") == {
        "rewriter": {"type": "edit", "min_probability": 0.5, "query_encoder": "query_encoder", "weight": 0.5}
    }
    assert parameters(document, "retriever")["weights"] == {"sparse": 1.0, "dense": 3.0}
    document = resolve("asking", {"builder.builder.type": "span"})
    assert parameters(document, "builder")["builder"] == {"type": "span"}


def test_the_callers_settings_stay_as_they_are():
    component = {"type": "span"}
    resolve("asking", {"builder.builder": component, "builder.builder.x": 1})
    assert component == {"type": "span"}
    made = object()
    assert parameters(resolve("asking", {"builder.builder": made}), "builder")["builder"] is made


def test_an_alias_of_what_is_changed_stays_as_it_is(tmp_path):
    text = "stations: {rewriter: copy, retriever: {type: hybrid, weights: &w {sparse: 1.0}, other: *w}}\n"
    document = resolve(write(tmp_path, "p.yaml", text), {"retriever.weights.dense": 2})
    assert parameters(document, "retriever") == {"weights": {"sparse": 1.0, "dense": 2}, "other": {"sparse": 1.0}}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("component.model", r"expected builder\.component\.init_parameters\.model"),
        ("component.init_parameters.modell", r"builder\.component\.modell: .* 'model'\?"),
        ("componen.init_parameters.model", r"builder\.componen: .* 'component'\?"),
        ("init_parameters.cache_replies", r"such as builder\.cache_replies"),
        (".cache_replies", r"such as builder\.cache_replies"),
        ("cache_replies.x", r"builder\.cache_replies is True"),
    ],
)
def test_a_wrong_path_into_a_parameter_is_named(key, message):
    with pytest.raises(InputError, match=message):
        load("generative", {f"builder.{key}": "tiny"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"builder": None}, r"decider: requires answers.*builder"),
        ({"rewriter": None}, r"retriever: requires rewrites.*rewriter"),
        ({"readr.max_passages": 1}, "'readr'.*'reader'"),
        ({"readr": None}, "'readr'.*'reader'"),
        ({"reader": 3}, "--set reader: expected.*got 3"),
        ({"reader.type": 3}, "--set reader.type: expected"),
    ],
)
def test_a_setting_that_fits_no_station_is_named(settings, message):
    with pytest.raises(InputError, match=f"default.yaml: .*{message}"):
        resolve("default", settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reranker.depth": 1}, "'reranker'"),
        ({"reranker": {"depth": 1}}, r"--set reranker: expected \{type"),
    ],
)
def test_a_station_that_the_pipeline_lacks_needs_its_type(settings, message):
    with pytest.raises(InputError, match=f"hybrid.yaml: .*{message}"):
        resolve("hybrid", settings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SMALL.replace("bm25", "convqa.components.retrievers.bm52.BM25"), "'convqa.components.retrievers.bm52'. Did"),
        (SMALL.replace("copy", "convqa.components.rewriters.copy.Copi"), "no component 'Copi'. Did you mean 'Copy'?"),
        (SMALL.replace("copy", "convqa.components.base.Rewriter"), "base.Rewriter is not a component: put @member"),
        (SMALL.replace("copy", "copi"), "rewriter.type: unknown name 'copi'. Did you mean 'copy'?"),
        (SMALL.replace("10", "ten"), "retriever.top_k: expected a whole number, got 'ten'"),
        (SMALL.replace("top_k: 10", "top_k: 0"), "retriever.top_k: expected 1 or more, got 0"),
        (SMALL.replace("top_k", "topk"), "retriever.topk: unknown parameter. Did you mean 'top_k'?"),
        (SMALL.replace("copy", "subprocess.Popen"), "the module 'subprocess' is not allowed"),
        (SMALL.replace("copy", "haystack.utils.auth.os"), "no component 'os'"),
        (SMALL.replace("stations", "station"), "station: unknown field. Did you mean 'stations'?"),
        (SMALL.replace("rewriter", "rewriters"), "stations.rewriters: unknown station. Did you mean 'rewriter'?"),
        (SMALL.replace("type: bm25, ", ""), "stations.retriever: expected {type: NAME"),
        ("stations: {rewriter: copy, rewriter: edit}", "duplicate key 'rewriter'"),
        ("stations: {rewriter: copy, reader: sentences}", "stations.reader: requires rankings"),
        ("stations: {rewriter: 3}", "stations.rewriter"),
        ("extends: p.yaml\n", "itself extends"),
        ("extends: child.yaml\n", "itself extends"),
        ("extends: graph.yaml\n", "has no stations"),
        ("extends: nothing-here\n", "unknown name 'nothing-here'"),
        ("extends: /etc/shadow\n", "unknown name '/etc/shadow'."),
        ("{}", "outputs: missing"),
        ("[1, 2]", "expected a mapping"),
        ("", "expected a mapping"),
        ("a: [1", "is not valid YAML"),
        ("extends: copy-bm25\nmetadata: &m {x: *m}\n", "line 2, column 18: the alias *m is"),
        (GRAPH.replace("rewriter.turns, ", ""), "rewriter.turns has no connection"),
        (GRAPH.replace("retriever.turns]", "retriever.turn]"), "unknown socket 'retriever.turn'"),
        (GRAPH.replace("rewrites: rewriter.rewrites", "rewrites: retriever.rankings"), "does not return rewrites"),
        (GRAPH.replace("outputs:", "output:"), "output: unknown field. Did you mean 'outputs'?"),
        (GRAPH.replace("connections:", "connections:\n  - {sender: a.b, receiver: rewriter.turns}"), "a.b"),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    write(tmp_path, "child.yaml", "extends: default\n")
    write(tmp_path, "graph.yaml", GRAPH)
    said = mistakes(write(tmp_path, "p.yaml", text))
    assert message in said and "p.yaml" in said


def test_a_circle_of_connections_is_refused(tmp_path):
    text = """
components: {first_reranker: {type: encoder}, second_reranker: {type: encoder}}
connections:
  - {sender: first_reranker.rankings, receiver: second_reranker.rankings}
  - {sender: second_reranker.rankings, receiver: first_reranker.rankings}
outputs: {rankings: second_reranker.rankings}
"""
    assert "connections form a cycle" in mistakes(write(tmp_path, "p.yaml", text))


def test_both_forms_are_the_same_pipeline(tmp_path):
    lined, graph = (load(write(tmp_path, f"{name}.yaml", text)) for name, text in (("a", SMALL), ("b", GRAPH)))
    assert lined.document.to_haystack() == graph.document.to_haystack() == graph.document.to_yaml()
    assert resolve(str(tmp_path / "b.yaml"), {"retriever.top_k": 3, "rewriter.type": "edit"}).components.keys() == {
        "rewriter",
        "retriever",
    }
    assert "remove retriever and its connections" in mistakes(str(tmp_path / "b.yaml"), {"retriever": None})


@pytest.mark.parametrize("name", ["talk", "asking", "generative", "transformers"])
def test_what_is_resolved_can_be_read_again(tmp_path, name):
    document = load(name).document
    for form in (document.to_yaml(), document.to_haystack()):
        again = load(write(tmp_path, "resolved.yaml", form)).document
        assert again.to_haystack() == document.to_haystack()
        assert again.to_yaml() == form


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (SMALL.replace("top_k: 10", "api_key: sk-0815"), "stations.retriever.api_key"),
        (GRAPH.replace("top_k: 10", "api_key: sk-0815"), "components.retriever.init_parameters.api_key"),
        (f"{SMALL}metadata: {{hf_token: [sk-0815]}}", "metadata.hf_token"),
        ("extends: default\nstations: {retriever: {hosts: ['https://me:sk-0815@host']}}", "stations.retriever.hosts"),
        ("extends: secret.yaml\nstations: {retriever: {api_key: null}}", "secret.yaml: stations.retriever"),
    ],
)
def test_a_secret_in_a_file_is_refused_before_anything_repeats_it(tmp_path, text, field):
    write(tmp_path, "secret.yaml", SMALL.replace("top_k: 10", "api_key: sk-0815"))
    with pytest.raises(InputError) as caught:
        resolve(write(tmp_path, "p.yaml", text))
    assert field in str(caught.value) and "secrets are not allowed" in str(caught.value)
    assert "sk-0815" not in str(caught.value)


def test_a_secret_among_the_settings_is_refused_and_a_variable_is_not():
    with pytest.raises(InputError, match=r"^pipeline .*: --set builder\.api_key: secrets") as caught:
        resolve("default", {"builder.api_key": "sk-0815"})
    assert "sk-0815" not in str(caught.value)
    variable = {"type": "env_var", "env_vars": ["MY_KEY"], "strict": True}
    assert parameters(resolve("default", {"builder.api_key": variable}), "builder")["api_key"] == variable


def test_an_unknown_pipeline_names_the_nearest():
    with pytest.raises(InputError, match="Did you mean 'copy-bm25'"):
        resolve("copybm25")
    with pytest.raises(InputError, match="no such file"):
        resolve("missing.yaml")


def test_a_file_of_something_else_is_not_repeated(tmp_path):
    path = write(tmp_path, "users.yaml", "root:*:20228:0:99999:7::\ndaemon:$6$hash:20228:0:99999:7::\n")
    said = mistakes(path)
    assert "a malformed key: unknown field" in said and "daemon" not in said and "20228" not in said
    assert len(said) < 400


@pytest.fixture
def own(tmp_path):
    """A pipeline file of the user's with a class beside it, and what a process says that runs code with its path."""
    (tmp_path / "shout_for_test.py").write_text(SHOUT)
    path = write(tmp_path, "shout.yaml", SMALL.replace("copy", "shout_for_test.Shout"))

    def run(code: str) -> str:
        head = f"from convqa.pipeline.load import load\nfrom convqa.pipeline.merge import resolve\npath = {path!r}\n"
        done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    return run


def test_a_class_beside_the_users_own_file_loads(own):
    said = own("print(load(path, {'rewriter.times': 3}).document.components['rewriter'].init_parameters)")
    assert said.strip() == "{'times': 3}"
    assert "not allowed" in own("load('copy-bm25', {'rewriter.type': 'shout_for_test.Shout'})")


def test_settings_of_the_same_command_may_name_a_module_too(own):
    said = own(
        f"open(path, 'w').write({SMALL!r})\n"
        "print(load(path, {'rewriter.type': 'shout_for_test.Shout'}).document.modules)"
    )
    assert said.strip() == "['shout_for_test']"


def test_the_modules_of_a_file_of_somebody_elses_do_not_load(own):
    assert "the module 'shout_for_test' is not allowed" in own("load(path, trusted=False)")


def test_the_folder_of_the_file_hides_no_installed_package(own, tmp_path):
    (tmp_path / "yaml.py").write_text("raise SystemExit('hidden')")
    (tmp_path / "textblob.py").write_text("raise SystemExit('hidden')")
    assert own("load(path)\nimport importlib, yaml\nimportlib.reload(yaml)\nprint('ok')").strip() == "ok"


def test_a_module_that_is_missing_names_the_folder(tmp_path):
    path = write(tmp_path, "p.yaml", SMALL.replace("copy", "elsewhere_for_test.Shout"))
    assert "no module 'elsewhere_for_test'" in mistakes(path)
    (tmp_path / "elsewhere_for_test").mkdir()
    path = write(tmp_path, "r.yaml", SMALL.replace("copy", "elsewhere_for_test.no.Shout"))
    assert "no module 'elsewhere_for_test.no'" in mistakes(path)
