"""extends, override, drop and --set, and what happens when they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from convqa.errors import InputError
from convqa.pipeline.compose import compose
from convqa.pipeline.document import shipped_pipelines
from convqa.pipeline.load import wire

SMALL = """
components:
  rewriter:  {type: convqa.components.rewriters.copy.Copy}
  retriever: {type: convqa.components.retrievers.bm25.BM25, init_parameters: {top_k: 10}}
connections:
  - {sender: rewriter.rewrites, receiver: retriever.rewrites}
inputs:  {turns: [rewriter.turns, retriever.turns]}
outputs: {rewrites: rewriter.rewrites, rankings: retriever.rankings}
"""


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def mistakes(pipeline: str) -> str:
    try:
        wire(compose(pipeline), pipeline)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", shipped_pipelines())
def test_every_shipped_pipeline_loads(name):
    assert mistakes(name) == ""


def test_extends_override_and_set_apply_in_this_order(tmp_path):
    write(tmp_path, "base.yaml", SMALL)
    child = write(tmp_path, "child.yaml", "extends: base.yaml\noverride: {retriever.top_k: 20, retriever.k1: 1.2}\n")
    document = compose(child, {"retriever.top_k": 30})
    assert document.components["retriever"].init_parameters == {"top_k": 30, "k1": 1.2}
    assert document.extends is None and document.override == {}


def test_short_names_become_full_paths(tmp_path):
    path = write(tmp_path, "p.yaml", SMALL.replace("convqa.components.rewriters.copy.Copy", "copy"))
    assert compose(path).components["rewriter"].type == "convqa.components.rewriters.copy.Copy"


def test_a_new_type_starts_from_its_own_defaults():
    document = compose("expansion-bm25", {"rewriter.type": "copy"})
    assert document.components["rewriter"].init_parameters == {}
    assert compose("copy-bm25").to_yaml() == document.to_yaml()


def test_what_a_parameter_holds_is_set_by_its_path(tmp_path):
    parameters = "builder.component.init_parameters"
    child = write(
        tmp_path, "p.yaml", f"extends: generative\noverride: {{{parameters}.model: one, builder.passages: 3}}\n"
    )
    settings = {
        f"{parameters}.generation_kwargs.temperature": 0,
        f"{parameters}.api_key.env_vars": ["MY_KEY"],
        f"{parameters}.model": "two",
    }
    builder = compose(child, settings).components["builder"].init_parameters
    assert builder["passages"] == 3 and builder["component"]["type"].endswith("OpenAIChatGenerator")
    made = builder["component"]["init_parameters"]
    assert made["model"] == "two" and made["api_base_url"] == "http://localhost:8080/v1"
    assert made["generation_kwargs"] == {"temperature": 0}
    assert made["api_key"] == {"type": "env_var", "env_vars": ["MY_KEY"], "strict": True}
    assert compose(child).components["builder"].init_parameters["component"]["init_parameters"]["model"] == "one"


def test_a_part_of_a_parameter_that_is_not_written_is_a_part_of_its_default():
    document = compose("copy-bm25", {"retriever.type": "hybrid", "retriever.weights.dense": 3.0})
    assert document.components["retriever"].init_parameters == {"weights": {"sparse": 1.0, "dense": 3.0}}
    document = compose("asking", {"builder.builder.type": "span"})
    assert document.components["builder"].init_parameters["builder"] == {"type": "span"}


def test_the_callers_settings_stay_as_they_are():
    component = {"type": "span", "init_parameters": {}}
    compose("asking", {"builder.builder": component, "builder.builder.init_parameters.x": 1})
    assert component == {"type": "span", "init_parameters": {}}
    made = object()
    document = compose("asking", {"builder.builder": made})
    assert document.components["builder"].init_parameters["builder"] is made


def test_an_alias_of_what_is_changed_stays_as_it_is(tmp_path):
    weights = (
        "{retriever.type: hybrid, retriever.weights: &w {sparse: 1.0}, retriever.other: *w, retriever.weights.dense: 2}"
    )
    child = write(tmp_path, "p.yaml", f"extends: copy-bm25\noverride: {weights}\n")
    parameters = compose(child).components["retriever"].init_parameters
    assert parameters == {"weights": {"sparse": 1.0, "dense": 2}, "other": {"sparse": 1.0}}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("component.model", "builder.component is a component; expected builder.component.init_parameters.model"),
        (
            "component.init_parameter.model",
            "expected builder.component.init_parameters.model or builder.component.type",
        ),
        ("component.init_parameters.modell", r"builder.component.modell: unknown parameter. Did you mean 'model'\?"),
        ("componen.init_parameters.model", r"builder.componen: unknown parameter. Did you mean 'component'\?"),
        ("init_parameters.keep", "expected the node's name followed by a parameter, such as builder.keep"),
        (".keep", "such as builder.keep"),
        ("keep.x", "--set builder.keep.x: builder.keep is True, which has no part 'x'"),
    ],
)
def test_a_wrong_path_into_a_parameter_is_named(key, message):
    with pytest.raises(InputError, match=message):
        wire(compose("generative", {f"builder.{key}": "tiny"}), "generative")


def test_dropping_the_reader_removes_its_optional_receivers(tmp_path):
    child = write(tmp_path, "child.yaml", "extends: expansion-bm25\ndrop: reader\n")
    document = compose(child)
    assert set(document.outputs) == {"rewrites", "rankings", "answers"}
    assert "builder.readings" not in {arrow.receiver for arrow in document.connections}
    assert mistakes(child) == ""


RERANKED = """
components:
  rewriter:  {type: copy}
  retriever: {type: bm25}
  reranker:  {type: reverse_for_test.Reverse}
connections:
  - {sender: rewriter.rewrites, receiver: retriever.rewrites}
  - {sender: rewriter.rewrites, receiver: reranker.rewrites}
  - {sender: retriever.rankings, receiver: reranker.rankings}
inputs:  {turns: [rewriter.turns, retriever.turns, reranker.turns]}
outputs: {rankings: reranker.rankings}
"""


def test_drop_rewires_to_the_one_input_of_the_same_type(tmp_path, monkeypatch):
    (tmp_path / "reverse_for_test.py").write_text(
        "from haystack import component\n"
        "from convqa.components.base import Reranker\n"
        "@component\n"
        "class Reverse(Reranker):\n"
        "    def rerank(self, turn, rewrite, ranking):\n"
        "        return ranking\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "reverse_for_test")
    write(tmp_path, "base.yaml", RERANKED)
    child = write(tmp_path, "child.yaml", "extends: base.yaml\ndrop: [reranker]\n")
    assert mistakes(child) == ""
    assert compose(child).outputs == {"rankings": "retriever.rankings"}
    assert compose(child).inputs == {"turns": ["rewriter.turns", "retriever.turns"]}


JOINED = """
components:
  rewriter: {type: copy}
  sparse_retriever: {type: bm25}
  dense_retriever: {type: bm25, init_parameters: {top_k: 5}}
  joiner: {type: weighted, init_parameters: {inputs: [sparse, dense]}}
connections:
  - {sender: rewriter.rewrites, receiver: sparse_retriever.rewrites}
  - {sender: rewriter.rewrites, receiver: dense_retriever.rewrites}
  - {sender: sparse_retriever.rankings, receiver: joiner.sparse}
  - {sender: dense_retriever.rankings, receiver: joiner.dense}
inputs:  {turns: [rewriter.turns, sparse_retriever.turns, dense_retriever.turns]}
outputs: {rewrites: rewriter.rewrites, rankings: joiner.rankings}
"""


def test_nothing_takes_the_place_of_a_node_with_two_inputs_of_the_type(tmp_path):
    write(tmp_path, "base.yaml", JOINED)
    child = write(tmp_path, "child.yaml", "extends: base.yaml\ndrop: [joiner]\n")
    assert mistakes(str(tmp_path / "base.yaml")) == ""
    assert "several inputs of one type, sparse_retriever.rankings and dense_retriever.rankings" in mistakes(child)


def test_nodes_that_need_one_another_are_dropped_together_in_any_order(tmp_path):
    for names in ("[reader, builder, decider]", "[decider, builder, reader]"):
        child = write(tmp_path, "child.yaml", f"extends: expansion-bm25\ndrop: {names}\n")
        assert mistakes(child) == ""
        assert set(compose(child).components) == {"rewriter", "retriever"}
        assert set(compose(child).outputs) == {"rewrites", "rankings"}
    child = write(tmp_path, "child.yaml", "extends: expansion-bm25\ndrop: [builder]\n")
    assert "decider.answers requires its answers" in mistakes(child)


def test_dropping_what_is_needed_is_an_error(tmp_path):
    write(tmp_path, "base.yaml", SMALL)
    child = write(tmp_path, "child.yaml", "extends: base.yaml\ndrop: rewriter\n")
    assert "retriever.rewrites requires its rewrites" in mistakes(child)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SMALL.replace("bm25.BM25", "bm52.BM25"),
            "unknown module 'convqa.components.retrievers.bm52'. Did you mean",
        ),
        (SMALL.replace("copy.Copy", "copy.Copi"), "has no component 'Copi'. Did you mean 'Copy'?"),
        (SMALL.replace("convqa.components.rewriters.copy.Copy", "copi"), "unknown name 'copi'. Did you mean 'copy'?"),
        (
            SMALL.replace("top_k: 10", "top_k: ten"),
            "components.retriever.top_k: expected a whole number, got 'ten'",
        ),
        (SMALL.replace("top_k: 10", "top_k: 0"), "components.retriever.top_k: expected 1 or more, got 0"),
        (SMALL.replace("top_k: 10", "topk: 10"), "components.retriever.topk: unknown parameter. Did you mean 'top_k'?"),
        (
            SMALL.replace("convqa.components.rewriters.copy.Copy", "subprocess.Popen"),
            "the module 'subprocess' is not allowed",
        ),
        (SMALL.replace("convqa.components.rewriters.copy.Copy", "haystack.utils.auth.os"), "no component 'os'"),
        (SMALL.replace("rewriter.turns, ", ""), "rewriter.turns has no connection. Connect it, or add it to inputs"),
        (SMALL.replace("retriever.turns]", "retriever.turn]"), "unknown socket 'retriever.turn'"),
        (
            SMALL.replace("outputs: {rewrites: rewriter.rewrites", "outputs: {rewrites: retriever.rankings"),
            "does not return rewrites",
        ),
        (SMALL.replace("outputs:", "output:"), "output: unknown field. Did you mean 'outputs'? Expected some of"),
        (
            SMALL.replace("connections:", "connections:\n  - {sender: retriever.rankings, receiver: rewriter.turns}"),
            "connections",
        ),
        ("extends: p.yaml\n", "extends itself: p.yaml -> p.yaml"),
        ("extends: nothing-here\n", "unknown name 'nothing-here'"),
        ("[1, 2]", "expected a mapping"),
        ("", "expected a mapping"),
        ("a: [1", "is not valid YAML"),
        ("components: {a: {type: x}, a: {type: y}}", "duplicate key 'a'"),
        ("override: {nobody.x: 1}\nextends: default\n", "unknown node 'nobody'"),
        (
            "extends: /etc/shadow\n",
            "p.yaml: pipeline: unknown name '/etc/shadow'.",
        ),
        (
            "extends: copy-bm25\nmetadata: &m {x: *m}\n",
            "p.yaml is not valid YAML: line 2, column 18: the alias *m is",
        ),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    assert message in mistakes(write(tmp_path, "p.yaml", text))


def test_a_circle_of_connections_is_refused(tmp_path):
    text = """
components:
  one: {type: convqa.components.joiners.weighted.Weighted, init_parameters: {inputs: [a, b]}}
  two: {type: convqa.components.joiners.weighted.Weighted, init_parameters: {inputs: [a, b]}}
connections:
  - {sender: one.rankings, receiver: two.a}
  - {sender: two.rankings, receiver: one.a}
outputs: {rankings: two.rankings}
"""
    assert "connections form a cycle" in mistakes(write(tmp_path, "p.yaml", text))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (SMALL.replace("top_k: 10", "api_key: sk-0815"), "components.retriever.init_parameters.api_key"),
        (f"{SMALL}metadata: {{hf_token: [sk-0815]}}", "metadata.hf_token"),
        ("extends: default\noverride: {retriever.component.api_key: sk-0815}", "override.retriever.component.api_key"),
        ("extends: default\noverride: {retriever.hosts: ['https://me:sk-0815@host']}", "override.retriever.hosts"),
        ("extends: secret.yaml\noverride: {retriever.api_key: null}", "secret.yaml: components.retriever"),
    ],
)
def test_a_secret_in_a_file_is_refused_before_anything_repeats_it(tmp_path, text, place):
    write(tmp_path, "secret.yaml", SMALL.replace("top_k: 10", "api_key: sk-0815"))
    with pytest.raises(InputError) as caught:
        compose(write(tmp_path, "p.yaml", text))
    assert place in str(caught.value) and "secrets are not allowed" in str(caught.value)
    assert "sk-0815" not in str(caught.value)


def test_a_secret_among_the_settings_is_refused_and_a_variable_is_not():
    with pytest.raises(
        InputError, match=r"^pipeline .*: --set builder\.api_key: secrets are not allowed in a pipeline"
    ) as caught:
        compose("default", {"builder.api_key": "sk-0815"})
    assert "sk-0815" not in str(caught.value)
    variable = {"type": "env_var", "env_vars": ["MY_KEY"], "strict": True}
    assert (
        compose("default", {"builder.api_key": variable}).components["builder"].init_parameters["api_key"] == variable
    )


def test_an_unknown_pipeline_names_the_nearest():
    with pytest.raises(InputError, match="Did you mean 'copy-bm25'"):
        compose("copybm25")
    with pytest.raises(InputError, match="no such file"):
        compose("missing.yaml")


def test_a_module_of_the_users_own_loads_when_it_is_named_in_the_environment(tmp_path, monkeypatch):
    (tmp_path / "mine_for_test.py").write_text(
        "from haystack import component\n"
        "from convqa.components.base import Rewriter\n"
        "from convqa.domain import Query, Rewrite\n"
        "@component\n"
        "class Shout(Rewriter):\n"
        "    def rewrite(self, turn):\n"
        "        return Rewrite(turn.question.upper(), (Query(turn.question),))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    path = write(tmp_path, "p.yaml", SMALL.replace("convqa.components.rewriters.copy.Copy", "mine_for_test.Shout"))
    assert "HAYSTACK_DESERIALIZATION_ALLOWLIST=mine_for_test" in mistakes(path)
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "elsewhere_for_test")
    path = write(tmp_path, "q.yaml", SMALL.replace("convqa.components.rewriters.copy.Copy", "elsewhere_for_test.Shout"))
    assert "finds no module 'elsewhere_for_test'. Set PYTHONPATH to the folder that holds" in mistakes(path)
    (tmp_path / "elsewhere_for_test").mkdir()
    path = write(
        tmp_path, "r.yaml", SMALL.replace("convqa.components.rewriters.copy.Copy", "elsewhere_for_test.no.Shout")
    )
    assert "the package elsewhere_for_test has no module 'elsewhere_for_test.no'" in mistakes(path)
    path = write(tmp_path, "p.yaml", SMALL.replace("convqa.components.rewriters.copy.Copy", "mine_for_test.Shout"))
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "mine_for_test")
    assert mistakes(path) == ""


def test_a_file_of_something_else_is_not_repeated(tmp_path):
    path = write(tmp_path, "users.yaml", "root:*:20228:0:99999:7::\ndaemon:$6$hash:20228:0:99999:7::\n")
    said = mistakes(path)
    assert "a malformed key: unknown field" in said and "daemon" not in said and "20228" not in said
    assert len(said) < 400
