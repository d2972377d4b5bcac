"""``convqa check`` and ``convqa show``."""

from __future__ import annotations


def test_check_names_every_mistake(call, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("extends: default\nstations: {retriever: {topk: 5}, reader: {max_passages: none}}\n")
    code, out, err = call("check", "default", path)
    assert code == 2
    assert out == "default: ok\n"
    assert "retriever.topk: " in err and "'top_k'" in err
    assert "reader.max_passages: " in err and "'none'" in err


def test_check_of_good_pipelines(call):
    assert call("check", "default", "copy-bm25", "concat-bm25", "expansion-bm25")[0] == 0


def test_check_says_that_it_looks_at_no_models(call):
    assert call("check", "default", "--set", "rewriter.model=nosuch")[:2] == (0, "default: ok\n")


def test_check_looks_at_thresholds(call):
    code, _, err = call("check", "default", "--set", "decider.min_score=2")
    assert code == 2 and "decider.min_score: " in err


def test_check_refuses_weights_that_are_infinite(call):
    code, _, err = call("check", "default", "--set", "retriever.weights={sparse: .inf}")
    assert code == 2 and "retriever.weights.sparse: " in err and "inf" in err


def test_check_lists_the_variables_and_addresses_that_a_pipeline_names(call):
    code, out, _ = call("check", "default", "generative")
    assert code == 0 and out == (
        "default: ok\n"
        "generative: ok\n"
        "  reads from the environment: OPENAI_API_KEY\n"
        "  sends to: http://localhost:8080/v1\n"
    )


def test_show_prints_no_secret(call, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("extends: copy-bm25\nstations: {rewriter: {api_key: sk-0815}}\n")
    for form in ("yaml", "haystack"):
        code, out, err = call("show", path, "--as", form)
        assert (code, out) == (2, "") and "stations.rewriter.api_key: " in err
        assert "sk-0815" not in err


def test_show_refuses_what_check_refuses(call):
    for setting, message in (
        ("retriever.top_kk=3", "retriever.top_kk: unknown parameter. Did you mean 'top_k'?"),
        ("retriever.weights.dnse=2.0", "dnse"),
    ):
        for form in ("yaml", "haystack"):
            code, out, err = call("show", "hybrid", "--set", setting, "--as", form)
            assert (code, out) == (2, "") and message in err
        assert message in call("check", "hybrid", "--set", setting)[2]


def test_show_as_yaml_is_a_pipeline_that_gives_itself(call, tmp_path):
    _, out, _ = call("show", "default", "--set", "retriever.top_k=7")
    assert "top_k: 7" in out
    (tmp_path / "again.yaml").write_text(out)
    assert call("show", tmp_path / "again.yaml", "--as", "yaml")[1] == out


def test_version_and_unknown_commands(call):
    assert call("--version")[1].startswith("convqa 0")
    assert call("frobnicate")[0] == 2
    assert call("run", "--help")[0] == 0


def test_check_lists_the_modules_that_a_pipeline_runs(call, slow):
    assert call("check", slow)[:2] == (0, f"{slow}: ok\n  runs: slow_for_test\n")
